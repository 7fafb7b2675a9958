// Pushes and events through the engine to a server that checks them with libraries of others.

import Foundation
import JSON
import Testing
import WebProtocols

@testable import Outbound

/// The service against the double.
private final class Rig {
    let double: PushDouble
    let service: OutboundService
    private(set) var pushes: [String: PushResult] = [:]
    private(set) var webhooks: [WebhookOutcome] = []

    init(_ change: (inout OutboundService.Settings) throws -> Void = { _ in }) throws {
        double = try PushDouble()
        var settings = OutboundService.Settings()
        settings.http = double.options
        settings.push = try Self.services(double)
        try change(&settings)
        service = try OutboundService(settings)
    }

    private static func services(_ double: PushDouble) throws -> PushServices {
        var services = PushServices()
        var apns = try APNsIdentity(
            key: SignatureKey(.es256, double.text("apns", "key")),
            keyID: double.text("apns", "key_id"), teamID: double.text("apns", "team"),
            bundleID: "com.example.app")
        apns.production = try double.url("")
        apns.sandbox = try double.url("")
        services.apns = apns
        services.fcm = try FCMIdentity(serviceAccount: double.text("fcm", "account"))
        services.fcm?.service = try double.url("")
        services.web = try WebPushIdentity(
            key: double.text("web", "vapid"), subject: "mailto:ops@example.com")
        services.web?.addresses = .anywhere
        services.webhook = WebhookPushIdentity(
            try double.url("/hook/gateway"), secrets: try secrets(double, 1))
        return services
    }

    static func secrets(_ double: PushDouble, _ count: Int) throws -> [WebhookSecret] {
        try (double.hello["hook_secrets"]?.array ?? []).prefix(count).map {
            try WebhookSecret(try #require($0.string))
        }
    }

    func endpoint(_ name: String, secrets count: Int = 1) throws -> WebhookEndpoint {
        WebhookEndpoint(
            name, try double.url("/hook/" + name), secrets: try Self.secrets(double, count),
            addresses: .anywhere)
    }

    func target(_ provider: PushCarrier, _ token: String) throws -> PushTarget {
        guard provider == .web else { return PushTarget(provider, token: token) }
        let subscription: JSONValue = [
            "endpoint": .string(try double.url("/web/" + token).text),
            "keys": [
                "p256dh": .string(try double.text("web", "p256dh")),
                "auth": .string(try double.text("web", "auth")),
            ],
        ]
        return PushTarget(.web, token: subscription.description)
    }

    func send(
        _ provider: PushCarrier, _ token: String, _ kind: PushKind = .invite, seconds: Int64 = 30,
        registeredAt: Int64 = 0
    ) throws {
        let now = SystemClock.wall
        var target = try target(provider, token)
        target.registeredAt = registeredAt
        service.send(
            PushNotice(
                id: "\(token)/\(provider.rawValue)/\(kind.rawValue)", kind,
                SamplePush.call, for: "bob", to: target, ringEndsAt: now + seconds * 1_000, now: now
            ))
    }

    /// Works until there are so many outcomes.
    func work(pushes: Int = 0, webhooks: Int = 0, seconds: Int = 20) {
        work(seconds: seconds) { self.pushes.count >= pushes && self.webhooks.count >= webhooks }
    }

    /// Works until something is so.
    func work(seconds: Int = 20, until isSo: () throws -> Bool) rethrows {
        let end = ContinuousClock.now + .seconds(seconds)
        while try !isSo(), ContinuousClock.now < end {
            for news in service.perform(forAtMost: 100) {
                switch news {
                case .push(let outcome): self.pushes[outcome.notice.id] = outcome
                case .webhook(let outcome): self.webhooks.append(outcome)
                case .response: break
                }
            }
        }
    }

    func cause(_ id: String) -> PushFailure.Cause? {
        guard case .failed(let failure)? = pushes[id]?.result else { return nil }
        return failure.cause
    }

    func isDelivered(_ id: String) -> Bool {
        guard case .delivered? = pushes[id]?.result else { return false }
        return true
    }
}

/// 64 hexadecimal digits that begin with the given ones.
private func token(_ prefix: String) -> String {
    prefix + String(repeating: "0", count: 64 - prefix.count)
}

@Suite(.enabled(if: Python.isThere, "there is no python3"), .serialized)
struct PushDoubleTests {
    @Test func everyProviderTakesTheUsualPushes() throws {
        let rig = try Rig()
        var count = 0
        for provider in PushCarrier.allCases {
            for kind in PushKind.allCases where provider != .apnsVoIP || kind.announcesCall {
                try rig.send(provider, provider == .fcm ? "fcm-1" : token("aa"), kind)
                count += 1
            }
        }
        rig.work(pushes: count)
        #expect(rig.pushes.values.allSatisfy { rig.isDelivered($0.notice.id) })
        let seen = try rig.double.seen()
        for entry in seen {
            #expect([200, 201, 204].contains(entry["verdict"]?.integer), "\(entry)")
        }
        let counters = try rig.double.tell("server")
        #expect(counters["provider_tokens"] == 1 && counters["grants"] == 1)
        let decrypted = seen.filter { $0["service"] == "Browser" }.compactMap { $0["payload"] }
        #expect(decrypted.count == PushKind.allCases.count)
        #expect(decrypted.allSatisfy { $0["call_id"] == "0199aa" && $0["title"] == "ann" })
    }

