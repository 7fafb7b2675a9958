// Registrations, push jobs and webhooks in memory.

import CallModel
import StoreContract

/// What `OutboxTables` is on disk.
struct MemoryOutbox {
    private struct Target: Hashable {
        let job: JobID
        let address: Address
        let provider: String
    }

    private struct Token: Hashable {
        let provider: String
        let text: String
    }

    /// The webhooks to one receiver, or of one state, for the calls of one account.
    private struct Turn: Hashable {
        let state: WebhookProgress.State
        let endpoint: String?
        let caller: UserID
    }

    private var registrations: [UserID: [Registration]] = [:]
    /// The device that has each token.
    private var holders: [Token: Address] = [:]
    private var pushes: [JobID: PushJob] = [:]
    private var pushIDs: [JobID] = []
    private var outcomes: [CallID: [Target: PushOutcome]] = [:]
    private var webhooks: [JobID: StoredWebhook] = [:]
    private var webhookIDs: [WebhookProgress.State: [JobID]] = [:]
    /// The same by caller: a caller with many loses only its own.
    private var callersIDs: [Turn: [JobID]] = [:]
    /// The callers with open webhooks to a receiver.
    private var waiting: [String: Set<UserID>] = [:]
    /// Where the search for webhooks that are too old goes on.
    private var lookedAt: JobID?

    /// Keeps only the newest `most` registrations of a user (G79). A token belongs to the device
    /// that registered it last.
    mutating func put(
        _ address: Address, provider: String, _ registration: PushRegistration?, at now: Moment,
        most: Int
    ) {
        remove(address, provider)
        guard let registration = registration?.inOneForm else { return }
        let token = Token(provider: provider, text: registration.token)
        if let other = holders[token] { remove(other, provider) }
        let others = registrations(of: address.user).sorted {
            $0.at == $1.at ? $0.sortKey < $1.sortKey : $0.at > $1.at
        }
        for old in others.dropFirst(most - 1) { remove(old.address, old.registration.provider) }
        holders[token] = address
        var mine = registrations.removeValue(forKey: address.user) ?? []
        mine.append(Registration(address, registration, at: now))
        mine.sort { $0.sortKey < $1.sortKey }
        registrations[address.user] = mine
    }

    private mutating func remove(_ address: Address, _ provider: String) {
        guard var all = registrations[address.user],
            let place = all.firstIndex(where: {
                $0.address == address && $0.registration.provider == provider
            })
        else { return }
        holders[Token(provider: provider, text: all[place].registration.token)] = nil
        all.remove(at: place)
        registrations[address.user] = all.isEmpty ? nil : all
    }

    /// Removes a registration whose token is dead.
    mutating func remove(_ dead: Registration) {
        guard registrations(of: dead.address.user).contains(dead) else { return }
        remove(dead.address, dead.registration.provider)
    }

    /// Removes all registrations of a user.
    mutating func forget(_ user: UserID) {
        for one in registrations(of: user) { remove(one.address, one.registration.provider) }
    }

    /// The outcomes of a user's pushes in a call are the substitute's.
    mutating func forget(_ gone: Forgotten, in call: CallID) {
        for (target, outcome) in outcomes[call] ?? [:] where target.address.user == gone.user {
            outcomes[call]?[target] = nil
            let device = DeviceID("\(Forgotten.prefix)\(UInt64.random(in: .min ... .max))")
            apply(
                .outcome(
                    PushOutcome(
                        job: outcome.job, call: call, address: Address(gone.substitute, device),
                        provider: outcome.provider, kind: outcome.kind, at: outcome.at,
                        result: outcome.result)))
        }
    }

    func registrations(of user: UserID) -> [Registration] { registrations[user] ?? [] }

    mutating func apply(_ change: PushChange) {
        switch change {
        case .add(let id, let job):
            pushes[id] = job
            pushIDs.insertSorted(id)
        case .finish(let id):
            pushes[id] = nil
            pushIDs.removeSorted(id)
        case .outcome(let outcome):
            let target = Target(
                job: outcome.job, address: outcome.address, provider: outcome.provider)
            outcomes[outcome.callID, default: [:]][target] = outcome
        }
    }

    /// Keeps only the last `finishedMax` finished webhooks of each state.
    mutating func apply(_ change: WebhookChange, finishedMax: Int) {
        switch change {
        case .add(let job):
            put(StoredWebhook(job: job, progress: WebhookProgress(dueAt: job.at)))
        case .update(let id, let progress):
            guard var webhook = webhooks[id] else { return }
            webhook.progress = progress
            put(webhook)
            if progress.state != .open { trim(webhook.job, progress.state, finishedMax) }
        case .remove(let id): forget(webhook: id)
        }
    }

