// Sends pushes while they matter: jobs in, requests and outcomes out, no I/O and no clock.

import JSON

/// Decides what is sent when. Time is given in milliseconds since 1970.
///
/// After every call, take the requests and outcomes; call `advance` at `nextDeadline`. A job ends
/// with exactly one outcome, unless it is withdrawn.
public struct PushSender {
    /// Bounds of the sender.
    public struct Limits: Sendable {
        /// Jobs at once; one more is `overloaded`.
        public var jobs = 20_000
        /// Of these, those of one cause.
        public var jobsPerCause = 2_000
        /// Attempts per job.
        public var attempts = 12
        /// The longest attempt, in milliseconds.
        public var attemptTimeout: Int64 = 10_000

        /// The defaults.
        public init() {}
    }

    private struct Job {
        var notice: PushNotice
        var attempts = 0
        /// The number of its request that is under way.
        var request: UInt64?
        var isUnderWay: Bool { request != nil }
        /// Where the last request went.
        var origin = ""
        /// No further attempt is wanted.
        var isLast = false
        /// Access was renewed for it once already.
        var hasRenewed = false
        /// The last trouble, for the outcome.
        var trouble = ""

        /// Why it ends without another attempt, with what went wrong before.
        func ended(_ why: String) -> String { trouble.isEmpty ? why : "\(why) (\(trouble))" }
    }

    private enum Purpose {
        case push(String)
        case grant
    }

    private enum Due {
        case job(String)
        case access
    }

    private enum Access {
        case none
        /// The request of this number asks for it; the answer to an earlier one is not heard.
        case fetching(UInt64)
        case granted(FCMAccess)
        /// No request for access before this moment; pushes wait if that may help.
        case refused(until: Int64, reason: String, isTemporary: Bool)
    }

    private var services: PushServices
    private let limits: Limits
    private var apns: APNsService?
    private var fcm: FCMService?
    private var web: WebPushService?
    private var plan: RetryPlan
    private var jobs: [String: Job] = [:]
    private var shares: CauseShares
    private var underWay: [UInt64: Purpose] = [:]
    private var due = DueQueue<Due>()
    private var lastTag: UInt64 = 0
    private var access = Access.none
    private var accessAttempts = 0
    private var waitingForAccess: [String] = []
    private var doubted = DoubtedServices()
    private var requests: [(tag: UInt64, request: OutboundRequest)] = []
    private var outcomes: [PushResult] = []

    /// A sender without jobs.
    ///
    /// - Parameter seed: for the spread of retries.
    public init(
        _ services: PushServices, limits: Limits = Limits(),
        seed: UInt64 = .random(in: .min ... .max)
    ) {
        self.services = services
        self.limits = limits
        shares = CauseShares(limit: limits.jobs, each: limits.jobsPerCause)
        plan = RetryPlan(seed: seed)
        apns = services.apns.map { APNsService($0) }
        fcm = services.fcm.map { FCMService($0) }
        web = services.web.map { WebPushService($0) }
    }

    /// How many jobs are not over.
    public var jobCount: Int { jobs.count }

    /// When `advance` is to be called; nil: nothing waits for time.
    public var nextDeadline: Int64? { due.next }

    /// The requests that are to be sent now, each with a number for `completed`.
    public mutating func takeRequests() -> [(tag: UInt64, request: OutboundRequest)] {
        defer { requests = [] }
        return requests
    }

    /// The jobs that have ended.
    public mutating func takeOutcomes() -> [PushResult] {
        defer { outcomes = [] }
        return outcomes
    }

    // MARK: Inputs

    /// Takes a job. One whose id is known already is left alone.
    public mutating func send(_ notice: PushNotice, at now: Int64) {
        guard jobs[notice.id] == nil else { return }
        guard shares.admits(notice.cause) else {
            let failure = PushFailure(.overloaded, "\(jobs.count) pushes wait")
            outcomes.append(PushResult(notice: notice, result: .failed(failure), attempts: 0))
            return
        }
        jobs[notice.id] = Job(notice: notice)
        shares.take(notice.cause)
        do throws(PushFailure) {
            try services.check(notice, at: now)
            start(notice.id, at: now)
        } catch {
            finish(notice.id, .failed(error))
        }
    }

