// Wakes phones: a job of the core becomes a push to each device that is asleep.

import AgentCore
import CallCore
import CallModel
import EventLoop
import JSON
import Outbound
import PolicyHost
import StoreContract

/// Carries out push jobs, from the moment that they are stored to their last outcome. Owner: the
/// loop's thread.
///
///     begin ──▶ registrations ──▶ on.push ──▶ the outbound thread ──▶ outcome stored
final class PushDelivery {
    /// One job.
    private struct Job {
        let stored: PushJob
        /// Its pushes that have no outcome yet.
        var open: Set<String> = []
        /// Whether it was forgotten who called.
        var isForgotten = false
    }

    /// One push to one device.
    private struct DevicePush {
        let job: JobID
        let registration: Registration
        var notice: PushNotice
        var draft: PushDraft
        let since: Moment
        /// The plugins did not have their say: it may be for another app than they would name.
        var isIncomplete = false
        /// The reason for it is gone.
        var isUnwanted = false
        /// It is gone because nobody answered in time.
        var isMissed = false
        /// The user is known by this id only; nil: the user was not forgotten.
        var substitute: UserID?

        var address: Address { registration.address }
        /// How records name it.
        var recorded: Address { Address(substitute ?? address.user, address.device) }
    }

    /// What a device has one registration for.
    private struct RegistrationKey: Hashable {
        let address: Address
        let provider: String

        init(_ registration: Registration) {
            address = registration.address
            provider = registration.registration.provider
        }
    }

    /// A registration that gets no pushes for a while. A newer one of the device does.
    private struct Pause {
        let registration: Registration
        let until: Moment
    }

    /// Bounds of the delivery.
    struct Limits {
        /// Jobs at once; one more is dropped.
        var jobs = 20_000
        /// Of these, those of one cause.
        var jobsPerCause = 1_000
        /// Registrations that get no pushes for a while.
        var paused = 10_000
        /// How long the plugins may shape a push before it is sent unchanged, in milliseconds.
        /// Their own limits are lower: this one is for a policy thread that is stuck.
        var shaping: Milliseconds = 2_000
    }

    /// How long a registration that seems to be wrong gets no pushes, in milliseconds.
    private static let pause: Milliseconds = 86_400_000

    private let exchange: Exchange
    private let thread: OutboundThread
    private let log: Log
    private let limits: Limits
    private var plan = OutboundPlan()
    private var jobs: [JobID: Job] = [:]
    private var shares: CauseShares
    /// Jobs that tell of invitations: those that may still be stopped.
    private var jobsOfCalls: [CallID: [JobID]] = [:]
    private var pushes: [String: DevicePush] = [:]
    private let unconfirmed: UnconfirmedChanges
    private var shaping: [PushID: String] = [:]
    /// Pushes being shaped, with the moments at which that ends, in order.
    private var shapingEnds: [(moment: Moment, id: PushID)] = []
    private var lastShape: UInt64 = 0
    private var paused: [RegistrationKey: Pause] = [:]
    private var timer: Timer?
    private var repeated = RepeatedLine()
    private(set) var counters = Counters()
    /// Users whom neither a device nor a push could tell of a call.
    private(set) var unreached = Unreached()
    /// The newest pushes that ended.
    private(set) var endedPushes = EndedPushes()
    /// The policies; nil: there are none.
    weak var policies: PolicyBridge?

    /// Counts of outcomes so far.
    struct Counters {
        var sent: UInt64 = 0
        var dropped: UInt64 = 0
        var withdrawn: UInt64 = 0
        var failed: [PushFailure.Cause: UInt64] = [:]
        var removedTokens: UInt64 = 0
        /// From the wish to the provider's answer, in rows by the place of the provider.
        var durations = Durations(rows: PushCarrier.allCases.count)
    }

    init(
        _ exchange: Exchange, _ thread: OutboundThread, loop: EventLoop, log: Log,
        limits: Limits = Limits()
    ) {
        unconfirmed = UnconfirmedChanges(exchange)
        self.exchange = exchange
        self.thread = thread
        self.log = log
        self.limits = limits
        shares = CauseShares(limit: limits.jobs, each: limits.jobsPerCause)
        timer = Timer(on: loop) { [unowned self] in giveUpShaping() }
    }

