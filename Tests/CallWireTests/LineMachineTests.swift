// One line, message by message.

import CallModel
import Testing

@testable import CallWire

@Suite struct LineMachineTests {
    private let hello = Hello(token: "dev:bob", device: "phone")
    private let id = MessageID.integer(1)
    private let start = Moment(1_000)

    private func opened() -> LineMachine {
        var line = LineMachine(at: start)
        _ = line.handle(.message(.hello(id, hello)), at: start)
        _ = line.handle(.admitted, at: start)
        return line
    }

    private static func bad(
        _ operation: OperationName?, unparseable: Bool = false
    ) -> Malformed {
        Malformed(
            id: unparseable ? nil : .integer(2), operation: operation,
            refusal: Refusal(.badRequest, "no"), isUnparseable: unparseable)
    }

    @Test func helloIsCheckedThenTheConnectionIsOpen() {
        var line = LineMachine(at: start)
        #expect(line.state == .awaitingHello(until: Moment(6_000)))
        #expect(line.nextDeadline == Moment(6_000))
        #expect(line.handle(.message(.hello(id, hello)), at: start) == .check(id, hello))
        #expect(line.state == .checking(id))
        #expect(line.nextDeadline == nil)
        #expect(line.handle(.admitted, at: start) == .nothing)
        #expect(line.state == .open)
    }

    @Test func aBadTokenGetsItsErrorThenTheClose() {
        var line = LineMachine(at: start)
        let refusal = Refusal(.unauthenticated, "the token has expired")
        _ = line.handle(.message(.hello(id, hello)), at: start)
        #expect(
            line.handle(.refused(refusal), at: start)
                == .refuseAndClose(id, refusal, .forbidden))
        #expect(line.state == .closed)
        #expect(line.handle(.message(.ping(nil)), at: start) == .nothing)
    }

    @Test func withoutHelloInTimeTheConnectionIsClosed() {
        var line = LineMachine(at: start)
        #expect(line.handle(.deadlineReached, at: Moment(5_999)) == .nothing)
        #expect(
            line.handle(.deadlineReached, at: Moment(6_000)) == .close(.protocolError))
        #expect(line.state == .closed)
        var open = opened()
        #expect(open.handle(.deadlineReached, at: Moment(6_000)) == .nothing)
    }

    @Test(arguments: [
        ClientMessage.ping(nil), .bye(.integer(1)), .acknowledge(1),
        .request(.integer(1), key: nil, .list(ListQuery())),
    ])
    func anotherFirstMessageClosesTheConnection(_ message: ClientMessage) {
        var line = LineMachine(at: start)
        #expect(line.handle(.message(message), at: start) == .close(.protocolError))
        #expect(line.state == .closed)
    }

    @Test func aMistakeInHelloMayBeMended() {
        var line = LineMachine(at: start)
        let malformed = Self.bad(.hello)
        #expect(
            line.handle(.malformed(malformed), at: start)
                == .reply(.integer(2), .refused(malformed.refusal)))
        #expect(line.handle(.message(.hello(id, hello)), at: start) == .check(id, hello))
    }

    @Test(arguments: [OperationName.list, nil])
    func aMistakeInAnotherFirstMessageClosesTheConnection(_ operation: OperationName?) {
        var line = LineMachine(at: start)
        let output = line.handle(.malformed(Self.bad(operation)), at: start)
        #expect(output == .close(.protocolError))
    }

    @Test func aSecondHelloIsRefusedAndTheConnectionStays() {
        var line = opened()
        guard
            case .reply(.text("again"), .refused(let refusal)) =
                line.handle(.message(.hello(.text("again"), hello)), at: start)
        else {
            Issue.record("not refused")
            return
        }
        #expect(refusal.code == .wrongState)
        #expect(line.state == .open)
    }

    @Test func requestsPassWhenOpen() {
        var line = opened()
        let key = IdempotencyKey("k", bodyHash: 5)
        let operation = Operation.call(Sample.id, .get)
        #expect(
            line.handle(.message(.request(id, key: key, operation)), at: start)
                == .request(id, key: key, operation))
        #expect(line.handle(.message(.ping(nil)), at: start) == .reply(nil, .done))
        #expect(line.handle(.message(.ping(id)), at: start) == .reply(id, .done))
        #expect(line.handle(.message(.acknowledge(-4)), at: start) == .acknowledge(-4))
        let malformed = Self.bad(.get)
        #expect(
            line.handle(.malformed(malformed), at: start)
                == .reply(.integer(2), .refused(malformed.refusal)))
        #expect(line.state == .open)
    }

    @Test func byeLogsOutAndEndsTheConnection() {
        var line = opened()
        #expect(line.handle(.message(.bye(id)), at: start) == .logOut(id))
        #expect(line.state == .closed)
        #expect(
            line.handle(.message(.request(id, key: nil, .call(Sample.id, .get))), at: start)
                == .nothing)
    }

    @Test func theThirdUnparseableMessageOnlyCloses() {
        let malformed = Self.bad(nil, unparseable: true)
        for var line in [LineMachine(at: start), opened()] {
            for _ in 1...2 {
                #expect(
                    line.handle(.malformed(malformed), at: start)
                        == .reply(nil, .refused(malformed.refusal)))
            }
            #expect(
                line.handle(.malformed(malformed), at: start) == .close(.protocolError))
            #expect(line.state == .closed)
        }
    }

    @Test func goodMessagesInBetweenDoNotForgiveUnparseableOnes() {
        var line = opened()
        let malformed = Self.bad(nil, unparseable: true)
        for _ in 1...2 {
            _ = line.handle(.malformed(malformed), at: start)
            _ = line.handle(.message(.ping(nil)), at: start)
            _ = line.handle(.malformed(Self.bad(.get)), at: start)
        }
        #expect(line.handle(.malformed(malformed), at: start) == .close(.protocolError))
    }

    @Test func aBinaryFrameClosesTheConnection() {
        for var line in [LineMachine(at: start), opened()] {
            #expect(line.handle(.binary, at: start) == .close(.unsupportedData))
        }
    }

    @Test func closeCodesTellClientsWhatToDo() {
        let reactions = Dictionary(
            uniqueKeysWithValues: CloseCode.allCases.map {
                ($0, CloseCode.reaction(to: $0.rawValue))
            })
        #expect(reactions[.draining] == .reconnect)
        #expect(reactions[.tooSlow] == .reconnect)
        #expect(reactions[.pingTimeout] == .reconnect)
        #expect(reactions[.expired] == .renewToken)
        #expect(reactions[.revoked] == .renewToken)
        #expect(reactions[.protocolError] == .stop)
        #expect(reactions[.forbidden] == .stop)
        #expect(reactions[.replaced] == .stop)
        #expect(reactions[.rateLimited] == .stop)
        #expect(CloseCode.reaction(to: 1006) == .reconnect)
    }
}

