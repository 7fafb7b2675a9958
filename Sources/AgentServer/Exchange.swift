// The switchboard at work: inputs go in, effects are performed in order.

import AgentCore
import CallCore
import CallModel
import CallWire
import EventLoop
import StoreContract

/// Whoever carries replies and events to clients.
protocol Deliverer: AnyObject {
    func deliver(_ reply: Reply, to request: RequestID)
    func deliver(welcome calls: [Call], more: Bool, to request: RequestID)
    func deliver(_ event: CallEvent, to receivers: [Address])
    func deliver(_ page: CallPage, to request: RequestID, of user: UserID)
    /// Another device took the place of this one.
    func replace(_ address: Address)
    /// The switchboard forgot everything that is not stored: every request is `unavailable`.
    func dropEverything()
}

/// Whoever thinks for the policies.
protocol PolicyLink: AnyObject {
    func ask(_ question: Question)
    func withdraw(_ question: QuestionID)
    func tell(_ report: Report)
    /// Called once a turn: what was gathered goes to the policy thread.
    func flush()
    /// Whether questions went to the policy thread that it has not looked at yet.
    var isThinking: Bool { get }
    /// Events and questions that it has not been through.
    var backlog: Int { get }
    /// Of those, reports that this account brought about.
    func reportsWaiting(for account: UserID) -> Int
}

extension PolicyLink {
    func reportsWaiting(for account: UserID) -> Int { 0 }
}

/// What became of changes that others than the switchboard gave to the store.
enum Stored: Equatable {
    case durable
    /// Durable, and with it an increment.
    case counted(CommitResult.Counter)
    /// The store is away, or lost them.
    case lost
}

/// Who waits for the store.
private enum Waiting {
    case call(CallID)
    case key(UserID, String)
    case page(RequestID, UserID)
    case live(LiveCallQuery)
    case found((StoreAnswer) -> Void)
    case stored((Stored) -> Void)
}

/// Owns the switchboard, its clock and the queue of its effects. Owner: the loop's thread.
final class Exchange {
    typealias Effects = EffectQueue<StoreChange, StoreTicket>

    private(set) var switchboard: Switchboard
    /// Replaced only by rigs that let time pass themselves.
    var clock: CoreClock
    private(set) var isReady = true
    private let encoder: WireEncoder
    private var limits: ServerLimits
    private let log: Log
    private let seed: UInt64
    private var queue = Effects()
    /// What is being performed; kept for its memory.
    private var leaving: [Effects.Item] = []
    private var isDraining = false
    /// Until all live calls are loaded.
    private var loader: LiveCallLoader<Held>?
    /// Live calls of before the store failed, until it is known which of them are left.
    private var callsBefore: [CallID] = []
    /// The moment of this turn, once somebody has asked for it.
    private var turn: Moment?
    private var timer: Timer?
    /// Lets the loop turn when the policies take too long to wait for.
    private var patience: Timer?
    private var armedAt: Int64 = .max
    private var reopenTimer: Timer?
    /// Why the store is away.
    private(set) var storeTrouble: String?
    /// For changes of others whose owners go on as if they were stored: when the store is away, or
    /// loses them, they are stored when it is back.
    private(set) lazy var unconfirmed = UnconfirmedRecords(self)
    /// How often the store could not be opened again.
    private var reopenings = 0
    private var lastJob: Int64
    /// Set once, before the loop runs.
    var store: (any StoreLink)?
    /// Holds this exchange; set before the loop runs.
    unowned var deliverer: (any Deliverer)?
    var policies: (any PolicyLink)?
    /// Makes jobs of what the core tells; nil: nobody sends anything.
    var outbox: (any Outbox)?
    private var waiting: [StoreTicket: Waiting] = [:]
    private var lastTicket: UInt64 = 0
    /// Commits that took longer than `commitWithin`.
    private(set) var lateCommits: UInt64 = 0
    private var repeated = RepeatedLine()
    /// A call has ended.
    var callEnded: (CallID) -> Void = { _ in }
    /// Who counts in the batch that gathers, and in the one with the store.
    private var counting: [StoreTicket] = []
    private var submittedCounting: [StoreTicket] = []