    /// Takes new settings. Jobs go on with them; those under way are judged as before.
    public mutating func use(_ services: PushServices) {
        self.services = services
        apns = services.apns.map { APNsService($0) }
        fcm = services.fcm.map { FCMService($0) }
        web = services.web.map { WebPushService($0) }
        // A token that comes for an account of before would fail every push until its end.
        access = .none
        if !waitingForAccess.isEmpty { due.add(.access, due: 0) }
    }

    /// Forgets a job: it no longer matters. A request under way is not stopped.
    ///
    /// - Returns: false if there is no such job.
    @discardableResult
    public mutating func withdraw(_ id: String) -> Bool { remove(id) != nil }

    /// The number of the request of a job that is under way.
    func request(of id: String) -> UInt64? { jobs[id]?.request }

    /// The request `tag` was taken back before it began.
    mutating func neverBegan(_ tag: UInt64) {
        guard case .push(let id)? = underWay.removeValue(forKey: tag) else { return }
        jobs[id]?.request = nil
        jobs[id]?.attempts -= 1
    }

    /// No further attempt: it no longer matters. An attempt under way decides the outcome.
    public mutating func stopTrying(_ id: String) {
        guard let job = jobs[id], !job.isUnderWay else {
            jobs[id]?.isLast = true
            return
        }
        finish(id, .failed(PushFailure(.expired, job.ended("withdrawn"))))
    }

    /// The request `tag` has ended.
    public mutating func completed(
        _ tag: UInt64, _ result: Result<OutboundResponse, OutboundFailure>, at now: Int64
    ) {
        switch underWay.removeValue(forKey: tag) {
        case .push(let id): attemptEnded(id, result, at: now)
        case .grant: if case .fetching(tag) = access { grantEnded(result, at: now) }
        case nil: break
        }
    }

    /// The time has come to `now`.
    public mutating func advance(to now: Int64) {
        while let element = due.pop(at: now) {
            switch element {
            case .job(let id): if jobs[id]?.isUnderWay == false { start(id, at: now) }
            case .access: fetchAccess(at: now)
            }
        }
    }

    /// Somebody set the clock: its time is later by `span` than it would be. What waits still waits
    /// for as long as it was told, and matters for as long.
    public mutating func clockMoved(by span: Int64) {
        due.shift(by: span)
        for id in Array(jobs.keys) { jobs[id]?.notice.expiresAt += span }
        switch access {
        case .none, .fetching: break
        // Whether it is still good by the new time is simply asked.
        case .granted: access = .none
        case .refused(let until, let reason, let isTemporary):
            access = .refused(until: until + span, reason: reason, isTemporary: isTemporary)
        }
    }

    // MARK: Attempts

    private mutating func start(_ id: String, at now: Int64) {
        guard let job = jobs[id] else { return }
        let left = job.notice.expiresAt - now
        guard left > 0 else {
            let cause: PushFailure.Cause = job.trouble.isEmpty ? .expired : .unavailable
            return finish(id, .failed(PushFailure(cause, job.ended("no time left"))))
        }
        do throws(PushFailure) {
            guard var request = try request(for: job.notice, at: now) else { return }
            request.timeout = min(limits.attemptTimeout, left)
            // A device knows a call by its id, so a repetition does no harm.
            request.mayRepeat = true
            request.cause = job.notice.cause
            jobs[id]?.attempts += 1
            jobs[id]?.origin = request.url.origin
            let tag = emit(request, for: .push(id))
            jobs[id]?.request = tag
        } catch {
            finish(id, .failed(error))
        }
    }

