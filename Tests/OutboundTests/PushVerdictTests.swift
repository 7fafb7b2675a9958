// What every answer of a provider means, word by word.

import JSON
import Testing
import WebProtocols

@testable import Outbound

struct PushVerdictTests {
    private let now = SamplePush.now

    private func apns(_ status: Int, _ body: JSONValue?, since: Int64 = 0) -> PushVerdict {
        var target = SamplePush.target(.apns)
        target.registeredAt = since
        return APNsService.verdict(
            OutboundResponse(status: status, body: body?.bytes ?? []), target, at: now)
    }

    private func cause(_ verdict: PushVerdict) -> PushFailure.Cause? {
        if case .failed(let failure) = verdict { failure.cause } else { nil }
    }

    /// Every reason that Apple documents.
    @Test(arguments: [
        (400, "BadCollapseId", PushFailure.Cause.invalid),
        (400, "BadDeviceToken", .wrongEnvironment),
        (400, "BadExpirationDate", .invalid),
        (400, "BadMessageId", .invalid),
        (400, "BadPriority", .invalid),
        (400, "BadTopic", .wrongApp),
        (400, "DeviceTokenNotForTopic", .wrongApp),
        (400, "DuplicateHeaders", .misconfigured),
        (400, "InvalidPushType", .invalid),
        (400, "MissingDeviceToken", .misconfigured),
        (400, "MissingTopic", .misconfigured),
        (400, "PayloadEmpty", .invalid),
        (400, "TopicDisallowed", .wrongApp),
        (403, "BadCertificate", .misconfigured),
        (403, "BadCertificateEnvironment", .misconfigured),
        (403, "BadEnvironmentKeyIdInToken", .misconfigured),
        (403, "Forbidden", .misconfigured),
        (403, "InvalidProviderToken", .misconfigured),
        (403, "MissingProviderToken", .misconfigured),
        (403, "UnrelatedKeyIdInToken", .misconfigured),
        (404, "BadPath", .misconfigured),
        (405, "MethodNotAllowed", .misconfigured),
        (410, "ExpiredToken", .deadToken),
        (410, "Unregistered", .deadToken),
        (413, "PayloadTooLarge", .invalid),
    ])
    func applesFinalReasons(status: Int, reason: String, cause: PushFailure.Cause) {
        let verdict = apns(status, ["reason": .string(reason)])
        #expect(verdict == .failed(PushFailure(cause, "\(status) \(reason)")))
    }

    @Test(arguments: [
        (400, "IdleTimeout"), (429, "TooManyProviderTokenUpdates"), (429, "TooManyRequests"),
        (500, "InternalServerError"), (503, "ServiceUnavailable"), (503, "Shutdown"),
    ])
    func applesPassingReasons(status: Int, reason: String) {
        let verdict = apns(status, ["reason": .string(reason)])
        #expect(verdict == .again("\(status) \(reason)", after: nil))
    }

