// Jobs in, requests and outcomes out, at times that the test makes up.

import JSON
import Testing
import WebProtocols

@testable import Outbound

final class PushSenderTests {
    private let now = SamplePush.now
    private var sender: PushSender

    init() throws {
        sender = PushSender(try SamplePush.services(), seed: 7)
    }

    private func only() throws -> (tag: UInt64, request: OutboundRequest) {
        let requests = sender.takeRequests()
        #expect(requests.count == 1)
        return try #require(requests.first)
    }

    private func answer(
        _ status: Int, _ reason: String? = nil, headers: [HTTPHeader] = [], at moment: Int64
    ) throws {
        let tag = try only().tag
        let body: JSONValue = reason.map { ["reason": .string($0)] } ?? [:]
        sender.completed(
            tag, .success(OutboundResponse(status: status, headers: headers, body: body.bytes)),
            at: moment)
    }

    private func results() -> [PushResult.Result] { sender.takeOutcomes().map(\.result) }

    @Test func aPushThatIsTakenEndsAtOnce() throws {
        sender.send(SamplePush.notice(.apnsVoIP), at: now)
        let (tag, request) = try only()
        #expect(request.timeout == 10_000 && request.mayRepeat && request.addresses == .anywhere)
        sender.completed(tag, .success(OutboundResponse(status: 200)), at: now + 50)
        let outcome = try #require(sender.takeOutcomes().first)
        #expect(outcome.result == .delivered(nil) && outcome.attempts == 1)
        #expect(sender.jobCount == 0 && sender.nextDeadline == nil)
        sender.completed(tag, .success(OutboundResponse(status: 410)), at: now + 60)
        #expect(results().isEmpty)
    }

    @Test func theSameJobIsSentOnce() throws {
        sender.send(SamplePush.notice(.apns), at: now)
        sender.send(SamplePush.notice(.apns), at: now)
        _ = try only()
    }