    /// A phone would ring as often, and a service in trouble would have as much more to do.
    @Test(arguments: [PushCarrier.apnsVoIP, .web])
    func aServiceThatClosesItsConnectionsGetsOneRequestForEachAttempt(
        provider: PushCarrier
    ) throws {
        let rig = try Rig()
        try rig.double.plan("ab", ["act": "lose"])
        try rig.send(provider, token("ab"), seconds: 3)
        rig.work(pushes: 1)
        let outcome = try #require(rig.pushes.values.first)
        #expect(rig.cause(outcome.notice.id) == .unavailable && outcome.attempts > 1)
        #expect(try rig.double.seen().count == outcome.attempts)
    }

    @Test func applesReasonsArriveAsTheirCauses() throws {
        let rig = try Rig()
        let reasons: [(Int64, String, PushFailure.Cause)] = [
            (400, "BadCollapseId", .invalid), (400, "BadDeviceToken", .wrongEnvironment),
            (400, "DeviceTokenNotForTopic", .wrongApp), (400, "TopicDisallowed", .wrongApp),
            (400, "MissingTopic", .misconfigured), (403, "Forbidden", .misconfigured),
            (403, "InvalidProviderToken", .misconfigured), (410, "Unregistered", .deadToken),
            (410, "ExpiredToken", .deadToken), (413, "PayloadTooLarge", .invalid),
        ]
        for (index, (status, reason, _)) in reasons.enumerated() {
            let prefix = "dead0\(index)"
            let reply: JSONValue = ["status": .integer(status), "reason": .string(reason)]
            try rig.double.plan(prefix, reply)
            try rig.send(.apns, token(prefix))
        }
        rig.work(pushes: reasons.count)
        for (index, (status, reason, cause)) in reasons.enumerated() {
            let id = token("dead0\(index)") + "/apns/invite"
            #expect(
                rig.pushes[id]?.result == .failed(PushFailure(cause, "\(status) \(reason)")))
            #expect(rig.pushes[id]?.attempts == 1)
        }
    }

    @Test func applesWordOnATokenCountsIfItIsYoungerThanTheRegistration() throws {
        let rig = try Rig()
        let day: Int64 = 86_400
        try rig.double.plan(
            "410", ["status": 410, "reason": "Unregistered", "dead_for": .integer(day)])
        try rig.send(.apns, token("410a"), registeredAt: SystemClock.wall)
        try rig.send(
            .apnsVoIP, token("410b"), registeredAt: SystemClock.wall - 2 * day * 1_000)
        rig.work(pushes: 2)
        #expect(rig.cause(token("410a") + "/apns/invite") == .outdated)
        #expect(rig.cause(token("410b") + "/apns_voip/invite") == .deadToken)
    }

