// The store of `state_dir = ":memory:"`: the same things, kept by this process only.

import CallModel
import StoreContract

/// A store without a disk: commits cannot fail, and nothing survives the process. It reads and
/// writes on the same thread.
public final class MemoryStore: CallStore {
    public var limits: StoreLimits

    private var calls = MemoryCalls()
    private var keys = MemoryKeys()
    private var outbox = MemoryOutbox()
    private var plugins = MemoryPlugins()
    private var newestMoment: Moment?
    private var highestJob: JobID?

    /// An empty store.
    public init(limits: StoreLimits = StoreLimits()) {
        self.limits = limits
    }

    public func restore(at now: Moment) throws(StoreError) -> StoredState {
        var state = StoredState()
        state.core.lastCall = calls.lastLive
        state.core.keys = keys.marks(after: now + -limits.keyLifetime)
        state.timers = plugins.timers.values.sorted { $0.id < $1.id }
        state.newestMoment = newestMoment
        state.lastJob = highestJob
        return state
    }

    @discardableResult
    public func commit(
        _ batch: [StoreChange], at now: Moment
    ) throws(StoreError) -> CommitResult {
        var result = CommitResult()
        guard !batch.isEmpty else { return result }
        let superseded = Superseded(batch)
        for index in batch.indices where !superseded.contains(index) {
            apply(batch[index], at: now, &result)
        }
        newestMoment = max(newestMoment ?? now, now)
        return result
    }

    private func apply(_ record: StoreChange, at now: Moment, _ result: inout CommitResult) {
        if let job = record.jobID { highestJob = max(highestJob ?? job, job) }
        switch record {
        case .call(let call):
            for old in calls.put(call, endedMax: limits.endedCallsInMemory) { outbox.forget(old) }
        case .key(let entry): keys.put(entry, limits: limits)
        case .registration(let address, let provider, let registration):
            outbox.put(
                address, provider: provider, registration, at: now,
                most: limits.registrationsPerUser)
        case .deadRegistration(let dead): outbox.remove(dead)
        case .push(let change): outbox.apply(change)
        case .webhook(let change): outbox.apply(change, finishedMax: limits.endedCallsInMemory)
        case .timer(let change): plugins.apply(change)
        case .value(let change):
            if let counter = plugins.apply(change, at: now) { result.counters.append(counter) }
        case .generation(let change): plugins.apply(change, keep: limits.generationsMax)
        case .missed(let user, let call, let at): calls.miss(user, call, at: at)
        case .seen(let user, let moment): calls.see(user, upTo: moment)
        }
    }

    public func sweep(at now: Moment) throws(StoreError) -> Bool {
        let step = limits.sweepStep
        let old = calls.sweep(upTo: now + -limits.retention, step: step)
        for call in old { outbox.forget(call) }
        let keys = keys.sweep(upTo: now + -limits.keyLifetime, step: step)
        let values = plugins.sweep(at: now, step: step)
        let finished = now + -limits.webhookRetention
        let delivered = outbox.sweep(.delivered, upTo: finished, step: step)
        let failed = outbox.sweep(.failed, upTo: finished, step: step)
        let hasLate = outbox.giveUp(dueUpTo: now + -limits.webhookPatience, step: step)
        return hasLate || [old.count, keys, values, delivered, failed].contains(step)
    }

    public func makeReader() throws(StoreError) -> any CallReader { self }

    public func close() throws(StoreError) {}
}

extension MemoryStore: CallReader, EmbeddedReader {
    public func answer(_ query: StoreQuery) throws(StoreError) -> StoreAnswer { try find(query) }

    func call(_ id: CallID) throws(StoreError) -> Call? { calls[id] }

    func reply(of user: UserID, under key: String) throws(StoreError) -> KeptReply? {
        keys.reply(of: user, under: key)
    }

    func liveCalls(
        _ query: LiveCallQuery
    ) throws(StoreError) -> (found: LiveCalls, damage: [StoreError]) {
        (calls.live(query), [])
    }

    func page(
        of user: UserID, matching query: ListQuery, bytes: Int
    ) throws(StoreError) -> CallPage {
        let filter = CallFilter(user: user, query: query)
        var builder = PageBuilder(filter, bytes: bytes, scanMax: limits.pageScanMax)
        for id in calls.ids(of: user, filter.range) {
            guard builder.look(at: id, { calls[id] }) else { break }
        }
        return builder.page
    }

    func missedCount(of user: UserID) throws(StoreError) -> Int {
        calls.missedCount(of: user)
    }

    func missedCalls(
        of user: UserID, limit: Int
    ) throws(StoreError) -> [(id: CallID, at: Moment)] {
        calls.missedCalls(of: user, limit: limit)
    }

    func registrations(of user: UserID) throws(StoreError) -> [Registration] {
        outbox.registrations(of: user)
    }

    func openPushes(after job: JobID?, limit: Int) throws(StoreError) -> [StoredPush] {
        outbox.openPushes(after: job, limit: limit)
    }

    func pushOutcomes(of call: CallID) throws(StoreError) -> [PushOutcome] {
        outbox.outcomes(of: call)
    }

    func webhooks(
        _ state: WebhookProgress.State, after job: JobID?, limit: Int
    ) throws(StoreError) -> [StoredWebhook] {
        outbox.webhooks(state, after: job, limit: limit)
    }

    func webhookCallers(
        of endpoint: String, after caller: UserID?, limit: Int
    ) throws(StoreError) -> [UserID] {
        outbox.webhookCallers(of: endpoint, after: caller, limit: limit)
    }

    func openWebhooks(
        of endpoint: String, _ turn: WebhookTurn, limit: Int
    ) throws(StoreError) -> [StoredWebhook] {
        outbox.openWebhooks(of: endpoint, caller: turn.caller, after: turn.after, limit: limit)
    }

    func value(
        of plugin: String, key: String, at now: Moment
    ) throws(StoreError) -> [UInt8]? {
        plugins.value(of: plugin, key: key, at: now)
    }

    func keys(
        of plugin: String, prefix: String, limit: Int, at now: Moment
    ) throws(StoreError) -> [String] {
        plugins.keys(of: plugin, prefix: prefix, limit: limit, at: now)
    }

    func generations() throws(StoreError) -> [GenerationMark] { plugins.marks }

    func generation(named name: String) throws(StoreError) -> StoredGeneration? {
        plugins.generation(named: name)
    }
}