    init(
        _ settings: Settings, restored: StoredState, seed: UInt64, limits: ServerLimits, log: Log,
        loop: EventLoop
    ) {
        clock = CoreClock(notBefore: restored.newestMoment)
        switchboard = Switchboard(settings: settings, seed: seed, at: clock.now())
        encoder = WireEncoder(modes: settings.modes)
        lastJob = restored.lastJob?.value ?? 0
        self.limits = limits
        self.log = log
        self.seed = seed
        timer = Timer(on: loop) { [unowned self] in
            armedAt = .max
            // The turn may have begun before the deadline.
            turn = nil
            feed(.deadlineReached)
        }
        reopenTimer = Timer(on: loop) { [unowned self] in store?.open(at: now(), as: newTicket()) }
        patience = Timer(on: loop) {}
        loop.atEndOfTurn { [unowned self] in endTurn() }
    }

    /// The present moment of the core's clock, the same during one turn of the loop.
    func now() -> Moment {
        if let turn { return turn }
        let now = clock.now()
        turn = now
        return now
    }

    /// Takes over what the store kept. Call once, when everything is connected.
    func restore(_ state: StoredState) {
        load(state)
    }

    /// Goes on with other settings and limits.
    func configure(_ settings: Settings, _ limits: ServerLimits) {
        let names = (settings.modes.map(\.name), switchboard.settings.modes.map(\.name))
        let readsAlike = limits.wire == self.limits.wire && names.0 == names.1
        if !readsAlike { refuseHeld() }
        self.limits = limits
        feed(.configured(settings, readsAlike: readsAlike))
    }

    /// Lets go on what waits for others: what comes behind it follows another operator's file.
    func settle() { feed(.configured(switchboard.settings)) }

    /// Whether `user` has made this very request under `key` before.
    func isRepetition(by user: UserID, _ key: IdempotencyKey) -> Bool {
        switchboard.isRepetition(by: user, key)
    }

    /// How many of the live calls `user` made.
    func liveCalls(madeBy user: UserID) -> Int { switchboard.liveCalls(madeBy: user) }

    /// How many signals of one sender, and bytes of them, may wait for somebody who is called and
    /// has not answered (G80).
    var signalsHeld: (count: Int, bytes: Int) {
        (switchboard.settings.heldSignalsMax, switchboard.settings.heldSignalBytesMax)
    }

    /// Something happened.
    func feed(_ input: Input) {
        guard isReady else { return }
        if loader != nil, holds(input) { return }
        sort(switchboard.handle(input, at: now()))
    }

    /// The devices of a user that are connected or may resume.
    func devices(of user: UserID) -> [Address] { switchboard.addresses(of: user) }

    /// Stores changes of others than the switchboard, such as a plugin's values; `done` hears once
    /// what became of them. An increment that is waited for comes alone.
    func store(_ changes: [StoreChange], then done: ((Stored) -> Void)? = nil) {
        guard isReady else {
            done?(.lost)
            return
        }
        for change in changes { queue.add(change) }
        guard let done else { return }
        let ticket = ticket(for: .stored(done))
        if changes.count == 1, case .value(.increment) = changes[0] {
            counting.append(ticket)
        } else {
            queue.add(.notice(ticket))
        }
    }

    /// Reads for others than the switchboard; `done` hears once what was found, `failed` when the
    /// store is away.
    func find(_ query: StoreQuery, _ done: @escaping (StoreAnswer) -> Void) {
        find(query, for: .found(done))
    }

    private func find(_ query: StoreQuery, for who: Waiting) {
        store?.find(query, as: ticket(for: who))
    }

    /// The ticket under which `who` is answered.
    private func ticket(for who: Waiting) -> StoreTicket {
        let ticket = newTicket()
        waiting[ticket] = who
        return ticket
    }

    private func newTicket() -> StoreTicket {
        lastTicket += 1
        return StoreTicket(lastTicket)
    }

    /// A job number never used before.
    func newJob() -> JobID {
        lastJob += 1
        return JobID(lastJob)
    }

    /// Why a change cannot be taken at this moment, or nil.
    var overload: Refusal? {
        guard isReady else { return .notReady }
        let isLate = commitAge > limits.commitWithin && store?.isCommitting == true
        guard isLate || queue.count * Self.effectBytes > limits.heldBytes else { return nil }
        return Refusal(
            .unavailable, "the store is behind: repeat with the same key", retryAfter: 1_000)
    }