    @Test func troubleIsRetriedAfter05124SecondsNotBeyondTheRingTime()
        throws
    {
        sender.send(SamplePush.notice(.apnsVoIP), at: now)
        var moment = now
        var pauses: [Int64] = []
        while sender.jobCount > 0 {
            try answer(503, "ServiceUnavailable", at: moment)
            guard let next = sender.nextDeadline else { break }
            pauses.append(next - moment)
            moment = next
            sender.advance(to: moment - 1)
            #expect(sender.takeRequests().isEmpty)
            sender.advance(to: moment)
        }
        #expect(pauses.count == 5)
        for (pause, usual) in zip(pauses, [500, 1_000, 2_000, 4_000, 8_000] as [Int64]) {
            #expect((usual * 8 / 10...usual * 12 / 10).contains(pause))
        }
        let outcome = try #require(sender.takeOutcomes().first)
        #expect(
            outcome.result == .failed(PushFailure(.unavailable, "503 ServiceUnavailable")))
        #expect(outcome.attempts == 6 && moment < now + 30_000)
    }

    @Test(arguments: [-3_600_000, 3_600_000] as [Int64])
    func aPushWaitsAndMattersAsLongWhenTheClockIsSet(span: Int64) throws {
        sender.send(SamplePush.notice(.apnsVoIP), at: now)
        try answer(503, "ServiceUnavailable", at: now)
        let next = try #require(sender.nextDeadline)
        sender.clockMoved(by: span)
        #expect(sender.nextDeadline == next + span)
        sender.advance(to: next + span)
        try answer(200, at: next + span)
        #expect(results() == [.delivered(nil)])
    }

    @Test func retryAfterIsKeptOrThePushGivenUpIfThatIsTooLate() throws {
        sender.send(SamplePush.notice(.apns), at: now)
        try answer(429, "TooManyRequests", headers: [HTTPHeader("retry-after", "20")], at: now)
        #expect(sender.nextDeadline == now + 20_000)
        sender.advance(to: now + 20_000)
        try answer(
            429, "TooManyRequests", headers: [HTTPHeader("retry-after", "20")], at: now + 20_000)
        #expect(results() == [.failed(PushFailure(.unavailable, "429 TooManyRequests"))])
    }

    @Test func anAttemptTakesNoLongerThanWhatIsLeft() throws {
        sender.send(SamplePush.notice(.apns), at: now + 29_000)
        #expect(try only().request.timeout == 1_000)
        sender.send(SamplePush.notice(.apns, id: "late"), at: now + 30_000)
        #expect(sender.takeRequests().isEmpty)
        #expect(results() == [.failed(PushFailure(.expired, "no time left"))])
    }

    @Test func attemptsAreBoundedForPushesThatMatterForLong() throws {
        var limits = PushSender.Limits()
        limits.attempts = 3
        sender = PushSender(try SamplePush.services(), limits: limits, seed: 1)
        sender.send(SamplePush.notice(.apns, .missed), at: now)
        for attempt in 1...3 {
            try answer(500, at: now)
            if attempt < 3 { sender.advance(to: sender.nextDeadline ?? 0) }
        }
        #expect(results() == [.failed(PushFailure(.unavailable, "500"))])
    }

    @Test(arguments: [
        OutboundFailure.Kind.timedOut, .unresolved, .unreachable, .tls, .connectionLost,
        .overloaded,
        .tooLarge, .closed,
    ])
    func aRequestWithoutAnAnswerIsTriedAgain(kind: OutboundFailure.Kind) throws {
        sender.send(SamplePush.notice(.apns), at: now)
        sender.completed(try only().tag, .failure(OutboundFailure(kind)), at: now)
        #expect(results().isEmpty && sender.nextDeadline != nil)
        sender.advance(to: now + 1_000)
        try answer(200, at: now + 1_000)
        #expect(results() == [.delivered(nil)])
    }

    @Test func aSubscriptionThatLeadsInsideIsDeadOurOwnGatewayMisconfigured()
        throws
    {
        for (provider, cause) in [
            (PushCarrier.web, PushFailure.Cause.deadToken), (.webhook, .misconfigured),
        ] {
            sender.send(SamplePush.notice(provider), at: now)
            sender.completed(
                try only().tag, .failure(OutboundFailure(.refusedAddress, "inside")), at: now)
            #expect(
                results() == [.failed(PushFailure(cause, "refused_address: inside"))])
        }
    }

    @Test func aWithdrawnPushIsNeitherRetriedNorReported() throws {
        sender.send(SamplePush.notice(.apns), at: now)
        try answer(503, at: now)
        let isKnown = [sender.withdraw("job-1"), sender.withdraw("job-1")]
        #expect(isKnown == [true, false])
        sender.advance(to: now + 60_000)
        #expect(sender.takeRequests().isEmpty && results().isEmpty)
        sender.send(SamplePush.notice(.apns, id: "job-2"), at: now)
        let tag = try only().tag
        sender.withdraw("job-2")
        sender.completed(tag, .success(OutboundResponse(status: 410)), at: now)
        #expect(results().isEmpty)
    }

    @Test func aPushThatNoLongerMattersIsNotRetriedAndItsLastAttemptCounts() throws {
        sender.send(SamplePush.notice(.apns), at: now)
        sender.stopTrying("job-1")
        try answer(503, at: now)
        guard case .failed(let failure)? = sender.takeOutcomes().first?.result else {
            Issue.record("no outcome")
            return
        }
        #expect(failure.cause == .unavailable)
        sender.send(SamplePush.notice(.apns, id: "job-2"), at: now)
        try answer(503, at: now)
        sender.stopTrying("job-2")
        guard case .failed(let withdrawn)? = sender.takeOutcomes().first?.result else {
            Issue.record("no outcome")
            return
        }
        #expect(withdrawn.cause == .expired && withdrawn.reason.hasPrefix("withdrawn"))
        sender.advance(to: now + 60_000)
        #expect(sender.takeRequests().isEmpty && sender.jobCount == 0)
        sender.stopTrying("job-3")
    }

    @Test func tooManyJobsAreRefusedAtOnce() throws {
        var limits = PushSender.Limits()
        limits.jobs = 2
        sender = PushSender(try SamplePush.services(), limits: limits)
        for id in ["1", "2", "3"] { sender.send(SamplePush.notice(.apns, id: id), at: now) }
        let outcome = try #require(sender.takeOutcomes().first)
        #expect(outcome.notice.id == "3")
        #expect(outcome.result == .failed(PushFailure(.overloaded, "2 pushes wait")))
        #expect(sender.takeRequests().count == 2)
    }

    @Test func whoeverHasManyJobsLeavesRoomForOthers() throws {
        var limits = PushSender.Limits()
        limits.jobs = 4
        var sender = PushSender(try SamplePush.services(), limits: limits, seed: 5)
        func send(_ id: String, of user: String) {
            var notice = SamplePush.notice(.apns, id: id)
            notice.cause = SendingCause(user, caller: user)
            sender.send(notice, at: SamplePush.now)
        }
        for id in ["m1", "m2", "m3"] { send(id, of: "mallory") }
        #expect(sender.takeOutcomes().map(\.notice.id) == ["m3"])
        send("a", of: "ann")
        let requests = sender.takeRequests()
        #expect(requests.map(\.request.cause?.user) == ["mallory", "mallory", "ann"])
        #expect(sender.takeOutcomes().isEmpty && sender.jobCount == 3)
    }

    @Test func aPushThatDidNotBeginIsTakenBack() throws {
        var sender = PushSender(try SamplePush.services(), seed: 5)
        sender.send(SamplePush.notice(.apns), at: SamplePush.now)
        let tag = try #require(sender.takeRequests().first?.tag)
        #expect(sender.request(of: "job-1") == tag)
        sender.neverBegan(tag)
        sender.stopTrying("job-1")
        let outcome = try #require(sender.takeOutcomes().first)
        #expect(outcome.attempts == 0)
        #expect(outcome.result == .failed(PushFailure(.expired, "withdrawn")))
    }

    @Test func whatBreaksARuleIsNeverSent() throws {
        sender.send(SamplePush.notice(.apnsVoIP, .cancel), at: now)
        #expect(sender.takeRequests().isEmpty)
        let rule = PushFailure(.invalid, "a VoIP push is for an incoming call only")
        #expect(results() == [.failed(rule)])
        sender.use(PushServices())
        sender.send(SamplePush.notice(.fcm), at: now)
        #expect(results() == [.failed(PushFailure(.misconfigured, "'fcm' is not configured"))])
    }

    @Test func anExpiredProviderTokenIsSignedAnewOncePerPush() throws {
        sender.send(SamplePush.notice(.apns), at: now)
        let first = try only()
        let later = now + 120_000
        sender.send(SamplePush.notice(.apns, .missed, id: "b"), at: now)
        let second = try only()
        #expect(first.request.header("authorization") == second.request.header("authorization"))
        let expired = OutboundResponse(
            status: 403, body: Array(#"{"reason":"ExpiredProviderToken"}"#.utf8))
        sender.completed(second.tag, .success(expired), at: later)
        let renewed = try only()
        #expect(
            renewed.request.header("authorization") != second.request.header("authorization"))
        sender.completed(renewed.tag, .success(expired), at: later)
        let hint = "403 ExpiredProviderToken also with new access: is the clock right?"
        #expect(results() == [.failed(PushFailure(.misconfigured, hint))])
    }
}

