// One connection to the database: the statements of a turn go out in one piece, their results come
// back in order.

import CPostgres
import CallModel
import StoreContract

/// A statement that is prepared on a connection when it is first used there.
struct PostgresStatement: Sendable {
    /// Names it on the server; different statements have different names.
    let name: String
    let sql: String

    init(_ name: String, _ sql: String) { (self.name, self.sql) = (name, sql) }
}

/// A connection in pipeline mode. Used by one thread at a time. Everything on it ends after
/// `patience`, whatever the server and the network do.
///
/// All statements up to `finish` are one transaction, which it commits.
final class PostgresConnection {
    let address: DatabaseAddress
    /// The process of the server that does the work.
    private(set) var backend: Int64 = 0
    /// How long a turn may take.
    var patience: Milliseconds
    private let functions: UnsafePointer<cpostgres_functions>
    private let handle: OpaquePointer
    /// The names of statements that are prepared, except for their end.
    private var prepared: Set<String> = []
    /// The end of their names: after a failure it is not known which are there.
    private var names = 0
    /// What is under way, in order; true: its rows are wanted.
    private var sent: [Bool] = []
    /// Whether the turn is with the database already.
    private var isSent = false
    private(set) var isLost = false
    /// Whether to wait no more.
    private var isOver: () -> Bool = { false }

    /// How long the server, and everything between, may take to answer.
    static let usualPatience: Milliseconds = 2_000

    /// How often a turn that waits looks whether it is over.
    private static let lookEvery: Int64 = 200

    /// How long a lock is waited for, in milliseconds.
    private static let lockPatience = 300

    /// Connects, within `patience`.
    init(
        to address: DatabaseAddress, patience: Milliseconds = PostgresConnection.usualPatience
    ) throws(StoreError) {
        self.address = address
        self.patience = patience
        functions = try PostgresLibrary.functions()
        let keywords = address.defaults.map(\.keyword) + ["dbname"]
        let values = address.defaults.map(\.value) + [address.text]
        let started = withCStrings(keywords) { [functions] keywords in
            withCStrings(values) { functions.pointee.start(keywords, $0, 1) }
        }
        guard let started else {
            throw StoreError(
                .other, path: address.name, operation: "connecting", detail: "no memory")
        }
        handle = started
        do throws(PostgresFailure) {
            try establish()
            try begin()
        } catch {
            throw error.error(of: address.name, "connecting")
        }
    }

    deinit { functions.pointee.finish(handle) }

    private func establish() throws(PostgresFailure) {
        _ = functions.pointee.on_notice(handle, cpostgres_ignore_notice, nil)
        // Only this way tells the error codes of a server that lets nobody in.
        _ = functions.pointee.verbosity(handle, PQERRORS_VERBOSE)
        defer { _ = functions.pointee.verbosity(handle, PQERRORS_DEFAULT) }
        let deadline = cpostgres_now() + Int64(patience)
        while true {
            guard functions.pointee.status(handle) != CONNECTION_BAD else { throw refused() }
            let events: Int
            switch functions.pointee.poll(handle) {
            case PGRES_POLLING_OK: return
            case PGRES_POLLING_READING: events = cpostgres_readable
            case PGRES_POLLING_WRITING: events = cpostgres_writable
            default: throw refused()
            }
            try wait(for: events, until: deadline)
        }
    }

    /// Why there is no connection. A server says it in the language of its own settings, so only
    /// the codes count; where several were tried, waiting helps if one of them may let it in.
    private func refused() -> PostgresFailure {
        var failure = lost()
        let codes = PostgresFailure.codes(in: failure.text)
        if !codes.isEmpty, !codes.contains(where: PostgresFailure.passes) {
            failure.code = PostgresFailure.notLetIn
        }
        return failure
    }