    @Test func applesOtherAnswers() {
        #expect(
            apns(403, ["reason": "ExpiredProviderToken"])
                == .accessExpired("403 ExpiredProviderToken"))
        #expect(apns(200, nil) == .delivered(nil))
        #expect(cause(apns(410, nil)) == .misconfigured, "a proxy's: Apple says why")
        #expect(cause(apns(410, ["reason": "Gone fishing"])) == .misconfigured)
        #expect(cause(apns(418, ["reason": "Teapot"])) == .misconfigured)
        let html = OutboundResponse(status: 502, body: Array("<html>Bad gateway".utf8))
        #expect(
            APNsService.verdict(html, SamplePush.target(.apns), at: now)
                == .again("502", after: nil))
    }

    @Test func aTokenThatWasRegisteredAfterItDiedLives() {
        let body: JSONValue = ["reason": "Unregistered", "timestamp": .integer(now)]
        #expect(cause(apns(410, body, since: now)) == .deadToken)
        #expect(cause(apns(410, body, since: now + 1)) == .outdated)
    }

    private func fcm(_ status: Int, _ code: String, field: String? = nil) -> PushVerdict {
        var details: [JSONValue] = [["@type": "FcmError", "errorCode": .string(code)]]
        if let field { details.append(["fieldViolations": [["field": .string(field)]]]) }
        let error: JSONValue = ["code": .integer(Int64(status)), "details": .array(details)]
        let body: JSONValue = ["error": error]
        return FCMService.verdict(OutboundResponse(status: status, body: body.bytes), at: now)
    }

    @Test func googlesAnswers() {
        #expect(cause(fcm(404, "UNREGISTERED")) == .deadToken)
        #expect(cause(fcm(403, "SENDER_ID_MISMATCH")) == .wrongApp)
        #expect(cause(fcm(401, "THIRD_PARTY_AUTH_ERROR")) == .misconfigured)
        #expect(cause(fcm(400, "INVALID_ARGUMENT")) == .invalid)
        #expect(cause(fcm(400, "INVALID_ARGUMENT", field: "message.token")) == .deadToken)
        #expect(cause(fcm(400, "INVALID_ARGUMENT", field: "message.data")) == .invalid)
        #expect(fcm(429, "QUOTA_EXCEEDED") == .again("429 QUOTA_EXCEEDED", after: nil))
        #expect(fcm(503, "UNAVAILABLE") == .again("503 UNAVAILABLE", after: nil))
        #expect(fcm(500, "INTERNAL") == .again("500 INTERNAL", after: nil))
        #expect(fcm(401, "UNAUTHENTICATED") == .accessExpired("401 UNAUTHENTICATED"))
        #expect(cause(fcm(403, "PERMISSION_DENIED")) == .misconfigured)
        #expect(cause(fcm(404, "NOT_FOUND")) == .misconfigured)
        let sent = OutboundResponse(status: 200, body: Array(#"{"name": "m/1"}"#.utf8))
        #expect(FCMService.verdict(sent, at: now) == .delivered("m/1"))
        let html = OutboundResponse(
            status: 502, headers: [HTTPHeader("retry-after", "7")], body: Array("<html>".utf8))
        #expect(FCMService.verdict(html, at: now) == .again("502", after: 7_000))
        let bare: JSONValue = ["error": ["status": "UNAVAILABLE"]]
        #expect(
            FCMService.verdict(OutboundResponse(status: 503, body: bare.bytes), at: now)
                == .again("503 UNAVAILABLE", after: nil))
    }

    @Test(arguments: [
        (201, nil), (200, nil), (202, nil), (404, PushFailure.Cause.deadToken), (410, .deadToken),
        (413, .invalid), (400, .misconfigured), (401, .misconfigured), (403, .misconfigured),
        (301, .misconfigured),
    ])
    func answersOfAWebPushService(status: Int, cause: PushFailure.Cause?) {
        let verdict = WebPushService.verdict(OutboundResponse(status: status), at: now)
        #expect(self.cause(verdict) == cause)
        if cause == nil { #expect(verdict == .delivered(nil)) }
    }

    @Test(arguments: [408, 429, 500, 503])
    func aWebPushServiceInTroubleIsAskedAgain(status: Int) {
        let response = OutboundResponse(status: status, headers: [HTTPHeader("retry-after", "3")])
        #expect(
            WebPushService.verdict(response, at: now) == .again("\(status)", after: 3_000))
        #expect(
            WebhookPushService.verdict(response, at: now) == .again("\(status)", after: 3_000))
    }

    @Test func answersOfTheOperatorsGateway() {
        func cause(_ status: Int) -> PushFailure.Cause? {
            self.cause(WebhookPushService.verdict(OutboundResponse(status: status), at: now))
        }
        #expect(cause(204) == nil && cause(410) == .deadToken && cause(413) == .invalid)
        #expect(cause(302) == .misconfigured && cause(401) == .misconfigured)
    }

    @Test func ofAWordWithoutEndItsBeginningIsKept() {
        let long = String(repeating: "x", count: 60_000)
        let kept = String(repeating: "x", count: 100)
        #expect(apns(500, ["reason": .string(long)]) == .again("500 \(kept)", after: nil))
        let accents = "a" + String(repeating: "\u{301}", count: 60_000)
        let marks: JSONValue = ["reason": .string(accents)]
        let rest = String(repeating: " ", count: 99)
        #expect(apns(500, marks) == .again("500 a\(rest)", after: nil), "one character of text")
        let paint: JSONValue = ["reason": "\u{1B}[2J\u{9B}1m\u{202E}\u{2028}\nNow"]
        #expect(apns(500, paint) == .again("500  [2J 1m   Now", after: nil))
    }

    @Test func onlyADeadTokenIsRemoved() {
        for cause in PushFailure.Cause.allCases {
            let advice = PushFailure(cause, "").advice
            switch cause {
            case .deadToken: #expect(advice == .remove)
            case .wrongEnvironment, .wrongApp: #expect(advice == .pause)
            case .outdated, .doubted, .misconfigured, .invalid, .expired, .unavailable,
                .overloaded:
                #expect(advice == .keep)
            }
        }
    }
}

struct RetryAfterTests {
    private let now: Int64 = 784_111_777_000

    @Test(
        arguments: [
            ("0", 0), ("120", 120_000), ("-5", 0), ("999999999", 86_400_000),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 0), ("Sun, 06 Nov 1994 08:50:07 GMT", 30_000),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("soon", nil), ("", nil), ("1.5", nil),
            ("Sun, 06 Xxx 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 28:49:37 GMT", nil),
            ("Sun, 99 Nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 08:49 GMT", nil),
        ] as [(String, Int64?)])
    func secondsAndDatesAreRead(text: String, delay: Int64?) {
        let response = OutboundResponse(status: 503, headers: [HTTPHeader("retry-after", text)])
        #expect(response.retryAfter(at: now) == delay)
    }

    @Test(
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799_000),
            ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800_000),
            ("Fri, 31 Dec 2100 12:00:00 GMT", 4_133_937_600_000),
        ] as [(String, Int64)])
    func datesAreCountedByTheCalendar(text: String, moment: Int64) {
        #expect(HTTPDate.milliseconds(text) == moment)
    }
}