    /// Why no call can begin or grow at this moment: the plugins have too much to hear already.
    /// Calls that are there go on, and what happens to them is told late, never left out.
    var policyOverload: Refusal? {
        guard let backlog = policies?.backlog, backlog >= limits.policyBacklog else { return nil }
        if let left = repeated.admit("plugins", at: now()) {
            log.warn("plugins are behind", ("events", "\(backlog)"), ("like_it", "\(left)"))
        }
        return Refusal(
            .unavailable, "the plugins are behind: repeat with the same key", retryAfter: 1_000)
    }

    /// Why `user` cannot bring about more that the plugins have to hear (G76): the calls that are
    /// there go on, and what happens to them is told late.
    func reportOverload(of user: UserID) -> Refusal? {
        guard let policies, policies.reportsWaiting(for: user) >= limits.reportsPerCause else {
            return nil
        }
        return Refusal(
            .rateLimited, "too many events of yours wait for the plugins", retryAfter: 1_000)
    }

    /// What one waiting effect takes, roughly: most hold a call.
    private static let effectBytes = 1_024

    /// Whether something waits for the store.
    var hasOpenCommits: Bool { queue.isOpen }

    /// For how long the oldest of it has waited for the store; 0 where nothing does.
    var commitAge: Milliseconds { queue.openSince.map { now() - $0 } ?? 0 }

    // MARK: Effects

    private func sort(_ effects: [Effect]) {
        // By place, because a loop over the elements would copy each.
        for place in effects.indices {
            switch effects[place] {
            case .persist(let records): keep(records)
            case .consult(let question): policies?.ask(question)
            case .withdraw(let question): policies?.withdraw(question)
            case .tell(let report):
                outbox?.note(report)
                if report.isForHooks { queue.add(.effect(effects[place])) }
            case .reply, .welcome, .send, .replace, .recall, .recallKey, .list:
                queue.add(.effect(effects[place]))
            }
        }
        if let entry = outbox?.takeEvents() { add(entry) }
        drain()
        arm()
    }

    private func keep(_ records: [Record]) {
        for place in records.indices {
            if case .push(let job) = records[place], let outbox {
                add(outbox.entry(for: job, of: records))
            } else {
                queue.add(storeRecord(records[place]))
            }
        }
        outbox?.kept(records)
        // Handlers of the policies end with their call.
        for index in records.indices {
            if let call = records[index].endedCall { callEnded(call) }
        }
    }

    /// Stores what belongs to the change at hand; the rest follows when that is durable.
    private func add(_ entry: OutboxEntry) {
        for record in entry.records { queue.add(record) }
        if let then = entry.then { queue.add(.notice(ticket(for: .stored(then)))) }
    }

    private func storeRecord(_ record: Record) -> StoreChange {
        switch record {
        case .call(let call): .call(call)
        case .key(let key):
            .key(
                KeyEntry(
                    user: key.user, key: key.key.text, at: key.at,
                    kept: KeptReply(
                        bodyHash: key.key.bodyHash, reply: encoder.kept(key.reply))))
        case .push(let job): .push(.add(newJob(), job))
        case .registration(let address, let provider, let registration):
            .registration(address, provider: provider, registration)
        }
    }

    /// Performs what nothing holds back. Performing may feed: that only adds to the queue.
    private func drain() {
        guard !isDraining else { return }
        isDraining = true
        let deliverer = deliverer
        var items: [Effects.Item] = []
        swap(&items, &leaving)
        while queue.takeReady(into: &items) {
            for place in items.indices {
                switch items[place] {
                case .effect(let effect): perform(effect, by: deliverer)
                case .notice(let ticket): stored(ticket, .durable)
                }
            }
            items.removeAll(keepingCapacity: true)
        }
        swap(&items, &leaving)
        isDraining = false
    }

    private func perform(_ effect: Effect, by deliverer: (any Deliverer)?) {
        switch effect {
        case .reply(let request, let reply): deliverer?.deliver(reply, to: request)
        case .welcome(let request, let calls, let more):
            deliverer?.deliver(welcome: calls, more: more, to: request)
        case .send(let receivers, let event): deliverer?.deliver(event, to: receivers)
        case .replace(let address): deliverer?.replace(address)
        case .tell(let report): policies?.tell(report)
        case .recall(let id): find(.call(id), for: .call(id))
        case .recallKey(let user, let key): find(.reply(user, key: key), for: .key(user, key))
        case .list(let request, let user, let query):
            find(
                .page(user, query, bytes: limits.wire.pageBytes), for: .page(request, user))
        case .persist, .consult, .withdraw:
            preconditionFailure("\(effect) does not wait in the queue")
        }
    }

