// Reads the store on disk beside its writer.

import CallModel
import StoreContract
import Synchronization

/// A read-only connection: sees every commit that was durable when a method is called.
public final class StoreReader: CallReader, EmbeddedReader {
    private let directory: StateDirectory
    let connection: DatabaseConnection
    let limits: StoreLimits
    let liveCall: Statement
    private let endedCall: Statement
    private let keptReply: Statement
    let begin: Statement
    let end: Statement
    let live: LiveCallStatements
    let callsOfUser: Statement
    let recentParticipations: Statement
    let listedCall: Statement
    private let missed: Statement
    private let missedNumber: Statement
    private let registrationsOfUser: Statement
    private let pushesAfter: Statement
    private let webhooksAfter: Statement
    private let nextWebhookCaller: Statement
    private let webhooksOfCaller: Statement
    private let pluginValue: Statement
    private let pluginKeys: Statement

    /// Opens a reader of the store in `directory`, which a `Store` must have opened before.
    public init(
        in directory: StateDirectory, options: StoreOptions = StoreOptions()
    ) throws(StoreError) {
        self.directory = directory
        limits = options.limits
        connection = try Opening.reader(at: directory.database, options)
        connection.keepLog()
        liveCall = try connection.prepare(
            "SELECT id, record FROM live_call WHERE id = ?", for: "reading a call")
        endedCall = try connection.prepare(
            "SELECT id, record FROM ended_call WHERE id = ?", for: "reading a call")
        keptReply = try connection.prepare(
            "SELECT body_hash, reply FROM kept_reply WHERE user = ? AND key = ?",
            for: "reading a kept reply")
        begin = try connection.prepare("BEGIN", for: "listing calls")
        end = try connection.prepare("COMMIT", for: "listing calls")
        live = try LiveCallStatements(connection)
        callsOfUser = try connection.prepare(
            """
            \(Self.selectListed(from: "participation"))
            WHERE p.user = ? AND p.call >= ? AND p.call < ? ORDER BY p.call DESC
            """, for: "listing calls")
        recentParticipations = try connection.prepare(
            Participation.selectRecent, for: "listing calls")
        listedCall = try connection.prepare(
            Self.selectListed(from: "(SELECT ? AS call)"), for: "listing calls")
        missed = try connection.prepare(
            "SELECT call, at FROM missed_call WHERE user = ? ORDER BY call DESC LIMIT ?",
            for: "reading missed calls")
        missedNumber = try connection.prepare(
            "SELECT count(*) FROM missed_call WHERE user = ?", for: "counting missed calls")
        registrationsOfUser = try connection.prepare(
            """
            SELECT device, provider, token, environment, registered_at FROM registration
            WHERE user = ? ORDER BY device, provider
            """, for: "reading push registrations")
        pushesAfter = try connection.prepare(
            "SELECT id, call, record FROM push_job WHERE id > ? ORDER BY id LIMIT ?",
            for: "reading push jobs")
        webhooksAfter = try connection.prepare(
            """
            SELECT id, endpoint, call, type, at, body, attempts, due_at, last_error, caller, user,
            trace FROM webhook WHERE state = ? AND id > ? ORDER BY id LIMIT ?
            """, for: "reading webhooks")
        // One by one, so that the index skips the other events of each caller.
        nextWebhookCaller = try connection.prepare(
            """
            SELECT caller FROM webhook
            WHERE state = 'open' AND endpoint = ? AND caller > ? ORDER BY caller LIMIT 1
            """, for: "reading the callers of webhooks")
        webhooksOfCaller = try connection.prepare(
            """
            SELECT id, endpoint, call, type, at, body, attempts, due_at, last_error, caller, user,
            trace FROM webhook WHERE state = 'open' AND endpoint = ? AND caller = ? AND id > ?
            ORDER BY id LIMIT ?
            """, for: "reading the webhooks of a caller")
        pluginValue = try connection.prepare(
            """
            SELECT value FROM plugin_value
            WHERE plugin = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)
            """, for: "reading a value")
        pluginKeys = try connection.prepare(
            """
            SELECT key FROM plugin_value WHERE plugin = ?1
            AND key >= ?2 AND key < ?2 || char(1114111, 1114111)
            AND (expires_at IS NULL OR expires_at > ?3) ORDER BY key LIMIT ?4
            """, for: "reading keys")
        directory.users.add(1, ordering: .relaxed)
    }

    deinit { directory.users.subtract(1, ordering: .releasing) }

    /// Id, live record, end reason and ended record of the calls of `source`.
    private static func selectListed(from source: String) -> String {
        """
        SELECT p.call, l.record, e.reason, e.record FROM \(source) AS p
        LEFT JOIN live_call AS l ON l.id = p.call LEFT JOIN ended_call AS e ON e.id = p.call
        """
    }

    /// Looks `query` up, all of it as of one moment.
    public func answer(_ query: StoreQuery) throws(StoreError) -> StoreAnswer {
        try find(query)
    }

    package func call(_ id: CallID) throws(StoreError) -> Call? {
        // Live before ended: a call that ends in between is found by the second query.
        if let call = try find(id, in: liveCall) { return call }
        return try find(id, in: endedCall)
    }

    private func find(
        _ id: CallID, in statement: borrowing Statement
    ) throws(StoreError) -> Call? {
        try statement.first(.id(id)) { (row) throws(StoreError) in
            try connection.call(of: row, id: 0, record: 1)
        }
    }

