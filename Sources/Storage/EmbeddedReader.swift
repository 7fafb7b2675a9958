// Answers of the stores of this process: what they read, step by step.

import CallModel
import StoreContract

/// The single reads of a store of this process; `find` makes answers of them.
package protocol EmbeddedReader: AnyObject {
    /// A call, live or ended.
    func call(_ id: CallID) throws(StoreError) -> Call?

    /// The stored version of a call.
    func version(of id: CallID) throws(StoreError) -> StoredVersion?

    /// Live calls from before the start, and the damage of those that could not be read.
    func liveCalls(
        _ query: LiveCallQuery
    ) throws(StoreError) -> (found: LiveCalls, damage: [StoreError])

    /// The reply kept under an idempotency key.
    func reply(of user: UserID, under key: String) throws(StoreError) -> KeptReply?

    /// A page of a user's calls, newest first.
    func page(
        of user: UserID, matching query: ListQuery, bytes: Int
    ) throws(StoreError) -> CallPage

    /// Ended calls of everybody, the one that ended last first.
    func history(_ query: HistoryQuery) throws(StoreError) -> CallPage

    /// Missed calls that the user has not seen.
    func missedCount(of user: UserID) throws(StoreError) -> Int

    /// Missed calls that the user has not seen, newest first, at most `limit`.
    func missedCalls(
        of user: UserID, limit: Int
    ) throws(StoreError) -> [(id: CallID, at: Moment)]

    /// A user's push registrations, by device and provider.
    func registrations(of user: UserID) throws(StoreError) -> [Registration]

    /// Open push jobs after `job`, in order, at most `limit`.
    func openPushes(after job: JobID?, limit: Int) throws(StoreError) -> [StoredPush]

    /// The outcomes of the pushes of a call, by job, user and device.
    func pushOutcomes(of call: CallID) throws(StoreError) -> [PushOutcome]

    /// Webhooks in `state` after `job`, in order, at most `limit`.
    func webhooks(
        _ state: WebhookProgress.State, after job: JobID?, limit: Int
    ) throws(StoreError) -> [StoredWebhook]

    /// The callers of open webhooks to `endpoint`, in order, after `caller`: `limit` at most,
    /// `Cause.noCaller` for webhooks of nobody.
    func webhookCallers(
        of endpoint: String, after caller: UserID?, limit: Int
    ) throws(StoreError) -> [UserID]

    /// Open webhooks to `endpoint` of one turn, in order, at most `limit`.
    func openWebhooks(
        of endpoint: String, _ turn: WebhookTurn, limit: Int
    ) throws(StoreError) -> [StoredWebhook]

    /// A plugin's value, unless it expired before `now`.
    func value(of plugin: String, key: String, at now: Moment) throws(StoreError) -> [UInt8]?

    /// A plugin's keys that begin with `prefix`, in byte order, at most `limit`.
    func keys(
        of plugin: String, prefix: String, limit: Int, at now: Moment
    ) throws(StoreError) -> [String]

    /// The kept generations, last activated first.
    func generations() throws(StoreError) -> [GenerationMark]

    /// A kept generation with its sources.
    func generation(named name: String) throws(StoreError) -> StoredGeneration?

    /// Kept names after `user`, by the users' ids, at most `limit`.
    func names(after user: UserID?, limit: Int) throws(StoreError) -> [StoredName]

    /// Those of `others` who were in one of the newest calls of `user`.
    func met(_ user: UserID, among others: [UserID]) throws(StoreError) -> [UserID]
}

extension EmbeddedReader {
    /// The answer to `query`.
    package func find(_ query: StoreQuery) throws(StoreError) -> StoreAnswer {
        switch query {
        case .call(let id): .call(try call(id))
        case .version(let id): .version(try version(of: id))
        case .liveCalls(let query): try live(query)
        case .reply(let user, let key): .reply(try reply(of: user, under: key))
        case .page(let user, let query, let bytes):
            .page(try page(of: user, matching: query, bytes: bytes))
        case .history(let query): .history(try history(query))
        case .missed(let user, let limit):
            .missed(try missed(by: user, limit), count: try missedCount(of: user))
        case .registrations(let user, nil): .registrations(try registrations(of: user), nil)
        case .registrations(let user, let id?):
            .registrations(try registrations(of: user), try call(id))
        case .openPushes(let last, let limit):
            .openPushes(try openPushes(after: last, limit: limit))
        case .pushOutcomes(let id): .pushOutcomes(try pushOutcomes(of: id))
        case .webhooks(let filter): .webhooks(try webhooks(filter))
        case .webhookCallers(let endpoint, let last, let limit):
            .webhookCallers(try webhookCallers(of: endpoint, after: last, limit: limit))
        case .openWebhooks(let endpoint, let turns, let limit):
            .openWebhooks(
                try turns.map { (turn) throws(StoreError) in
                    try openWebhooks(of: endpoint, turn, limit: limit)
                })
        case .values(let plugin, let keys, let now):
            .values(
                try keys.map { (key) throws(StoreError) in
                    try value(of: plugin, key: key, at: now)
                })
        case .keys(let plugin, let prefix, let limit, let now):
            .keys(try keys(of: plugin, prefix: prefix, limit: limit, at: now))
        case .generations: .generations(try generations())
        case .generation(let name?): .generation(try generation(named: name))
        case .generation(nil): .generation(try generationBefore())
        case .names(let last, let limit): .names(try names(after: last, limit: limit))
        case .met(let user, let others): .met(try met(user, among: others))
        }
    }

    private func live(_ query: LiveCallQuery) throws(StoreError) -> StoreAnswer {
        let (found, damage) = try liveCalls(query)
        return .liveCalls(found, damage: damage)
    }

    private func missed(by user: UserID, _ limit: Int) throws(StoreError) -> [MissedCall] {
        try missedCalls(of: user, limit: limit).map { (one) throws(StoreError) in
            MissedCall(callID: one.id, at: one.at, call: try call(one.id))
        }
    }

    private func webhooks(_ filter: WebhookFilter) throws(StoreError) -> [StoredWebhook] {
        var found: [StoredWebhook] = []
        var last = filter.id.map { JobID($0.value - 1) } ?? filter.after
        let step = filter.id == nil ? Self.webhookStep : 1
        while found.count < filter.limit {
            let some = try webhooks(filter.state, after: last, limit: step)
            found += some.lazy.filter { filter.admits($0.job) }.prefix(filter.limit - found.count)
            last = some.last?.job.id
            if some.count < step || filter.id != nil { break }
        }
        return found
    }

    /// Webhooks that are read at once.
    private static var webhookStep: Int { 500 }

    /// The last generation in force that is neither active nor was rolled back.
    private func generationBefore() throws(StoreError) -> StoredGeneration? {
        let before = try generations().first { !$0.isActive && $0.rolledBackAt == nil }
        guard let before else { return nil }
        return try generation(named: before.name)
    }
}

extension WebhookFilter {
    fileprivate func admits(_ job: WebhookJob) -> Bool {
        (endpoint == nil || job.endpoint == endpoint) && (call == nil || job.callID == call)
            && (id == nil || job.id == id)
    }
}
