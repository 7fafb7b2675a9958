// Delivers events at least once and in order: jobs in, requests and outcomes out, no I/O, no clock.

import WebProtocols

/// Decides what is posted when. Time is given in milliseconds since 1970.
///
/// The outbox has all jobs, and this has a part of them: feed each endpoint its oldest jobs, in
/// order, while there is `room`, and again from the start after a restart. After every call, take
/// the requests and outcomes; call `advance` at `nextDeadline`.
public struct WebhookSender {
    /// Bounds of the sender.
    public struct Limits: Sendable {
        /// Jobs per endpoint.
        public var jobs = 1_000
        /// Bytes of bodies per endpoint.
        public var bytes = 8 << 20
        /// The longest body; a longer one is given up at once. The specification advises 20 kB.
        public var body = 65_536
        /// Requests under way per endpoint.
        public var underWay = 64
        /// Of these, those of one cause (G79).
        public var underWayPerCause = 8
        /// How long a receiver may take, in milliseconds.
        public var timeout: Int64 = 20_000
        /// So many failed attempts, one after the other and for any calls, mean that the receiver
        /// was away: when it takes an event again, the others need not wait for their time.
        public var awayAfter = 3
        /// How often a receiver that seems to be away is tried although nothing is due, in
        /// milliseconds: events flow again soon after it is back, however long the pauses are.
        public var probeEvery: Int64 = 60_000
        /// The pauses after each attempt in vain, in milliseconds; the last attempt follows the
        /// last one: at once, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h.
        public var pauses: [Int64] = [
            5_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 36_000_000, 50_400_000, 72_000_000,
            86_400_000,
        ]

        /// The defaults.
        public init() {}
    }

    private struct Line {
        /// The first is the one that is tried.
        var jobs: [WebhookPost]
        var isUnderWay = false
        /// It waits for its turn.
        var isReady = false
        /// What is under way is tried before its time: that does not count as an attempt.
        var isProbe = false

        /// Whether its first event is planned earlier.
        func isBefore(_ other: Line) -> Bool {
            (jobs.first?.notBefore ?? .max, jobs.first?.id ?? "")
                < (other.jobs.first?.notBefore ?? .max, other.jobs.first?.id ?? "")
        }
    }

    private struct Receiver {
        var endpoint: WebhookEndpoint
        var lines: [String: Line] = [:]
        /// Lines whose first job may be tried, in turn by cause.
        var ready = CauseTurns<Ready>()
        var readyCount = 0
        var jobs = 0
        var bytes = 0
        var underWay: CauseShares
        /// The receiver asked for time.
        var pausedUntil: Int64 = 0
        var isGone = false
        /// Attempts in vain since the last one that was not.
        var streak = 0
        /// Whether it has taken an event in this life of the process.
        var hasTaken = false
        /// A probe is planned.
        var isProbePlanned = false

        /// Takes the next line that may be tried; its first job counts as under way.
        mutating func startNext(at now: Int64) -> (line: String, job: WebhookPost)? {
            guard pausedUntil <= now, underWay.total < underWay.limit, readyCount > 0,
                let next = ready.take(where: { underWay.admits($0.cause) })
            else { return nil }
            readyCount -= 1
            guard let job = lines[next.line]?.jobs.first else { return startNext(at: now) }
            start(next.line, job)
            return (next.line, job)
        }

        /// Puts a line among those that may be tried, for its first job.
        mutating func makeReady(_ line: String, _ job: WebhookPost) {
            lines[line]?.isReady = true
            readyCount += 1
            ready.append(Ready(line: line, cause: job.cause), of: job.cause, for: "")
        }

        /// Takes the line whose time is nearest, if nothing else tells whether the receiver is
        /// back; its first job counts as under way.
        mutating func startProbe(at now: Int64) -> (line: String, job: WebhookPost)? {
            guard underWay.total == 0, pausedUntil <= now, readyCount == 0,
                let (line, waiting) = lines.min(by: { $0.value.isBefore($1.value) }),
                let job = waiting.jobs.first
            else { return nil }
            start(line, job)
            lines[line]?.isProbe = true
            return (line, job)
        }

