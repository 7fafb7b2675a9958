// Turns, bounds and time of requests that wait.

import Testing

@testable import Outbound

/// The same throws for the same seed.
private struct Dice: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        let mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        return mixed ^ mixed >> 27
    }
}

struct RequestQueueTests {
    private var number: UInt64 = 0

    private mutating func request(
        _ host: String, at moment: Int64 = 0, isGuarded: Bool = false, bytes: Int = 0,
        of cause: SendingCause? = nil
    ) throws -> QueuedRequest {
        number += 1
        let url = try HTTPURL("https://\(host)/")
        var request = OutboundRequest("POST", url, body: [UInt8](repeating: 0, count: bytes))
        request.addresses = isGuarded ? .publicOnly : .anywhere
        request.timeout = 100
        request.cause = cause
        return QueuedRequest(
            ticket: HTTPTicket(number: number), request: request, submittedAt: moment,
            origin: url.origin)
    }

    /// Origins that have answered before have no head start to wait for.
    private mutating func meet(_ hosts: String..., in queue: inout RequestQueue) throws {
        for host in hosts {
            try queue.add(request(host))
            if let met = queue.next(at: 0) { queue.ended(met, wasAnswered: true) }
        }
    }

    private func hosts(_ queue: inout RequestQueue) -> [String] {
        var hosts: [String] = []
        while let next = queue.next(at: 2_000) { hosts.append(next.request.url.host) }
        return hosts
    }

    @Test mutating func originsTakeTurns() throws {
        var queue = RequestQueue(OutboundLimits())
        try meet("a", "b", "c", in: &queue)
        for host in ["a", "a", "a", "b", "c", "c"] { try queue.add(request(host)) }
        let order = hosts(&queue)
        #expect(order == ["a", "b", "c", "a", "c", "a"])
        #expect(queue.running == 6 && queue.waiting == 0)
    }

    @Test mutating func anOriginAtItsLimitLeavesTheOthersTheirTurns() throws {
        var limits = OutboundLimits()
        limits.runningPerOrigin = 2
        limits.running = 4
        var queue = RequestQueue(limits)
        try meet("a", in: &queue)
        let first = try request("a")
        try queue.add(first)
        for host in ["a", "a", "a", "b", "c", "d"] { try queue.add(request(host)) }
        let before = hosts(&queue)
        #expect(before == ["a", "b", "c", "d"])
        queue.ended(first)
        let after = hosts(&queue)
        #expect(after == ["a"])
        #expect(queue.waiting == 2)
    }

    @Test mutating func guardedRequestsTogetherLeaveRoomForThePushServices() throws {
        var limits = OutboundLimits()
        limits.runningGuarded = 2
        var queue = RequestQueue(limits)
        for host in ["u1", "u2", "u3"] { try queue.add(request(host, isGuarded: true)) }
        try queue.add(request("apple"))
        let order = hosts(&queue)
        #expect(order == ["u1", "u2", "apple"])
        #expect(queue.waiting == 1)
    }