    @Test func troubleThatPassesIsSurvived() throws {
        let rig = try Rig()
        let troubles: [(String, JSONValue)] = [
            ("a1", ["status": 503, "reason": "ServiceUnavailable"]),
            ("a2", ["status": 429, "reason": "TooManyRequests", "headers": ["retry-after": "1"]]),
            ("a3", ["status": 502, "body": "<html>Bad gateway</html>"]),
            ("a4", ["act": "lose"]), ("a5", ["act": "reset"]), ("a6", ["act": "refuse"]),
            ("a7", ["act": "goaway"]), ("a8", ["status": 500, "reason": "InternalServerError"]),
        ]
        for (prefix, trouble) in troubles {
            try rig.double.plan(prefix, trouble, [:])
            try rig.send(.apnsVoIP, token(prefix))
        }
        rig.work(pushes: troubles.count)
        for (prefix, _) in troubles {
            let id = token(prefix) + "/apns_voip/invite"
            #expect(rig.isDelivered(id), "\(prefix): \(String(describing: rig.pushes[id]))")
        }
    }

    @Test func aRingIsNotPushedAfterItsTime() throws {
        let rig = try Rig()
        try rig.double.plan("bb", ["status": 503, "reason": "Shutdown"])
        // Time for two attempts also on a machine that stands still for a while.
        try rig.send(.apnsVoIP, token("bb"), seconds: 6)
        rig.work(pushes: 1)
        let outcome = try #require(rig.pushes.values.first)
        #expect(outcome.result == .failed(PushFailure(.unavailable, "503 Shutdown")))
        #expect((2...4).contains(outcome.attempts))
    }

    @Test func anAccessTokenThatEndsEarlyIsFetchedAgain() throws {
        let rig = try Rig()
        try rig.send(.fcm, "fcm-1")
        rig.work(pushes: 1)
        try rig.double.plan("fcm-2", ["status": 401, "reason": "UNAUTHENTICATED"], [:])
        // The service believes a token for a second before it blames it.
        let end = ContinuousClock.now + .seconds(1.1)
        while ContinuousClock.now < end { _ = rig.service.perform(forAtMost: 50) }
        try rig.send(.fcm, "fcm-2")
        rig.work(pushes: 2)
        #expect(rig.isDelivered("fcm-2/fcm/invite"))
        #expect(try rig.double.tell("server")["grants"] == 2)
    }

    @Test func aClockThatIsWrongIsToldAsAMistakeOfOurs() throws {
        let rig = try Rig()
        try rig.double.tell("server", ["clock_skew": 7_200])
        try rig.send(.fcm, "fcm-1")
        rig.work(pushes: 1)
        #expect(rig.cause("fcm-1/fcm/invite") == .misconfigured)
    }

    @Test func googlesReasonsArriveAsTheirCauses() throws {
        let rig = try Rig()
        let reasons: [(Int64, String, String, PushFailure.Cause)] = [
            (404, "UNREGISTERED", "", .deadToken), (403, "SENDER_ID_MISMATCH", "", .wrongApp),
            (400, "INVALID_ARGUMENT", "message.token", .deadToken),
            (400, "INVALID_ARGUMENT", "message.data", .invalid),
            (401, "THIRD_PARTY_AUTH_ERROR", "", .misconfigured),
        ]
        for (index, (status, reason, detail, _)) in reasons.enumerated() {
            let reply: JSONValue = [
                "status": .integer(status), "reason": .string(reason), "detail": .string(detail),
            ]
            try rig.double.plan("fcm-\(index)", reply)
            try rig.send(.fcm, "fcm-\(index)")
        }
        rig.work(pushes: reasons.count)
        for (index, (_, _, _, cause)) in reasons.enumerated() {
            #expect(rig.cause("fcm-\(index)/fcm/invite") == cause)
        }
    }