@Suite struct KeepAliveTests {
    private let limits = SessionLimits()

    @Test func pingsGoOutEveryTwentyFiveSeconds() {
        var keepAlive = KeepAlive(at: Moment(0))
        #expect(keepAlive.nextDeadline(limits: limits) == Moment(25_000))
        #expect(keepAlive.due(at: Moment(24_999), limits: limits) == .nothing)
        #expect(keepAlive.due(at: Moment(25_000), limits: limits) == .ping)
        #expect(keepAlive.due(at: Moment(25_001), limits: limits) == .nothing)
        keepAlive.heard(at: Moment(25_010))
        #expect(keepAlive.nextDeadline(limits: limits) == Moment(50_000))
        #expect(keepAlive.due(at: Moment(50_000), limits: limits) == .ping)
    }

    @Test func thirtyThreeSecondsOfSilenceEndIt() {
        var keepAlive = KeepAlive(at: Moment(0))
        keepAlive.heard(at: Moment(1_000))
        #expect(keepAlive.due(at: Moment(25_000), limits: limits) == .ping)
        #expect(keepAlive.nextDeadline(limits: limits) == Moment(34_000))
        #expect(keepAlive.due(at: Moment(33_999), limits: limits) == .nothing)
        #expect(keepAlive.due(at: Moment(34_000), limits: limits) == .close)
    }