    @Test mutating func everyBoundOfWaitingRefusesOneMore() throws {
        var limits = OutboundLimits()
        limits.waiting = 3
        limits.waitingPerOrigin = 2
        var queue = RequestQueue(limits)
        try queue.add(request("a"))
        try queue.add(request("a"))
        let third = try request("a")
        #expect(throws: OutboundFailure(.overloaded, "2 requests wait for https://a")) {
            try queue.add(third)
        }
        try queue.add(request("b"))
        let fourth = try request("c")
        #expect(throws: OutboundFailure(.overloaded, "3 requests wait")) { try queue.add(fourth) }
        _ = queue.next(at: 0)
        try queue.add(fourth)
    }

    @Test mutating func bytesThatWaitAreBoundedAndGivenBack() throws {
        let one = try request("a", bytes: 1_000)
        var limits = OutboundLimits()
        limits.waitingBytes = one.request.byteCount * 2
        var queue = RequestQueue(limits)
        try queue.add(one)
        try queue.add(request("a", bytes: 1_000))
        let third = try request("a", bytes: 1_000)
        #expect(throws: OutboundFailure.self) { try queue.add(third) }
        let removals = [queue.remove(one.ticket), queue.remove(one.ticket)]
        #expect(removals == [true, false])
        try queue.add(third)
        let all = queue.removeAll()
        #expect(all.count == 2 && queue.waiting == 0)
    }

    @Test mutating func whatWaitsTooLongIsTakenOut() throws {
        var queue = RequestQueue(OutboundLimits())
        try queue.add(request("a", at: 0))
        try queue.add(request("b", at: 50))
        #expect(queue.nextExpiry == 100)
        let early = queue.expire(at: 99)
        #expect(early.isEmpty)
        let first = queue.expire(at: 100)
        #expect(first.map(\.request.url.host) == ["a"])
        #expect(queue.nextExpiry == 150)
        let second = queue.expire(at: 1_000)
        #expect(second.map(\.request.url.host) == ["b"])
        #expect(queue.nextExpiry == .max)
    }

    @Test mutating func theFirstRequestToAnOriginRunsAloneUntilItIsAnswered() throws {
        var queue = RequestQueue(OutboundLimits())
        for host in ["a", "a", "a", "b"] { try queue.add(request(host)) }
        let alone = [queue.next(at: 5), queue.next(at: 5), queue.next(at: 1_004)]
        #expect(alone.map { $0?.request.url.host } == ["a", "b", nil])
        #expect(queue.nextHeadStartEnd(after: 5) == 1_005)
        if let first = alone[0] { queue.ended(first, wasAnswered: true) }
        let both = [queue.next(at: 6), queue.next(at: 6)]
        #expect(both.map { $0?.request.url.host } == ["a", "a"])
        if let lost = both[0] { queue.ended(lost, wasAnswered: false) }
        try queue.add(request("a"))
        let later = queue.next(at: 1_005)
        #expect(later == nil)
        let latest = queue.next(at: 1_006)
        #expect(latest?.request.url.host == "a")
    }

    @Test mutating func aLongLaneStaysInOrderAndKeepsNoMemoryOfThePast() throws {
        var queue = RequestQueue(OutboundLimits())
        var taken: [UInt64] = []
        for _ in 0..<1_000 {
            try queue.add(request("a"))
            try queue.add(request("a"))
            let next = queue.next(at: 0)
            taken.append(next?.ticket.number ?? 0)
            if let next { queue.ended(next) }
        }
        #expect(taken == Array(1...1_000))
        #expect(queue.waiting == 1_000)
        let removals = [1_500, 500].map { queue.remove(HTTPTicket(number: $0)) }
        #expect(removals == [true, false])
    }

    // MARK: Causes

    private func cause(_ user: String, _ caller: String? = nil) -> SendingCause {
        SendingCause(user, caller: caller ?? user)
    }

    @Test mutating func causesTakeTurnsHoweverMuchOneOfThemHas() throws {
        var queue = RequestQueue(OutboundLimits())
        try meet("a", in: &queue)
        var expected: [UInt64] = []
        for _ in 0..<4 { try queue.add(request("a", of: cause("mallory"))) }
        let first = number - 3
        for user in ["ann", "bob"] { try queue.add(request("a", of: cause(user))) }
        expected = [first, number - 1, number, first + 1, first + 2, first + 3]
        var order: [UInt64] = []
        while let next = queue.next(at: 2_000) { order.append(next.ticket.number) }
        #expect(order == expected)
    }

    @Test mutating func theCallerOfManyHasFourPartsAtMost() throws {
        var queue = RequestQueue(OutboundLimits())
        try meet("a", in: &queue)
        for pair in 0..<6 {
            for _ in 0..<2 { try queue.add(request("a", of: cause("u\(pair)", "desk"))) }
        }
        for _ in 0..<2 { try queue.add(request("a", of: cause("ann"))) }
        var order = ""
        while let next = queue.next(at: 2_000) {
            order += next.request.cause?.caller == "desk" ? "d" : "A"
        }
        #expect(order == "dAddddAddddddd")
    }

    @Test mutating func ofOneCauseSoManyAreUnderWayToOneReceiver() throws {
        var limits = OutboundLimits()
        limits.runningPerCause = 2
        var queue = RequestQueue(limits)
        try meet("a", "b", in: &queue)
        let mallory = cause("mallory")
        var tagged: [QueuedRequest] = []
        for host in ["a", "a", "a", "b"] { try queue.add(request(host, of: mallory)) }
        try queue.add(request("a", of: cause("ann")))
        while let next = queue.next(at: 2_000) { tagged.append(next) }
        #expect(tagged.map(\.origin) == ["https://a", "https://a", "https://b", "https://a"])
        #expect(tagged.map { $0.request.cause?.user } == ["mallory", "ann", "mallory", "mallory"])
        #expect(queue.waiting == 1)
        queue.ended(tagged[1])
        let still = queue.next(at: 2_000)
        #expect(still == nil, "a place of ann's is none of mallory's")
        queue.ended(tagged[0])
        let last = queue.next(at: 2_000)
        #expect(last?.request.cause?.user == "mallory")
    }

    @Test mutating func whoeverWaitsWithMuchLeavesRoomForOthers() throws {
        var limits = OutboundLimits()
        limits.waiting = 12
        var queue = RequestQueue(limits)
        for host in 0..<6 { try queue.add(request("h\(host)", of: cause("mallory"))) }
        let seventh = try request("a", of: cause("mallory"))
        #expect(throws: OutboundFailure(.overloaded, "6 requests wait")) { try queue.add(seventh) }
        for host in 0..<3 { try queue.add(request("h\(host)", of: cause("ann"))) }
        #expect(queue.waiting == 9)
        limits.waiting = 10_000
        limits.waitingPerCause = 2
        queue = RequestQueue(limits)
        for _ in 0..<2 { try queue.add(request("a", of: cause("mallory"))) }
        let third = try request("b", of: cause("mallory"))
        #expect(throws: OutboundFailure.self) { try queue.add(third) }
    }

    @Test mutating func whoeverComesDuringTheHeadStartOfAnotherWaitsForItsEndOnly()
        throws
    {
        var queue = RequestQueue(OutboundLimits())
        try queue.add(request("a"))
        let first = queue.next(at: 0)
        let none = queue.next(at: 1)
        #expect(first != nil && none == nil)
        try queue.add(request("a", at: 2))
        let early = queue.next(at: 999)
        let late = queue.next(at: 1_000)
        #expect(early == nil && late != nil)
    }

    @Test mutating func receiversAtOneOriginAreReceiversOfTheirOwn() throws {
        var limits = OutboundLimits()
        limits.runningPerCause = 1
        var queue = RequestQueue(limits)
        try meet("a", in: &queue)
        for receiver in ["slow", "slow", "crm"] {
            let one = try request("a", of: cause("ann"))
            var named = one.request
            named.receiver = receiver
            try queue.add(
                QueuedRequest(
                    ticket: one.ticket, request: named, submittedAt: 0, origin: one.origin))
        }
        var order: [String] = []
        while let next = queue.next(at: 2_000) { order.append(next.receiver) }
        #expect(order == ["slow", "crm"])
    }

    @Test mutating func aServerWithOneRequestPerConnectionGetsNoMoreOfThem() throws {
        var limits = OutboundLimits()
        limits.connectionsPerOrigin = 2
        var queue = RequestQueue(limits)
        for _ in 0..<5 { try queue.add(request("a")) }
        if let first = queue.next(at: 0) { queue.ended(first, wasAnswered: true, version: 1) }
        let both = hosts(&queue)
        #expect(both == ["a", "a"])
        #expect(queue.waiting == 2)
    }

    @Test mutating func aRequestIsTakenOutOfItsPlaceAndTimeIsLookedAtForAll()
        throws
    {
        var queue = RequestQueue(OutboundLimits())
        for user in ["ann", "bob", "ann"] { try queue.add(request("a", of: cause(user))) }
        let removals = [queue.remove(HTTPTicket(number: 3)), queue.remove(HTTPTicket(number: 3))]
        #expect(removals == [true, false])
        let expired = queue.expire(at: 100)
        #expect(expired.count == 2 && queue.waiting == 0)
        let again = queue.next(at: 100)
        #expect(again == nil)
    }

    // MARK: What turns cost

    @Test mutating func aServiceThatHangsCostsThoseNothingWhoSendElsewhere() throws {
        var queue = RequestQueue(OutboundLimits())
        try meet("hangs", "works", in: &queue)
        var underWay: [QueuedRequest] = []
        for user in 0..<4_400 {
            try queue.add(request("hangs", of: cause("u\(user)")))
            if let next = queue.next(at: 2_000) { underWay.append(next) }
        }
        #expect(underWay.count == 500 && queue.waiting == 3_900)
        let before = queue.looks
        for user in 0..<1_000 {
            try queue.add(request("works", at: 2_000, of: cause("v\(user)")))
            let next = queue.next(at: 2_000)
            #expect(next?.request.url.host == "works")
            let more = queue.next(at: 2_000)
            #expect(more == nil)
            if let next { queue.ended(next, wasAnswered: true) }
        }
        #expect(queue.looks - before <= 4 * 1_000)
        for ended in underWay {
            queue.ended(ended, wasAnswered: true)
            let next = queue.next(at: 2_000)
            let more = queue.next(at: 2_000)
            #expect(next != nil && more == nil)
        }
        #expect(queue.looks - before <= 4 * 1_000 + 4 * 500)
    }

    @Test mutating func ofOneCallerAtItsLimitOneMoreStartsForEachThatEnds() throws {
        var queue = RequestQueue(OutboundLimits())
        try meet("a", in: &queue)
        var underWay: [QueuedRequest] = []
        for user in 0..<1_000 { try queue.add(request("a", of: cause("u\(user)", "desk"))) }
        while let next = queue.next(at: 2_000) { underWay.append(next) }
        #expect(underWay.count == 32)
        let before = queue.looks
        for ended in underWay {
            queue.ended(ended, wasAnswered: true)
            let next = queue.next(at: 2_000)
            let more = queue.next(at: 2_000)
            #expect(next != nil && more == nil)
        }
        #expect(queue.looks - before <= 6 * 32)
    }

    /// Whatever comes and goes: when nothing starts any more, nothing could, and nothing is lost.
    @Test(arguments: 1...20) mutating func nothingWaitsThatMayStart(seed: UInt64) throws {
        var random = Dice(state: seed)
        var limits = OutboundLimits()
        (limits.running, limits.runningPerOrigin, limits.runningPerCause) = (12, 6, 2)
        (limits.runningGuarded, limits.guardedPerCause, limits.connectionsPerOrigin) = (4, 2, 3)
        var queue = RequestQueue(limits)
        var (underWay, waiting): ([QueuedRequest], Set<HTTPTicket>) = ([], [])
        var now: Int64 = 0
        for _ in 0..<2_000 {
            now += Int64.random(in: 0...20, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let user = Int.random(in: 0..<6, using: &random)
                let whose = user == 5 ? nil : cause("u\(user)", "c\(user % 2)")
                let host = ["a", "b", "c"].randomElement(using: &random) ?? "a"
                let one = try request(host, at: now, isGuarded: host != "a", of: whose)
                try queue.add(one)
                waiting.insert(one.ticket)
            case 5..<8:
                guard !underWay.isEmpty else { continue }
                let one = underWay.remove(at: Int.random(in: 0..<underWay.count, using: &random))
                queue.ended(
                    one,
                    wasAnswered: [true, true, false, nil].randomElement(using: &random) ?? nil,
                    version: Int.random(in: 1...2, using: &random))
            case 8:
                guard let ticket = waiting.min(by: { $0.number < $1.number }) else { continue }
                let isRemoved = queue.remove(ticket)
                #expect(isRemoved)
                waiting.remove(ticket)
            default: for late in queue.expire(at: now) { waiting.remove(late.ticket) }
            }
            while let next = queue.next(at: now) {
                underWay.append(next)
                #expect(waiting.remove(next.ticket) != nil)
            }
            #expect(queue.waiting == waiting.count && queue.running == underWay.count)
            let missed = queue.startable(at: now)
            #expect(missed.isEmpty)
        }
        for one in underWay { queue.ended(one) }
        let left = queue.removeAll()
        #expect(Set(left.map(\.ticket)) == waiting)
    }
}
