// The store of `state_dir = ":memory:"`: the same things, kept by this process only.

import CallModel
import StoreContract

/// A store without a disk: commits cannot fail, and nothing survives the process. It reads and
/// writes on the same thread.
public final class MemoryStore: CallStore {
    /// The data, shared by all stores that were opened on it.
    private final class Kept {
        var calls = MemoryCalls()
        var keys = MemoryKeys()
        var outbox = MemoryOutbox()
        var plugins = MemoryPlugins()
        var names = MemoryNames()
        var newestMoment: Moment?
        var highestJob: JobID?
        var term = Term.alone
        /// The owner in each epoch.
        var owners: [UInt32: String] = [:]
        /// The epoch in which each call was stored last, if that is not the first.
        var epochs: [CallID: UInt32] = [:]

        func forget(_ call: CallID) {
            outbox.forget(call)
            if !epochs.isEmpty { epochs[call] = nil }
        }
    }

    /// How much is kept; a change applies from the next call on.
    public var limits: StoreLimits

    private let kept: Kept
    /// The term in which it was restored.
    private var term = Term.alone

    /// An empty store.
    public init(limits: StoreLimits = StoreLimits()) {
        self.limits = limits
        kept = Kept()
    }

    /// The data of `other`, for another owner.
    public init(sharing other: MemoryStore) {
        limits = other.limits
        kept = other.kept
    }

    /// What is kept in this process; `notOwner` as in a file.
    public func restore(at now: Moment, in term: Term) throws(StoreError) -> StoredState {
        guard term.mayFollow(kept.term) else { throw refusal(of: term, "opening") }
        (kept.term, self.term) = (term, term)
        kept.owners[term.epoch] = term.owner
        var state = StoredState()
        state.term = term
        state.core.lastCall = kept.calls.lastLive
        state.core.keys = kept.keys.marks(after: now + -limits.keyLifetime)
        state.timers = kept.plugins.timers.values.sorted { $0.id < $1.id }
        state.newestMoment = kept.newestMoment
        state.lastJob = [kept.highestJob, JobID.last(before: term.epoch)].compactMap { $0 }.max()
        return state
    }

    /// Keeps all of `batch`.
    @discardableResult
    public func commit(
        _ batch: [StoreChange], at now: Moment
    ) throws(StoreError) -> CommitResult {
        var result = CommitResult()
        guard !batch.isEmpty else { return result }
        guard term == kept.term else { throw refusal(of: term, "committing") }
        let superseded = Superseded(batch)
        for index in batch.indices where !superseded.contains(index) {
            apply(batch[index], at: now, &result)
        }
        kept.newestMoment = max(kept.newestMoment ?? now, now)
        return result
    }

    private func apply(_ record: StoreChange, at now: Moment, _ result: inout CommitResult) {
        if let job = record.jobID { kept.highestJob = max(kept.highestJob ?? job, job) }
        switch record {
        case .call(let call):
            let old = kept.calls.put(call, endedMax: limits.endedCallsInMemory)
            if term.epoch > 0 { kept.epochs[call.id] = term.epoch }
            for call in old { kept.forget(call) }
        case .key(let entry): kept.keys.put(entry, limits: limits)
        case .registration(let address, let provider, let registration):
            kept.outbox.put(
                address, provider: provider, registration, at: now,
                most: limits.registrationsPerUser)
        case .deadRegistration(let dead): kept.outbox.remove(dead)
        case .push(let change): kept.outbox.apply(change)
        case .webhook(let change): kept.outbox.apply(change, finishedMax: limits.endedCallsInMemory)
        case .timer(let change): kept.plugins.apply(change)
        case .value(let change):
            if let counter = kept.plugins.apply(change, at: now) { result.counters.append(counter) }
        case .generation(let change): kept.plugins.apply(change, keep: limits.generationsMax)
        case .missed(let user, let call, let at): kept.calls.miss(user, call, at: at)
        case .seen(let user, let moment): kept.calls.see(user, upTo: moment)
        case .name(let user, let name, let origin):
            kept.names.apply(user, name, from: origin)
        case .forgotten(let gone, let call):
            guard kept.calls.forget(gone, in: call) else { return }
            kept.outbox.forget(gone, in: call.id)
        case .forget(let user):
            kept.keys.forget(user)
            kept.outbox.forget(user)
            kept.names.apply(user, nil, from: .server)
            kept.calls.see(user, upTo: Moment(.max))
        }
    }

    /// Removes some of what is too old.
    public func sweep(at now: Moment) throws(StoreError) -> Bool {
        guard term == kept.term else { throw refusal(of: term, "committing") }
        let step = limits.sweepStep
        let old = kept.calls.sweep(upTo: now + -limits.retention, step: step)
        for call in old { kept.forget(call) }
        let keys = kept.keys.sweep(upTo: now + -limits.keyLifetime, step: step)
        let values = kept.plugins.sweep(at: now, step: step)
        let finished = now + -limits.webhookRetention
        let delivered = kept.outbox.sweep(.delivered, upTo: finished, step: step)
        let failed = kept.outbox.sweep(.failed, upTo: finished, step: step)
        let hasLate = kept.outbox.giveUp(dueUpTo: now + -limits.webhookPatience, step: step)
        return hasLate || [old.count, keys, values, delivered, failed].contains(step)
    }

