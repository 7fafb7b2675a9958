// Sends events to other systems: from the outbox, at least once and in order per call.

import AgentCore
import CallModel
import CallWire
import EventLoop
import JSON
import Outbound
import StoreContract

/// Feeds the outbound thread from the outbox of webhooks, and stores what comes of it. Owner: the
/// loop's thread.
///
/// The outbox has every event until it is delivered. A receiver that keeps up gets each event
/// straight from memory, as soon as it is stored. A slow receiver falls behind, first with the
/// events of accounts with many calls: events that do not fit into its window are read from the
/// store when there is room again.
final class WebhookDelivery {
    /// The owner of the values in the store that tell which receivers are disabled.
    static let owner = "@webhooks"

    private let exchange: Exchange
    private let thread: OutboundThread
    private let log: Log
    private let unconfirmed: UnconfirmedChanges
    private var plan = OutboundPlan()
    private var windows: [String: WebhookWindow] = [:]
    private var gatherer: WebhookGatherer
    private var isStarted = false
    private var repeated = RepeatedLine()
    private var lastReading = 0
    private(set) var counters = Counters()

    /// Counts of outcomes so far.
    struct Counters {
        var delivered: UInt64 = 0
        var attemptsFailed: UInt64 = 0
        var givenUp: UInt64 = 0
    }

    init(_ exchange: Exchange, _ thread: OutboundThread, encoder: WireEncoder, log: Log) {
        self.exchange = exchange
        self.thread = thread
        self.log = log
        unconfirmed = UnconfirmedChanges(exchange)
        gatherer = WebhookGatherer(encoder)
    }

    /// How long the oldest event on its way has waited for its receiver.
    var lag: Milliseconds {
        let oldest = windows.values.compactMap(\.oldest).min()
        return oldest.map { max(0, exchange.now() - $0) } ?? 0
    }

    /// Events with the outbound thread.
    var count: Int { windows.values.reduce(0) { $0 + $1.count } }

    /// Receivers that get no events any more.
    var disabledCount: Int { windows.values.filter(\.isDisabled).count }

    /// Goes on with other receivers.
    func configure(_ plan: OutboundPlan) {
        self.plan = plan
        var windows: [String: WebhookWindow] = [:]
        for endpoint in plan.webhooks {
            let old = self.windows[endpoint.name]
            var window = old ?? WebhookWindow(endpoint, isSearching: true)
            window.endpoint = endpoint
            windows[endpoint.name] = window
        }
        self.windows = windows
        if isStarted { start() }
    }

    /// Goes on with the events that the store kept.
    func start() {
        isStarted = true
        let (names, now) = (Array(windows.keys), exchange.now())
        guard !names.isEmpty else { return }
        exchange.find(.values(plugin: Self.owner, keys: names, at: now)) { [weak self] in
            guard let self, case .values(let found) = $0 else { return }
            for (name, value) in zip(names, found) where value != nil {
                windows[name]?.isDisabled = true
            }
            for name in names { catchUp(name) }
        }
    }

    /// The store is back. First it gets what it missed, and what it stored although the commit
    /// seemed to fail. Nothing is read before the store knows what was sent.
    func storeIsBack() {
        lastReading += 1
        let reading = lastReading
        for name in windows.keys {
            windows[name]?.searchAnew()
            windows[name]?.beginReading(reading)
        }
        unconfirmed.keepAgain { [weak self] in
            guard let self else { return }
            for name in windows.keys { _ = windows[name]?.endReading(reading) }
            start()
        }
    }

    // MARK: Events

    /// A report that receivers may want.
    func note(_ report: Report, _ trace: TraceParent?) {
        guard !windows.isEmpty else { return }
        gatherer.note(report, trace)
    }

    /// The events of what was noted, to be stored with the change; nil: none.
    func takeEvents() -> OutboxEntry? {
        guard !windows.isEmpty else { return nil }
        var jobs: [StoreContract.WebhookJob] = []
        for event in gatherer.takeEvents() {
            let receivers = plan.webhooks.filter {
                plan.isWanted(event.type.rawValue, by: $0.name)
                    && windows[$0.name]?.isDisabled == false
            }
            guard !receivers.isEmpty else { continue }
            let body = gatherer.body(of: event)
            for receiver in receivers {
                var job = StoreContract.WebhookJob(
                    exchange.newJob(), endpoint: receiver.name, call: event.call.id,
                    type: event.type.rawValue, at: event.event.at, body: body)
                (job.cause, job.trace) = (event.cause, event.trace)
                jobs.append(job)
            }
        }
        guard !jobs.isEmpty else { return nil }
        return OutboxEntry(changes: jobs.map { .webhook(.add($0)) }) { [weak self] in
            guard $0 == .durable else { return }
            for job in jobs { self?.jobIsDurable(job) }
        }
    }

