// The store of several machines: PostgreSQL, one writer at a time, one pipeline for each batch.

import CallModel
import ClusterCore
import Storage
import StoreContract

/// How the store of a cluster is opened.
public struct ClusterStoreOptions: Sendable {
    /// See `StoreLimits`.
    public var limits = StoreLimits()
    /// Whose calls.
    public var space = Space.usual
    /// How long each turn may take, whatever the database and the network do.
    public var patience: Milliseconds = PostgresConnection.usualPatience
    /// A takeover that another connection made: the store then writes in its term, takes nothing
    /// over, and is refused if another node has taken over since. Nil: `restore` takes over.
    public var grant: Grant?
    /// Another one is wrong: see `Fence.Form`.
    var fence = Fence.Form.share

    /// The defaults.
    public init() {}
}

/// Durable state in PostgreSQL. Used by one thread at a time; its readers have connections of
/// their own.
///
/// Each batch is one transaction that begins with the fence and is sent in one piece. After any
/// failure the store must be opened again: what was under way may be stored or not.
public final class ClusterStore: CallStore {
    /// See `StoreLimits`.
    public var limits: StoreLimits

    let link: PostgresConnection
    let space: Space
    let options: ClusterStoreOptions
    /// What it shows to write; nil: it was not restored, failed, or was closed.
    var fence: Fence?
    var keys = ReplyKeys()
    /// The place up to which ended calls are forgotten.
    var horizon: Int64 = 0
    /// Where the search for webhooks that are too old goes on.
    var lookedAt: Int64 = 0
    /// How many participants of each stored live call are indexed. Participants are only ever
    /// added at the end, so the rest of a call's list is what is new.
    private var indexed: [CallID: Int] = [:]
    private var highestJob: Int64 = 0
    /// How many rows of `turn` there may be more than one.
    private var unfolded = ClusterStore.foldAfter
    private static let foldAfter = 500

    /// Connects to the database at `address`, whose tables `callagent cluster init` made.
    ///
    /// - Throws: `unreachable`, `notAllowed`, `noSchema`, `newer`.
    public init(
        at address: DatabaseAddress, _ options: ClusterStoreOptions = ClusterStoreOptions()
    ) throws(StoreError) {
        self.options = options
        limits = options.limits
        link = try PostgresConnection(to: address, patience: options.patience)
        try ClusterSchema.current.require(link)
        space = try Space(options.space, by: link)
    }

    /// Takes the space over in `term`, and reads what a start needs.
    public func restore(at now: Moment, in term: Term) throws(StoreError) -> StoredState {
        let fence = try takeOver(in: term)
        self.fence = fence
        indexed = [:]
        return try transaction("opening") { () throws(PostgresFailure) in
            try makePartitions(at: now, fence)
            var stored = try load(fence)
            // This machine's clock may be ahead, and no key may be forgotten for that.
            let oldest = min(now, stored.storeClock ?? now) + -limits.keyLifetime
            stored.core.keys = try keys.load(after: oldest, in: space, on: link)
            return stored
        }
    }