    private func endTurn() {
        policies?.flush()
        // By now, not by the turn's beginning.
        turn = nil
        queue.turnEnded(at: now())
        if mayGrow { patience?.arm(after: Self.batchWaits) } else { submit() }
        policies?.flush()
        turn = nil
    }

    /// Whether the batch that gathers had better wait for the policies at work: what begins and
    /// ends within one batch is written once and leaves in one write.
    private var mayGrow: Bool {
        guard let since = queue.gatheringSince, policies?.isThinking == true else { return false }
        return now() - since < Self.batchWaits
    }

    /// How long a batch waits for the policies at most, in milliseconds.
    private static let batchWaits: Milliseconds = 2

    private func submit() {
        while let batch = queue.takeBatch(at: now()) {
            submittedCounting = counting
            counting = []
            store?.commit(batch, at: now(), as: newTicket())
            // A store in memory has answered already; one on disk answers later.
            if queue.isSubmitted { return }
        }
    }

    private func arm() {
        guard let next = switchboard.nextDeadline else { return }
        let moment = clock.bootMoment(of: next)
        guard moment < armedAt else { return }
        armedAt = moment
        timer?.arm(at: moment)
    }

    // MARK: The store

    /// Something came from the store.
    func receive(_ news: StoreNews) {
        switch news {
        case .answered(_, .committed(let result, let duration)): committed(result, in: duration)
        case .answered(_, .opened(let state)): storeIsBack(state)
        case .answered(let ticket, let answer):
            guard let who = waiting.removeValue(forKey: ticket) else { return }
            if case .failed(let error) = answer {
                log.warn("store look-up failed", ("error", "\(error)"))
            }
            found(answer, for: who)
        case .lost(let error): storeFailed(error)
        }
    }

    private func found(_ answer: StoreAnswer, for who: Waiting) {
        switch (who, answer) {
        case (.call(let id), .call(let call)): feed(.recalled(id, call))
        case (.call(let id), _): feed(.recallFailed(id))
        case (.key(let user, let key), .reply(let kept)):
            feed(.recalledKey(user, key: key, kept))
        case (.key(let user, let key), _): feed(.recallKeyFailed(user, key: key))
        case (.page(let request, let user), .page(let page)):
            deliverer?.deliver(page, to: request, of: user)
        case (.page(let request, _), _): deliverer?.deliver(.refused(.notReady), to: request)
        case (.live(let query), .liveCalls(let found, let damage)):
            loaded(found, damage, for: query)
        case (.live, .failed(let error)): storeFailed(error)
        case (.live, _): break
        case (.found(let done), _): done(answer)
        case (.stored(let done), _): done(.lost)
        }
    }

    /// Tells whoever waited for changes to be stored.
    private func stored(_ ticket: StoreTicket, _ result: Stored) {
        guard case .stored(let done)? = waiting.removeValue(forKey: ticket) else { return }
        done(result)
    }

    // MARK: Loading

    /// What waits until live calls are loaded.
    private enum Held {
        case input(Input)
        case action(() -> Void)
    }

    /// Takes over what the store kept: live calls follow, page by page.
    private func load(_ state: StoredState) {
        loader = state.core.lastCall.map { LiveCallLoader(upTo: $0, limit: limits.liveCallsPage) }
        sort(switchboard.restore(state.core, at: now()))
        loader == nil ? loadingEnded() : loadMore()
    }

    /// Whether `input` has to wait until live calls are loaded.
    private func holds(_ input: Input) -> Bool {
        guard let need = LiveCallLoader<Held>.Need(input) else { return false }
        guard loader?.admits(need, switchboard, else: .input(input)) == false else { return false }
        loadMore()
        return true
    }

    /// Whether there are live calls that are not loaded.
    var isLoading: Bool { loader != nil }

    /// Does `action` when all live calls of `user`, and the call `id`, are loaded, mostly at once.
    func whenLoaded(
        _ user: UserID?, and id: CallID? = nil, _ action: @escaping () -> Void
    ) {
        var need = LiveCallLoader<Held>.Need()
        (need.user, need.call) = (user, id)
        guard loader?.admits(need, switchboard, else: .action(action)) == false else {
            return action()
        }
        loadMore()
    }