        /// See `clockMoved`.
        mutating func shift(by span: Int64) {
            pausedUntil += span
            for name in Array(lines.keys) {
                for place in lines[name]?.jobs.indices ?? 0..<0 {
                    lines[name]?.jobs[place].notBefore += span
                }
            }
        }

        private mutating func start(_ line: String, _ job: WebhookPost) {
            lines[line]?.isUnderWay = true
            lines[line]?.isReady = false
            lines[line]?.isProbe = false
            underWay.take(job.cause)
        }
    }

    /// A line whose first job may be tried, and that job's cause.
    private struct Ready {
        let line: String
        let cause: SendingCause?
    }

    private struct LineName: Hashable {
        let endpoint: String
        let line: String
    }

    private enum Due {
        case line(LineName)
        case probe(String)
        case endpoint(String)
    }

    private let limits: Limits
    private var receivers: [String: Receiver] = [:]
    private var due = DueQueue<Due>()
    private var plan: RetryPlan
    private var underWay: [UInt64: LineName] = [:]
    private var lastTag: UInt64 = 0
    private var requests: [(tag: UInt64, request: OutboundRequest)] = []
    private var outcomes: [WebhookOutcome] = []

    /// A sender without jobs.
    ///
    /// - Parameter seed: for the spread of retries.
    public init(
        _ endpoints: [WebhookEndpoint], limits: Limits = Limits(),
        seed: UInt64 = .random(in: .min ... .max)
    ) {
        self.limits = limits
        plan = RetryPlan(seed: seed)
        use(endpoints)
    }

    /// When `advance` is to be called; nil: nothing waits for time.
    public var nextDeadline: Int64? { due.next }

    /// How many more jobs of an endpoint are taken; 0 for one that is unknown or gone.
    public func room(for endpoint: String) -> Int {
        guard let receiver = receivers[endpoint], !receiver.isGone, receiver.bytes < limits.bytes
        else { return 0 }
        return max(limits.jobs - receiver.jobs, 0)
    }

    /// The requests that are to be sent now, each with a number for `completed`.
    public mutating func takeRequests() -> [(tag: UInt64, request: OutboundRequest)] {
        defer { requests = [] }
        return requests
    }

    /// The news since the last time.
    public mutating func takeOutcomes() -> [WebhookOutcome] {
        defer { outcomes = [] }
        return outcomes
    }

    // MARK: Inputs

    /// Takes new settings. Jobs of an endpoint that is no longer there are forgotten; one that was
    /// gone begins anew.
    public mutating func use(_ endpoints: [WebhookEndpoint]) {
        var receivers: [String: Receiver] = [:]
        for endpoint in endpoints {
            var receiver = self.receivers[endpoint.name] ?? newReceiver(endpoint)
            receiver.endpoint = endpoint
            receiver.isGone = false
            receivers[endpoint.name] = receiver
        }
        self.receivers = receivers
    }

    /// Takes a job.
    ///
    /// - Returns: false if there is no room: keep it in the outbox and ask later.
    public mutating func add(_ job: WebhookPost, at now: Int64) -> Bool {
        guard room(for: job.endpoint) > 0 else { return false }
        guard job.body.count <= limits.body else {
            let reason = "the body has \(job.body.count) bytes, more than \(limits.body)"
            outcomes.append(
                WebhookOutcome(
                    id: job.id, endpoint: job.endpoint, result: .gaveUp(reason: reason)))
            return true
        }
        var job = job
        if job.attempts > 0, receivers[job.endpoint]?.hasTaken == false {
            // It was away when the process ended, and may still be.
            receivers[job.endpoint]?.streak = limits.awayAfter
        } else if job.attempts > 0, receivers[job.endpoint]?.streak == 0 {
            job.notBefore = min(job.notBefore, now)
        }
        let name = job.order.map { "call " + $0 } ?? "job " + job.id
        let place = LineName(endpoint: job.endpoint, line: name)
        let isFirst = receivers[job.endpoint]?.lines[name] == nil
        receivers[job.endpoint]?.lines[name, default: Line(jobs: [])].jobs.append(job)
        receivers[job.endpoint]?.jobs += 1
        receivers[job.endpoint]?.bytes += job.body.count
        if isFirst { schedule(place, at: now) }
        return true
    }