    @Test func aSubscriptionThatIsGoneIsToldFromOneInTrouble() throws {
        let rig = try Rig()
        for (name, status) in [("gone", 410), ("unknown", 404), ("denied", 403)] {
            try rig.double.plan(name, ["status": .integer(Int64(status))])
            try rig.send(.web, name)
        }
        try rig.double.plan("busy", ["status": 429, "headers": ["retry-after": "1"]], [:])
        try rig.send(.web, "busy")
        rig.work(pushes: 4)
        #expect(rig.cause("gone/web/invite") == .deadToken)
        #expect(rig.cause("unknown/web/invite") == .deadToken)
        #expect(rig.cause("denied/web/invite") == .misconfigured)
        #expect(rig.isDelivered("busy/web/invite"))
    }

    @Test func aKeyThatTheBrowserDidNotSubscribeWithIsOurMistake() throws {
        let rig = try Rig { $0.push.web?.key = try SignatureKey(.es256, SampleKey.ecPrivate) }
        try rig.send(.web, "other")
        rig.work(pushes: 1)
        #expect(rig.cause("other/web/invite") == .misconfigured)
    }

    @Test func aSubscriptionToThisMachineIsRefused() throws {
        let rig = try Rig { $0.push.web?.addresses = .publicOnly }
        try rig.send(.web, "inside")
        rig.work(pushes: 1)
        #expect(rig.cause("inside/web/invite") == .deadToken)
        #expect(try rig.double.seen().isEmpty)
    }

    @Test func aProviderThatHangsCostsBoundedRoomAndNobodyElsesTime() throws {
        let hanging = try PushDouble()
        try hanging.plan("", ["act": "hang"])
        let rig = try Rig { settings in
            settings.http.limits.runningPerOrigin = 50
            settings.pushLimits.jobs = 500
            settings.pushLimits.attemptTimeout = 1_000
            settings.push.apns?.production = try hanging.url("")
        }
        try rig.send(.fcm, "fcm-1")
        for number in 0..<600 { try rig.send(.apns, token("\(1_000 + number)"), seconds: 2) }
        #expect(rig.service.load.pushes == 500)
        rig.work { rig.isDelivered("fcm-1/fcm/invite") }
        #expect(rig.isDelivered("fcm-1/fcm/invite"))
        rig.work(pushes: 601)
        let causes = rig.pushes.values.compactMap { rig.cause($0.notice.id) }
        #expect(causes.count == 600)
        #expect(causes.count { $0 == .overloaded } == 101)
        #expect(rig.service.load == (0, 0, 0))
    }

    /// As behind a balancer whose machine is gone: libcurl would keep to it for an hour.
    @Test func aConnectionThatHasGoneSilentIsLeft() throws {
        let rig = try Rig()
        try rig.send(.webhook, "first", seconds: 60)
        rig.work(pushes: 1)
        _ = try rig.double.tell("freeze")
        for name in ["second", "third"] { try rig.send(.webhook, name, seconds: 60) }
        rig.work(pushes: 3, seconds: 40)
        #expect(rig.isDelivered("second/webhook/invite") && rig.isDelivered("third/webhook/invite"))
        try rig.send(.webhook, "fourth", seconds: 5)
        rig.work(pushes: 4)
        #expect(rig.isDelivered("fourth/webhook/invite"), "the new connection is used")
    }

    @Test func aSlowServiceHoldsUpThoseWhoUseItMuchAndWhatIsOverNeverLeaves()
        throws
    {
        let rig = try Rig()
        try rig.double.plan("slow", ["act": "hang"])
        func send(_ token: String, of user: String) {
            var notice = PushNotice(
                id: token, .invite, SamplePush.call, for: "bob",
                to: PushTarget(.fcm, token: token), ringEndsAt: SystemClock.wall + 30_000,
                now: SystemClock.wall)
            notice.cause = SendingCause(user, caller: user)
            rig.service.send(notice)
        }
        for number in 0..<8 { send("slow-\(number)", of: "mallory") }
        send("late", of: "mallory")
        send("ann", of: "ann")
        rig.work(pushes: 1)
        #expect(rig.isDelivered("ann"), "the ninth of mallory's waits, and nobody else")
        rig.service.stopTrying("late")
        rig.work(pushes: 2)
        #expect(rig.cause("late") == .expired)
        // The eight are under way when "late" is over; a slow machine needs time to send them.
        var seen: [String] = []
        try rig.work {
            seen += try rig.double.seen().compactMap { $0["subject"]?.string }
            return seen.contains("slow-7")
        }
        #expect(seen.contains("slow-7") && !seen.contains("late"))
    }