final class PushAccessTests {
    private let now = SamplePush.now
    private var sender: PushSender

    init() throws {
        sender = PushSender(try SamplePush.services(), seed: 3)
    }

    private func send(_ count: Int, _ prefix: String = "job") {
        for number in 0..<count {
            sender.send(SamplePush.notice(.fcm, id: "\(prefix)-\(number)"), at: now)
        }
    }

    /// Answers the one request for access that must be there.
    private func grant(
        _ token: String = "t1", lifetime: Int64 = 3_600, at moment: Int64
    ) throws {
        let requests = sender.takeRequests()
        #expect(requests.count == 1 && requests.first?.request.url.host == "oauth2.googleapis.com")
        let body: JSONValue = ["access_token": .string(token), "expires_in": .integer(lifetime)]
        let tag = try #require(requests.first?.tag)
        sender.completed(tag, .success(OutboundResponse(status: 200, body: body.bytes)), at: moment)
    }

    private func refuse(_ status: Int, _ body: JSONValue, at moment: Int64) throws {
        let tag = try #require(sender.takeRequests().first?.tag)
        sender.completed(
            tag, .success(OutboundResponse(status: status, body: body.bytes)), at: moment)
    }

    private func bearers() -> [String?] {
        sender.takeRequests().map { $0.request.header("authorization") }
    }