    /// The request `tag` has ended.
    public mutating func completed(
        _ tag: UInt64, _ result: Result<OutboundResponse, OutboundFailure>, at now: Int64
    ) {
        guard let place = underWay.removeValue(forKey: tag),
            let line = receivers[place.endpoint]?.lines[place.line], line.isUnderWay,
            let job = line.jobs.first
        else { return }
        receivers[place.endpoint]?.underWay.giveBack(job.cause)
        receivers[place.endpoint]?.lines[place.line]?.isUnderWay = false
        switch Self.verdict(result, at: now) {
        case .delivered:
            end(job, at: place, .delivered, now)
            receiverIsBack(place.endpoint, at: now, wasProbed: line.isProbe)
        case .gone: forget(place.endpoint, job)
        case .failed(_, let pause) where line.isProbe:
            if let pause { self.pause(place.endpoint, until: now + pause) }
            schedule(place, at: now)
        case .failed(let reason, let pause):
            if let pause { self.pause(place.endpoint, until: now + pause) }
            receivers[place.endpoint]?.streak += 1
            failed(job, at: place, reason, now)
        }
        startReady(place.endpoint, at: now)
    }

    /// The time has come to `now`.
    public mutating func advance(to now: Int64) {
        while let element = due.pop(at: now) {
            switch element {
            case .line(let place): schedule(place, at: now)
            case .probe(let name): probe(name, at: now)
            case .endpoint(let name): startReady(name, at: now)
            }
        }
    }

    /// Somebody set the clock: its time is later by `span` than it would be. What waits still waits
    /// for as long as it was told.
    public mutating func clockMoved(by span: Int64) {
        due.shift(by: span)
        for name in Array(receivers.keys) { receivers[name]?.shift(by: span) }
    }

    private func newReceiver(_ endpoint: WebhookEndpoint) -> Receiver {
        Receiver(
            endpoint: endpoint,
            underWay: CauseShares(limit: limits.underWay, each: limits.underWayPerCause))
    }

    // MARK: Lines

    /// Puts a line among the ready ones, or among those that wait for time.
    private mutating func schedule(_ place: LineName, at now: Int64) {
        guard let line = receivers[place.endpoint]?.lines[place.line], !line.isUnderWay,
            !line.isReady, let job = line.jobs.first
        else { return }
        guard job.notBefore <= now else { return wait(place, until: job.notBefore, at: now) }
        receivers[place.endpoint]?.makeReady(place.line, job)
        startReady(place.endpoint, at: now)
    }

    private mutating func startReady(_ endpoint: String, at now: Int64) {
        guard let receiver = receivers[endpoint]?.endpoint else { return }
        while let (line, job) = receivers[endpoint]?.startNext(at: now) {
            post(job, of: line, to: receiver, at: now)
        }
    }

    private mutating func post(
        _ job: WebhookPost, of line: String, to endpoint: WebhookEndpoint, at now: Int64
    ) {
        lastTag += 1
        underWay[lastTag] = LineName(endpoint: endpoint.name, line: line)
        requests.append((lastTag, request(for: job, to: endpoint, at: now)))
    }

    private mutating func wait(_ place: LineName, until moment: Int64, at now: Int64) {
        due.add(.line(place), due: moment)
        guard let receiver = receivers[place.endpoint], receiver.streak > 0,
            !receiver.isProbePlanned
        else { return }
        receivers[place.endpoint]?.isProbePlanned = true
        due.add(.probe(place.endpoint), due: now + plan.spread(limits.probeEvery))
    }

    private mutating func probe(_ name: String, at now: Int64) {
        receivers[name]?.isProbePlanned = false
        guard let receiver = receivers[name], receiver.streak > 0, !receiver.lines.isEmpty
        else { return }
        if let (line, job) = receivers[name]?.startProbe(at: now) {
            post(job, of: line, to: receiver.endpoint, at: now)
        } else {
            receivers[name]?.isProbePlanned = true
            due.add(.probe(name), due: now + plan.spread(limits.probeEvery))
        }
    }

