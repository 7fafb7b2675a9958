// One connection to the database file.

import CSQLite
import Glibc
import StoreContract

/// A connection, used by one thread at a time. Closes itself when nothing refers to it any more.
final class DatabaseConnection {
    /// The file.
    let path: String
    private let handle: OpaquePointer
    private let faults: FaultPlan?

    /// The file layer of all connections.
    private static let layer = csqlite_gathering().map { String(cString: $0) }

    /// What a connection is for.
    enum Access {
        /// Makes the file when it is not there.
        case writing
        /// Opens only a file that exists.
        case existing
        case reading
    }

    /// Opens the file at `path`; one for writing makes it when it is not there.
    init(path: String, access: Access, faults: FaultPlan?) throws(StoreError) {
        let flags =
            switch access {
            case .writing: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .existing: SQLITE_OPEN_READWRITE
            case .reading: SQLITE_OPEN_READONLY
            }
        try Self.checkPlain(path)
        var opened: OpaquePointer?
        // NOMUTEX: a connection has one owner, so its own lock would only cost.
        let code = sqlite3_open_v2(
            path, &opened, flags | SQLITE_OPEN_NOMUTEX, faults?.layer ?? Self.layer)
        guard let opened else {
            throw StoreError(.other, path: path, operation: "opening", detail: "no memory")
        }
        self.path = path
        self.faults = faults
        handle = opened
        sqlite3_extended_result_codes(handle, 1)
        // Only this process uses the file; waiting is for a log that another thread recovers.
        sqlite3_busy_timeout(handle, 2_000)
        guard code == SQLITE_OK else { throw error("opening") }
    }

    deinit { sqlite3_close_v2(handle) }

    /// Whoever opens a pipe waits for its other end, perhaps for ever.
    private static func checkPlain(_ path: String) throws(StoreError) {
        var status = stat()
        guard stat(path, &status) == 0, ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
        else { return }
        throw StoreError(
            .foreign, path: path, operation: "opening", detail: "it is no plain file")
    }

    /// Runs statements that return nothing.
    func execute(_ sql: String, for operation: String) throws(StoreError) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
            throw error(operation)
        }
    }

    /// Compiles one statement, to be kept and run many times.
    func prepare(_ sql: String, for operation: StaticString) throws(StoreError) -> Statement {
        var statement: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        let code = sqlite3_prepare_v3(handle, sql, -1, flags, &statement, nil)
        guard code == SQLITE_OK, let statement else { throw error("preparing: \(operation)") }
        return Statement(statement, connection: self, operation: operation)
    }

    /// Runs a query that is not worth keeping; returns the first column of its first row.
    func integer(_ sql: String, for operation: StaticString) throws(StoreError) -> Int64? {
        let statement = try prepare(sql, for: operation)
        return try statement.first { row in row.integer(0) }
    }

    /// Does not delete the log when it is closed: the file of that name belongs to another
    /// database.
    func keepLog() {
        var isKept: Int32 = 1
        sqlite3_file_control(handle, "main", SQLITE_FCNTL_PERSIST_WAL, &isKept)
    }

    /// Hands the handles of this connection and of another one over.
    func withHandles(
        _ other: DatabaseConnection,
        _ body: (OpaquePointer, OpaquePointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        try body(handle, other.handle)
    }

    /// Rows changed by the last statement that changes rows.
    var changes: Int { Int(sqlite3_changes(handle)) }

    /// The last failure as an error of `operation`.
    func error(_ operation: String) -> StoreError {
        let code = sqlite3_extended_errcode(handle)
        let detail = String(cString: sqlite3_errmsg(handle))
        let number = sqlite3_system_errno(handle)
        let system = number == 0 ? "" : ": \(String(cString: strerror(number)))"
        return StoreError(
            Self.kind(of: code, system: number), path: path, operation: operation,
            detail: "\(detail), SQLite code \(code)\(system)")
    }

    /// What a result code of SQLite, extended or not, means.
    ///
    /// - Parameter number: the `errno` of what failed; 0: nothing did, or it is not known.
    static func kind(of code: Int32, system number: Int32 = 0) -> StoreError.Kind {
        // The index of the log is made by other calls than writes, which SQLite tells apart.
        if code & 0xFF == SQLITE_IOERR, [ENOSPC, EDQUOT].contains(number) { return .diskFull }
        return switch code & 0xFF {
        case SQLITE_FULL: .diskFull
        case SQLITE_READONLY, SQLITE_PERM: .readOnly
        case SQLITE_CANTOPEN, SQLITE_AUTH: .cannotOpen
        case SQLITE_IOERR, SQLITE_PROTOCOL: .inputOutput
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_CORRUPT: .corrupt
        case SQLITE_NOTADB: .foreign
        default: .other
        }
    }
}