    @Test func manyPushesWaitForOneAccessToken() throws {
        send(5)
        try grant(at: now)
        #expect(bearers() == Array(repeating: "Bearer t1", count: 5))
        send(1, "more")
        #expect(bearers() == ["Bearer t1"])
    }

    @Test func theTokenIsRenewedFiveMinutesBeforeItsEnd() throws {
        send(1)
        try grant(at: now)
        _ = sender.takeRequests()
        sender.send(SamplePush.notice(.fcm, .missed, id: "a"), at: now + 3_299_999)
        #expect(bearers() == ["Bearer t1"])
        sender.send(SamplePush.notice(.fcm, .missed, id: "b"), at: now + 3_300_000)
        try grant("t2", at: now + 3_300_000)
        #expect(bearers() == ["Bearer t2"])
    }

    @Test(
        arguments: [
            (Int64.min, 30_000), (-1, 30_000), (0, 30_000), (86_400, 86_100_000),
            (.max, 86_100_000),
        ] as [(Int64, Int64)])
    func aTokenIsUsedForAWhileWhateverItsLifetimeIsSaidToBe(
        lifetime: Int64, renewal: Int64
    ) throws {
        send(1)
        try grant(lifetime: lifetime, at: now)
        #expect(bearers() == ["Bearer t1"])
        sender.send(SamplePush.notice(.fcm, .missed, id: "a"), at: now + renewal - 1)
        #expect(bearers() == ["Bearer t1"])
        sender.send(SamplePush.notice(.fcm, .missed, id: "b"), at: now + renewal)
        try grant("t2", at: now + renewal)
    }