    private func request(
        for job: WebhookPost, to endpoint: WebhookEndpoint, at now: Int64
    ) -> OutboundRequest {
        var request = OutboundRequest("POST", endpoint.url, body: job.body)
        request.headers =
            WebhookSecret.headers(
                id: job.id, body: job.body, at: now, signedWith: endpoint.secrets)
            + [HTTPHeader("content-type", "application/json")]
        if let trace = job.trace { request.headers.append(HTTPHeader("traceparent", trace)) }
        request.timeout = limits.timeout
        request.addresses = endpoint.addresses
        request.mayRepeat = true
        request.cause = job.cause
        request.receiver = "webhook " + endpoint.name
        return request
    }

    private mutating func end(
        _ job: WebhookPost, at place: LineName, _ result: WebhookOutcome.Result, _ now: Int64
    ) {
        outcomes.append(
            WebhookOutcome(
                id: job.id, endpoint: job.endpoint, result: result, attempts: job.attempts + 1))
        receivers[place.endpoint]?.jobs -= 1
        receivers[place.endpoint]?.bytes -= job.body.count
        receivers[place.endpoint]?.lines[place.line]?.jobs.removeFirst()
        if receivers[place.endpoint]?.lines[place.line]?.jobs.isEmpty == true {
            receivers[place.endpoint]?.lines[place.line] = nil
        } else {
            schedule(place, at: now)
        }
    }

    private mutating func failed(
        _ job: WebhookPost, at place: LineName, _ reason: String, _ now: Int64
    ) {
        // What a store says is no reason to end.
        let attempts = max(job.attempts, 0) + 1
        guard attempts <= limits.pauses.count else {
            return end(job, at: place, .gaveUp(reason: reason), now)
        }
        let until = now + plan.spread(limits.pauses[attempts - 1])
        receivers[place.endpoint]?.lines[place.line]?.jobs[0].attempts = attempts
        receivers[place.endpoint]?.lines[place.line]?.jobs[0].notBefore = until
        outcomes.append(
            WebhookOutcome(
                id: job.id, endpoint: job.endpoint,
                result: .postponed(attempts: attempts, until: until, reason: reason)))
        wait(place, until: until, at: now)
    }

    /// The receiver takes events: if it was away, what waits for it need wait no longer.
    private mutating func receiverIsBack(_ name: String, at now: Int64, wasProbed: Bool) {
        guard let receiver = receivers[name] else { return }
        receivers[name]?.streak = 0
        receivers[name]?.hasTaken = true
        guard wasProbed || receiver.streak >= limits.awayAfter else { return }
        for (line, waiting) in receiver.lines.sorted(by: { $0.value.isBefore($1.value) })
        where !waiting.isUnderWay && !waiting.jobs.isEmpty {
            receivers[name]?.lines[line]?.jobs[0].notBefore = now
            schedule(LineName(endpoint: name, line: line), at: now)
        }
    }

    private mutating func pause(_ endpoint: String, until moment: Int64) {
        guard let until = receivers[endpoint]?.pausedUntil, until < moment else { return }
        receivers[endpoint]?.pausedUntil = moment
        due.add(.endpoint(endpoint), due: moment)
    }

    private mutating func forget(_ name: String, _ job: WebhookPost) {
        guard let endpoint = receivers[name]?.endpoint else { return }
        receivers[name] = newReceiver(endpoint)
        receivers[name]?.isGone = true
        outcomes.append(WebhookOutcome(id: job.id, endpoint: name, result: .endpointGone))
    }
}

// MARK: - Answers

extension WebhookSender {
    private enum Verdict {
        case delivered
        case gone
        /// With how long the receiver wants to be left alone.
        case failed(String, pause: Int64?)
    }

    /// A receiver in trouble is left alone for so long, unless it says how long, in milliseconds.
    private static let usualPause: Int64 = 5_000
    private static let longestPause: Int64 = 3_600_000

    private static func verdict(
        _ result: Result<OutboundResponse, OutboundFailure>, at now: Int64
    ) -> Verdict {
        switch result {
        case .failure(let failure): return .failed(failure.description, pause: nil)
        case .success(let response):
            let reason = "status \(response.status)"
            switch response.status {
            case 200...299: return .delivered
            case 410: return .gone
            case 429, 502, 503, 504:
                let asked = response.retryAfter(at: now) ?? usualPause
                return .failed(reason, pause: min(asked, longestPause))
            default: return .failed(reason, pause: nil)  // external: a status
            }
        }
    }
}