    /// The request, or nil when the job waits for access.
    private mutating func request(
        for notice: PushNotice, at now: Int64
    ) throws(PushFailure) -> OutboundRequest? {
        guard services.serves(notice.target.provider) else {
            throw PushServices.notConfigured(notice)
        }
        switch notice.target.provider {
        case .apns, .apnsVoIP: return try apns?.request(for: notice, at: now)
        case .fcm:
            guard let access = try accessForPush(notice, at: now) else { return nil }
            return try fcm?.request(for: notice, access, at: now)
        case .web: return try web?.request(for: notice, at: now)
        case .webhook:
            return try services.webhook.map { identity throws(PushFailure) in
                try WebhookPushService(identity: identity).request(for: notice, at: now)
            }
        }
    }

    private mutating func emit(_ request: OutboundRequest, for purpose: Purpose) -> UInt64 {
        lastTag += 1
        underWay[lastTag] = purpose
        requests.append((lastTag, request))
        return lastTag
    }

    private mutating func attemptEnded(
        _ id: String, _ result: Result<OutboundResponse, OutboundFailure>, at now: Int64
    ) {
        guard let job = jobs[id] else { return }
        jobs[id]?.request = nil
        switch Self.verdict(result, job.notice.target, at: now) {
        case .delivered(let name):
            doubted.noteDelivered(to: job.notice, at: job.origin, now)
            finish(id, .delivered(name))
        case .failed(let failure): finish(id, .failed(judged(failure, of: job, at: now)))
        case .again(let reason, let after): tryAgain(id, reason, after: after, at: now)
        case .accessExpired(let reason): renewAccess(id, reason, at: now)
        }
    }

    /// A service that calls the tokens of many users dead is not believed.
    private mutating func judged(
        _ failure: PushFailure, of job: Job, at now: Int64
    ) -> PushFailure {
        guard failure.cause == .deadToken, !doubted.believes(job.notice, at: job.origin, now)
        else { return failure }
        return PushFailure(.doubted, failure.reason + ", said of the tokens of many users")
    }

    private mutating func tryAgain(_ id: String, _ reason: String, after: Int64?, at now: Int64) {
        guard let job = jobs[id] else { return }
        let usual = plan.delay(afterAttempts: job.attempts)
        let delay = after.map { max($0, usual) } ?? usual
        let isWorthIt = !job.isLast && job.attempts < limits.attempts
        guard now + delay < job.notice.expiresAt, isWorthIt else {
            return finish(id, .failed(PushFailure(.unavailable, reason)))
        }
        jobs[id]?.trouble = reason
        due.add(.job(id), due: now + delay)
    }

    private mutating func remove(_ id: String) -> Job? {
        guard let job = jobs.removeValue(forKey: id) else { return nil }
        shares.giveBack(job.notice.cause)
        return job
    }

    private mutating func finish(_ id: String, _ result: PushResult.Result) {
        guard let job = remove(id) else { return }
        outcomes.append(
            PushResult(notice: job.notice, result: result, attempts: job.attempts))
    }

    private static func verdict(
        _ result: Result<OutboundResponse, OutboundFailure>, _ target: PushTarget, at now: Int64
    ) -> PushVerdict {
        switch result {
        case .success(let response):
            switch target.provider {
            case .apns, .apnsVoIP: APNsService.verdict(response, target, at: now)
            case .fcm: FCMService.verdict(response, at: now)
            case .web: WebPushService.verdict(response, at: now)
            case .webhook: WebhookPushService.verdict(response, at: now)
            }
        case .failure(let failure): verdict(failure, target)
        }
    }

    private static func verdict(_ failure: OutboundFailure, _ target: PushTarget) -> PushVerdict {
        switch failure.kind {
        case .malformed: .failed(PushFailure(.invalid, failure.description))
        case .refusedAddress:
            // A subscription that leads into our own network is no subscription.
            .failed(
                PushFailure(
                    target.provider == .web ? .deadToken : .misconfigured, failure.description))
        case .overloaded, .timedOut, .unresolved, .unreachable, .tls, .tooLarge, .connectionLost,
            .closed:
            .again(failure.description, after: nil)
        }
    }
}

