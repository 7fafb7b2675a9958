// What each provider is sent, and what may not be sent at all.

import JSON
import Testing
import enum WebProtocols.Base64

@testable import Outbound

struct APNsRequestTests {
    private let now = SamplePush.now

    private func request(_ notice: PushNotice) throws -> OutboundRequest {
        var service = APNsService(try #require(try SamplePush.services().apns))
        return try service.request(for: notice, at: now)
    }

    @Test func aVoIPPushHasAllOfItsHeaders() throws {
        let request = try request(SamplePush.notice(.apnsVoIP))
        #expect(request.method == "POST")
        #expect(
            request.url.text == "https://api.push.apple.com/3/device/" + SamplePush.apnsToken)
        #expect(request.header("apns-topic") == "com.example.app.voip")
        #expect(request.header("apns-push-type") == "voip")
        #expect(request.header("apns-priority") == "10")
        #expect(request.header("apns-expiration") == "1795000030")
        #expect(request.header("apns-collapse-id") == nil)
        let json = try #require(request.json)
        #expect(json["call_id"] == "0199aa" && json["kind"] == "invite" && json["caller"] == "ann")
        #expect(json["expires_in_ms"] == 30_000 && json["aps"] == [:])
    }

    @Test func aNotificationShowsTwoLinesAndReplacesTheOneBefore() throws {
        let request = try request(SamplePush.notice(.apns, .cancel))
        #expect(request.header("apns-topic") == "com.example.app")
        #expect(request.header("apns-push-type") == "alert")
        #expect(request.header("apns-collapse-id") == "0199aa")
        let json = try #require(request.json)
        #expect(json["aps"]?["alert"] == ["title": "ann", "body": "Call cancelled"])
        #expect(json["aps"]?["sound"] == nil)
        #expect(try self.request(SamplePush.notice(.apns)).json?["aps"]?["sound"] == "default")
    }

    @Test func theProviderTokenIsApplesAndTheIdIsTheJobs() throws {
        var service = APNsService(try #require(try SamplePush.services().apns))
        let first = try service.request(for: SamplePush.notice(.apns), at: now)
        let bearer = try #require(first.header("authorization"))
        #expect(bearer.hasPrefix("bearer "))
        let token = try JSONWebToken(String(bearer.dropFirst(7)))
        #expect(token.header == ["alg": "ES256", "kid": "ABC123DEFG"])
        #expect(try token.payload() == ["iss": "TEAM123456", "iat": .integer(now / 1_000)])
        let key = try SignatureKey(.es256, SampleKey.ecPublic)
        #expect(key.verifies(token.signature, of: token.signed))
        let again = try service.request(for: SamplePush.notice(.apns), at: now + 1)
        #expect(again.header("apns-id") == first.header("apns-id"))
        let other = try service.request(for: SamplePush.notice(.apns, id: "job-2"), at: now)
        #expect(other.header("apns-id") != first.header("apns-id"))
        #expect(first.header("apns-id")?.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
    }

    @Test func theProviderTokenLivesFor50Minutes() throws {
        var service = APNsService(try #require(try SamplePush.services().apns))
        func bearer(at moment: Int64) throws -> String? {
            try service.request(for: SamplePush.notice(.apns), at: moment).header("authorization")
        }
        let first = try bearer(at: now)
        #expect(try bearer(at: now + 3_000_000 - 1) == first)
        let second = try bearer(at: now + 3_000_000)
        #expect(second != first)
        // Apple calls it expired: a fresh one is kept, an older one is not.
        let renewals = [now + 3_059_999, now + 3_060_000].map { service.renewAccess(at: $0) }
        #expect(renewals == [false, true])
        #expect(try bearer(at: now + 3_060_000) != second)
        // A clock that was set back does not keep a token from the future.
        #expect(try bearer(at: now - 1) != second)
    }

    @Test func sandboxTokensGoToTheSandbox() throws {
        var notice = SamplePush.notice(.apns)
        notice.target.environment = "sandbox"
        #expect(try request(notice).url.host == "api.sandbox.push.apple.com")
        notice.target.environment = "production"
        #expect(try request(notice).url.host == "api.push.apple.com")
    }

    @Test func nowOrNeverIsWrittenAsZero() throws {
        var notice = SamplePush.notice(.apnsVoIP)
        notice.content.expiresIn = 0
        #expect(try request(notice).header("apns-expiration") == "0")
        notice.content.expiresIn = 1
        #expect(try request(notice).header("apns-expiration") == "1795000001")
    }

    @Test(arguments: [
        "", "xyz", "../../evil", "ab12/../..", "ab12?x=y", "zz" + SamplePush.apnsToken,
    ])
    func aTokenThatCouldChangeThePathIsDead(token: String) throws {
        var notice = SamplePush.notice(.apns)
        notice.target.token = token
        #expect(throws: PushFailure(.deadToken, "the token is not hexadecimal")) {
            try request(notice)
        }
    }

    @Test(arguments: [(PushCarrier.apnsVoIP, 5_120), (.apns, 4_096)])
    func theLongestPayloadPassesAndOneByteMoreDoesNot(
        provider: PushCarrier, limit: Int
    ) throws {
        var notice = SamplePush.notice(provider)
        notice.content.payload = ""
        let rest = limit - (try request(notice).body.count)
        notice.content.payload = .string(String(repeating: "x", count: rest))
        #expect(try request(notice).body.count == limit)
        notice.content.payload = .string(String(repeating: "x", count: rest + 1))
        #expect(throws: PushFailure.self) { try request(notice) }
    }
}

struct FCMRequestTests {
    private let now = SamplePush.now