    @Test func aPhoneFetchesWhatItWasPushedForAlsoWhenTheEndOvertakesTheRing()
        throws
    {
        let rig = try Rig()
        let plain = try #require(rig.double.hello["plain_port"]?.integer)
        try rig.double.tell(
            "phone",
            [
                "token": .string(token("ee")), "bearer": "dev:bob", "act": "accept",
                "api": .string("http://127.0.0.1:\(plain)"),
                "plan": [["delay": 0.4], ["copies": 2]],
            ])
        try rig.send(.apns, token("ee"))
        rig.work(pushes: 1)
        try rig.send(.apns, token("ee"), .cancel)
        rig.work(pushes: 2)
        var log: [JSONValue] = []
        let end = ContinuousClock.now + .seconds(20)
        while log.count < 3, ContinuousClock.now < end {
            log += try rig.double.tell("phone", ["log": true])["log"]?.array ?? []
        }
        #expect(log.compactMap { $0["kind"]?.string } == ["cancel", "cancel", "invite"])
        #expect(log.allSatisfy { $0["status"] == 200 && $0["call_id"] == "0199aa" })
        #expect(log.last?["act"] == 200)
    }
}

@Suite(.enabled(if: Python.isThere, "there is no python3"), .serialized)
struct WebhookDoubleTests {
    private func job(_ id: String, _ endpoint: String, order: String? = nil) -> WebhookPost {
        let body: JSONValue = ["type": "call.ended", "data": ["id": .string(id), "text": "größe"]]
        return WebhookPost(id: id, endpoint: endpoint, order: order, body: body.bytes)
    }

    /// A rig whose second attempt comes soon.
    private func rig(_ names: String..., secrets: Int = 1) throws -> Rig {
        let rig = try Rig { $0.webhookLimits.pauses = [200, 200, 200] }
        rig.service.use(
            push: PushServices(),
            webhooks: try names.map { try rig.endpoint($0, secrets: secrets) })
        return rig
    }

    @Test func eventsAreBelievedByThePublishedLibraryWithOneSecretAndWithTwo()
        throws
    {
        for (name, secrets) in [("plain", 1), ("rotating", 2), ("plain", 2)] {
            let rig = try rig(name, secrets: secrets)
            #expect(rig.service.deliver(job("evt_1", name)))
            rig.work(webhooks: 1)
            #expect(rig.webhooks.map(\.result) == [.delivered])
            #expect(try rig.double.seen().map { $0["verdict"] } == [204])
        }
    }

    @Test func aReceiverWithAnotherSecretDoesNotBelieve() throws {
        let rig = try rig("rotating", secrets: 1)
        #expect(rig.service.deliver(job("evt_1", "rotating")))
        rig.work(webhooks: 1)
        guard case .postponed(1, _, "status 401")? = rig.webhooks.first?.result else {
            Issue.record("\(rig.webhooks)")
            return
        }
    }

    @Test func eventsOfACallArriveInOrderAlthoughTheFirstOnesFail() throws {
        let rig = try rig("shop")
        try rig.double.plan("shop", ["status": 500], ["act": "lose"], ["status": 503], [:])
        for number in 0..<20 {
            #expect(rig.service.deliver(job("evt_\(number)", "shop", order: "call-1")))
        }
        let end = ContinuousClock.now + .seconds(20)
        while rig.webhooks.count(where: { $0.result == .delivered }) < 20,
            ContinuousClock.now < end
        {
            rig.work(webhooks: rig.webhooks.count + 1, seconds: 2)
        }
        let taken = try rig.double.seen().filter { $0["status"] == 204 }
        let order = taken.compactMap { $0["payload"]?["data"]?["id"]?.string }
        #expect(order == (0..<20).map { "evt_\($0)" })
    }

