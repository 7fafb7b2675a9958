// Push registrations, push jobs, webhooks and missed calls.

import CallModel
import StoreContract
import Testing

private let ann = UserID("ann")

@Suite struct RegistrationTests {
    @Test(arguments: Kind.allCases)
    func registrationsAreKeptPerDeviceAndProvider(kind: Kind) throws {
        let rig = try Rig(kind)
        let (phone, tablet) = (
            Address(ann, DeviceID("phone")), Address(ann, DeviceID("tablet"))
        )
        func register(_ address: Address, _ provider: String, _ token: String) -> StoreChange {
            .registration(
                address, provider: provider,
                PushRegistration(provider: provider, token: token, environment: "sandbox"))
        }
        try rig.commit(register(tablet, "fcm", "t1"), register(phone, "apns_voip", "t2"))
        try rig.commit(register(phone, "apns", "t3"), register(phone, "apns_voip", "t4"))
        var found = try rig.reader.registrations(of: ann)
        #expect(found.map(\.registration.token) == ["t3", "t4", "t1"])
        #expect(found.map(\.address) == [phone, phone, tablet])
        #expect(found[0].registration.environment == "sandbox")
        try rig.commit(.registration(phone, provider: "apns_voip", nil))
        try rig.commit(.registration(phone, provider: "web", nil))
        found = try rig.reader.registrations(of: ann)
        #expect(found.map(\.registration.token) == ["t3", "t1"])
        #expect(try rig.reader.registrations(of: UserID("bob")).isEmpty)
    }

    @Test(arguments: Kind.allCases)
    func aPhoneThatChangesHandsTakesItsTokenAlong(kind: Kind) throws {
        let rig = try Rig(kind)
        let bob = UserID("bob")
        func register(_ user: UserID, _ provider: String, _ token: String) -> StoreChange {
            .registration(
                Address(user, DeviceID("phone")), provider: provider,
                PushRegistration(provider: provider, token: token, environment: nil))
        }
        try rig.commit(register(ann, "fcm", "t"), register(ann, "apns", "t"))
        try rig.commit(register(ann, "webhook", "w"))
        try rig.commit(register(bob, "fcm", "t"), register(bob, "webhook", "w"))
        func providers(_ user: UserID) throws -> [String] {
            try rig.reader.registrations(of: user).map(\.registration.provider)
        }
        #expect(try providers(ann) == ["apns"])
        #expect(try providers(bob) == ["fcm", "webhook"])
        try rig.commit(register(bob, "fcm", "t"))
        #expect(try providers(bob) == ["fcm", "webhook"], "again is no change of hands")
        try rig.commit(register(bob, "fcm", "new"), register(ann, "fcm", "t"))
        #expect(try providers(ann) == ["apns", "fcm"])
        #expect(try providers(bob) == ["fcm", "webhook"], "its old token is nobody's of bob's")
    }