    private func request(_ notice: PushNotice) throws -> OutboundRequest {
        let service = FCMService(try #require(try SamplePush.services().fcm))
        let access = FCMAccess(token: "access-1", lifetime: 3_600_000, at: now)
        return try service.request(for: notice, access, at: now)
    }

    @Test func aPushIsDataOfHighPriorityForTheRingTime() throws {
        let request = try request(SamplePush.notice(.fcm))
        #expect(request.url.text == "https://fcm.googleapis.com/v1/projects/shop/messages:send")
        #expect(request.header("authorization") == "Bearer access-1")
        let message = try #require(request.json?["message"])
        #expect(message["token"] == "device-token" && message["notification"] == nil)
        #expect(
            message["android"] == ["priority": "HIGH", "ttl": "30s", "collapse_key": "0199aa"])
        #expect(message["data"]?["kind"] == "invite" && message["data"]?["title"] == "ann")
        #expect(message["data"]?["expires_in_ms"] == "30000")
    }

    @Test func dataThatIsNotTextBecomesJSONText() throws {
        var notice = SamplePush.notice(.fcm)
        notice.content.payload = ["number": 1, "yes": true, "list": [1, "a"], "text": "t"]
        let data = try #require(try request(notice).json?["message"]?["data"])
        #expect(data["number"] == "1" && data["yes"] == "true" && data["list"] == #"[1,"a"]"#)
        #expect(data["text"] == "t" && data["call_id"] == "0199aa")
    }

    @Test(arguments: ["from", "message_type", "google.x", "gcm.y"])
    func namesThatGoogleKeepsAreRefused(name: String) throws {
        var notice = SamplePush.notice(.fcm)
        notice.content.payload = .object(JSONObject([.init(key: name, value: "x")]))
        #expect(throws: PushFailure(.invalid, "FCM keeps '\(name)' for itself")) {
            try request(notice)
        }
    }

    @Test func theLargestDataPassAndOneByteMoreDoNot() throws {
        func size(_ request: OutboundRequest) -> Int {
            (request.json?["message"]?["data"]?.object?.members ?? []).reduce(0) {
                $0 + $1.key.utf8.count + ($1.value.string?.utf8.count ?? 0)
            }
        }
        var notice = SamplePush.notice(.fcm)
        notice.content.payload = ""
        let rest = 4_096 - size(try request(notice))
        notice.content.payload = .string(String(repeating: "x", count: rest))
        #expect(size(try request(notice)) == 4_096)
        notice.content.payload = .string(String(repeating: "x", count: rest + 1))
        #expect(throws: PushFailure.self) { try request(notice) }
    }

