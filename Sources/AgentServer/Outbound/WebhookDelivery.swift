// Tells other systems what happens: events from the outbox, at least once and in order per call.

import CallModel
import CallWire
import EventLoop
import JSON
import Outbound
import Storage

/// Feeds the outbound thread from the outbox of webhooks, and stores what comes of it. Owner: the
/// loop's thread.
///
/// The outbox is the truth. A receiver that keeps up gets each event straight from memory, as soon
/// as it is durable. One that does not falls behind: its window is full, and what does not fit is
/// read from the store when there is room again.
final class WebhookDelivery {
    /// What is on its way to one receiver.
    private struct Window {
        var endpoint: WebhookEndpoint
        /// Events with the outbound thread and their sizes.
        var open: [JobID: Int] = [:]
        var bytes = 0
        /// The newest event that was given to the thread, or looked at in the store.
        var cursor: JobID?
        /// There are events in the store beyond the cursor.
        var isBehind = false
        var isReading = false
        /// An event was stored while the store was being read.
        var isOvertaken = false
        /// The receiver answered 410, or an operator disabled it.
        var isDisabled = false
        /// Why the last attempt was in vain; nil: it was not.
        var trouble: String?

        var hasRoom: Bool {
            open.count < WebhookDelivery.window && bytes < WebhookDelivery.windowBytes
        }

        /// Takes an event in; false if it is there already.
        mutating func add(_ job: Storage.WebhookJob) -> Bool {
            guard open[job.id] == nil else { return false }
            open[job.id] = job.body.count
            bytes += job.body.count
            lookedAt(job.id)
            return true
        }

        mutating func remove(_ id: JobID) { bytes -= open.removeValue(forKey: id) ?? 0 }

        mutating func lookedAt(_ id: JobID) { cursor = cursor.map { max($0, id) } ?? id }

        /// The event is to be looked at again.
        mutating func rewind(before id: JobID) {
            if let cursor, cursor >= id { self.cursor = JobID(id.value - 1) }
        }
    }

    /// Events of one receiver that are in memory.
    private static let window = 500
    private static let windowBytes = 4 << 20
    /// Events that are read from the store at once.
    private static let step = 200
    /// Whose values in the store tell which receivers are disabled.
    static let owner = "@webhooks"

    private let exchange: Exchange
    private let thread: OutboundThread
    private let log: Log
    private let unconfirmed: UnconfirmedRecords
    private var plan = OutboundPlan()
    private var windows: [String: Window] = [:]
    private var gatherer: WebhookGatherer
    private var isStarted = false
    private var repeated = RepeatedLine()
    private(set) var counters = Counters()

    /// What came of events so far.
    struct Counters {
        var delivered: UInt64 = 0
        var attemptsFailed: UInt64 = 0
        var givenUp: UInt64 = 0
    }

    init(_ exchange: Exchange, _ thread: OutboundThread, encoder: WireEncoder, log: Log) {
        self.exchange = exchange
        self.thread = thread
        self.log = log
        unconfirmed = UnconfirmedRecords(exchange)
        gatherer = WebhookGatherer(encoder)
    }

    /// Events with the outbound thread.
    var count: Int { windows.values.reduce(0) { $0 + $1.open.count } }

    /// Receivers that get nothing any more.
    var disabledCount: Int { windows.values.filter(\.isDisabled).count }

    /// Goes on with other receivers.
    func configure(_ plan: OutboundPlan) {
        self.plan = plan
        var windows: [String: Window] = [:]
        for endpoint in plan.webhooks {
            let old = self.windows[endpoint.name]
            var window = old ?? Window(endpoint: endpoint, isBehind: true)
            window.endpoint = endpoint
            windows[endpoint.name] = window
        }
        self.windows = windows
        if isStarted { start() }
    }

    /// Takes up what the store keeps.
    func start() {
        isStarted = true
        let (names, now) = (Array(windows.keys), exchange.now())
        guard !names.isEmpty else { return }
        exchange.read { reader throws(StoreError) in
            var disabled: [String] = []
            for name in names
            where try reader.value(of: Self.owner, key: name, at: now) != nil {
                disabled.append(name)
            }
            return disabled
        } _: { [weak self] disabled in
            guard let self, let disabled else { return }
            for name in disabled { windows[name]?.isDisabled = true }
            for name in names { catchUp(name) }
        }
    }

    /// The store was away: what it missed comes first.
    func storeIsBack() {
        unconfirmed.keepAgain { [weak self] in self?.start() }
    }

    // MARK: Events