    /// Pushes under way.
    var count: Int { pushes.count }

    /// Goes on with other settings.
    func configure(_ plan: OutboundPlan) { self.plan = plan }

    // MARK: Jobs

    /// There are no push services: only connected devices are told of the call.
    func passOver(_ job: PushJob) { noteUnreached(job) }

    /// Neither a device nor a registration can tell the user.
    private func noteUnreached(_ job: PushJob) {
        unreached.note(job)
        guard job.kind == .invite, job.connected.isEmpty else { return }
        exchange.journal?.sent(
            JournalDelivery(to: (job.user, nil), "nobody", "unreached"), in: job.callID,
            at: exchange.now())
    }

    /// A job is stored.
    func begin(_ id: JobID, _ job: PushJob) {
        guard jobs[id] == nil else { return }
        if job.kind.isOver { stopAnnouncing(job.callID, to: job.user) }
        guard shares.admits(SendingCause(job.cause)) else {
            counters.failed[.overloaded, default: 0] += 1
            return unconfirmed.keep([.push(.finish(id))])
        }
        jobs[id] = Job(stored: job)
        shares.take(SendingCause(job.cause))
        if job.kind == .invite { jobsOfCalls[job.callID, default: []].append(id) }
        let isKnown = exchange.switchboard.call(job.callID) != nil
        let query = StoreQuery.registrations(job.user, with: isKnown ? nil : job.callID)
        exchange.find(query) { [weak self] in self?.found($0, for: id) }
    }

    private func found(_ answer: StoreAnswer, for id: JobID) {
        guard let job = jobs[id]?.stored else { return }
        // The store is away: the job is carried out when it is back.
        guard case .registrations(let all, let stored) = answer else { return forget(id) }
        guard let call = exchange.switchboard.call(job.callID) ?? stored, matters(job, in: call)
        else { return finishIfDone(id) }
        if all.isEmpty { noteUnreached(job) }
        for registrations in asleep(job, newest(all)) {
            let targets = registrations.compactMap { PushTarget($0, gap: exchange.wallGap) }
            let chosen = PushTarget.route(job.kind.push, targets).map(\.provider.rawValue)
            for registration in registrations
            where chosen.contains(registration.registration.provider) {
                start(id, job, call, registration)
            }
        }
        finishIfDone(id)
    }

    /// Whether the reason for a push still holds. Jobs from before a restart may be old.
    private func matters(_ job: PushJob, in call: Call) -> Bool {
        let age = call.endedAt.map { exchange.now() - $0 } ?? 0
        switch job.kind {
        case .invite: return call.isLive && call.participant(job.user)?.state.mayAnswer == true
        case .cancel, .leave, .end: return age < 60_000
        case .missed: return age < 86_400_000
        }
    }

    /// As many registrations as a user may have, by device.
    private func newest(_ all: [Registration]) -> [Registration] {
        guard all.count > plan.registrationsPerUser else { return all }
        let kept = all.indices.sorted { all[$0].at > all[$1].at }
        return kept.prefix(plan.registrationsPerUser).sorted().map { all[$0] }
    }

    /// The registrations of devices without a live connection, by device.
    private func asleep(
        _ job: PushJob, _ registrations: [Registration]
    ) -> [[Registration]] {
        var devices: [[Registration]] = []
        for registration in registrations where isUsable(registration, job) {
            if devices.last?.last?.address == registration.address {
                devices[devices.count - 1].append(registration)
            } else {
                devices.append([registration])
            }
        }
        return devices
    }

    private func isUsable(_ registration: Registration, _ job: PushJob) -> Bool {
        let provider = PushCarrier(rawValue: registration.registration.provider)
        guard !job.connected.contains(registration.address.device),
            provider.map({ plan.push.serves($0) }) == true
        else { return false }
        let key = RegistrationKey(registration)
        guard let pause = paused[key] else { return true }
        if pause.registration == registration, pause.until > exchange.now() { return false }
        paused[key] = nil
        return true
    }

