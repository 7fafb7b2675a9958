// Everything that is sent out, on one thread: pushes, webhooks and what plugins fetch.

/// Joins the engine with the senders, which decide what is sent when. It owns no thread: one thread
/// calls all members but `waker`.
///
///     while !isClosing {
///         for command in mailbox { command.carryOut(on: service) }
///         for news in service.perform(forAtMost: 1_000) { report(news) }
///     }
public final class OutboundService {
    /// How the service begins.
    public struct Settings: Sendable {
        /// The engine's options.
        public var http = HTTPEngine.Options()
        /// The push services that are configured.
        public var push = PushServices()
        /// Bounds of pushes.
        public var pushLimits = PushSender.Limits()
        /// The receivers of events.
        public var webhooks: [WebhookEndpoint] = []
        /// Bounds of events.
        public var webhookLimits = WebhookSender.Limits()

        /// Nothing is configured.
        public init() {}
    }

    /// The outcome of something that was sent.
    public enum News: Sendable {
        /// A push has ended.
        case push(PushResult)
        /// An event was delivered, postponed or given up.
        case webhook(WebhookOutcome)
        /// The response to a request of somebody who numbers the requests themselves.
        case response(UInt64, Result<OutboundResponse, OutboundFailure>)
    }

    private enum Owner {
        case push(UInt64)
        case webhook(UInt64)
        case fetch(UInt64)
    }

    private let engine: HTTPEngine
    private let clock: () -> Int64
    private let uptime: () -> Int64
    /// How far the wall clock was ahead of the other one at the last look.
    private var lead: Int64
    private var pushes: PushSender
    private var webhooks: WebhookSender
    private var owners: [HTTPTicket: Owner] = [:]
    private var fetches: [UInt64: HTTPTicket] = [:]
    /// The requests of pushes, by the sender's numbers.
    private var pushTickets: [UInt64: HTTPTicket] = [:]
    private var news: [News] = []

    /// Opens the engine.
    ///
    /// - Throws: `unreachable` when the system gives no descriptors.
    public convenience init(_ settings: Settings) throws(OutboundFailure) {
        try self.init(settings, clock: { SystemClock.wall }, uptime: { SystemClock.boot })
    }

    /// Opens the engine.
    ///
    /// - Parameters:
    ///   - clock: the wall clock, in milliseconds since 1970; it may be set.
    ///   - uptime: a clock that nobody sets, in milliseconds.
    init(
        _ settings: Settings, clock: @escaping () -> Int64, uptime: @escaping () -> Int64
    ) throws(OutboundFailure) {
        engine = try HTTPEngine(settings.http)
        self.clock = clock
        self.uptime = uptime
        lead = clock() - uptime()
        pushes = PushSender(settings.push, limits: settings.pushLimits)
        webhooks = WebhookSender(settings.webhooks, limits: settings.webhookLimits)
    }

    /// Makes a `perform` that waits return; any thread may use it.
    public var waker: HTTPWaker { engine.waker }

    /// How many pushes are not over, and how many requests are under way and wait.
    public var load: (pushes: Int, running: Int, waiting: Int) {
        (pushes.jobCount, engine.runningCount, engine.waitingCount)
    }

    // MARK: Commands

    /// Takes new settings of a reload; jobs go on.
    public func use(push: PushServices, webhooks endpoints: [WebhookEndpoint]) {
        pushes.use(push)
        webhooks.use(endpoints)
    }

    /// Sends a push; `News.push` follows once.
    public func send(_ notice: PushNotice) {
        let now = now()
        pushes.send(notice, at: now)
    }

    /// Forgets a push that no longer matters: no news follows. False if there is none.
    @discardableResult
    public func withdraw(_ id: String) -> Bool { pushes.withdraw(id) }

    /// No further attempt for a push, and no attempt that has not begun; `News.push` follows as
    /// usual.
    public func stopTrying(_ id: String) {
        submit()
        if let tag = pushes.request(of: id), let ticket = pushTickets[tag],
            engine.withdraw(ticket)
        {
            owners[ticket] = nil
            pushTickets[tag] = nil
            pushes.neverBegan(tag)
        }
        pushes.stopTrying(id)
    }