    package func version(of id: CallID) throws(StoreError) -> StoredVersion? {
        let stored = try connection.prepare(
            """
            SELECT c.id, c.record, t.owner, t.epoch FROM
            (SELECT id, record, epoch FROM live_call WHERE id = ?1 UNION ALL
            SELECT id, record, epoch FROM ended_call WHERE id = ?1) AS c
            JOIN term AS t ON t.epoch = c.epoch
            """, for: "reading the version of a call")
        return try stored.first(.id(id)) { (row) throws(StoreError) in
            let call = try connection.call(of: row, id: 0, record: 1)
            let term = Term(owner: row.text(2), epoch: UInt32(clamping: row.integer(3)))
            return StoredVersion(term: term, revision: call.revision)
        }
    }

    package func reply(of user: UserID, under key: String) throws(StoreError) -> KeptReply? {
        try keptReply.first(.text(user.text), .text(key)) { row in
            KeptReply(bodyHash: UInt64(bitPattern: row.integer(0)), reply: row.bytes(1))
        }
    }

    package func missedCount(of user: UserID) throws(StoreError) -> Int {
        try missedNumber.first(.text(user.text)) { row in Int(row.integer(0)) } ?? 0
    }

    package func missedCalls(
        of user: UserID, limit: Int
    ) throws(StoreError) -> [(id: CallID, at: Moment)] {
        var calls: [(id: CallID, at: Moment)] = []
        try missed.rows(.text(user.text), .integer(Int64(limit))) { row in
            if let id = row.id(0) { calls.append((id, row.moment(1))) }
            return true
        }
        return calls
    }

    package func registrations(of user: UserID) throws(StoreError) -> [Registration] {
        var all: [Registration] = []
        try registrationsOfUser.rows(.text(user.text)) { row in
            let registration = PushRegistration(
                provider: row.text(1), token: row.text(2), environment: row.optionalText(3))
            let address = Address(user, DeviceID(row.text(0)))
            all.append(Registration(address, registration, at: row.moment(4)))
            return true
        }
        return all
    }

    package func openPushes(after job: JobID?, limit: Int) throws(StoreError) -> [StoredPush] {
        var jobs: [StoredPush] = []
        try pushesAfter.rows(.integer(job?.value ?? -1), .integer(Int64(limit))) {
            (row) throws(StoreError) in
            jobs.append(try storedPush(row))
            return true
        }
        return jobs
    }

    private func storedPush(_ row: Row) throws(StoreError) -> StoredPush {
        let id = JobID(row.integer(0))
        let call = row.id(1) ?? CallID(high: 0, low: 0)
        do {
            return StoredPush(id: id, job: try PushRecord.read(row.raw(2), call: call))
        } catch {
            throw StoreError(
                .damagedRecord, path: connection.path, operation: "reading push jobs",
                detail: "push job \(id), field \(error.field): \(error.problem)")
        }
    }

    package func pushOutcomes(of call: CallID) throws(StoreError) -> [PushOutcome] {
        let all = try connection.prepare(
            """
            SELECT job, user, device, provider, kind, at, result FROM push_outcome
            WHERE call = ? ORDER BY job, user, device, provider
            """, for: "reading push outcomes")
        var outcomes: [PushOutcome] = []
        try all.rows(.id(call)) { row in
            outcomes.append(
                PushOutcome(
                    job: JobID(row.integer(0)), call: call,
                    address: Address(UserID(row.text(1)), DeviceID(row.text(2))),
                    provider: row.text(3), kind: PushJob.Kind(rawValue: row.text(4)) ?? .invite,
                    at: row.moment(5), result: row.text(6)))
            return true
        }
        return outcomes
    }

    package func webhooks(
        _ state: WebhookProgress.State, after job: JobID?, limit: Int
    ) throws(StoreError) -> [StoredWebhook] {
        var all: [StoredWebhook] = []
        try webhooksAfter.rows(
            .text(state.rawValue), .integer(job?.value ?? -1), .integer(Int64(limit))
        ) { row in
            all.append(StoredWebhook(row, state))
            return true
        }
        return all
    }

    package func webhookCallers(
        of endpoint: String, after caller: UserID?, limit: Int
    ) throws(StoreError) -> [UserID] {
        var callers: [UserID] = []
        if caller == nil, limit > 0 {
            let ofNobody = try openWebhooks(
                of: endpoint, WebhookTurn(Cause.noCaller, after: nil), limit: 1)
            if !ofNobody.isEmpty { callers.append(Cause.noCaller) }
        }
        var last = caller?.text ?? ""
        while callers.count < limit {
            let next = try nextWebhookCaller.first(.text(endpoint), .text(last)) { row in
                row.text(0)
            }
            guard let next else { break }
            callers.append(UserID(next))
            last = next
        }
        return callers
    }

    package func openWebhooks(
        of endpoint: String, _ turn: WebhookTurn, limit: Int
    ) throws(StoreError) -> [StoredWebhook] {
        var all: [StoredWebhook] = []
        try webhooksOfCaller.rows(
            .text(endpoint), .text(turn.caller.text), .integer(turn.after?.value ?? -1),
            .integer(Int64(limit))
        ) { row in
            all.append(StoredWebhook(row, .open))
            return true
        }
        return all
    }

    package func value(
        of plugin: String, key: String, at now: Moment
    ) throws(StoreError) -> [UInt8]? {
        try pluginValue.first(.text(plugin), .text(key), .moment(now)) { row in row.bytes(0) }
    }

    package func keys(
        of plugin: String, prefix: String, limit: Int, at now: Moment
    ) throws(StoreError) -> [String] {
        var keys: [String] = []
        try pluginKeys.rows(
            .text(plugin), .text(prefix), .moment(now), .integer(Int64(limit))
        ) { row in
            keys.append(row.text(0))
            return true
        }
        return keys
    }

    package func generations() throws(StoreError) -> [GenerationMark] {
        try GenerationTable(connection: connection).marks()
    }

    package func generation(named name: String) throws(StoreError) -> StoredGeneration? {
        try GenerationTable(connection: connection).generation(named: name)
    }
}