    @Test func aLifetimeBeyondFourWeeksIsCutAPartOfASecondRoundedUp() throws {
        var notice = SamplePush.notice(.fcm)
        for (lifetime, ttl) in [
            (Int64.max / 4, "2419200s"), (1_001, "2s"), (0, "0s"), (29_999, "30s"),
        ] {
            notice.content.expiresIn = lifetime
            #expect(try request(notice).json?["message"]?["android"]?["ttl"]?.string == ttl)
        }
    }

    @Test func theGrantIsSignedForAnHour() throws {
        let service = FCMService(try #require(try SamplePush.services().fcm))
        let request = try service.grant(at: now)
        #expect(request.url.text == "https://oauth2.googleapis.com/token")
        let form = String(decoding: request.body, as: UTF8.self).split(separator: "&")
        #expect(form[0] == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer")
        let token = try JSONWebToken(String(form[1].dropFirst("assertion=".count)))
        #expect(token.header == ["alg": "RS256", "typ": "JWT", "kid": "k1"])
        let claims = try token.payload()
        #expect(claims["iss"] == "push@shop.example")
        #expect(claims["aud"] == "https://oauth2.googleapis.com/token")
        #expect(claims["exp"] == .integer(now / 1_000 + 3_600))
    }

    @Test(arguments: [
        ("not json", "the service account is not JSON"),
        (
            SamplePush.serviceAccount(["project_id": .null]),
            "the service account has no 'project_id'"
        ),
        (
            SamplePush.serviceAccount(["client_email": 1]),
            "the service account has no 'client_email'"
        ),
        (
            SamplePush.serviceAccount(["private_key": "x"]),
            "'private_key': the key must be PEM, beginning with '-----BEGIN'"
        ),
        (
            SamplePush.serviceAccount(["private_key": .string(SampleKey.rsaPublic)]),
            "'private_key': signing needs the private key, but this is a public one"
        ),
        (
            SamplePush.serviceAccount(["token_uri": "ftp://x"]),
            "'token_uri' must begin with https://, not 'ftp://'"
        ),
    ])
    func aBrokenServiceAccountIsNamed(text: String, message: String) {
        #expect(throws: ServiceAccountError(description: message)) {
            try FCMIdentity(serviceAccount: text)
        }
    }
}

struct WebPushRequestTests {
    private let now = SamplePush.now