// MARK: - Access

extension PushSender {
    /// How long a refusal of our credentials is believed, in milliseconds.
    private static let refusalLifetime: Int64 = 60_000
    private static let grantTimeout: Int64 = 10_000
    /// Trouble at the token endpoint is over for phones at most so many milliseconds after it is.
    private static let longestAccessPause: Int64 = 10_000

    /// A provider called our access expired. It is renewed once per job: what is refused again is
    /// not a matter of age.
    private mutating func renewAccess(_ id: String, _ reason: String, at now: Int64) {
        guard let job = jobs[id] else { return }
        guard !job.hasRenewed else {
            let hint = reason + " also with new access: is the clock right?"
            return finish(id, .failed(PushFailure(.misconfigured, hint)))
        }
        jobs[id]?.hasRenewed = true
        switch job.notice.target.provider {
        case .apns, .apnsVoIP: _ = apns?.renewAccess(at: now)
        case .fcm: if case .granted(let old) = access, old.isOlder(than: now) { access = .none }
        case .web, .webhook: break
        }
        start(id, at: now)
    }

    /// The token for a push now, or nil when the job waits for one.
    private mutating func accessForPush(
        _ notice: PushNotice, at now: Int64
    ) throws(PushFailure) -> FCMAccess? {
        switch access {
        case .granted(let granted) where now < granted.renewAt: return granted
        case .refused(let until, let reason, false) where now < until:
            throw PushFailure(.misconfigured, reason)
        case .none, .granted, .refused(_, _, false):
            wait(notice)
            fetchAccess(at: now)
        case .fetching, .refused(_, _, true): wait(notice)
        }
        return nil
    }

    private mutating func wait(_ notice: PushNotice) {
        waitingForAccess.append(notice.id)
        due.add(.job(notice.id), due: notice.expiresAt)
    }

    private mutating func fetchAccess(at now: Int64) {
        if case .fetching = access { return }
        waitingForAccess.removeAll { jobs[$0] == nil }
        guard !waitingForAccess.isEmpty, let fcm else {
            access = .none
            return
        }
        do throws(PushFailure) {
            var request = try fcm.grant(at: now)
            request.timeout = Self.grantTimeout
            request.mayRepeat = true
            access = .fetching(emit(request, for: .grant))
        } catch {
            refuseAccess(AccessFailure(reason: error.reason, isTemporary: false), at: now)
        }
    }

    private mutating func grantEnded(
        _ result: Result<OutboundResponse, OutboundFailure>, at now: Int64
    ) {
        switch result {
        case .success(let response):
            switch FCMService.access(response, at: now) {
            case .success(let granted):
                access = .granted(granted)
                accessAttempts = 0
                restartWaiting(at: now)
            case .failure(let failure): refuseAccess(failure, at: now)
            }
        case .failure(let failure):
            refuseAccess(AccessFailure(reason: failure.description, isTemporary: true), at: now)
        }
    }

    private mutating func refuseAccess(_ failure: AccessFailure, at now: Int64) {
        let reason = "no access token: " + failure.reason
        accessAttempts += 1
        guard failure.isTemporary else {
            access = .refused(
                until: now + Self.refusalLifetime, reason: reason, isTemporary: false)
            return restartWaiting(at: now)
        }
        let pause = min(plan.delay(afterAttempts: accessAttempts), Self.longestAccessPause)
        let until = now + pause
        access = .refused(until: until, reason: reason, isTemporary: true)
        for id in waitingForAccess { jobs[id]?.trouble = reason }
        due.add(.access, due: until)
    }

    private mutating func restartWaiting(at now: Int64) {
        let waiting = waitingForAccess
        waitingForAccess = []
        for id in waiting where jobs[id]?.isUnderWay == false { start(id, at: now) }
    }
}