    private static let readLast = PostgresStatement(
        "last_live", "SELECT id FROM live_call WHERE space = $1 ORDER BY id DESC LIMIT 1")
    private static let readClock = PostgresStatement(
        "clock", "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
    private static let readTurns = PostgresStatement(
        "last_turn", "SELECT max(at), max(job) FROM turn WHERE space = $1")
    private static let readMarks = PostgresStatement(
        "marks",
        """
        SELECT CASE WHEN s.clean THEN 1::bigint ELSE 0 END, h.horizon
        FROM space AS s JOIN history AS h ON h.space = s.id WHERE s.id = $1
        """)
    private static let readTimers = PostgresStatement(
        "timers",
        "SELECT id, plugin, name, due_at, call, data FROM timer WHERE space = $1 ORDER BY id")
    private static let begin = PostgresStatement(
        "begin", "UPDATE space SET clean = false WHERE id = $1 AND clean")

    /// Reads in other transactions than the takeover's: only these see all of the owner before.
    private func load(_ fence: Fence) throws(PostgresFailure) -> StoredState {
        let id = PostgresValue.integer(space.id)
        fence.begin(options.fence, in: space, on: link)
        for question in [Self.readLast, Self.readTurns, Self.readMarks, Self.readTimers] {
            link.run(question, id)
        }
        link.run(Self.begin, id)
        link.run(Self.readClock)
        let rows = try link.finish()
        var stored = StoredState()
        stored.term = fence.term
        stored.core.lastCall = rows[1].first?.id(0)
        stored.newestMoment = rows[2].first?.optionalMoment(0)
        stored.storeClock = rows[6].first?.optionalMoment(0)
        stored.endedCleanly = rows[3].first?.integer(0) == 1
        horizon = rows[3].first?.integer(1) ?? 0
        stored.timers = rows[4].all.map { row in
            NamedTimer(
                JobID(row.integer(0)), plugin: row.text(1), name: row.text(2),
                dueAt: row.moment(3), call: row.id(4), data: row.bytes(5))
        }
        let last = JobID.last(before: fence.term.epoch)?.value ?? 0
        highestJob = max(rows[2].first?.integer(1) ?? 0, last)
        stored.lastJob = highestJob > 0 ? JobID(highestJob) : nil
        return stored
    }

    private static let putTurn = PostgresStatement(
        "put_turn", "INSERT INTO turn (space, at, job) VALUES ($1, $2, $3)")

    // One row stays, which says the same as all of them.
    private static let foldTurns = PostgresStatement(
        "fold_turns",
        """
        WITH old AS (DELETE FROM turn WHERE space = $1 RETURNING at, job)
        INSERT INTO turn SELECT $1, max(at), max(job) FROM old HAVING count(*) > 0
        """)

    /// Stores the batch in one transaction behind the fence.
    @discardableResult
    public func commit(
        _ batch: [StoreChange], at now: Moment
    ) throws(StoreError) -> CommitResult {
        guard !batch.isEmpty else { return CommitResult() }
        return try transaction("committing") { () throws(PostgresFailure) in
            try write(batch, at: now)
        }
    }

    private func write(
        _ batch: [StoreChange], at now: Moment
    ) throws(PostgresFailure) -> CommitResult {
        guard let fence else { throw PostgresFailure(text: "not open") }
        let turn = Turn(batch, known: { indexed[$0] ?? 0 })
        let values = try FoldedValues(turn.values, at: now, in: space, on: link)
        let plan = try keys.plan(turn.keys, turn.forgotten, limits, in: space, on: link)
        let job = max(highestJob, turn.highestJob)
        let id = PostgresValue.integer(space.id)
        fence.begin(options.fence, in: space, on: link)
        keys.send(plan, limits, in: space, on: link)
        turn.sendCalls(in: space, fence.term.epoch, horizon: horizon, on: link)
        turn.sendOutbox(in: space, on: link)
        turn.sendTimers(in: space, on: link)
        Turn.send(values, id, link)
        for change in turn.single { send(change, at: now) }
        link.run(Self.putTurn, id, .moment(now), .integer(job))
        if unfolded >= Self.foldAfter { link.run(Self.foldTurns, id) }
        let results = try link.finish()
        keys.absorb(plan, results.dropFirst())
        highestJob = job
        unfolded = unfolded >= Self.foldAfter ? 0 : unfolded + 1
        for case .call(let call) in batch {
            indexed[call.id] = call.end == nil ? call.participants.count : nil
        }
        var result = CommitResult()
        result.counters = values.counters
        return result
    }

    private func send(_ change: StoreChange, at now: Moment) {
        let id = PostgresValue.integer(space.id)
        switch change {
        case .registration(let address, let provider, let registration):
            let change = RegistrationChange(
                address: address, provider: provider, registration: registration, at: now)
            Turn.send(change, most: limits.registrationsPerUser, id, link)
        case .deadRegistration(let dead): Turn.send(dead: dead, id, link)
        case .generation(let change): Turn.send(change, keep: limits.generationsMax, id, link)
        case .name(let user, let name, let origin): Turn.send(name, of: user, origin, id, link)
        case .forgotten(let gone, let call): Turn.send(gone, in: call, id, link)
        case .forget(let user): Turn.send(forget: user, id, link)
        case .call, .key, .push, .webhook, .timer, .value, .missed, .seen: break
        }
    }

    /// A reader with a connection of its own.
    public func makeReader() throws(StoreError) -> any CallReader {
        let link = try PostgresConnection(to: self.link.address, patience: options.patience)
        try link.waitForLocks()
        return ClusterReader(by: link, of: space, limits)
    }

    /// Whether it may still write.
    public func checkFiles() throws(StoreError) {
        guard let fence else { return }
        try transaction("looking whether it still owns") { () throws(PostgresFailure) in
            fence.begin(options.fence, in: space, on: link)
            try link.finish()
        }
    }

    /// Notes the end on purpose, and closes the connection.
    public func close() throws(StoreError) {
        try transaction("closing") { () throws(PostgresFailure) in
            fence?.begin(options.fence, in: space, on: link)
            let isAlone = options.grant == nil
            link.query(
                "UPDATE space SET clean = true, released = released OR \(isAlone) WHERE id = $1",
                .integer(space.id))
            try link.finish()
        }
        fence = nil
    }

    /// Runs `body`; after a failure the store is not open any more.
    func transaction<Result>(
        _ operation: String, _ body: () throws(PostgresFailure) -> Result
    ) throws(StoreError) -> Result {
        guard let fence else {
            throw StoreError(
                .notOpen, path: link.address.name, operation: operation,
                detail: "restore it first, or open it again after a failure")
        }
        do throws(PostgresFailure) {
            return try body()
        } catch {
            self.fence = nil
            throw refusal(of: fence, error, operation)
        }
    }

    /// Why a turn failed: the fence, if the row says so.
    private func refusal(
        of fence: Fence, _ failure: PostgresFailure, _ operation: String
    ) -> StoreError {
        let isFence = failure.code == PostgresFailure.divisionByZero && failure.place == 0
        guard isFence, let held = try? row() else {
            return failure.error(of: link.address.name, operation)
        }
        return fence.term.refusal(by: held.term, at: link.address.name, operation)
    }

    /// What the row of the space says now.
    func row() throws(PostgresFailure) -> LeaseRow? {
        link.run(LeaseRow.read, .integer(space.id))
        return try link.finish().first?.first.map { LeaseRow($0) }
    }
}