    private func request(_ notice: PushNotice) throws -> OutboundRequest {
        var service = WebPushService(try #require(try SamplePush.services().web))
        return try service.request(for: notice, at: now)
    }

    /// Appendix A of RFC 8291, byte for byte.
    @Test func theExampleOfRFC8291IsSealedAsTheRFCDoes() throws {
        let own = try #require(
            KeyPair(
                p256Scalar: Base64.decode(
                    "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw", as: .url) ?? []))
        let sealed = WebPushSeal.seal(
            Array("When I grow up, I want to be a watermelon".utf8),
            for: try WebPushSubscription(parsing: SamplePush.subscription), own: own,
            salt: Base64.decode("DGv6ra1nlYgDCS1FRnbzlw", as: .url) ?? [])
        #expect(
            Base64.encode(try #require(sealed), as: .url)
                == "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27ml"
                + "mlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPT"
                + "pK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
    }

    @Test func aPushHasTheHeadersOfRFC8030AndRFC8292() throws {
        let request = try request(SamplePush.notice(.web))
        #expect(request.url.host == "push.example.net")
        #expect(request.header("ttl") == "30" && request.header("urgency") == "high")
        #expect(request.header("content-encoding") == "aes128gcm")
        let topic = try #require(request.header("topic"))
        #expect(topic.utf8.count == 32)
        #expect(request.addresses == .publicOnly)
        let value = try #require(request.header("authorization"))
        let parts = value.dropFirst("vapid t=".count).split(separator: ", k=")
        let token = try JSONWebToken(String(parts[0]))
        #expect(try token.payload()["aud"] == "https://push.example.net")
        #expect(try token.payload()["exp"] == .integer(now / 1_000 + 43_200))
        let point = try SignatureKey(.es256, SampleKey.ecPublic).p256Point ?? []
        #expect(parts[1] == Base64.encode(point, as: .url))
        #expect(try self.request(SamplePush.notice(.web, .cancel)).header("topic") == topic)
    }

    @Test func theLongestMessagePassesAndOneByteMoreDoesNot() throws {
        var notice = SamplePush.notice(.web)
        notice.content.payload = ""
        let rest = 3_993 - (try WebPushService.message(of: notice, at: now).count)
        notice.content.payload = .string(String(repeating: "x", count: rest))
        #expect(try request(notice).body.count == 4_096)
        notice.content.payload = .string(String(repeating: "x", count: rest + 1))
        #expect(throws: PushFailure.self) { try request(notice) }
    }

    @Test func twoMessagesShareNeitherKeyNorSalt() throws {
        let bodies = try (0..<2).map { _ in try request(SamplePush.notice(.web)).body }
        #expect(bodies[0].prefix(16) != bodies[1].prefix(16))
        #expect(bodies[0][21..<86] != bodies[1][21..<86])
    }

    @Test(arguments: [
        ("", "the subscription's 'endpoint' is missing"),
        ("{}", "the subscription's 'endpoint' is missing"),
        (#"{"endpoint": "http://a.example/"}"#, "the subscription's 'endpoint' is not https"),
        (
            #"{"endpoint": "file:///etc/passwd"}"#,
            "the subscription's 'endpoint' must begin with https://, not 'file://'"
        ),
        (
            #"{"endpoint": "https://a.example/", "keys": {"p256dh": "BCVx", "auth": "AA"}}"#,
            "the subscription's 'keys.p256dh' is no point on P-256"
        ),
        (
            SamplePush.subscription.replacing("BTBZMqHH6r4Tts7J_aSIgg", with: "BTBZ"),
            "the subscription's 'keys.auth' is not 16 bytes"
        ),
        (
            SamplePush.subscription.replacing("BCVxsr7N", with: "BCVxsr7O"),
            "the subscription's 'keys.p256dh' is no point on P-256"
        ),
    ])
    func aSubscriptionThatIsNoneIsNamed(text: String, message: String) {
        let error = #expect(throws: SubscriptionError.self) {
            try WebPushSubscription(parsing: text)
        }
        #expect(error?.description == message)
        #expect(PushServices().defect(ofSubscription: text) == error)
        var notice = SamplePush.notice(.web)
        notice.target.token = text
        #expect(throws: PushFailure(.deadToken, message)) { try request(notice) }
    }

    @Test(arguments: [
        ("127.0.0.1", false), ("[::1]", false), ("10.1.2.3", false), ("169.254.169.254", false),
        ("192.168.7.9:8443", true), ("[2606:4700::1]", true), ("8.8.8.8", true),
        ("push.example", true), ("localhost", true), ("other.test", false),
    ])
    func anEndpointThatNoPushGoesToIsRefusedBefore(host: String, isFine: Bool) throws {
        var services = try SamplePush.services()
        services.web?.addresses = AddressGuard(
            allowing: [try #require(AddressRange("192.168.0.0/16"))])
        services.web?.hosts = [
            "push.example", "localhost", "*.1", "*.3", "*.254", "*.9", "*.8", "[::1]",
            "[2606:4700::1]",
        ]
        let at = try #require(
            JSONValue(parsing: SamplePush.subscription)["endpoint"]?.string)
        let text = SamplePush.subscription.replacing(at, with: "https://\(host)/x")
        let defect = services.defect(ofSubscription: text)
        #expect((defect == nil) == isFine, "\(String(describing: defect))")
        #expect(defect == nil || defect?.field == "endpoint")
    }

    @Test func onlyTheListedHostsArePushedTo() throws {
        var identity = try #require(try SamplePush.services().web)
        for (hosts, isAdmitted) in [
            (["push.example.net"], true), (["*.example.net"], true), (["example.net"], false),
            (["*.push.example.net"], false), ([], false), (["*.net"], true),
        ] {
            identity.hosts = hosts
            var service = WebPushService(identity)
            let result = Result { try service.request(for: SamplePush.notice(.web), at: now) }
            #expect(((try? result.get()) != nil) == isAdmitted, "\(hosts)")
        }
    }

    @Test func aPrivateKeyInBase64urlIsAsGoodAsPEM() throws {
        let raw = try WebPushIdentity(
            key: "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI", subject: "mailto:a@b.example")
        #expect(raw.publicKey == (try SamplePush.services().web)?.publicKey)
        #expect(throws: KeyError.publicOnly) {
            try WebPushIdentity(key: SampleKey.ecPublic, subject: "mailto:a@b.example")
        }
    }
}

struct PushCheckTests {
    private func check(_ notice: PushNotice) throws {
        try SamplePush.services().check(notice, at: SamplePush.now)
    }