    private func jobIsDurable(_ job: StoreContract.WebhookJob) {
        guard windows[job.endpoint]?.isDisabled == false else { return }
        if windows[job.endpoint]?.take(job) == true {
            send(StoredWebhook(job: job, progress: WebhookProgress(dueAt: job.at)))
        } else {
            catchUp(job.endpoint)
        }
    }

    private func send(_ stored: StoredWebhook) {
        let job = stored.job
        var sent = WebhookPost(
            id: Self.name(of: job), endpoint: job.endpoint, order: "\(job.callID)",
            body: job.body, attempts: stored.progress.attempts,
            notBefore: stored.progress.dueAt.milliseconds + exchange.wallGap)
        sent.cause = SendingCause(job.cause)
        sent.trace = job.trace?.description
        thread.add(.deliver(sent))
    }

    /// The message's `webhook-id`, which is unique also over several stores.
    static func name(of job: StoreContract.WebhookJob) -> String {
        "evt_\(job.callID)_\(job.id)"
    }

    // MARK: Behind

    /// Reads more events if there is room: of the accounts that are known to be behind, in turn,
    /// then it looks for others.
    private func catchUp(_ name: String) {
        guard windows[name]?.isReading == false, windows[name]?.isDisabled == false
        else { return }
        let turns = windows[name]?.turns() ?? []
        if !turns.isEmpty { return read(turns, for: name) }
        guard windows[name]?.mayFind == true else { return }
        let reading = beginReading(for: name)
        let (last, step) = (windows[name]?.beginSearch(), WebhookWindow.Limits().searchStep)
        let query = StoreQuery.webhookCallers(endpoint: name, after: last, limit: step)
        exchange.find(query) { [weak self] in
            guard self?.windows[name]?.endReading(reading) == true,
                case .webhookCallers(let found) = $0
            else { return }
            self?.windows[name]?.found(found)
            self?.catchUp(name)
        }
    }

    private func beginReading(for name: String) -> Int {
        lastReading += 1
        windows[name]?.beginReading(lastReading)
        return lastReading
    }

    private func read(_ turns: [WebhookTurn], for name: String) {
        let reading = beginReading(for: name)
        let step = WebhookWindow.Limits().eventsAtOnce
        let query = StoreQuery.openWebhooks(endpoint: name, of: turns, limit: step)
        exchange.find(query) { [weak self] in
            guard let self, windows[name]?.endReading(reading) == true,
                case .openWebhooks(let found) = $0, windows[name]?.isDisabled == false
            else { return }
            for (turn, events) in zip(turns, found) {
                self.found(events, of: turn.caller, isFull: events.count == step, for: name)
            }
            catchUp(name)
        }
    }

    private func found(
        _ events: [StoredWebhook], of caller: UserID, isFull: Bool, for name: String
    ) {
        var isAll = !isFull
        for stored in events {
            guard
                windows[name]?.has(stored.job.id) == true
                    || windows[name]?.hasRoom(for: stored.job) == true
            else {
                isAll = false
                break
            }
            if windows[name]?.takeStored(stored.job) == true { send(stored) }
        }
        windows[name]?.noteRead(caller, isAll: isAll)
    }

    // MARK: Outcomes

    /// An event was delivered, postponed or given up.
    func moved(_ outcome: WebhookOutcome) {
        guard let id = WebhookChoice.job(of: outcome.id), windows[outcome.endpoint]?.has(id) == true
        else { return }
        enter(outcome, id)
        switch outcome.result {
        case .delivered:
            counters.delivered += 1
            windows[outcome.endpoint]?.trouble = nil
            close(
                id, outcome,
                WebhookProgress(.delivered, attempts: outcome.attempts, dueAt: exchange.now()))
        case .gaveUp(let reason):
            windows[outcome.endpoint]?.trouble = reason
            counters.givenUp += 1
            if let left = repeated.admit("never " + outcome.endpoint, at: exchange.now()) {
                log.warn(
                    "webhook given up", ("endpoint", outcome.endpoint), ("event", outcome.id),
                    ("reason", reason), ("left_out", "\(left)"))
            }
            let progress = WebhookProgress(
                .failed, attempts: outcome.attempts, dueAt: exchange.now(), lastError: reason)
            close(id, outcome, progress)
        case .postponed(let attempts, let until, let reason):
            windows[outcome.endpoint]?.trouble = reason
            counters.attemptsFailed += 1
            if let left = repeated.admit("later " + outcome.endpoint, at: exchange.now()) {
                log.info(
                    "webhook postponed", ("endpoint", outcome.endpoint), ("event", outcome.id),
                    ("attempts", "\(attempts)"), ("reason", reason), ("left_out", "\(left)"))
            }
            unconfirmed.keep([
                .webhook(
                    .update(
                        id,
                        WebhookProgress(
                            attempts: attempts, dueAt: Moment(until - exchange.wallGap),
                            lastError: reason)))
            ])
        case .endpointGone: disable(outcome.endpoint)
        case .noRoom: forget(id, of: outcome.endpoint)
        }
    }