    /// Removes the oldest of too many finished webhooks: one of the same caller if that has more
    /// than an eighth of them, else the oldest of all.
    private mutating func trim(
        _ job: WebhookJob, _ state: WebhookProgress.State, _ most: Int
    ) {
        while let all = webhookIDs[state], all.count > most, let oldest = all.first {
            let own = callersIDs[Turn(state: state, endpoint: nil, caller: job.caller)] ?? []
            forget(webhook: own.count > most / 8 ? own.first ?? oldest : oldest)
        }
    }

    private mutating func put(_ webhook: StoredWebhook) {
        let (job, state) = (webhook.job, webhook.progress.state)
        forget(webhook: job.id)
        webhooks[job.id] = webhook
        webhookIDs[state, default: []].insertSorted(job.id)
        callersIDs[turn(of: webhook), default: []].insertSorted(job.id)
        if state == .open { waiting[job.endpoint, default: []].insert(job.caller) }
    }

    private mutating func forget(webhook id: JobID) {
        guard let old = webhooks.removeValue(forKey: id) else { return }
        webhookIDs[old.progress.state]?.removeSorted(id)
        let turn = turn(of: old)
        callersIDs[turn]?.removeSorted(id)
        guard callersIDs[turn]?.isEmpty == true else { return }
        callersIDs[turn] = nil
        if old.progress.state == .open { waiting[old.job.endpoint]?.remove(old.job.caller) }
    }

    private func turn(of webhook: StoredWebhook) -> Turn {
        let state = webhook.progress.state
        return Turn(
            state: state, endpoint: state == .open ? webhook.job.endpoint : nil,
            caller: webhook.job.caller)
    }

    func openPushes(after job: JobID?, limit: Int) -> [StoredPush] {
        pushIDs.sorted(after: job).prefix(limit)
            .compactMap { id in pushes[id].map { StoredPush(id: id, job: $0) } }
    }

    func outcomes(of call: CallID) -> [PushOutcome] {
        (outcomes[call] ?? [:]).values.sorted { $0.sortKey < $1.sortKey }
    }

    func webhooks(
        _ state: WebhookProgress.State, after job: JobID?, limit: Int
    ) -> [StoredWebhook] {
        (webhookIDs[state] ?? []).sorted(after: job).prefix(limit).compactMap { webhooks[$0] }
    }

    func webhookCallers(of endpoint: String, after caller: UserID?, limit: Int) -> [UserID] {
        let all = (waiting[endpoint] ?? []).filter { one in
            caller.map { $0.text < one.text } ?? true
        }
        return Array(all.sorted { $0.text < $1.text }.prefix(limit))
    }

    func openWebhooks(
        of endpoint: String, caller: UserID, after job: JobID?, limit: Int
    ) -> [StoredWebhook] {
        (callersIDs[Turn(state: .open, endpoint: endpoint, caller: caller)] ?? [])
            .sorted(after: job).prefix(limit).compactMap { webhooks[$0] }
    }

    /// Forgets what is part of the history of `call`.
    mutating func forget(_ call: CallID) {
        if !outcomes.isEmpty { outcomes[call] = nil }
    }

    /// Removes webhooks in `state` of `moment` or before, looking at the `step` oldest; how many.
    mutating func sweep(_ state: WebhookProgress.State, upTo moment: Moment, step: Int) -> Int {
        let old = (webhookIDs[state] ?? []).prefix(step)
            .filter { webhooks[$0].map { $0.job.at <= moment } ?? true }
        for id in old { forget(webhook: id) }
        return old.count
    }

    /// Gives up open webhooks that were due at `moment` or before, looking at the `step` next ones;
    /// whether there may be more.
    mutating func giveUp(dueUpTo moment: Moment, step: Int) -> Bool {
        let next = (webhookIDs[.open] ?? []).sorted(after: lookedAt).prefix(step)
        let youngest = next.last.flatMap { webhooks[$0]?.job.at }
        for id in next {
            guard var webhook = webhooks[id], webhook.progress.dueAt <= moment else { continue }
            webhook.progress.state = .failed
            webhook.progress.lastError = webhook.progress.lastError ?? WebhookProgress.neverTried
            put(webhook)
        }
        let hasMore = next.count == step && (youngest.map { $0 <= moment } ?? false)
        lookedAt = hasMore ? next.last : nil
        return hasMore
    }
}

extension [JobID] {
    fileprivate mutating func insertSorted(_ id: JobID) {
        let place = firstPlace { $0 >= id }
        if place == count || self[place] != id { insert(id, at: place) }
    }

    fileprivate mutating func removeSorted(_ id: JobID) {
        let place = firstPlace { $0 >= id }
        if place < count, self[place] == id { remove(at: place) }
    }

    fileprivate func sorted(after id: JobID?) -> ArraySlice<JobID> {
        guard let id else { return self[...] }
        return self[firstPlace { $0 > id }...]
    }
}

extension Registration {
    fileprivate var sortKey: (String, String) { (address.device.text, registration.provider) }
}

extension PushOutcome {
    fileprivate var sortKey: (JobID, String, String, String) {
        (job, address.user.text, address.device.text, provider)
    }
}