    // MARK: One push

    private func start(
        _ id: JobID, _ job: PushJob, _ call: Call, _ registration: Registration
    ) {
        guard let target = PushTarget(registration, gap: exchange.wallGap) else { return }
        let now = Clock.wallMilliseconds()
        let address = registration.address
        // The name has the call's id, because the ids of jobs start again in another store and the
        // providers recognise repetitions by the name.
        let name = "\(call.id)/\(id)/\(address.device)/\(target.provider.rawValue)"
        var notice = PushNotice(
            id: name, job.kind(in: call),
            PushSubject(
                id: "\(call.id)", caller: call.caller.text, kind: call.kind,
                mode: call.mode.name, callerName: exchange.names.name(of: call.caller)),
            for: address.user.text, to: target,
            ringEndsAt: job.expiresAt.map { $0.milliseconds + exchange.wallGap }, now: now)
        if let text = job.text { notice.content.take(text) }
        // Stored jobs without a cause count for the caller.
        let cause = job.cause.isNobody ? Cause(call.caller) : job.cause
        notice.cause = SendingCause(cause)
        notice.trace = job.trace?.description
        var draft = PushDraft(notice, for: address.user, at: now)
        draft.trace = job.trace
        let push = DevicePush(
            job: id, registration: registration, notice: notice, draft: draft,
            since: exchange.now())
        pushes[name] = push
        jobs[id]?.open.insert(name)
        guard plan.shapesPushes, let policies else { return thread.add(.send(notice)) }
        lastShape += 1
        let shape = PushID(lastShape)
        shaping[shape] = name
        shapingEnds.append((exchange.now() + limits.shaping, shape))
        if timer?.isArmed == false { timer?.arm(after: limits.shaping) }
        policies.shape(
            push.draft, shape, call, exchange.named(exchange.switchboard.facts(of: call)), cause)
    }

    /// The plugins have shaped a push; nil: they dropped it.
    func shaped(_ shape: PushID, _ draft: PushDraft?) {
        guard let name = shaping.removeValue(forKey: shape), let push = pushes[name]
        else { return }
        guard let draft else {
            counters.dropped += 1
            return finish(name, "dropped by a plugin")
        }
        guard !push.isUnwanted else { return withdraw(name) }
        // Of the payload the caller has given a part, and may have left no room for more.
        let fit = fitting(draft, push) ?? fitting(draft.carrying(payloadOf: push.draft), push)
        pushes[name]?.notice = fit?.notice ?? push.notice
        pushes[name]?.draft = fit?.draft ?? push.draft
        pushes[name]?.isIncomplete = draft.isIncomplete || fit == nil
        thread.add(.send(fit?.notice ?? push.notice))
    }

    /// The push as a draft wants it; nil: so it cannot be sent.
    private func fitting(
        _ draft: PushDraft, _ push: DevicePush
    ) -> (notice: PushNotice, draft: PushDraft)? {
        var notice = push.notice
        notice.content.take(draft, insteadOf: push.draft)
        do throws(PushFailure) {
            try plan.push.check(notice, at: Clock.wallMilliseconds())
            return (notice, draft)
        } catch {
            guard let left = repeated.admit("shaped", at: exchange.now()) else { return nil }
            log.warn(
                "a plugin's push cannot be sent: its payload, or all of it, stays unchanged",
                ("call", notice.call.id),
                ("provider", notice.target.provider.rawValue), ("reason", error.description),
                ("left_out", "\(left)"))
            return nil
        }
    }

    private func giveUpShaping() {
        let late = shapingEnds.prefix { $0.moment <= exchange.now() }
        shapingEnds.removeFirst(late.count)
        for (_, shape) in late {
            guard let name = shaping.removeValue(forKey: shape), let push = pushes[name]
            else { continue }
            if push.isUnwanted { withdraw(name); continue }
            pushes[name]?.isIncomplete = true
            thread.add(.send(push.notice))
        }
        if let next = shapingEnds.first { timer?.arm(after: next.moment - exchange.now()) }
    }

    // MARK: Outcomes