    /// How many more events of an endpoint are taken.
    public func room(for endpoint: String) -> Int { webhooks.room(for: endpoint) }

    /// Delivers an event; `News.webhook` follows. False if there is no room: ask later.
    public func deliver(_ job: WebhookPost) -> Bool {
        let now = now()
        return webhooks.add(job, at: now)
    }

    /// Delivers an event of which the caller knows that there is room; without, it is postponed.
    public func take(_ job: WebhookPost) {
        guard !deliver(job) else { return }
        news.append(
            .webhook(WebhookOutcome(id: job.id, endpoint: job.endpoint, result: .noRoom)))
    }

    /// Sends any request; `News.response` follows once, with the caller's `number`.
    public func fetch(_ request: OutboundRequest, as number: UInt64) {
        do throws(OutboundFailure) {
            let ticket = try engine.submit(request)
            owners[ticket] = .fetch(number)
            fetches[number] = ticket
        } catch {
            news.append(.response(number, .failure(error)))
        }
    }

    /// Gives up what was fetched under `number`: no news follows.
    public func cancelFetch(_ number: UInt64) {
        guard let ticket = fetches.removeValue(forKey: number) else { return }
        owners[ticket] = nil
        engine.cancel(ticket)
    }

    // MARK: Work

    /// Moves everything that can move. Returns as soon as there are news, and otherwise after
    /// `milliseconds` or a wake.
    public func perform(forAtMost milliseconds: Int) -> [News] {
        submit()
        for completion in engine.perform(forAtMost: wait(milliseconds)) { complete(completion) }
        let now = now()
        pushes.advance(to: now)
        webhooks.advance(to: now)
        submit()
        collect()
        defer { news = [] }
        return news
    }

    /// Ends everything; what is not over has no news. Events and pushes go on from the outbox.
    public func close() { engine.close() }

    /// The wall clock is set in steps of at least this, in milliseconds; what is less is drift.
    private static let step: Int64 = 1_000

    /// The wall clock's time. When somebody has set it, what was planned moves along first.
    private func now() -> Int64 {
        let now = clock()
        let moved = now - uptime() - lead
        if abs(moved) >= Self.step {
            lead += moved
            pushes.clockMoved(by: moved)
            webhooks.clockMoved(by: moved)
        }
        return now
    }

    private func wait(_ milliseconds: Int) -> Int {
        collect()
        guard news.isEmpty else { return 0 }
        let now = now()
        let deadlines = [pushes.nextDeadline, webhooks.nextDeadline].compactMap { $0 }
        guard let next = deadlines.min() else { return milliseconds }
        return Int(min(Int64(milliseconds), max(next - now, 0)))
    }

    /// What the engine refuses has ended for its sender, which may ask for the next thing at once.
    private func submit() {
        while true {
            let due =
                pushes.takeRequests().map { (Owner.push($0.tag), $0.request) }
                + webhooks.takeRequests().map { (Owner.webhook($0.tag), $0.request) }
            if due.isEmpty { return }
            for (owner, request) in due {
                do throws(OutboundFailure) {
                    let ticket = try engine.submit(request)
                    owners[ticket] = owner
                    if case .push(let tag) = owner { pushTickets[tag] = ticket }
                } catch {
                    finish(owner, .failure(error))
                }
            }
        }
    }

    private func complete(_ completion: HTTPCompletion) {
        guard let owner = owners.removeValue(forKey: completion.ticket) else { return }
        finish(owner, completion.result)
    }

    private func finish(_ owner: Owner, _ result: Result<OutboundResponse, OutboundFailure>) {
        let now = now()
        switch owner {
        case .push(let tag):
            pushTickets[tag] = nil
            pushes.completed(tag, result, at: now)
        case .webhook(let tag): webhooks.completed(tag, result, at: now)
        case .fetch(let number):
            fetches[number] = nil
            news.append(.response(number, result))
        }
    }

    private func collect() {
        news += pushes.takeOutcomes().map { .push($0) }
        news += webhooks.takeOutcomes().map { .webhook($0) }
    }
}
