// Push services and pushes as the tests use them.

import JSON
import WebProtocols

@testable import Outbound

enum SamplePush {
    static let now: Int64 = 1_795_000_000_000
    static let apnsToken = String(repeating: "ab12", count: 16)

    /// The example of RFC 8291, appendix A.
    static let subscription = """
        {"endpoint": "https://push.example.net/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV", "keys":
        {"p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyP\
        js7Vd8pZGH6SRpkNtoIAiw4",
        "auth": "BTBZMqHH6r4Tts7J_aSIgg"}}
        """

    /// Every provider, with keys that are published.
    static func services() throws -> PushServices {
        var services = PushServices()
        services.apns = try APNsIdentity(
            key: SignatureKey(.es256, SampleKey.ecPrivate), keyID: "ABC123DEFG",
            teamID: "TEAM123456", bundleID: "com.example.app")
        services.fcm = try FCMIdentity(serviceAccount: serviceAccount())
        services.web = try WebPushIdentity(
            key: SampleKey.ecPrivate, subject: "mailto:ops@example.com")
        services.webhook = WebhookPushIdentity(
            try HTTPURL("https://gateway.example/push"),
            secrets: [try WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")])
        return services
    }

    static func serviceAccount(_ changes: JSONObject = [:]) -> String {
        var account: JSONObject = [
            "type": "service_account", "project_id": "shop", "private_key_id": "k1",
            "private_key": .string(SampleKey.rsaPrivate), "client_email": "push@shop.example",
            "token_uri": "https://oauth2.googleapis.com/token",
        ]
        for member in changes.members {
            account[member.key] = member.value.isNull ? JSONValue?.none : member.value
        }
        return JSONValue.object(account).description
    }

    static func target(_ provider: PushCarrier) -> PushTarget {
        switch provider {
        case .apns, .apnsVoIP: PushTarget(provider, token: apnsToken)
        case .fcm, .webhook: PushTarget(provider, token: "device-token")
        case .web: PushTarget(provider, token: subscription)
        }
    }

    static let call = PushSubject(id: "0199aa", caller: "ann", kind: "video", mode: "advanced")

    /// A push of a call that rings for 30 seconds.
    static func notice(
        _ provider: PushCarrier, _ kind: PushKind = .invite, id: String = "job-1"
    ) -> PushNotice {
        PushNotice(
            id: id, kind, call, for: "bob", to: target(provider),
            ringEndsAt: now + 30_000, now: now)
    }
}

extension OutboundRequest {
    func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    var json: JSONValue? { try? JSONValue(parsing: body) }
}
