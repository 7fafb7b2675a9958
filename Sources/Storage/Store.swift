// The store on disk: one SQLite file, one writer, group commit.

import CallModel
import Collections
import StoreContract
import Synchronization

/// Durable state in SQLite: write-ahead log, one transaction per batch.
///
/// Used by one thread at a time; readers of the same directory run beside it on other threads.
public final class Store: CallStore {
    /// See `StoreLimits`.
    public var limits: StoreLimits

    private let directory: StateDirectory
    private let options: StoreOptions
    private let connection: DatabaseConnection
    private let begin: Statement
    private let end: Statement
    private let putMark: Statement
    private let terms: TermTable
    private let participation: ParticipationTable
    private let calls: CallTables
    private let keys: KeyTable
    private let outbox: OutboxTables
    private let plugins: PluginTables
    private let history: HistoryTable
    private let names: NameTable
    /// The term in which it was restored.
    private var term = Term.alone
    /// The highest id of a job or timer.
    private var highestJob: Int64 = 0
    private var state = State.opened

    /// Where the store is in its life.
    private enum State {
        /// Opened; `restore` comes next.
        case opened
        /// In use.
        case restored
        /// Failed or closed: the real state is only known after the store was opened again.
        case over
    }

    /// Opens the store in `directory`, makes or migrates it, and checks it.
    ///
    /// - Throws: `newer`, `foreign`, `corrupt`, and what opening a file may throw.
    public convenience init(
        in directory: StateDirectory, options: StoreOptions = StoreOptions()
    ) throws(StoreError) {
        try self.init(in: directory, options: options, schema: .current)
    }

    init(
        in directory: StateDirectory, options: StoreOptions, schema: StoreSchema
    ) throws(StoreError) {
        self.directory = directory
        self.options = options
        limits = options.limits
        try directory.prepareDatabase()
        let path = directory.database
        connection = try Opening.writer(at: path, options, schema)
        try directory.opened.withLock { files throws(StoreError) in
            try files.noteDatabase(at: path)
        }
        begin = try connection.prepare("BEGIN IMMEDIATE", for: "beginning")
        end = try connection.prepare("COMMIT", for: "committing")
        putMark = try connection.prepare(
            "UPDATE mark SET value = max(value, ?) WHERE name = ?", for: "storing a mark")
        terms = try TermTable(connection)
        participation = try ParticipationTable(connection)
        calls = try CallTables(connection, participation)
        keys = try KeyTable(connection)
        outbox = try OutboxTables(connection)
        plugins = try PluginTables(connection)
        history = try HistoryTable(connection, participation)
        names = try NameTable(connection)
        directory.users.add(1, ordering: .relaxed)
    }

    deinit { directory.users.subtract(1, ordering: .releasing) }

    /// Reads what a start in `term` needs, and notes that it has begun.
    public func restore(at now: Moment, in term: Term) throws(StoreError) -> StoredState {
        guard state != .over else { throw notOpen("restoring", "an earlier commit failed") }
        try terms.begin(term)
        self.term = term
        var stored = StoredState()
        stored.term = term
        stored.core.lastCall = try calls.lastLive()
        stored.core.keys = try keys.marks(after: now + -limits.keyLifetime)
        stored.timers = try plugins.timers()
        stored.newestMoment = try connection.newestMoment()
        stored.endedCleanly = try connection.mark("clean", most: 1) == 1
        highestJob = max(
            try connection.mark("job", most: Self.jobMost),
            JobID.last(before: term.epoch)?.value ?? 0)
        stored.lastJob = highestJob > 0 ? JobID(highestJob) : nil
        try connection.execute(
            "UPDATE mark SET value = 0 WHERE name = 'clean'", for: "marking the start")
        directory.opened.withLock { $0.noteLog(of: directory.database) }
        state = .restored
        return stored
    }

    /// A server counts on from it for as long as it lives.
    private static let jobMost = Int64.max / 2

    /// Stores the batch in one transaction, synced to the disk.
    @discardableResult
    public func commit(
        _ batch: [StoreChange], at now: Moment
    ) throws(StoreError) -> CommitResult {
        var result = CommitResult()
        guard !batch.isEmpty else { return result }
        let superseded = Superseded(batch)
        let jobBefore = highestJob
        try transaction { () throws(StoreError) in
            for index in batch.indices where !superseded.contains(index) {
                try apply(batch[index], at: now, &result)
            }
            try participation.finish(recentMax: limits.recentParticipations)
            try putMark.run(.moment(now), .text("newest"))
            if highestJob > jobBefore { try putMark.run(.integer(highestJob), .text("job")) }
        }
        return result
    }

    private func apply(
        _ record: StoreChange, at now: Moment, _ result: inout CommitResult
    ) throws(StoreError) {
        if let job = record.jobID { highestJob = max(highestJob, job.value) }
        switch record {
        case .call(let call): try calls.put(call, in: term.epoch)
        case .key(let entry): try keys.put(entry, limits: limits)
        case .registration(let address, let provider, let registration):
            try outbox.put(
                address, provider: provider, registration, at: now,
                most: limits.registrationsPerUser)
        case .deadRegistration(let dead): try outbox.remove(dead)
        case .push(let change): try outbox.apply(change)
        case .webhook(let change): try outbox.apply(change)
        case .timer(let change): try plugins.apply(change)
        case .value(let change):
            if let counter = try plugins.apply(change, at: now) { result.counters.append(counter) }
        case .generation(let change):
            try GenerationTable(connection: connection).apply(change, keep: limits.generationsMax)
        case .missed(let user, let call, let at): try calls.miss(user, call, at: at)
        case .seen(let user, let moment): try calls.see(user, upTo: moment)
        case .name(let user, let name, let origin):
            try names.apply(user, name, from: origin)
        case .forgotten(let gone, let call): try calls.forget(gone, in: call)
        case .forget(let user):
            try keys.forget(user)
            try outbox.forget(user)
            try names.apply(user, nil, from: .server)
            try calls.see(user, upTo: Moment(.max))
        }
    }

