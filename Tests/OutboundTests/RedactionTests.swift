// Secrets that were planted do not come up when values are printed.

import Testing
import WebProtocols

@testable import Outbound

struct RedactionTests {
    @Test func noSecretShowsInWhatIsPrinted() throws {
        var services = try SamplePush.services()
        services.webhook?.secrets = [
            try WebhookSecret("whsec_cGxhbnRlZC1wbGFudGVkLXBsYW50ZWQtMQ==")
        ]
        var apns = APNsService(try #require(services.apns))
        var web = WebPushService(try #require(services.web))
        let requests = [
            try apns.request(for: SamplePush.notice(.apns), at: SamplePush.now),
            try web.request(for: SamplePush.notice(.web), at: SamplePush.now),
        ]
        let tokens = requests.compactMap { $0.header("authorization") }
        #expect(tokens.count == 2)
        let printed: [Any] = [
            services, requests, requests.flatMap(\.headers), SamplePush.notice(.apns),
            SamplePush.notice(.web), try WebPushSubscription(parsing: SamplePush.subscription),
            try SignatureKey(.hs256, "planted-secret"), WebhookSender([]),
            FCMAccess(token: "planted-access", lifetime: 1, at: 0),
            PushResult(
                notice: SamplePush.notice(.fcm), result: .failed(PushFailure(.deadToken, "x")),
                attempts: 1),
        ]
        let text = printed.map { "\($0) \(String(reflecting: $0))" }.joined(separator: "\n")
        let secrets =
            tokens + [
                "planted", "cGxhbnRlZC", SamplePush.apnsToken, "BTBZMqHH6r4Tts7J", "device-token",
                "JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV", Array("planted-secret".utf8).description,
                Array("planted-planted-planted-1".utf8).description.dropFirst().dropLast()
                    .description,
            ]
        for secret in secrets { #expect(!text.contains(secret), "\(secret.prefix(24)) shows") }
        #expect(text.contains("apns token of 64 bytes") && text.contains("HS256 key"))
    }
}