    /// Somebody may want to hear of this.
    func note(_ report: Report) {
        guard !windows.isEmpty else { return }
        gatherer.note(report)
    }

    /// The events of what was noted, to be stored with the change; nil: none.
    func takeEvents() -> OutboxEntry? {
        guard !windows.isEmpty else { return nil }
        var jobs: [Storage.WebhookJob] = []
        for event in gatherer.takeEvents() {
            let receivers = plan.webhooks.filter {
                plan.isWanted(event.type.rawValue, by: $0.name)
                    && windows[$0.name]?.isDisabled == false
            }
            guard !receivers.isEmpty else { continue }
            let body = gatherer.body(of: event)
            for receiver in receivers {
                jobs.append(
                    Storage.WebhookJob(
                        exchange.newJob(), endpoint: receiver.name, call: event.call.id,
                        type: event.type.rawValue, at: event.event.at, body: body))
            }
        }
        guard !jobs.isEmpty else { return nil }
        return OutboxEntry(records: jobs.map { .webhook(.add($0)) }) { [weak self] in
            for job in jobs { self?.isDurable(job) }
        }
    }

    private func isDurable(_ job: Storage.WebhookJob) {
        guard let window = windows[job.endpoint], !window.isDisabled else { return }
        guard !window.isBehind, window.hasRoom else {
            windows[job.endpoint]?.isBehind = true
            windows[job.endpoint]?.isOvertaken = true
            return
        }
        feed(StoredWebhook(job: job, progress: WebhookProgress(dueAt: job.at)))
    }

    private func feed(_ stored: StoredWebhook) {
        let job = stored.job
        guard windows[job.endpoint]?.add(job) == true else { return }
        thread.add(
            .deliver(
                Outbound.WebhookJob(
                    id: Self.name(of: job), endpoint: job.endpoint, order: "\(job.callID)",
                    body: job.body, attempts: stored.progress.attempts,
                    notBefore: stored.progress.dueAt.milliseconds + exchange.clock.gap)))
    }

    /// The message's `webhook-id`: also another store never gives the same one.
    static func name(of job: Storage.WebhookJob) -> String {
        "evt_\(job.callID)_\(job.id)"
    }

    // MARK: Behind

    /// Reads on if there is room.
    private func catchUp(_ name: String) {
        guard let window = windows[name], window.isBehind, !window.isReading,
            !window.isDisabled, window.open.count < Self.window / 2
        else { return }
        windows[name]?.isReading = true
        windows[name]?.isOvertaken = false
        let cursor = window.cursor
        exchange.read { reader throws(StoreError) in
            try reader.webhooks(.open, after: cursor, limit: Self.step)
        } _: { [weak self] found in
            self?.found(found, for: name)
        }
    }

    private func found(_ found: [StoredWebhook]?, for name: String) {
        windows[name]?.isReading = false
        guard let found, windows[name]?.isDisabled == false else { return }
        for stored in found {
            if stored.job.endpoint == name { feed(stored) }
            windows[name]?.lookedAt(stored.job.id)
            if windows[name]?.hasRoom == false { return }
        }
        let isAtEnd = found.count < Self.step && windows[name]?.isOvertaken == false
        if isAtEnd { windows[name]?.isBehind = false } else { catchUp(name) }
    }

    // MARK: Outcomes

    /// An event has moved on.
    func moved(_ outcome: WebhookOutcome) {
        guard let id = WebhookChoice.job(of: outcome.id), windows[outcome.endpoint]?.open[id] != nil
        else { return }
        switch outcome.result {
        case .delivered:
            counters.delivered += 1
            windows[outcome.endpoint]?.trouble = nil
            close(id, outcome, WebhookProgress(.delivered, dueAt: exchange.now()))
        case .gaveUp(let reason):
            windows[outcome.endpoint]?.trouble = reason
            counters.givenUp += 1
            if let left = repeated.admit("never " + outcome.endpoint, at: exchange.now()) {
                log.warn(
                    "webhook given up", ("endpoint", outcome.endpoint), ("event", outcome.id),
                    ("reason", reason), ("like_it", "\(left)"))
            }
            let progress = WebhookProgress(
                .failed, dueAt: exchange.now(), lastError: reason)
            close(id, outcome, progress)
        case .postponed(let attempts, let until, let reason):
            windows[outcome.endpoint]?.trouble = reason
            counters.attemptsFailed += 1
            if let left = repeated.admit("later " + outcome.endpoint, at: exchange.now()) {
                log.info(
                    "webhook postponed", ("endpoint", outcome.endpoint), ("event", outcome.id),
                    ("attempts", "\(attempts)"), ("reason", reason), ("like_it", "\(left)"))
            }
            unconfirmed.keep([
                .webhook(
                    .update(
                        id,
                        WebhookProgress(
                            attempts: attempts, dueAt: Moment(until - exchange.clock.gap),
                            lastError: reason)))
            ])
        case .endpointGone: disable(outcome.endpoint)
        case .noRoom: forget(id, of: outcome.endpoint)
        }
    }