    @Test(arguments: Kind.allCases)
    func aTokenIsTheSameHoweverItIsWritten(kind: Kind) throws {
        let rig = try Rig(kind)
        func register(_ user: String, _ provider: String, _ token: String) throws {
            try rig.commit(
                .registration(
                    Address(UserID(user), DeviceID("phone")), provider: provider,
                    PushRegistration(provider: provider, token: token)))
        }
        try register("ann", "apns", "AB12")
        try register("ann", "web", #"{"endpoint":"https://p/1","keys":{"auth":"a","p256dh":"b"}}"#)
        try register("bob", "apns", "ab12")
        try register(
            "bob", "web",
            #"{"keys":{"p256dh":"b","auth":"a"},"endpoint":"https://p/1","expirationTime":null}"#)
        #expect(try rig.reader.registrations(of: ann).isEmpty)
        #expect(try rig.reader.registrations(of: UserID("bob")).count == 2)
    }

    /// Each call of a user asks for all registrations of that user, so there are not many of them.
    @Test(arguments: Kind.allCases)
    func theOldestGoesBeyondTheLimit(kind: Kind) throws {
        var limits = StoreLimits()
        limits.registrationsPerUser = 3
        let rig = try Rig(kind, limits: limits)
        func register(_ device: String, _ later: Int64, of user: UserID = ann) throws {
            try rig.commit(
                .registration(
                    Address(user, DeviceID(device)), provider: "fcm",
                    PushRegistration(provider: "fcm", token: "\(user) \(device)")),
                at: start + later)
        }
        func devices(_ user: UserID = ann) throws -> [String] {
            try rig.reader.registrations(of: user).map(\.address.device.text)
        }
        for (later, device) in ["d", "b", "c"].enumerated() { try register(device, Int64(later)) }
        try register("a", 0, of: UserID("bob"))
        #expect(try devices() == ["b", "c", "d"], "three are within it")
        try register("d", 3)
        try register("a", 4)
        #expect(try devices() == ["a", "c", "d"], "b is the oldest: d has registered again")
        try register("e", 4)
        try register("f", 4)
        #expect(try devices() == ["a", "e", "f"], "also of the same moment")
        #expect(try devices(UserID("bob")) == ["a"])
    }

    /// What is told of a token concerns the registration that the push went to, and no later one.
    @Test(arguments: Kind.allCases)
    func aDeadTokenTakesItsOwnRegistrationOnly(kind: Kind) throws {
        let rig = try Rig(kind)
        let phone = Address(ann, DeviceID("phone"))
        func register(_ token: String, at moment: Moment) throws -> Registration {
            let registration = PushRegistration(provider: "fcm", token: token, environment: nil)
            try rig.commit(
                .registration(phone, provider: "fcm", registration), at: moment)
            let stored = try #require(try rig.reader.registrations(of: ann).first)
            #expect(stored == Registration(phone, registration, at: moment))
            return stored
        }
        let first = try register("t", at: start)
        let again = try register("t", at: start + 1)
        try rig.commit(.deadRegistration(first), at: start + 2)
        #expect(try rig.reader.registrations(of: ann) == [again], "it was registered again")
        let other = try register("new", at: start + 3)
        try rig.commit(.deadRegistration(again), at: start + 4)
        #expect(try rig.reader.registrations(of: ann) == [other], "it is another token")
        try rig.commit(.deadRegistration(other), at: start + 5)
        #expect(try rig.reader.registrations(of: ann).isEmpty)
        try rig.commit(.deadRegistration(other), at: start + 6)
    }
}

@Suite struct PushTests {
    @Test(arguments: Kind.allCases)
    func openJobsComeInOrderUntilFinished(kind: Kind) throws {
        let rig = try Rig(kind)
        var dice = Dice(seed: 5)
        let jobs = (1...5).map { StoredPush(id: JobID($0), job: dice.pushJob()) }
        for stored in jobs.shuffled(using: &dice.generator) {
            try rig.commit(.push(.add(stored.id, stored.job)))
        }
        #expect(try rig.reader.openPushes(after: nil, limit: 10) == jobs)
        #expect(try rig.reader.openPushes(after: JobID(2), limit: 2) == Array(jobs[2...3]))
        try rig.commit(.push(.finish(JobID(3))), .push(.finish(JobID(77))))
        #expect(try rig.reader.openPushes(after: JobID(2), limit: 2) == Array(jobs[3...4]))
        #expect(try rig.restored(at: start).lastJob == JobID(5))
    }

    @Test(arguments: Kind.allCases)
    func outcomesAreHistoryOfTheCall(kind: Kind) throws {
        let rig = try Rig(kind)
        func outcome(_ job: Int64, _ device: String, _ result: String) -> PushOutcome {
            PushOutcome(
                job: JobID(job), call: callID(1), address: Address(ann, DeviceID(device)),
                provider: "fcm", kind: .missed, at: start + job, result: result)
        }
        try rig.commit(
            .push(.outcome(outcome(2, "phone", "sent"))),
            .push(.outcome(outcome(1, "tablet", "sent"))),
            .push(.outcome(outcome(1, "phone", "retry"))))
        try rig.commit(.push(.outcome(outcome(1, "phone", "unregistered"))))
        #expect(
            try rig.reader.pushOutcomes(of: callID(1)) == [
                outcome(1, "phone", "unregistered"), outcome(1, "tablet", "sent"),
                outcome(2, "phone", "sent"),
            ])
        #expect(try rig.reader.pushOutcomes(of: callID(2)).isEmpty)
    }
}

@Suite struct WebhookTests {
    private func job(_ id: Int64, at later: Int64 = 0) -> WebhookJob {
        WebhookJob(
            JobID(id), endpoint: "crm", call: callID(later), type: "call.ended",
            at: start + later, body: Array("{\"n\":\(id)}".utf8))
    }