    private func refusal(of term: Term, _ operation: String) -> StoreError {
        term.refusal(by: kept.term, at: ":memory:", operation)
    }

    /// Itself.
    public func makeReader() throws(StoreError) -> any CallReader { self }

    /// Nothing: it ends with the process.
    public func close() throws(StoreError) {}
}

extension MemoryStore: CallReader, EmbeddedReader {
    /// Looks `query` up at once.
    public func answer(_ query: StoreQuery) throws(StoreError) -> StoreAnswer { try find(query) }

    package func call(_ id: CallID) throws(StoreError) -> Call? { kept.calls[id] }

    package func version(of id: CallID) throws(StoreError) -> StoredVersion? {
        guard let call = kept.calls[id] else { return nil }
        let epoch = kept.epochs[id] ?? 0
        let term = Term(owner: kept.owners[epoch] ?? "", epoch: epoch)
        return StoredVersion(term: term, revision: call.revision)
    }

    package func reply(of user: UserID, under key: String) throws(StoreError) -> KeptReply? {
        kept.keys.reply(of: user, under: key)
    }

    package func liveCalls(
        _ query: LiveCallQuery
    ) throws(StoreError) -> (found: LiveCalls, damage: [StoreError]) {
        (kept.calls.live(query), [])
    }

    package func page(
        of user: UserID, matching query: ListQuery, bytes: Int
    ) throws(StoreError) -> CallPage {
        let filter = CallFilter(user: user, query: query)
        var builder = PageBuilder(filter, bytes: bytes, scanMax: limits.pageScanMax)
        for id in kept.calls.ids(of: user, filter.range) {
            guard builder.look(at: id, { kept.calls[id] }) else { break }
        }
        return builder.page
    }

    package func history(_ query: HistoryQuery) throws(StoreError) -> CallPage {
        var builder = HistoryPageBuilder(query, scanMax: limits.pageScanMax)
        kept.calls.visitEnded(before: query.before) { id in
            builder.look(at: id) { kept.calls[id] }
        }
        return builder.page
    }

    package func missedCount(of user: UserID) throws(StoreError) -> Int {
        kept.calls.missedCount(of: user)
    }

    package func missedCalls(
        of user: UserID, limit: Int
    ) throws(StoreError) -> [(id: CallID, at: Moment)] {
        kept.calls.missedCalls(of: user, limit: limit)
    }

    package func registrations(of user: UserID) throws(StoreError) -> [Registration] {
        kept.outbox.registrations(of: user)
    }

    package func openPushes(after job: JobID?, limit: Int) throws(StoreError) -> [StoredPush] {
        kept.outbox.openPushes(after: job, limit: limit)
    }

    package func pushOutcomes(of call: CallID) throws(StoreError) -> [PushOutcome] {
        kept.outbox.outcomes(of: call)
    }

    package func webhooks(
        _ state: WebhookProgress.State, after job: JobID?, limit: Int
    ) throws(StoreError) -> [StoredWebhook] {
        kept.outbox.webhooks(state, after: job, limit: limit)
    }

    package func webhookCallers(
        of endpoint: String, after caller: UserID?, limit: Int
    ) throws(StoreError) -> [UserID] {
        kept.outbox.webhookCallers(of: endpoint, after: caller, limit: limit)
    }

    package func openWebhooks(
        of endpoint: String, _ turn: WebhookTurn, limit: Int
    ) throws(StoreError) -> [StoredWebhook] {
        kept.outbox.openWebhooks(of: endpoint, caller: turn.caller, after: turn.after, limit: limit)
    }

    package func value(
        of plugin: String, key: String, at now: Moment
    ) throws(StoreError) -> [UInt8]? {
        kept.plugins.value(of: plugin, key: key, at: now)
    }

    package func keys(
        of plugin: String, prefix: String, limit: Int, at now: Moment
    ) throws(StoreError) -> [String] {
        kept.plugins.keys(of: plugin, prefix: prefix, limit: limit, at: now)
    }

    package func generations() throws(StoreError) -> [GenerationMark] { kept.plugins.marks }

    package func generation(named name: String) throws(StoreError) -> StoredGeneration? {
        kept.plugins.generation(named: name)
    }

    package func names(after user: UserID?, limit: Int) throws(StoreError) -> [StoredName] {
        kept.names.page(after: user, limit: limit)
    }

    package func met(_ user: UserID, among others: [UserID]) throws(StoreError) -> [UserID] {
        kept.calls.met(user, among: others, scanMax: limits.pageScanMax)
    }
}