    @Test(arguments: PushCarrier.allCases)
    func theUsualPushPassesForEveryProviderAndKind(provider: PushCarrier) throws {
        for kind in PushKind.allCases where provider != .apnsVoIP || kind.announcesCall {
            try check(SamplePush.notice(provider, kind))
        }
    }

    @Test(arguments: [PushKind.cancel, .end, .missed])
    func aVoIPPushForAnythingButAnIncomingCallIsRefused(kind: PushKind) throws {
        let rule = PushFailure(.invalid, "a VoIP push is for an incoming call only")
        #expect(throws: rule) { try check(SamplePush.notice(.apnsVoIP, kind)) }
        // Nor by changing the kind on the way.
        var disguised = SamplePush.notice(.apnsVoIP, kind)
        disguised.content.kind = .invite
        #expect(throws: PushFailure.self) { try check(disguised) }
        var turned = SamplePush.notice(.apnsVoIP, .invite)
        turned.content.kind = kind
        #expect(throws: rule) { try check(turned) }
    }

    @Test func whatAPluginMayNotDoIsNamed() throws {
        let cases: [(PushCarrier, (inout PushContent) -> Void, String)] = [
            (.fcm, { $0.expiresIn = -1 }, "expires_in is negative"),
            (.apns, { $0.topic = "a b" }, "the topic is not printable ASCII"),
            (.apns, { $0.collapseID = "a\nb" }, "the collapse id is not printable ASCII"),
            (
                .apns, { $0.collapseID = String(repeating: "c", count: 65) },
                "the collapse id has more than 64 bytes"
            ),
            (
                .apnsVoIP, { $0.topic = "com.example.app" },
                "the topic of a VoIP push ends with .voip: 'com.example.app'"
            ),
            (
                .apns, { $0.topic = "com.example.app.voip" },
                "the topic of a notification does not end with .voip: 'com.example.app.voip'"
            ),
        ]
        for (provider, change, message) in cases {
            var notice = SamplePush.notice(provider)
            change(&notice.content)
            #expect(throws: PushFailure(.invalid, message)) { try check(notice) }
        }
        var cancelled = SamplePush.notice(.fcm, .cancel)
        cancelled.content.kind = .invite
        #expect(throws: PushFailure(.invalid, "a push for 'cancel' cannot announce a call")) {
            try check(cancelled)
        }
    }

    @Test func aCollapseIdOf64BytesPasses() throws {
        var notice = SamplePush.notice(.apns)
        notice.content.collapseID = String(repeating: "c", count: 64)
        try check(notice)
    }

    @Test func aProviderWithoutSettingsIsMisconfigured() {
        for provider in PushCarrier.allCases {
            #expect(throws: PushFailure(.misconfigured, "'\(provider.rawValue)' is not configured"))
            {
                try PushServices().check(SamplePush.notice(provider), at: SamplePush.now)
            }
        }
    }