    /// Settings of the session, and whether it is one: a pooler that gives each transaction another
    /// session loses prepared statements and makes the fence's writer unknown.
    ///
    /// Every statement here asks for rows by an index, most of them for the first ones in its
    /// order. A database without statistics, as after a flood of calls, takes all tables for small
    /// and would gather and sort all rows for each page.
    ///
    /// Where nobody calls there is nothing to commit: an owner is not to lose its connection, and
    /// with it its epoch, for that (`idle_session_timeout`, since 14).
    private func begin() throws(PostgresFailure) {
        guard functions.pointee.server_version(handle) >= 130_000 else {
            throw PostgresFailure(
                code: "0A000", text: "PostgreSQL 13 or newer is needed", place: nil)
        }
        guard functions.pointee.set_nonblocking(handle, 1) == 0,
            functions.pointee.enter_pipeline(handle) == 1
        else { throw lost() }
        query(
            """
            SELECT pg_backend_pid()::bigint, set_config('search_path', 'callagent', false),
            set_config('default_transaction_isolation', 'read committed', false),
            set_config('default_transaction_read_only', 'off', false),
            set_config('lock_timeout', '\(Self.lockPatience)', false),
            set_config('statement_timeout', '\(patience)', false),
            set_config('enable_seqscan', 'off', false),
            set_config('enable_bitmapscan', 'off', false), set_config('jit', 'off', false),
            CASE current_setting('synchronous_commit')
            WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END,
            (SELECT set_config(name, '0', false) FROM pg_settings
            WHERE name = 'idle_session_timeout')
            """)
        backend = try finish().first?.first?.integer(0) ?? 0
        guard backend == Int64(functions.pointee.backend(handle)) else {
            throw PostgresFailure(
                code: "0A000",
                text: "a connection pooler stands before the database: connect to it directly",
                place: nil)
        }
    }

    /// Waits for locks as long as for answers: a connection that only reads delays nobody, and must
    /// not fail because the owner is making or dropping the table of a day.
    func waitForLocks() throws(StoreError) {
        query("SELECT set_config('lock_timeout', '0', false)")
        do throws(PostgresFailure) {
            _ = try finish()
        } catch {
            throw error.error(of: address.name, "connecting")
        }
    }

    /// From now on turns take their time, until `isOver` says something else.
    func waitLonger(
        upTo patience: Milliseconds, forLocks locks: Milliseconds = 10_000,
        _ isOver: @escaping () -> Bool = { false }
    ) throws(StoreError) {
        (self.patience, self.isOver) = (patience, isOver)
        query(
            """
            SELECT set_config('statement_timeout', '\(patience)', false),
            set_config('lock_timeout', '\(locks)', false)
            """)
        do throws(PostgresFailure) {
            _ = try finish()
        } catch {
            throw error.error(of: address.name, "connecting")
        }
    }

    // MARK: Sending

    /// Puts `statement` into the turn.
    func run(_ statement: PostgresStatement, _ values: PostgresValue...) {
        run(statement, all: values)
    }

    /// Puts `statement` into the turn.
    func run(_ statement: PostgresStatement, all values: [PostgresValue]) {
        let name = "\(statement.name).\(names)"
        if prepared.insert(statement.name).inserted {
            note(functions.pointee.prepare(handle, name, statement.sql, 0, nil))
            sent.append(false)
        }
        withParameters(values) { count, pointers, lengths, formats in
            note(functions.pointee.run(handle, name, count, pointers, lengths, formats, 1))
        }
        sent.append(true)
    }

    /// Puts a statement that is not worth keeping into the turn.
    func query(_ sql: String, _ values: PostgresValue...) {
        withParameters(values) { count, pointers, lengths, formats in
            note(
                functions.pointee.query(
                    handle, sql, count, nil, pointers, lengths, formats, 1))
        }
        sent.append(true)
    }

    private func note(_ success: Int32) {
        if success != 1 { isLost = true }
    }

    // MARK: Receiving

    /// Commits the turn.
    ///
    /// - Returns: what each statement gave, in order.
    /// - Throws: after a failure nothing of the turn is stored, unless the connection is lost: then
    ///   it may be.
    @discardableResult
    func finish() throws(PostgresFailure) -> [PostgresRows] {
        if !isSent { commit() }
        let wanted = sent
        (sent, isSent) = ([], false)
        guard !isLost else { throw lost() }
        do throws(PostgresFailure) {
            return try collect(wanted)
        } catch {
            if error.isLost { isLost = true }
            prepared = []
            names += 1
            throw error
        }
    }

    private func commit() {
        if functions.pointee.sync(handle) != 1 { isLost = true }
        isSent = true
    }

    /// Sends the turn, so that the database works at it while this thread does something else;
    /// `finish` waits for it.
    func send() throws(PostgresFailure) {
        commit()
        guard functions.pointee.flush(handle) >= 0 else { throw lost() }
    }

    /// Sends what is there without committing it: the transaction stays open. For tests of what
    /// happens then.
    func sendOnly() throws(PostgresFailure) {
        let deadline = cpostgres_now() + Int64(patience)
        while true {
            switch functions.pointee.flush(handle) {
            case 0: return
            case 1: try wait(for: cpostgres_writable, until: deadline)
            default: throw lost()
            }
        }
    }

