// Signed events: at least once, in order, until the receiver has them or the plan is over.

import JSON
import Testing
import WebProtocols
import enum WebProtocols.Base64

@testable import Outbound

private let now: Int64 = 1_795_000_000_000
private let secretText = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

struct WebhookSecretTests {
    /// The published example of the specification's libraries.
    @Test func theSignatureIsThatOfTheSpecification() throws {
        let headers = WebhookSecret.headers(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", body: Array(#"{"test": 2432232314}"#.utf8),
            at: 1_614_265_330_999, signedWith: [try WebhookSecret(secretText)])
        #expect(
            headers == [
                HTTPHeader("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
                HTTPHeader("webhook-timestamp", "1614265330"),
                HTTPHeader(
                    "webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
            ])
    }

    @Test func twoSecretsGiveTwoSignatures() throws {
        let headers = WebhookSecret.headers(
            id: "a", body: [], at: now,
            signedWith: [try WebhookSecret(secretText), try WebhookSecret(WebhookSecret.make())])
        let signatures = headers[2].value.split(separator: " ")
        #expect(signatures.count == 2 && signatures.allSatisfy { $0.hasPrefix("v1,") })
        #expect(Set(signatures).count == 2)
    }

    @Test(arguments: [
        ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", WebhookSecretError.noPrefix),
        ("whsec_!", .notBase64), ("whsec_", .length(0)),
        ("whsec_" + Base64.encode([UInt8](repeating: 1, count: 23)), .length(23)),
        ("whsec_" + Base64.encode([UInt8](repeating: 1, count: 65)), .length(65)),
    ])
    func aTextThatIsNoSecretIsNamed(text: String, error: WebhookSecretError) {
        #expect(throws: error) { try WebhookSecret(text) }
        #expect(!error.description.isEmpty)
    }

    @Test(arguments: [24, 64])
    func theShortestAndTheLongestSecretPass(count: Int) throws {
        _ = try WebhookSecret("whsec_" + Base64.encode([UInt8](repeating: 1, count: count)))
    }
}

final class WebhookDeskTests {
    private var sender: WebhookSender

    init() throws {
        sender = try Self.make(WebhookSender.Limits())
    }

    private static func make(_ limits: WebhookSender.Limits) throws -> WebhookSender {
        let secret = try WebhookSecret(secretText)
        return WebhookSender(
            [
                WebhookEndpoint("crm", try HTTPURL("https://crm.example/hook"), secrets: [secret]),
                WebhookEndpoint("log", try HTTPURL("https://log.example/hook"), secrets: [secret]),
            ], limits: limits, seed: 5)
    }

    private func add(
        _ id: String, to endpoint: String = "crm", order: String? = nil, at moment: Int64 = now
    ) -> Bool {
        sender.add(
            WebhookPost(id: id, endpoint: endpoint, order: order, body: Array("{}".utf8)),
            at: moment)
    }

    /// The requests that are to be sent, by the ids of their events.
    private func sent() -> [String: UInt64] {
        sender.takeRequests().reduce(into: [:]) {
            $0[$1.request.header("webhook-id") ?? ""] = $1.tag
        }
    }

    private func answer(
        _ tag: UInt64?, _ status: Int, headers: [HTTPHeader] = [], at moment: Int64 = now
    ) throws {
        sender.completed(
            try #require(tag), .success(OutboundResponse(status: status, headers: headers)),
            at: moment)
    }

    @Test func anEventIsPostedSignedAndEndsWhenItWasTaken() throws {
        #expect(add("evt_1"))
        let (tag, request) = try #require(sender.takeRequests().first)
        #expect(request.method == "POST" && request.url.host == "crm.example")
        #expect(request.header("content-type") == "application/json")
        #expect(request.header("webhook-signature")?.hasPrefix("v1,") == true)
        #expect(request.addresses == .publicOnly && request.timeout == 20_000)
        sender.completed(tag, .success(OutboundResponse(status: 204)), at: now)
        #expect(
            sender.takeOutcomes() == [
                WebhookOutcome(id: "evt_1", endpoint: "crm", result: .delivered, attempts: 1)
            ])
        #expect(sender.room(for: "crm") == 1_000 && sender.nextDeadline == nil)
    }