    /// Enters what became of an event into the journal of its call.
    private func enter(_ outcome: WebhookOutcome, _ id: JobID) {
        guard let journal = exchange.journal,
            let origin = windows[outcome.endpoint]?.origin(of: id)
        else { return }
        var delivery: JournalDelivery
        switch outcome.result {
        case .delivered: delivery = JournalDelivery(outcome.endpoint, "delivered")
        case .gaveUp(let reason):
            delivery = JournalDelivery(outcome.endpoint, "failed", status: reason)
        case .postponed(_, _, let reason):
            delivery = JournalDelivery(outcome.endpoint, "open", status: reason)
        case .endpointGone: delivery = JournalDelivery(outcome.endpoint, "failed", status: "410")
        case .noRoom: return
        }
        delivery.event = origin.type
        delivery.took = exchange.now() - origin.at
        delivery.trace = origin.trace
        journal.sent(delivery, in: origin.call, at: exchange.now())
    }

    private func close(_ id: JobID, _ outcome: WebhookOutcome, _ progress: WebhookProgress) {
        unconfirmed.keep([.webhook(.update(id, progress))])
        windows[outcome.endpoint]?.remove(id)
        catchUp(outcome.endpoint)
    }

    /// The outbound thread did not take it: it is read from the store again later.
    private func forget(_ id: JobID, of name: String) {
        guard let caller = windows[name]?.caller(of: id) else { return }
        windows[name]?.remove(id)
        windows[name]?.rewind(before: (id, caller))
    }

    /// The receiver answered 410: it wants no more events.
    private func disable(_ name: String) {
        log.error(
            "webhook endpoint disabled: it answered 410", ("endpoint", name),
            ("enable", "callagent webhooks enable \(name)"))
        windows[name]?.disable()
        let since = JSONValue.object(["disabled_at": .integer(exchange.now().milliseconds)])
        unconfirmed.keep([
            .value(.set(plugin: Self.owner, key: name, value: since.bytes, expiresAt: nil))
        ])
    }

    // MARK: Operators

    /// Lets a disabled receiver have events again, those first that are still to be sent; `done`
    /// follows when that is durable, with false if there is no such receiver.
    func enable(_ name: String, _ done: @escaping (Bool) -> Void) {
        guard let window = windows[name] else { return done(false) }
        unconfirmed.keep([.value(.remove(plugin: Self.owner, key: name))]) { done(true) }
        guard window.isDisabled else { return }
        windows[name] = window.enabled()
        thread.add(.use(plan.push, plan.webhooks))
        catchUp(name)
    }

    /// Sends events again; `done` gets their number, or nil when the store is away.
    func replay(_ choice: WebhookChoice, _ done: @escaping (Int?) -> Void) {
        exchange.find(.webhooks(choice.filter)) { [weak self] in
            guard let self, case .webhooks(let found) = $0 else { return done(nil) }
            let jobs = found.filter { self.windows[$0.job.endpoint] != nil }
            guard !jobs.isEmpty else { return done(0) }
            let progress = WebhookProgress(dueAt: exchange.now())
            let records = jobs.map { StoreChange.webhook(.update($0.job.id, progress)) }
            unconfirmed.keep(records) { [weak self] in
                self?.reopened(jobs.map(\.job))
                done(jobs.count)
            }
        }
    }

    private func reopened(_ jobs: [StoreContract.WebhookJob]) {
        for job in jobs { windows[job.endpoint]?.rewind(before: (job.id, job.caller)) }
        for name in Set(jobs.map(\.endpoint)) { catchUp(name) }
    }

    /// The state of every receiver, for tools.
    var status: JSONValue {
        .array(
            plan.webhooks.map { endpoint in
                let window = windows[endpoint.name]
                return [
                    "name": .string(endpoint.name), "url": .string(endpoint.url.origin),
                    "enabled": .bool(window?.isDisabled == false),
                    "under_way": .integer(Int64(window?.count ?? 0)),
                    "behind": .bool(window?.isLate == true),
                    "trouble": window?.trouble.map { .string($0) } ?? .null,
                ]
            })
    }
}

/// Which events an operator means.
struct WebhookChoice: Sendable {
    /// At most 1,000 unless the operator says otherwise, given up ones if it is not said which.
    var filter = WebhookFilter(.failed, limit: 1_000)
    /// Whether the operator asks for events, and not for receivers.
    var isOfEvents = true

    /// The job of the event `name`.
    static func job(of name: String) -> JobID? {
        name.split(separator: "_").last.flatMap { Int64($0) }.flatMap { $0 > 0 ? JobID($0) : nil }
    }
}
