// A push service in trouble must not cost phones their registrations.

import JSON
import Testing

@testable import Outbound

final class DoubtedServicesTests {
    private let now = SamplePush.now
    private var sender: PushSender
    private var last = 0

    init() throws {
        sender = PushSender(try SamplePush.services(), seed: 7)
    }

    /// Sends a push to `user`, which its service answers so; returns why it failed.
    private func push(
        to user: String, by provider: PushCarrier = .webhook, host: String = "push.example.net",
        _ status: Int, at moment: Int64
    ) throws -> PushFailure.Cause? {
        last += 1
        let sample = SamplePush.target(provider)
        let token = sample.token.replacing("push.example.net", with: host)
        let notice = PushNotice(
            id: "\(last)", .missed, SamplePush.call, for: user,
            to: PushTarget(provider, token: token), ringEndsAt: nil, now: moment)
        sender.send(notice, at: moment)
        let tag = try #require(sender.takeRequests().first?.tag)
        sender.completed(tag, .success(OutboundResponse(status: status)), at: moment)
        guard case .failed(let failure)? = sender.takeOutcomes().first?.result else { return nil }
        return failure.cause
    }

    @Test(arguments: [PushCarrier.webhook, .web])
    func aServiceThatCallsAllTokensDeadCostsFewRegistrations(provider: PushCarrier) throws {
        for number in 0..<500 { _ = try push(to: "u\(number)", by: provider, 201, at: now) }
        let causes = try (0..<500).map { try push(to: "u\($0)", by: provider, 410, at: now) }
        #expect(causes.prefix(19).allSatisfy { $0 == .deadToken })
        #expect(causes.dropFirst(19).allSatisfy { $0 == .doubted })
        for number in 0..<40 { _ = try push(to: "u\(number)", by: provider, 201, at: now) }
        #expect(try push(to: "u1", by: provider, 410, at: now) == .deadToken, "it works again")
    }

    @Test func oneUserWithDeadTokensMakesNobodyDoubt() throws {
        for _ in 0..<100 { #expect(try push(to: "mallory", 410, at: now) == .deadToken) }
        #expect(try push(to: "bob", 410, at: now) == .deadToken)
    }

    @Test func tokensDieAsTimeGoesBy() throws {
        for number in 0..<200 {
            let moment = now + Int64(number) * 200_000
            #expect(try push(to: "u\(number)", 410, at: moment) == .deadToken)
        }
    }

    @Test func aServiceThatUsersMadeUpIsDoubtedAlone() throws {
        let own = "mallory.example.net"
        for number in 0..<100 { _ = try push(to: "u\(number)", by: .web, host: own, 410, at: now) }
        #expect(try push(to: "bob", by: .web, host: own, 410, at: now) == .doubted)
        #expect(try push(to: "bob", by: .web, 410, at: now) == .deadToken)
        #expect(try push(to: "bob", by: .webhook, 410, at: now) == .deadToken)
        for number in 0..<1_100 {
            _ = try push(to: "u", by: .web, host: "h\(number).example.net", 410, at: now)
        }
        #expect(try push(to: "bob", by: .web, host: own, 410, at: now) == .deadToken, "in bounds")
    }
}