    private func collect(_ wanted: [Bool]) throws(PostgresFailure) -> [PostgresRows] {
        let deadline = cpostgres_now() + Int64(patience)
        var (all, place): ([PostgresRows], Int) = ([], 0)
        var failure: PostgresFailure?
        while true {
            try waitForResult(until: deadline)
            guard let result = functions.pointee.result(handle) else {
                guard functions.pointee.status(handle) != CONNECTION_BAD else {
                    throw failure ?? lost()
                }
                continue
            }
            let rows = PostgresRows(result, functions)
            switch functions.pointee.kind(result) {
            case PGRES_PIPELINE_SYNC:
                if let failure { throw failure }
                return all
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
                if place < wanted.count, wanted[place] { all.append(rows) }
            case PGRES_PIPELINE_ABORTED: break
            default:
                failure = failure ?? self.failure(result, at: all.count)
                if functions.pointee.status(handle) == CONNECTION_BAD {
                    throw failure ?? lost()
                }
            }
            place += 1
        }
    }

    private func failure(_ result: OpaquePointer, at place: Int) -> PostgresFailure {
        func field(_ code: Int) -> String {
            functions.pointee.field(result, Int32(code)).map { String(cString: $0) } ?? ""
        }
        let text = field(cpostgres_field_text)
        return PostgresFailure(
            code: field(cpostgres_field_code), text: text.isEmpty ? message : text, place: place)
    }

    private func waitForResult(until deadline: Int64) throws(PostgresFailure) {
        while true {
            let left = functions.pointee.flush(handle)
            guard left >= 0 else { throw lost() }
            guard functions.pointee.is_busy(handle) != 0 else { return }
            try wait(
                for: left > 0 ? cpostgres_readable | cpostgres_writable : cpostgres_readable,
                until: deadline)
            guard functions.pointee.consume(handle) == 1 else { throw lost() }
        }
    }

    private func wait(for events: Int, until deadline: Int64) throws(PostgresFailure) {
        while true {
            let left = deadline - cpostgres_now()
            guard left > 0, !isOver() else {
                isLost = true
                throw PostgresFailure(
                    text: left > 0 ? "it is over" : "no answer within \(patience) ms")
            }
            let socket = functions.pointee.socket(handle)
            let some = min(left, Self.lookEvery)
            if cpostgres_wait(socket, Int32(events), Int32(some)) != 0 { return }
        }
    }

    private func lost() -> PostgresFailure {
        isLost = true
        return PostgresFailure(text: message)
    }

    /// What libpq says of the last failure, in one line.
    private var message: String {
        let text = String(cString: functions.pointee.message(handle))
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") }
            .map { $0.split(separator: "\t").joined() }
        return lines.isEmpty ? "the connection is lost" : lines.joined(separator: "; ")
    }
}

/// Hands `values` to `body` as libpq wants them.
private func withParameters(
    _ values: [PostgresValue],
    _ body: (
        Int32, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?
    ) -> Void
) {
    var bytes: [UInt8] = []
    var ranges: [Range<Int>?] = []
    for value in values {
        let start = bytes.count
        ranges.append(value.write(to: &bytes) ? start..<bytes.count : nil)
    }
    // An empty value has an address too, or it would be null.
    bytes.append(0)
    bytes.withUnsafeBufferPointer { buffer in
        buffer.withMemoryRebound(to: CChar.self) { text in
            let pointers = ranges.map { range in
                range.flatMap { range in text.baseAddress.map { $0 + range.lowerBound } }
            }
            let lengths = ranges.map { Int32($0?.count ?? 0) }
            let formats = [Int32](repeating: 1, count: values.count)
            body(Int32(values.count), pointers, lengths, formats)
        }
    }
}

/// Hands `texts` to `body` as an array that ends with a null.
private func withCStrings<Result>(
    _ texts: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
    let bytes = texts.map { $0.utf8CString }
    func go(
        _ place: Int, _ pointers: [UnsafePointer<CChar>?]
    ) -> Result {
        guard place < bytes.count else {
            return (pointers + [nil]).withUnsafeBufferPointer {
                guard let first = $0.baseAddress else { preconditionFailure("an empty array") }
                return body(first)
            }
        }
        return bytes[place].withUnsafeBufferPointer { go(place + 1, pointers + [$0.baseAddress]) }
    }
    return go(0, [])
}