    @Test(arguments: Kind.allCases)
    func aWebhookGoesFromOpenToDeliveredAndBackForReplay(kind: Kind) throws {
        let rig = try Rig(kind)
        try rig.commit(.webhook(.add(job(1))), .webhook(.add(job(2))), .webhook(.add(job(3))))
        let retry = WebhookProgress(attempts: 1, dueAt: start + 5_000, lastError: "HTTP 503")
        let delivered = WebhookProgress(.delivered, attempts: 1, dueAt: start)
        try rig.commit(
            .webhook(.update(JobID(1), retry)), .webhook(.update(JobID(2), delivered)),
            .webhook(.update(JobID(9), delivered)))
        #expect(
            try rig.reader.webhooks(.open, after: nil, limit: 9) == [
                StoredWebhook(job: job(1), progress: retry),
                StoredWebhook(job: job(3), progress: WebhookProgress(dueAt: start)),
            ])
        #expect(try rig.reader.webhooks(.open, after: JobID(1), limit: 9).map(\.job) == [job(3)])
        #expect(try rig.reader.webhooks(.delivered, after: nil, limit: 9).map(\.job) == [job(2)])
        #expect(try rig.reader.webhooks(.failed, after: nil, limit: 9).isEmpty)
        try rig.commit(.webhook(.update(JobID(2), WebhookProgress(dueAt: start + 9))))
        #expect(
            try rig.reader.webhooks(.open, after: nil, limit: 2).map(\.job) == [job(1), job(2)])
    }

    /// Whoever has many events hides nobody else's.
    @Test(arguments: Kind.allCases)
    func openWebhooksAreFoundByReceiverAndCaller(kind: Kind) throws {
        let rig = try Rig(kind)
        func add(_ id: Int64, _ caller: String?, to endpoint: String = "crm") throws -> WebhookJob {
            var job = WebhookJob(
                JobID(id), endpoint: endpoint, call: callID(id), type: "call.ended", at: start,
                body: Array("{}".utf8))
            let user = caller.map { UserID($0 + "-other") }
            job.cause = Cause(user, caller: caller.map { UserID($0) })
            try rig.commit(.webhook(.add(job)))
            return job
        }
        func callers(after caller: String? = nil, limit: Int = 9) throws -> [String] {
            try rig.reader.webhookCallers(
                of: "crm", after: caller.map { UserID($0) }, limit: limit
            ).map(\.text)
        }
        let many = try (1...5).map { try add($0, "mallory") }
        let one = try add(6, "ann")
        let old = try add(7, nil)
        _ = try add(8, "bob", to: "log")
        #expect(try callers() == ["", "ann", "mallory"])
        #expect(try callers(after: "", limit: 1) == ["ann"])
        #expect(try callers(after: "mallory").isEmpty && callers(limit: 0).isEmpty)
        func jobs(_ caller: String, after id: Int64? = nil, limit: Int = 9) throws -> [WebhookJob] {
            let turn = WebhookTurn(UserID(caller), after: id.map { JobID($0) })
            return try rig.reader.openWebhooks(of: "crm", turn, limit: limit)[0].map(\.job)
        }
        #expect(try jobs("mallory", after: 2, limit: 2) == Array(many[2...3]))
        #expect(try jobs("ann") == [one] && jobs("") == [old] && jobs("bob").isEmpty)
        let delivered = WebhookProgress(.delivered, dueAt: start)
        try rig.commit(.webhook(.update(JobID(6), delivered)))
        #expect(try callers() == ["", "mallory"])
        try rig.commit(.webhook(.update(JobID(6), WebhookProgress(dueAt: start))))
        #expect(try callers() == ["", "ann", "mallory"])
    }

    @Test(arguments: Kind.allCases)
    func theTraceStaysWithWhatIsToBeSent(kind: Kind) throws {
        let rig = try Rig(kind)
        let trace = TraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        #expect(trace != nil)
        let ann = UserID("ann")
        for (id, trace) in [(1, trace), (2, nil)] as [(Int64, TraceParent?)] {
            var job = job(id)
            (job.cause, job.trace) = (Cause(ann), trace)
            var push = PushJob(.invite, callID: callID(id), user: ann, cause: job.cause)
            push.trace = trace
            try rig.commit(.webhook(.add(job)), .push(.add(JobID(id), push)))
        }
        let turn = WebhookTurn(ann, after: nil)
        let open = try rig.reader.openWebhooks(of: job(1).endpoint, turn, limit: 9)[0]
        #expect(open.map(\.job.trace) == [trace, nil])
        let found = try rig.reader.webhooks(.open, after: nil, limit: 9)
        #expect(found.map(\.job.trace) == [trace, nil])
        let pushes = try rig.reader.openPushes(after: nil, limit: 9)
        #expect(pushes.map(\.job.trace) == [trace, nil])
    }

    @Test func memoryLosesTheEventsOfWhoHasMany() throws {
        var limits = StoreLimits()
        limits.endedCallsInMemory = 8
        let rig = try Rig(.memory, limits: limits)
        func finish(_ id: Int64, _ caller: String) throws {
            var job = job(id)
            job.cause = Cause(UserID(caller))
            try rig.commit(
                .webhook(.add(job)),
                .webhook(.update(JobID(id), WebhookProgress(.failed, dueAt: start))))
        }
        try finish(1, "ann")
        for id in 2...20 as ClosedRange<Int64> { try finish(id, "mallory") }
        let kept = try rig.reader.webhooks(.failed, after: nil, limit: 99)
        #expect(kept.count == 8 && kept.first?.job.id == JobID(1))
    }

    @Test(arguments: Kind.allCases)
    func onlyFinishedWebhooksAreForgotten(kind: Kind) throws {
        var limits = StoreLimits()
        limits.webhookPatience = 30 * 24 * 3_600_000
        let rig = try Rig(kind, limits: limits)
        for id in 1...3 { try rig.commit(.webhook(.add(job(Int64(id), at: Int64(id))))) }
        try rig.commit(
            .webhook(.update(JobID(1), WebhookProgress(.delivered, dueAt: start))),
            .webhook(.update(JobID(2), WebhookProgress(.failed, dueAt: start))))
        let week: Milliseconds = 7 * 24 * 3_600_000
        try rig.sweep(at: start + 1 + week)
        #expect(try rig.reader.webhooks(.delivered, after: nil, limit: 9).isEmpty)
        #expect(try rig.reader.webhooks(.failed, after: nil, limit: 9).count == 1)
        try rig.sweep(at: start + 70_000 + week)
        #expect(try rig.reader.webhooks(.failed, after: nil, limit: 9).isEmpty)
        #expect(try rig.reader.webhooks(.open, after: nil, limit: 9).map(\.job.id) == [JobID(3)])
    }

    /// Also of a receiver that is no longer configured, of which nobody looks at any event.
    @Test(arguments: Kind.allCases)
    func whatNobodyTriesInTimeIsGivenUpAndThenForgotten(kind: Kind) throws {
        var limits = StoreLimits()
        limits.sweepStep = 2
        let rig = try Rig(kind, limits: limits)
        for id in 1...7 as ClosedRange<Int64> {
            try rig.commit(.webhook(.add(job(id, at: id))))
        }
        // The first two are tried, and come before those of which nobody takes care.
        let (day, limit) = (24 * 3_600_000 as Milliseconds, limits.webhookPatience)
        let tried = WebhookProgress(attempts: 9, dueAt: start + limit, lastError: "HTTP 404")
        try rig.commit(.webhook(.update(JobID(1), tried)), .webhook(.update(JobID(2), tried)))
        try rig.sweep(at: start + 6 + limit)
        func ids(_ state: WebhookProgress.State) throws -> [Int64] {
            try rig.reader.webhooks(state, after: nil, limit: 9).map(\.job.id.value)
        }
        #expect(try ids(.open) == [1, 2, 7] && ids(.failed) == [3, 4, 5, 6])
        let failed = try rig.reader.webhooks(.failed, after: nil, limit: 1).first
        #expect(failed?.progress.lastError == "not tried in time")
        // An operator sends one again: its time begins anew.
        try rig.commit(.webhook(.update(JobID(4), WebhookProgress(dueAt: start + 6 * day))))
        try rig.sweep(at: start + 6 * day)
        #expect(try ids(.open) == [1, 2, 4] && ids(.failed) == [3, 5, 6, 7])
        for day in [12 * day, 13 * day] { try rig.sweep(at: start + day) }
        #expect(try ids(.open).isEmpty && ids(.failed).isEmpty && ids(.delivered).isEmpty)
    }

    /// Longer than all pauses between attempts, each 20 % longer than planned.
    @Test func nothingIsGivenUpInTheMiddleOfItsAttempts() {
        let pauses = 5 + 300 + 1_800 + (2 + 5 + 10 + 14 + 20 + 24) * 3_600
        #expect(StoreLimits().webhookPatience > Milliseconds(pauses) * 1_200)
    }

    @Test func memoryKeepsOnlyTheLastFinishedOnes() throws {
        var limits = StoreLimits()
        limits.endedCallsInMemory = 2
        let rig = try Rig(.memory, limits: limits)
        for id in 1...3 {
            try rig.commit(
                .webhook(.add(job(Int64(id)))),
                .webhook(.update(JobID(Int64(id)), WebhookProgress(.delivered, dueAt: start))))
        }
        let kept = try rig.reader.webhooks(.delivered, after: nil, limit: 9)
        #expect(kept.map(\.job.id) == [JobID(2), JobID(3)])
    }
}

@Suite struct MissedCallTests {
    @Test(arguments: Kind.allCases)
    func missedCallsCountUntilSeen(kind: Kind) throws {
        let rig = try Rig(kind)
        for later in [10, 20, 30] as [Int64] {
            try rig.commit(.missed(ann, callID(later), at: start + later))
        }
        try rig.commit(.missed(ann, callID(20), at: start + 20))
        try rig.commit(.missed(UserID("bob"), callID(10), at: start + 10))
        #expect(try rig.reader.missedCount(of: ann) == 3)
        let newest = try rig.reader.missedCalls(of: ann, limit: 2)
        #expect(newest.map(\.callID) == [callID(30), callID(20)])
        #expect(newest.map(\.at) == [start + 30, start + 20])
        try rig.commit(.seen(ann, upTo: start + 20))
        #expect(try rig.reader.missedCount(of: ann) == 1)
        try rig.commit(.seen(ann, upTo: start + 30))
        #expect(try rig.reader.missedCount(of: ann) == 0)
        #expect(try rig.reader.missedCount(of: UserID("bob")) == 1)
    }
}