    /// Pushes of somebody who is forgotten are not shown any more, and what comes of those under
    /// way names the substitute.
    func forget(_ gone: Forgotten) {
        endedPushes.forget(gone.user)
        for name in pushes.keys where pushes[name]?.address.user == gone.user {
            pushes[name]?.substitute = gone.substitute
        }
        for (id, job) in jobs where job.stored.cause.names(gone.user) {
            jobs[id]?.isForgotten = true
        }
    }

    /// A push has ended.
    func ended(_ outcome: PushResult) {
        let name = outcome.notice.id
        guard let push = pushes[name] else { return }
        counters.durations.note(
            exchange.now() - push.since, row: push.notice.target.provider.place)
        switch outcome.result {
        case .delivered:
            counters.sent += 1
            finish(name, "sent", attempts: outcome.attempts)
        // No answer, and nobody waits for this push any more: that is no failure. Where nobody was
        // woken in time it is one.
        case .failed(let failure)
        where push.isUnwanted && !push.isMissed
            && [.expired, .unavailable].contains(failure.cause):
            withdraw(name)
        case .failed(let failure):
            counters.failed[failure.cause, default: 0] += 1
            note(failure, of: push)
            finish(name, failure.description, attempts: outcome.attempts)
        }
    }

    private func withdraw(_ name: String) {
        counters.withdrawn += 1
        finish(name, "withdrawn")
    }

    private func note(_ failure: PushFailure, of push: DevicePush) {
        let provider = push.registration.registration.provider
        if let left = repeated.admit("\(provider) \(failure.cause)", at: exchange.now()) {
            log.write(
                [.misconfigured, .doubted].contains(failure.cause) ? .warn : .info, "push failed",
                [
                    ("call", push.notice.call.id), ("user", push.recorded.user.text),
                    ("device", push.address.device.text), ("provider", provider),
                    ("reason", failure.description), ("left_out", "\(left)"),
                ])
        }
        tellPlugins(failure, of: push)
        switch failure.advice {
        case .keep: break
        case .pause where push.isIncomplete: break
        case .pause:
            if paused.count >= limits.paused { paused.removeAll(keepingCapacity: true) }
            paused[RegistrationKey(push.registration)] = Pause(
                registration: push.registration, until: exchange.now() + Self.pause)
        case .remove:
            counters.removedTokens += 1
            unconfirmed.keep([.deadRegistration(push.registration)])
        }
    }

    private func tellPlugins(_ failure: PushFailure, of push: DevicePush) {
        guard policies != nil, push.substitute == nil, let id = jobs[push.job]?.stored.callID
        else { return }
        if let call = exchange.switchboard.call(id) { return tellPlugins(failure, of: push, call) }
        // A push may fail long after its call has ended.
        exchange.find(.call(id)) { [weak self] in
            if case .call(let call?) = $0 { self?.tellPlugins(failure, of: push, call) }
        }
    }

    private func tellPlugins(_ failure: PushFailure, of push: DevicePush, _ call: Call) {
        policies?.pushFailed(
            push.draft, call, exchange.switchboard.facts(of: call), failure.description,
            Cause(call.caller))
    }

    /// Stores the outcome of a push.
    private func finish(_ name: String, _ result: String, attempts: Int = 0) {
        guard let push = pushes.removeValue(forKey: name), let entry = jobs[push.job] else {
            return
        }
        let job = entry.stored
        jobs[push.job]?.open.remove(name)
        var delivery = JournalDelivery(
            to: (push.recorded.user, push.recorded.device),
            push.notice.target.provider.rawValue, result == "sent" ? "sent" : "failed")
        if result != "sent" { delivery.status = result }
        delivery.took = exchange.now() - push.since
        delivery.trace = job.trace
        exchange.journal?.sent(delivery, in: job.callID, at: exchange.now())
        if push.substitute == nil, !entry.isForgotten {
            endedPushes.add(
                EndedPushes.Entry(
                    name: name, job: job, address: push.address,
                    provider: push.notice.target.provider.rawValue, since: push.since,
                    at: exchange.now(), attempts: attempts, result: result))
        }
        unconfirmed.keep([
            .push(
                .outcome(
                    StoreContract.PushOutcome(
                        job: push.job, call: job.callID, address: push.recorded,
                        provider: push.notice.target.provider.rawValue, kind: job.kind,
                        at: exchange.now(), result: result)))
        ])
        finishIfDone(push.job)
    }

