// One connection, message by message.

import CallModel
import Testing

@testable import CallWire

@Suite struct ConnectionTests {
    private let hello = Hello(token: "dev:bob", device: "phone")
    private let id = MessageID.integer(1)
    private let start = Moment(1_000)

    private func opened() -> ClientConnection {
        var connection = ClientConnection(at: start)
        _ = connection.handle(.message(.hello(id, hello)), at: start)
        _ = connection.handle(.admitted, at: start)
        return connection
    }

    private static func bad(
        _ operation: OperationName?, unparseable: Bool = false
    ) -> Malformed {
        Malformed(
            id: unparseable ? nil : .integer(2), operation: operation,
            refusal: Refusal(.badRequest, "no"), isUnparseable: unparseable)
    }

    @Test func helloIsCheckedThenTheConnectionIsOpen() {
        var connection = ClientConnection(at: start)
        #expect(connection.state == .awaitingHello(until: Moment(6_000)))
        #expect(connection.nextDeadline == Moment(6_000))
        #expect(connection.handle(.message(.hello(id, hello)), at: start) == .check(id, hello))
        #expect(connection.state == .checking(id))
        #expect(connection.nextDeadline == nil)
        #expect(connection.handle(.admitted, at: start) == .nothing)
        #expect(connection.state == .open)
    }

    @Test func aBadTokenGetsItsErrorThenTheClose() {
        var connection = ClientConnection(at: start)
        let refusal = Refusal(.unauthenticated, "the token has expired")
        _ = connection.handle(.message(.hello(id, hello)), at: start)
        #expect(
            connection.handle(.refused(refusal), at: start)
                == .refuseAndClose(id, refusal, .forbidden))
        #expect(connection.state == .closed)
        #expect(connection.handle(.message(.ping(nil)), at: start) == .nothing)
    }

    @Test func withoutHelloInTimeTheConnectionIsClosed() {
        var connection = ClientConnection(at: start)
        #expect(connection.handle(.deadlineReached, at: Moment(5_999)) == .nothing)
        #expect(
            connection.handle(.deadlineReached, at: Moment(6_000)) == .close(.protocolError))
        #expect(connection.state == .closed)
        var open = opened()
        #expect(open.handle(.deadlineReached, at: Moment(6_000)) == .nothing)
    }

    @Test(arguments: [
        ClientMessage.ping(nil), .bye(.integer(1)), .acknowledge(1),
        .request(.integer(1), key: nil, .list(ListQuery())),
    ])
    func anotherFirstMessageClosesTheConnection(_ message: ClientMessage) {
        var connection = ClientConnection(at: start)
        #expect(connection.handle(.message(message), at: start) == .close(.protocolError))
        #expect(connection.state == .closed)
    }

    @Test func aMistakeInHelloMayBeMended() {
        var connection = ClientConnection(at: start)
        let malformed = Self.bad(.hello)
        #expect(
            connection.handle(.malformed(malformed), at: start)
                == .reply(.integer(2), .refused(malformed.refusal)))
        #expect(connection.handle(.message(.hello(id, hello)), at: start) == .check(id, hello))
    }

    @Test(arguments: [OperationName.list, nil])
    func aMistakeInAnotherFirstMessageClosesTheConnection(_ operation: OperationName?) {
        var connection = ClientConnection(at: start)
        let output = connection.handle(.malformed(Self.bad(operation)), at: start)
        #expect(output == .close(.protocolError))
    }

    @Test func aSecondHelloIsRefusedAndTheConnectionStays() {
        var connection = opened()
        guard
            case .reply(.text("again"), .refused(let refusal)) =
                connection.handle(.message(.hello(.text("again"), hello)), at: start)
        else {
            Issue.record("not refused")
            return
        }
        #expect(refusal.code == .wrongState)
        #expect(connection.state == .open)
    }

    @Test func requestsPassWhenOpen() {
        var connection = opened()
        let key = IdempotencyKey("k", bodyHash: 5)
        let operation = Operation.call(Sample.id, .get)
        #expect(
            connection.handle(.message(.request(id, key: key, operation)), at: start)
                == .request(id, key: key, operation))
        #expect(connection.handle(.message(.ping(nil)), at: start) == .reply(nil, .done))
        #expect(connection.handle(.message(.ping(id)), at: start) == .reply(id, .done))
        #expect(connection.handle(.message(.acknowledge(-4)), at: start) == .acknowledge(-4))
        let malformed = Self.bad(.get)
        #expect(
            connection.handle(.malformed(malformed), at: start)
                == .reply(.integer(2), .refused(malformed.refusal)))
        #expect(connection.state == .open)
    }

    @Test func byeLogsOutAndEndsTheConnection() {
        var connection = opened()
        #expect(connection.handle(.message(.bye(id)), at: start) == .logOut(id))
        #expect(connection.state == .closed)
        #expect(
            connection.handle(.message(.request(id, key: nil, .call(Sample.id, .get))), at: start)
                == .nothing)
    }

    @Test func theThirdUnparseableMessageOnlyCloses() {
        let malformed = Self.bad(nil, unparseable: true)
        for var connection in [ClientConnection(at: start), opened()] {
            for _ in 1...2 {
                #expect(
                    connection.handle(.malformed(malformed), at: start)
                        == .reply(nil, .refused(malformed.refusal)))
            }
            #expect(
                connection.handle(.malformed(malformed), at: start) == .close(.protocolError))
            #expect(connection.state == .closed)
        }
    }

    @Test func goodMessagesInBetweenDoNotForgiveUnparseableOnes() {
        var connection = opened()
        let malformed = Self.bad(nil, unparseable: true)
        for _ in 1...2 {
            _ = connection.handle(.malformed(malformed), at: start)
            _ = connection.handle(.message(.ping(nil)), at: start)
            _ = connection.handle(.malformed(Self.bad(.get)), at: start)
        }
        #expect(connection.handle(.malformed(malformed), at: start) == .close(.protocolError))
    }

    @Test func aBinaryFrameClosesTheConnection() {
        for var connection in [ClientConnection(at: start), opened()] {
            #expect(connection.handle(.binary, at: start) == .close(.unsupportedData))
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