    private func close(_ id: JobID, _ outcome: WebhookOutcome, _ progress: WebhookProgress) {
        unconfirmed.keep([.webhook(.update(id, progress))])
        windows[outcome.endpoint]?.remove(id)
        catchUp(outcome.endpoint)
    }

    /// The outbound thread did not take it: it is found in the store again, later.
    private func forget(_ id: JobID, of name: String) {
        windows[name]?.remove(id)
        windows[name]?.isBehind = true
        windows[name]?.rewind(before: id)
    }

    /// The receiver said that it wants nothing any more (410).
    private func disable(_ name: String) {
        log.error(
            "webhook endpoint disabled: it answered 410", ("endpoint", name),
            ("enable", "callagent webhooks enable \(name)"))
        windows[name]?.isDisabled = true
        windows[name]?.open = [:]
        windows[name]?.bytes = 0
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
        windows[name] = Window(endpoint: window.endpoint)
        windows[name]?.isBehind = true
        thread.add(.use(plan.push, plan.webhooks))
        catchUp(name)
    }

    /// Sends events again; `done` gets their number, or nil when the store is away.
    func replay(_ choice: WebhookChoice, _ done: @escaping (Int?) -> Void) {
        exchange.read { reader throws(StoreError) in
            try choice.find(in: reader)
        } _: { [weak self] found in
            guard let self, let found else { return done(nil) }
            let jobs = found.filter { self.windows[$0.job.endpoint] != nil }
            guard !jobs.isEmpty else { return done(0) }
            let progress = WebhookProgress(dueAt: exchange.now())
            let records = jobs.map { StoreRecord.webhook(.update($0.job.id, progress)) }
            unconfirmed.keep(records) { [weak self] in
                self?.reopened(jobs.map(\.job))
                done(jobs.count)
            }
        }
    }

    private func reopened(_ jobs: [Storage.WebhookJob]) {
        for job in jobs {
            windows[job.endpoint]?.isBehind = true
            windows[job.endpoint]?.isOvertaken = true
            windows[job.endpoint]?.rewind(before: job.id)
        }
        for name in Set(jobs.map(\.endpoint)) { catchUp(name) }
    }

    /// Every receiver with how it is doing, for tools.
    var status: JSONValue {
        .array(
            plan.webhooks.map { endpoint in
                let window = windows[endpoint.name]
                return [
                    "name": .string(endpoint.name), "url": .string(endpoint.url.origin),
                    "enabled": .bool(window?.isDisabled == false),
                    "under_way": .integer(Int64(window?.open.count ?? 0)),
                    "behind": .bool(window?.isBehind == true),
                    "trouble": window?.trouble.map { .string($0) } ?? .null,
                ]
            })
    }
}

/// Which events an operator means.
struct WebhookChoice: Sendable {
    /// Of this receiver; nil: of all.
    var endpoint: String?
    /// Of this call; nil: of all.
    var call: CallID?
    /// This one; nil: all.
    var id: JobID?
    /// Events that stand here.
    var state = WebhookProgress.State.failed
    /// At most so many, the oldest first.
    var limit = 1_000
    /// Whether events are meant at all, and not their receivers.
    var isOfEvents = true

    /// The job of the event `name`.
    static func job(of name: String) -> JobID? {
        name.split(separator: "_").last.flatMap { Int64($0) }.flatMap { $0 > 0 ? JobID($0) : nil }
    }

    func find(in reader: any CallReader) throws(StoreError) -> [StoredWebhook] {
        var found: [StoredWebhook] = []
        var last: JobID? = id.map { JobID($0.value - 1) }
        while found.count < limit {
            let step = try reader.webhooks(state, after: last, limit: 500)
            found += step.filter { fits($0.job) }
            last = step.last?.job.id
            if step.count < 500 || id != nil { break }
        }
        return Array(found.prefix(limit))
    }

    private func fits(_ job: Storage.WebhookJob) -> Bool {
        (endpoint == nil || job.endpoint == endpoint) && (call == nil || job.callID == call)
            && (id == nil || job.id == id)
    }
}