    private func finishIfDone(_ id: JobID) {
        guard jobs[id]?.open.isEmpty == true else { return }
        forget(id)
        unconfirmed.keep([.push(.finish(id))])
    }

    private func forget(_ id: JobID) {
        guard let job = jobs.removeValue(forKey: id)?.stored else { return }
        shares.giveBack(SendingCause(job.cause))
        let call = job.callID
        jobsOfCalls[call]?.removeAll { $0 == id }
        if jobsOfCalls[call]?.isEmpty == true { jobsOfCalls[call] = nil }
    }

    // MARK: For the operator

    /// Pushes that have no outcome yet, the newest first, at most `count`.
    func openPushes(_ count: Int) -> [EndedPushes.Entry] {
        pushes.values.sorted { $0.since > $1.since }.prefix(count).compactMap { push in
            guard let job = jobs[push.job]?.stored else { return nil }
            return EndedPushes.Entry(
                name: push.notice.id, job: job, address: push.address,
                provider: push.notice.target.provider.rawValue, since: push.since, at: nil,
                attempts: 0, result: nil)
        }
    }

    /// Carries out the job of a push that ended once more; `done` hears why not.
    func retry(_ name: String, _ done: @escaping (Refusal?) -> Void) {
        guard let job = endedPushes[name]?.job else {
            return done(Refusal(.notFound, "no push that ended is called '\(name)'"))
        }
        exchange.find(.call(job.callID)) { [weak self] in
            guard let self, case .call(let stored) = $0 else { return done(.notReady) }
            guard let call = exchange.switchboard.call(job.callID) ?? stored, matters(job, in: call)
            else { return done(Refusal(.wrongState, "nobody waits for it any more")) }
            let id = exchange.newJob()
            exchange.store([.push(.add(id, job))]) { [weak self] in
                if $0 == .durable { self?.begin(id, job) }
                done($0 == .durable ? nil : .notReady)
            }
        }
    }

    // MARK: What happens meanwhile

    /// A call has changed: a user who has answered need not be woken any more.
    func changed(_ call: Call) {
        guard let ids = jobsOfCalls[call.id] else { return }
        // Each is stopped once: whoever is called again and again leaves very many behind, and
        // their receivers may never answer.
        let left = ids.filter { id in
            guard let job = jobs[id] else { return false }
            let state = call.participant(job.stored.user)?.state
            guard !call.isLive || state?.mayAnswer != true else { return true }
            for name in job.open { pushes[name]?.isMissed = state == .timedOut }
            stopTrying(id)
            return job.open.isEmpty
        }
        if left.count < ids.count { jobsOfCalls[call.id] = left.isEmpty ? nil : left }
    }

    private func stopAnnouncing(_ call: CallID, to user: UserID) {
        for id in jobsOfCalls[call] ?? [] {
            guard let job = jobs[id]?.stored, job.user == user else {
                continue
            }
            stopTrying(id)
        }
    }

    private func stopTrying(_ id: JobID) {
        for name in jobs[id]?.open ?? [] {
            pushes[name]?.isUnwanted = true
            thread.add(.stopTrying(name))
        }
    }

    // MARK: Starting

    /// The store is back: first it gets what it missed.
    func storeIsBack() { unconfirmed.keepAgain { [weak self] in self?.resume() } }

    /// Goes on with the jobs that the store kept.
    func resume(after last: JobID? = nil) {
        let step = 500
        exchange.find(.openPushes(after: last, limit: step)) { [weak self] in
            guard let self, case .openPushes(let found) = $0 else { return }
            for push in found { begin(push.id, push.job) }
            if found.count == step { resume(after: found.last?.id) }
        }
    }
}

extension PushCarrier {
    /// Its place among all of them.
    fileprivate var place: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