    /// Requests that are held were read under what was in force before (G84): who made them asks
    /// again.
    private func refuseHeld() {
        let refused = loader?.removeHeld { held in
            if case .input(.request) = held { true } else { false }
        }
        for case .input(.request(let request)) in refused ?? [] {
            deliverer?.deliver(.refused(.settingsChanged), to: request.id)
        }
    }

    private func loadMore() {
        // One page after the other is stored, where anything of it is.
        for query in loader?.takeQueries(withPage: !queue.isOpen) ?? [] {
            find(.liveCalls(query), for: .live(query))
        }
    }

    private func loaded(_ found: LiveCalls, _ damage: [StoreError], for query: LiveCallQuery) {
        for error in damage { log.error("a live call cannot be read", ("error", "\(error)")) }
        guard let (calls, more) = loader?.take(found, to: query) else { return }
        if !calls.isEmpty || !more {
            sort(switchboard.handle(.loaded(calls, more: more), at: now()))
        }
        while let held = loader?.takeReady(switchboard) {
            switch held {
            case .input(let input): sort(switchboard.handle(input, at: now()))
            case .action(let action): action()
            }
        }
        if loader?.isOver == true {
            loader = nil
            loadingEnded()
        } else {
            loadMore()
        }
    }

    private func loadingEnded() {
        for id in callsBefore where switchboard.call(id)?.isLive != true { callEnded(id) }
        callsBefore = []
    }

    /// Everybody waited for this commit: who asks why is to find the disk.
    private func noteLateness(_ duration: Milliseconds) {
        guard duration > limits.commitWithin else { return }
        lateCommits += 1
        guard let left = repeated.admit("commit", at: now()) else { return }
        log.warn("store was late", ("ms", "\(duration)"), ("like_it", "\(left)"))
    }

    private func committed(_ result: CommitResult, in duration: Milliseconds) {
        guard isReady else { return }
        noteLateness(duration)
        queue.batchIsDurable()
        for (ticket, counter) in zip(submittedCounting, result.counters) {
            stored(ticket, .counted(counter))
        }
        submittedCounting = []
        drain()
        submit()
        loadMore()
    }

    /// Nothing behind the barrier leaves; everything begins again from what is stored.
    private func storeFailed(_ error: StoreError) {
        reopenings = isReady ? 0 : reopenings + 1
        storeTrouble = "\(error)"
        // Looking whether a file is back costs nothing.
        let isCheap = error.kind == .replaced
        let pause = limits.reopenPause(after: isCheap ? 0 : reopenings)
        reopenTimer?.arm(at: Clock.bootMilliseconds() + pause)
        guard isReady else {
            guard reopenings % 10 == 0 else { return }
            return log.warn(
                "store is still away", ("error", "\(error)"), ("tries", "\(reopenings)"))
        }
        log.error("store failed: nothing is acknowledged until it is back", ("error", "\(error)"))
        isReady = false
        for question in switchboard.unanswered { policies?.withdraw(question) }
        for ticket in queue.removeAll() + counting + submittedCounting {
            stored(ticket, .lost)
        }
        counting = []
        submittedCounting = []
        let held = loader?.removeHeld { _ in true } ?? []
        loader = nil
        // What the store says of them now is of before.
        waiting = waiting.filter { if case .live = $0.value { false } else { true } }
        deliverer?.dropEverything()
        // Requests that are held are dropped with all others.
        for case .action(let action) in held { action() }
    }

    private func storeIsBack(_ state: StoredState) {
        log.info("store is open again")
        lastJob = max(lastJob, state.lastJob?.value ?? 0)
        let now = now()
        callsBefore += switchboard.liveCalls.map(\.id)
        switchboard = switchboard.successor(
            seed: seed ^ UInt64(bitPattern: now.milliseconds), at: now)
        isReady = true
        storeTrouble = nil
        load(state)
        unconfirmed.keepAgain()
        outbox?.storeIsBack()
        // Those that had nothing to store again wait for nothing.
        drain()
    }
}

extension Refusal {
    /// The store is away.
    static let notReady = Refusal(
        .unavailable, "the store is away: repeat with the same key", retryAfter: 1_000)
}