    @Test func thePlanIs5S5Min30Min25101420And24HThenNoMore()
        throws
    {
        var limits = WebhookSender.Limits()
        limits.probeEvery = 1_000_000_000
        sender = try Self.make(limits)
        #expect(add("e"))
        var moment = now
        for (attempt, pause) in WebhookSender.Limits().pauses.enumerated() {
            try answer(sent()["e"], 500, at: moment)
            guard
                case .postponed(let attempts, let until, "status 500")? = sender.takeOutcomes()
                    .first?
                    .result
            else {
                Issue.record("attempt \(attempt) was not postponed")
                return
            }
            #expect(attempts == attempt + 1)
            #expect((pause * 8 / 10...pause * 12 / 10).contains(until - moment))
            #expect(sender.nextDeadline == until)
            moment = until
            sender.advance(to: moment)
        }
        try answer(sent()["e"], 500, at: moment)
        #expect(sender.takeOutcomes().map(\.result) == [.gaveUp(reason: "status 500")])
        #expect(sender.room(for: "crm") == 1_000)
    }

    @Test func eventsOfOneCallComeInOrderThoseOfOthersDoNotWait() throws {
        for id in ["a1", "a2"] { #expect(add(id, order: "a")) }
        #expect(add("b1", order: "b") && add("free"))
        var tags = sent()
        #expect(tags.keys.sorted() == ["a1", "b1", "free"])
        try answer(tags["a1"], 503)
        try answer(tags["b1"], 200)
        #expect(add("a3", order: "a"))
        #expect(sent().isEmpty)
        sender.advance(to: now + 10_000)
        tags = sent()
        #expect(tags.keys.sorted() == ["a1"])
        try answer(tags["a1"], 200, at: now + 10_000)
        try answer(sent()["a2"], 200, at: now + 10_000)
        #expect(sent().keys.sorted() == ["a3"])
    }

    @Test func afterAnEventWasGivenUpTheNextOfItsCallGoesOn() throws {
        var limits = WebhookSender.Limits()
        limits.pauses = []
        sender = try Self.make(limits)
        #expect(add("a1", order: "a") && add("a2", order: "a"))
        try answer(sent()["a1"], 404)
        #expect(sent().keys.sorted() == ["a2"])
    }

    @Test func aReceiverThatWasAwayGetsWhatWaitsAsSoonAsItIsBack() throws {
        for id in ["a", "b", "c", "d"] { #expect(add(id)) }
        var tags = sent()
        for id in ["a", "b", "c"] { try answer(tags[id], 500) }
        #expect(sent().isEmpty)
        try answer(tags["d"], 200)
        tags = sent()
        #expect(tags.keys.sorted() == ["a", "b", "c"], "three in a row: it was away")
        for id in ["a", "b"] { try answer(tags[id], 500) }
        try answer(tags["c"], 200)
        #expect(sent().isEmpty, "two in a row are no more than trouble with them")
        sender.advance(to: now + 400_000)
        #expect(sent().keys.sorted() == ["a", "b"])
    }

    /// Fails both attempts of 5 s, so that the next is planned 5 min later; the moment then.
    private func fail(_ id: String) throws -> Int64 {
        try answer(sent()[id], 500)
        sender.advance(to: now + 6_000)
        try answer(sent()[id], 500, at: now + 6_000)
        _ = sender.takeOutcomes()
        return now + 6_000
    }

    @Test func aQuietReceiverThatIsAwayIsTriedOnceAMinuteWhichCostsNoAttempt()
        throws
    {
        #expect(add("a") && add("b"))
        let first = sent()
        for id in ["a", "b"] { try answer(first[id], 500) }
        sender.advance(to: now + 6_000)
        var tags = sent()
        for id in ["a", "b"] { try answer(tags[id], 500, at: now + 6_000) }
        _ = sender.takeOutcomes()
        var moment = now
        for _ in 0..<3 {
            let next = try #require(sender.nextDeadline)
            #expect((48_000...72_000).contains(next - moment), "a minute, 20 % more or less")
            sender.advance(to: next - 1)
            #expect(sent().isEmpty)
            sender.advance(to: next)
            tags = sent()
            #expect(tags.count == 1, "one of the two events is enough")
            try answer(tags.values.first, 500, at: next)
            #expect(sender.takeOutcomes().isEmpty, "the plan stays as it is")
            moment = next
        }
        sender.advance(to: try #require(sender.nextDeadline))
        tags = sent()
        try answer(tags.values.first, 204, at: moment + 60_000)
        #expect(sender.takeOutcomes().map(\.result) == [.delivered])
        try answer(sent().values.first, 204, at: moment + 60_000)
        #expect(sender.takeOutcomes().map(\.result) == [.delivered], "the other follows at once")
        #expect(sender.room(for: "crm") == 1_000)
    }

    @Test func anEventThatFailsAloneIsNotTriedBeforeItsTime() throws {
        #expect(add("poison"))
        let moment = try fail("poison")
        #expect(add("fine"))
        try answer(sent()["fine"], 204, at: moment)
        _ = sender.takeOutcomes()
        sender.advance(to: moment + 230_000)
        #expect(sent().isEmpty, "the receiver is there: a probe would tell nothing")
        sender.advance(to: moment + 360_000)
        #expect(sent().keys.sorted() == ["poison"])
    }

    @Test func aReceiverThatAskedForTimeIsNotProbedBefore() throws {
        #expect(add("a"))
        let moment = try fail("a")
        #expect(add("b"))
        try answer(sent()["b"], 429, headers: [HTTPHeader("retry-after", "200")], at: moment)
        sender.advance(to: moment + 199_999)
        #expect(sent().isEmpty)
    }

    @Test func afterAStartItIsProbedAndTakingOneEventFreesTheOthers() throws {
        func old(_ id: String) -> Bool {
            sender.add(
                WebhookPost(
                    id: id, endpoint: "crm", order: nil, body: [], attempts: 7,
                    notBefore: now + 50_000_000), at: now)
        }
        #expect(old("a") && old("b"))
        #expect(sent().isEmpty)
        let probe = try #require(sender.nextDeadline)
        #expect((48_000...72_000).contains(probe - now))
        #expect(add("new"))
        try answer(sent()["new"], 204)
        #expect(sent().keys.sorted() == ["a", "b"])
        #expect(old("c"))
        #expect(sent().keys.sorted() == ["c"], "it is known to be there")
    }

    @Test(arguments: [301, 302, 307, 400, 404, 500])
    func everyOtherStatusIsAnAttemptInVain(status: Int) throws {
        #expect(add("e"))
        try answer(sent()["e"], status)
        guard case .postponed? = sender.takeOutcomes().first?.result else {
            Issue.record("\(status) was not postponed")
            return
        }
    }

    @Test func with410EndsTheEndpointAndLeavesTheOthers() throws {
        #expect(add("e1") && add("e2", order: "x") && add("e3", order: "x") && add("l", to: "log"))
        let tags = sent()
        try answer(tags["e1"], 410)
        #expect(
            sender.takeOutcomes() == [
                WebhookOutcome(id: "e1", endpoint: "crm", result: .endpointGone)
            ])
        try answer(tags["e2"], 200)
        #expect(sender.takeOutcomes().isEmpty && sent().isEmpty)
        #expect(!add("e4") && sender.room(for: "crm") == 0 && sender.room(for: "log") == 999)
        sender.advance(to: now + 1_000_000)
        #expect(sent().isEmpty)
        let secret = try WebhookSecret(secretText)
        sender.use([WebhookEndpoint("crm", try HTTPURL("https://new.example"), secrets: [secret])])
        #expect(add("e5") && !add("l2", to: "log"))
        #expect(sender.takeRequests().first?.request.url.host == "new.example")
    }

    @Test(arguments: [429, 502, 503, 504])
    func aReceiverThatAsksForTimeIsLeftAlone(status: Int) throws {
        #expect(add("e1"))
        try answer(sent()["e1"], status, headers: [HTTPHeader("retry-after", "60")])
        #expect(add("e2") && add("l", to: "log"))
        #expect(sent().keys.sorted() == ["l"])
        sender.advance(to: now + 59_999)
        #expect(sent().isEmpty)
        sender.advance(to: now + 60_000)
        #expect(sent().keys.sorted() == ["e1", "e2"])
    }

    @Test func onlySoManyAreUnderWayToOneEndpoint() throws {
        var limits = WebhookSender.Limits()
        limits.underWay = 2
        sender = try Self.make(limits)
        for id in ["a", "b", "c", "d"] { #expect(add(id)) }
        var tags = sent()
        #expect(tags.keys.sorted() == ["a", "b"])
        try answer(tags["a"], 200)
        tags.merge(sent()) { $1 }
        #expect(tags.keys.sorted() == ["a", "b", "c"])
        try answer(tags["b"], 500)
        #expect(sent().keys.sorted() == ["d"])
    }

    @Test func ofOneCauseSoManyAreUnderWayAndOthersHaveTheirTurns() throws {
        func add(_ id: String, of user: String) -> Bool {
            var job = WebhookPost(id: id, endpoint: "crm", order: id, body: Array("{}".utf8))
            job.cause = SendingCause(user, caller: user)
            return sender.add(job, at: now)
        }
        for number in 0..<20 { #expect(add("m\(number)", of: "mallory")) }
        var tags = sent()
        #expect(tags.count == 8, "the receiver is slow for mallory's calls")
        #expect(add("a", of: "ann"))
        tags.merge(sent()) { $1 }
        #expect(tags["a"] != nil && tags.count == 9)
        try answer(tags["a"], 200)
        #expect(sent().isEmpty)
        try answer(tags["m3"], 200)
        #expect(sent().keys.sorted() == ["m8"])
    }

    @Test func roomIsBoundedByJobsAndByBytes() throws {
        var limits = WebhookSender.Limits()
        limits.jobs = 3
        limits.bytes = 4
        sender = try Self.make(limits)
        #expect(add("a") && sender.room(for: "crm") == 2)
        #expect(add("b") && sender.room(for: "crm") == 0)
        #expect(!add("c") && !add("x", to: "nobody"))
        try answer(sent()["a"], 200)
        #expect(add("c"))
    }

    @Test func aBodyBeyondTheLimitIsGivenUpAtOnce() throws {
        var limits = WebhookSender.Limits()
        limits.body = 2
        sender = try Self.make(limits)
        #expect(add("fits"))
        let large = WebhookPost(id: "large", endpoint: "crm", order: nil, body: Array("{ }".utf8))
        let isTaken = sender.add(large, at: now)
        #expect(isTaken && sent().keys.sorted() == ["fits"])
        let reason = "the body has 3 bytes, more than 2"
        #expect(sender.takeOutcomes().map(\.result) == [.gaveUp(reason: reason)])
    }

    @Test func aJobFromTheOutboxGoesOnWhereItWas() throws {
        let job = WebhookPost(
            id: "old", endpoint: "crm", order: "a", body: [], attempts: 9, notBefore: now + 100)
        let isTaken = sender.add(job, at: now)
        #expect(isTaken)
        #expect(sent().isEmpty && sender.nextDeadline == now + 100)
        sender.advance(to: now + 100)
        try answer(sent()["old"], 500, at: now + 100)
        #expect(sender.takeOutcomes().map(\.result) == [.gaveUp(reason: "status 500")])
    }

    @Test func aFailureWithoutAnAnswerIsPostponedWithItsReason() throws {
        #expect(add("e"))
        let failure = OutboundFailure(.refusedAddress, "crm.example leads inside")
        sender.completed(try #require(sent()["e"]), .failure(failure), at: now)
        guard case .postponed(1, _, let reason)? = sender.takeOutcomes().first?.result else {
            Issue.record("not postponed")
            return
        }
        #expect(reason == "refused_address: crm.example leads inside")
    }
}

struct OutboundClockTests {
    /// An endpoint to which nothing is ever sent: its address is one of our own network.
    private func settings() throws -> OutboundService.Settings {
        var settings = OutboundService.Settings()
        settings.webhooks = [
            WebhookEndpoint(
                "crm", try HTTPURL("http://127.0.0.1:9/"), secrets: [try WebhookSecret(secretText)])
        ]
        return settings
    }

    @Test(arguments: [-3_600_000, 3_600_000] as [Int64])
    func anEventWaitsAsLongWhenTheClockIsSet(span: Int64) throws {
        var (wall, uptime) = (now, Int64(0))
        let service = try OutboundService(try settings(), clock: { wall }, uptime: { uptime })
        defer { service.close() }
        func attempts() -> [Int] {
            (0..<3).flatMap { _ in service.perform(forAtMost: 0) }.compactMap {
                guard case .webhook(let outcome) = $0,
                    case .postponed(let attempts, _, _) = outcome.result
                else { return nil }
                return attempts
            }
        }
        service.take(WebhookPost(id: "e", endpoint: "crm", order: nil, body: [1]))
        #expect(attempts() == [1])
        wall += span
        #expect(attempts() == [])
        (wall, uptime) = (wall + 6_000, uptime + 6_000)
        #expect(attempts() == [2])
    }
}

struct DueQueueTests {
    @Test func elementsComeByTheirMomentEqualOnesInTheOrderTheyWereAdded() {
        var queue = DueQueue<Int>()
        let moments = (0..<500).map { Int64($0 * 7_919 % 97) }
        for (index, moment) in moments.enumerated() { queue.add(index, due: moment) }
        var popped: [Int] = []
        for moment in 0..<97 {
            #expect(queue.next == Int64(moment))
            while let element = queue.pop(at: Int64(moment)) { popped.append(element) }
        }
        let wanted = moments.indices.sorted { (moments[$0], $0) < (moments[$1], $1) }
        #expect(popped == wanted)
        #expect(queue.next == nil && queue.count == 0)
    }

    @Test func delaysDoubleUpToAQuarterOfAnHour() {
        var plan = RetryPlan(seed: 11)
        for (attempts, usual) in [(1, 500), (2, 1_000), (5, 8_000), (12, 900_000), (60, 900_000)] {
            for _ in 0..<50 {
                let delay = plan.delay(afterAttempts: attempts)
                #expect((Int64(usual) * 8 / 10...Int64(usual) * 12 / 10).contains(delay))
            }
        }
        var first = RetryPlan(seed: 1)
        var second = RetryPlan(seed: 1)
        #expect(
            (0..<9).map { _ in first.spread(1_000) } == (0..<9).map { _ in second.spread(1_000) })
    }
}