    @Test func whoIsSilentAlsoAfterASecondPingHasNoMoreTimeForIt() {
        var keepAlive = KeepAlive(at: Moment(0))
        keepAlive.heard(at: Moment(24_000))
        #expect(keepAlive.due(at: Moment(25_000), limits: limits) == .ping)
        #expect(keepAlive.due(at: Moment(50_000), limits: limits) == .ping)
        #expect(keepAlive.nextDeadline(limits: limits) == Moment(57_000))
        #expect(keepAlive.due(at: Moment(57_000), limits: limits) == .close)
    }

    @Test func afterAStandstillEverybodyIsAskedFirst() {
        var keepAlive = KeepAlive(at: Moment(0))
        #expect(keepAlive.due(at: Moment(90_000), limits: limits) == .ping)
        #expect(keepAlive.nextDeadline(limits: limits) == Moment(98_000))
        #expect(keepAlive.due(at: Moment(97_999), limits: limits) == .nothing)
        var answering = keepAlive
        answering.heard(at: Moment(97_999))
        #expect(answering.due(at: Moment(98_000), limits: limits) == .nothing)
        #expect(keepAlive.due(at: Moment(98_000), limits: limits) == .close)
    }
}

@Suite struct RequestRateTests {
    @Test func aBurstOfOneSecondPassesThenOneEachInterval() {
        var rate = RequestRate()
        let now = Moment(1_795_000_000_000)
        for _ in 0..<200 { #expect(rate.admit(perSecond: 200, at: now) == nil) }
        #expect(rate.admit(perSecond: 200, at: now) == 5)
        #expect(rate.admit(perSecond: 200, at: now + 4) == 1)
        #expect(rate.admit(perSecond: 200, at: now + 5) == nil)
        #expect(rate.admit(perSecond: 200, at: now + 5) == 5)
    }

    @Test func theAnnouncedWaitIsEnough() {
        for perSecond in [1, 3, 7, 200, 300, 5_000] {
            var rate = RequestRate()
            var now = Moment(50_000)
            for _ in 0..<20_000 {
                guard let wait = rate.admit(perSecond: perSecond, at: now) else { continue }
                #expect(wait >= 1)
                now = now + wait
                #expect(rate.admit(perSecond: perSecond, at: now) == nil)
            }
        }
    }

    @Test func anIdleBucketFillsUpAndNoFurther() {
        var rate = RequestRate()
        for _ in 0..<10 { _ = rate.admit(perSecond: 10, at: Moment(0)) }
        var admitted = 0
        while rate.admit(perSecond: 10, at: Moment(3_600_000)) == nil { admitted += 1 }
        #expect(admitted == 10)
    }

    @Test func moreThanTheBucketHoldsNeverPasses() {
        var rate = RequestRate()
        for second in 0..<9 {
            let now = Moment(Int64(second) * 60_000)
            #expect(rate.admit(6, of: 5, in: 60_000, at: now) == 60_000)
        }
        #expect(rate.isFull(at: Moment(0)), "nothing is taken of a bucket that is too small")
        #expect(rate.admit(5, of: 5, in: 60_000, at: Moment(0)) == nil)
    }

    @Test func whatIsChargedAfterwardsIsWaitedFor() {
        var rate = RequestRate()
        let now = Moment(1_795_000_000_000)
        #expect(rate.admit(perSecond: 10, at: now) == nil)
        rate.charge(29, of: 10, in: 1_000, at: now)
        #expect(rate.admit(perSecond: 10, at: now) == 2_100)
        #expect(rate.admit(perSecond: 10, at: now + 2_099) == 1)
        #expect(rate.admit(perSecond: 10, at: now + 2_100) == nil)
        rate.charge(0, of: 10, in: 1_000, at: now)
        rate.charge(5, of: 0, in: 1_000, at: now)
        #expect(rate.admit(perSecond: 10, at: now + 2_200) == nil)
    }

    @Test func zeroIsNoLimit() {
        var rate = RequestRate()
        for _ in 0..<1_000 { #expect(rate.admit(perSecond: 0, at: Moment(0)) == nil) }
        let refusal = RequestRate.refusal(retryAfter: 40)
        #expect(refusal.code == .rateLimited)
        #expect(refusal.retryAfter == 40)
    }
}