    @Test func aTokenThatGoogleCallsExpiredIsRenewedOnceForAll() throws {
        send(2)
        try grant(at: now)
        let tags = sender.takeRequests().map(\.tag)
        let expired = OutboundResponse(
            status: 401, body: Array(#"{"error":{"status":"UNAUTHENTICATED"}}"#.utf8))
        for tag in tags { sender.completed(tag, .success(expired), at: now + 5_000) }
        try grant("t2", at: now + 5_100)
        #expect(bearers() == ["Bearer t2", "Bearer t2"])
    }

    @Test func aRefusedAccountFailsAllThatWaitAndIsAskedAgainAMinuteLater()
        throws
    {
        send(3)
        try refuse(
            400, ["error": "invalid_grant", "error_description": "Invalid JWT"], at: now)
        let outcomes = sender.takeOutcomes()
        #expect(outcomes.count == 3)
        let failure = PushFailure(
            .misconfigured, "no access token: 400 invalid_grant: Invalid JWT")
        #expect(outcomes.allSatisfy { $0.result == .failed(failure) })
        sender.send(SamplePush.notice(.fcm, .missed, id: "soon"), at: now + 59_999)
        #expect(sender.takeRequests().isEmpty && sender.takeOutcomes().count == 1)
        sender.send(SamplePush.notice(.fcm, .missed, id: "later"), at: now + 60_000)
        try grant(at: now + 60_000)
        #expect(bearers() == ["Bearer t1"])
    }

    @Test func aTokenEndpointInTroubleIsAskedAgainWhilePushesMatter() throws {
        send(2)
        try refuse(503, [:], at: now)
        #expect(sender.takeOutcomes().isEmpty)
        let retry = try #require(sender.nextDeadline)
        #expect((now + 400...now + 600).contains(retry))
        sender.advance(to: retry)
        try grant(at: retry)
        #expect(bearers().count == 2)
    }

    /// After an outage of a quarter of an hour, in which somebody is called all the time.
    @Test func afterALongOutageOfTheTokenEndpointPhonesRingSoon() throws {
        var (moment, asked) = (now, now)
        var longest: Int64 = 0
        for second in 0..<900 {
            moment = now + Int64(second) * 1_000
            sender.advance(to: moment)
            sender.send(SamplePush.notice(.fcm, .missed, id: "\(second)"), at: moment)
            for (tag, _) in sender.takeRequests() {
                longest = max(longest, moment - asked)
                asked = moment
                sender.completed(tag, .failure(OutboundFailure(.unreachable)), at: moment)
            }
            _ = sender.takeOutcomes()
        }
        #expect(longest <= 11_000 && moment - asked <= 11_000)
    }

    @Test(arguments: ["", "a\r\nb", "a b", "ä", String(repeating: "a", count: 9_000)])
    func whatIsNoTokenIsTroubleOfTheEndpoint(token: String) throws {
        send(1)
        try grant(token, at: now)
        #expect(sender.takeOutcomes().isEmpty && sender.takeRequests().isEmpty)
        let retry = try #require(sender.nextDeadline)
        #expect((now + 400...now + 600).contains(retry))
        sender.advance(to: retry)
        try grant(at: retry)
        #expect(bearers() == ["Bearer t1"])
    }

    @Test(arguments: ["", "<html>", "[]", "null", #"{"access_token": 7}"#])
    func aGoodStatusWithoutATokenIsTroubleOfTheEndpoint(body: String) throws {
        send(1)
        let tag = try #require(sender.takeRequests().first?.tag)
        sender.completed(
            tag, .success(OutboundResponse(status: 200, body: Array(body.utf8))), at: now)
        #expect(sender.takeOutcomes().isEmpty)
        sender.advance(to: try #require(sender.nextDeadline))
        try grant(at: now + 600)
        #expect(bearers() == ["Bearer t1"])
    }

    @Test func pushesThatWaitForAccessExpire() throws {
        send(2)
        var moment = now
        while sender.jobCount > 0, moment < now + 120_000 {
            for (tag, _) in sender.takeRequests() {
                sender.completed(tag, .failure(OutboundFailure(.unreachable)), at: moment)
            }
            moment = sender.nextDeadline ?? now + 120_000
            sender.advance(to: moment)
        }
        let failure = PushFailure(.unavailable, "no time left (no access token: unreachable)")
        #expect(sender.takeOutcomes().map(\.result) == [.failed(failure), .failed(failure)])
        #expect(moment == now + 30_000)
        sender.advance(to: now + 900_000)
        #expect(sender.takeRequests().isEmpty)
    }

    @Test func aTokenThatComesForTheAccountOfBeforeIsNotUsed() throws {
        send(1)
        let old = try #require(sender.takeRequests().first?.tag)
        sender.use(try SamplePush.services())
        let body: JSONValue = ["access_token": "old", "expires_in": 3_600]
        sender.completed(old, .success(OutboundResponse(status: 200, body: body.bytes)), at: now)
        #expect(sender.nextDeadline.map { $0 <= now } == true)
        sender.advance(to: now)
        try grant("new", at: now)
        #expect(bearers() == ["Bearer new"])
    }

    @Test func newSettingsGetATokenOfTheirOwn() throws {
        send(1)
        try grant(at: now)
        _ = sender.takeRequests()
        sender.use(try SamplePush.services())
        send(1, "after")
        try grant("t2", at: now)
        #expect(bearers() == ["Bearer t2"])
    }
}