    /// Removes some of what is too old, a transaction for each table.
    public func sweep(at now: Moment) throws(StoreError) -> Bool {
        var hasMore = false
        let step = limits.sweepStep
        try transaction { () throws(StoreError) in
            let calls = try history.sweep(upTo: now + -limits.retention, step: step)
            let keys = try keys.sweep(upTo: now + -limits.keyLifetime, step: step)
            let values = try plugins.sweep(at: now, step: step)
            let webhooks = try outbox.sweep(upTo: now + -limits.webhookRetention, step: step)
            let late = try outbox.giveUp(dueUpTo: now + -limits.webhookPatience, step: step)
            hasMore = calls || keys || values || webhooks || late
        }
        return hasMore
    }

    /// A reader with a connection of its own.
    public func makeReader() throws(StoreError) -> any CallReader {
        var options = options
        options.limits = limits
        return try StoreReader(in: directory, options: options)
    }

    /// Notes the end on purpose, and closes the file.
    public func close() throws(StoreError) {
        try transaction { () throws(StoreError) in
            try connection.execute(
                "UPDATE mark SET value = 1 WHERE name = 'clean'", for: "marking the end")
        }
        state = .over
        // If readers keep it from being copied, the log stays for the next start.
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)", for: "closing")
    }

    /// Runs `body` in one transaction.
    private func transaction(
        _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        switch state {
        case .opened: throw notOpen("committing", "restore it first")
        case .over: throw notOpen("committing", "it was closed, or an earlier commit failed")
        case .restored: break
        }
        do {
            try begin.run()
            try terms.require(term, for: "committing")
            try body()
            try end.run()
            // In the same transaction: a commit into a file that the next start does not find must
            // not be acknowledged.
            try checkFiles()
        } catch {
            state = .over
            try? connection.execute("ROLLBACK", for: "rolling back")
            throw error
        }
    }

    /// Throws `replaced` where the file is no longer the one that was opened.
    public func checkFiles() throws(StoreError) {
        guard state == .restored else { return }
        let path = directory.database
        do throws(StoreError) {
            try directory.opened.withLock { files throws(StoreError) in
                try files.requireDatabase(at: path)
                try files.requireLog()
            }
        } catch {
            state = .over
            // The files that have the names now belong to somebody else.
            connection.keepLog()
            throw error
        }
    }

    /// Copies what was acknowledged to where the next opening finds it.
    public func rescue() throws(StoreError) {
        let path = directory.database
        let isLogThere = try directory.opened.withLock { files throws(StoreError) in
            try files.requireDatabase(at: path)
            do throws(StoreError) {
                try files.requireLog()
                return true
            } catch {
                return false
            }
        }
        guard !isLogThere else { return }
        // The log has no name any more, but its bytes are still there for this connection.
        let copy = try connection.prepare("PRAGMA wal_checkpoint(FULL)", for: "copying the log")
        let isBusy = try copy.first { row in row.integer(0) != 0 } ?? true
        guard !isBusy else { throw StoreError(.busy, path: path, operation: "copying the log") }
        directory.opened.withLock { $0.isLogForeign = true }
    }

    private func notOpen(_ operation: String, _ reason: String) -> StoreError {
        StoreError(.notOpen, path: directory.database, operation: operation, detail: reason)
    }
}

/// The places in a batch whose call has a later version in it.
package struct Superseded {
    /// Up to so many changes are compared with each other, which takes less than an index of them.
    private static let few = 8

    /// Empty: none is.
    private var isSuperseded: [Bool] = []

    /// Looks for them in `batch`.
    package init(_ batch: [StoreChange]) {
        guard batch.count > 1 else { return }
        isSuperseded = Array(repeating: false, count: batch.count)
        guard batch.count > Self.few else {
            for place in batch.indices {
                guard let id = batch[place].writtenCall else { continue }
                isSuperseded[place] = batch[(place + 1)...].contains { $0.writtenCall == id }
            }
            return
        }
        var newest = HashIndex()
        for place in batch.indices.reversed() {
            guard let id = batch[place].writtenCall else { continue }
            isSuperseded[place] =
                newest.find(id.hash) { batch[Int($0)].writtenCall == id } != nil
            if !isSuperseded[place] { newest.insert(id.hash, Int32(place)) }
        }
    }

    /// Whether the call at `place` has a later version in the batch.
    package func contains(_ place: Int) -> Bool { !isSuperseded.isEmpty && isSuperseded[place] }
}

extension StoreChange {
    /// The call whose newest version this is.
    fileprivate var writtenCall: CallID? {
        if case .call(let call) = self { call.id } else { nil }
    }
}

extension DatabaseConnection {
    /// No clock shows a later moment: calls have names with 48 bits of it.
    private static let newestMost: Int64 = 1 << 48

    /// The newest moment ever committed; nil: nothing was.
    func newestMoment() throws(StoreError) -> Moment? {
        let newest = try mark("newest", most: Self.newestMost)
        return newest > 0 ? Moment(newest) : nil
    }

    /// The number that is kept under `name`.
    ///
    /// - Throws: `corrupt` for one that nobody has written.
    func mark(_ name: String, most: Int64) throws(StoreError) -> Int64 {
        let value =
            try integer("SELECT value FROM mark WHERE name = '\(name)'", for: "reading a mark") ?? 0
        guard value <= most else {
            throw StoreError(
                .corrupt, path: path, operation: "reading a mark", detail: "'\(name)' is \(value)")
        }
        return value
    }
}