    @Test func with410IsTheEndOfAnEndpoint() throws {
        let rig = try rig("gone", "alive")
        try rig.double.plan("gone", ["status": 410])
        #expect(rig.service.deliver(job("e1", "gone")))
        rig.work(webhooks: 1)
        #expect(rig.webhooks.map(\.result) == [.endpointGone])
        #expect(!rig.service.deliver(job("e2", "gone")))
        #expect(rig.service.deliver(job("e3", "alive")))
        rig.work(webhooks: 2)
        #expect(rig.webhooks.last?.result == .delivered)
    }

    @Test func whatAPluginFetchesComesBackUnderItsNumberOrNotAtAll() throws {
        let rig = try rig()
        rig.service.fetch(.local("GET", try rig.double.url("/try/echo")), as: 7)
        try rig.double.plan("hang", ["act": "hang"])
        rig.service.fetch(.local("GET", try rig.double.url("/try/hang")), as: 8)
        var malformed = OutboundRequest.local("GET", try rig.double.url("/try/echo"))
        malformed.headers = [HTTPHeader("a", "b\nc")]
        rig.service.fetch(malformed, as: 9)
        var ends: [UInt64: Int] = [:]
        let end = ContinuousClock.now + .seconds(20)
        while ends.count < 2, ContinuousClock.now < end {
            for case .response(let number, let result) in rig.service.perform(forAtMost: 50) {
                ends[number] = result.status ?? 0
            }
        }
        #expect(ends == [7: 200, 9: 0])
        rig.service.cancelFetch(8)
        #expect(rig.service.load.running == 0)
        #expect(rig.service.perform(forAtMost: 50).isEmpty)
    }
}

@Suite(.enabled(if: Python.isThere, "there is no python3"))
struct TokenLibraryTests {
    private static let reading = """
        import json, sys, jwt
        token, key, alg = sys.argv[1:4]
        print(json.dumps(jwt.decode(token, key, algorithms=[alg], audience="callagent")))
        """
    private static let writing = """
        import json, sys, jwt
        claims, key, alg = sys.argv[1:4]
        print(jwt.encode(json.loads(claims), key, algorithm=alg, headers={"kid": "k1"}))
        """
    private static let keys: [(SignatureAlgorithm, String, String)] = [
        (.hs256, String(repeating: "k", count: 40), String(repeating: "k", count: 40)),
        (.es256, SampleKey.ecPrivate, SampleKey.ecPublic),
        (.rs256, SampleKey.rsaPrivate, SampleKey.rsaPublic),
    ]

    @Test(arguments: keys)
    func pyJWTBelievesOurTokensAndWeBelieveIts(
        algorithm: SignatureAlgorithm, own: String, known: String
    ) throws {
        let now = SystemClock.wall
        let claims: JSONObject = [
            "sub": "ann", "aud": "callagent", "exp": .integer(now / 1_000 + 60),
            "caps": ["call.*"], "meta": ["text": "größe", "n": 1.5],
        ]
        let ours = try TokenSigner.sign(claims, with: SignatureKey(algorithm, own))
        let read = try Python.run(Self.reading, [ours, known, algorithm.rawValue])
        #expect(try JSONValue(parsing: read) == .object(claims))
        let text = JSONValue.object(claims).description
        let theirs = try Python.run(Self.writing, [text, own, algorithm.rawValue])
        let verifier = TokenVerifier([
            TrustedKey(try SignatureKey(algorithm, known), keyID: "k1", audience: "callagent")
        ])
        let verified = try verifier.verify(theirs, at: now)
        #expect(verified.user == "ann" && verified.allows("call.end"))
    }
}