    @Test func whatAPluginAddsStandsBesideWhatEveryAppGets() throws {
        var notice = SamplePush.notice(.apns)
        notice.content.payload = [
            "call_id": "forged", "kind": "forged", "caller": "Ann A.", "room": 7,
            "aps": ["badge": 1, "sound": "ring.caf"],
        ]
        notice.content.title = "Ann calls"
        let body = try APNsService.body(of: notice, at: SamplePush.now)
        let json = try JSONValue(parsing: body)
        #expect(json["call_id"] == "0199aa" && json["kind"] == "invite")
        #expect(json["caller"] == "Ann A." && json["room"] == 7)
        #expect(json["aps"]?["badge"] == 1 && json["aps"]?["sound"] == "ring.caf")
        #expect(json["aps"]?["alert"]?["title"] == "Ann calls")
    }

    @Test func aDeviceWithVoIPIsWokenByItForCallsAndNotifiedOfTheRest() {
        let both = [
            SamplePush.target(.apns), SamplePush.target(.apnsVoIP), SamplePush.target(.fcm),
        ]
        for kind in PushKind.allCases {
            let providers = PushTarget.route(kind, both).map(\.provider)
            #expect(providers == (kind.announcesCall ? [.apnsVoIP, .fcm] : [.apns, .fcm]))
        }
        #expect(PushTarget.route(.invite, [both[0]]).count == 1)
        #expect(PushTarget.route(.cancel, [both[1]]).isEmpty)
    }

    @Test(
        arguments: [
            (PushKind.invite, 30_000), (.add, 30_000), (.cancel, 30_000), (.leave, 30_000),
            (.end, 30_000), (.missed, 86_400_000),
        ] as [(PushKind, Int64)])
    func aPushMattersAsLongAsItsKindSays(kind: PushKind, lifetime: Int64) {
        #expect(SamplePush.notice(.fcm, kind).expiresAt == SamplePush.now + lifetime)
        let late = PushNotice(
            id: "j", kind, SamplePush.call, for: "bob", to: SamplePush.target(.fcm),
            ringEndsAt: SamplePush.now, now: SamplePush.now)
        let least: Int64 = kind.announcesCall ? 0 : lifetime
        #expect(late.expiresAt == SamplePush.now + least)
    }

    @Test(arguments: PushCarrier.allCases)
    func everyPayloadNamesTheUserAndTheCallBesideItsOwnKind(
        provider: PushCarrier
    ) throws {
        var notice = SamplePush.notice(provider)
        notice.content.payload = [
            "user": "forged", "call_kind": "forged", "call_mode": "forged", "kind": "forged",
            "own": "mine",
        ]
        let data = notice.data(at: SamplePush.now)
        #expect(data["user"] == "bob" && data["own"] == "mine" && data["kind"] == "invite")
        #expect(data["call_kind"] == "video" && data["call_mode"] == "advanced")
    }

    @Test func voIPHasTheLinesThatTheAppShows() throws {
        var notice = SamplePush.notice(.apnsVoIP)
        notice.content.body = "Incoming video call"
        var json = try JSONValue(parsing: APNsService.body(of: notice, at: SamplePush.now))
        #expect(json["title"] == "ann" && json["body"] == "Incoming video call")
        notice.content.payload = ["title": "the app's own"]
        json = try JSONValue(parsing: APNsService.body(of: notice, at: SamplePush.now))
        #expect(json["title"] == "the app's own")
    }

    @Test(
        arguments: [
            ("hello", "hello"), ("[1,2]", [1, 2]), ("7", 7), ("\"quoted\"", "quoted"),
            ("null", nil),
        ] as [(String, JSONValue?)])
    func whatIsNoObjectStandsUnderPayloadBesideMembers(
        text: String, value: JSONValue?
    ) {
        var notice = SamplePush.notice(.fcm)
        notice.content.payloadRaw = text
        #expect(notice.data(at: SamplePush.now)["payload"] == value)
        notice.content.payload = ["room": 1]
        #expect(notice.data(at: SamplePush.now)["payload"] == value)
        #expect(notice.data(at: SamplePush.now)["room"] == 1)
    }
}
