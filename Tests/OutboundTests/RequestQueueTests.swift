// Turns, bounds and time of requests that wait.

import Testing

@testable import Outbound

struct RequestQueueTests {
    private var number: UInt64 = 0

    private mutating func request(
        _ host: String, at moment: Int64 = 0, isGuarded: Bool = false, bytes: Int = 0
    ) throws -> QueuedRequest {
        number += 1
        let url = try HTTPURL("https://\(host)/")
        var request = HTTPRequest("POST", url, body: [UInt8](repeating: 0, count: bytes))
        request.addresses = isGuarded ? .publicOnly : .anywhere
        request.timeout = 100
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

    @Test mutating func `origins take turns`() throws {
        var queue = RequestQueue(HTTPLimits())
        try meet("a", "b", "c", in: &queue)
        for host in ["a", "a", "a", "b", "c", "c"] { try queue.add(request(host)) }
        let order = hosts(&queue)
        #expect(order == ["a", "b", "c", "a", "c", "a"])
        #expect(queue.running == 6 && queue.waiting == 0)
    }

    @Test mutating func `an origin at its limit leaves the others their turns`() throws {
        var limits = HTTPLimits()
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

    @Test mutating func `guarded requests together leave room for the push services`() throws {
        var limits = HTTPLimits()
        limits.runningGuarded = 2
        var queue = RequestQueue(limits)
        for host in ["u1", "u2", "u3"] { try queue.add(request(host, isGuarded: true)) }
        try queue.add(request("apple"))
        let order = hosts(&queue)
        #expect(order == ["u1", "u2", "apple"])
        #expect(queue.waiting == 1)
    }

    @Test mutating func `every bound of waiting refuses one more`() throws {
        var limits = HTTPLimits()
        limits.waiting = 3
        limits.waitingPerOrigin = 2
        var queue = RequestQueue(limits)
        try queue.add(request("a"))
        try queue.add(request("a"))
        let third = try request("a")
        #expect(throws: HTTPFailure(.overloaded, "2 requests wait for https://a")) {
            try queue.add(third)
        }
        try queue.add(request("b"))
        let fourth = try request("c")
        #expect(throws: HTTPFailure(.overloaded, "3 requests wait")) { try queue.add(fourth) }
        _ = queue.next(at: 0)
        try queue.add(fourth)
    }

    @Test mutating func `bytes that wait are bounded and given back`() throws {
        let one = try request("a", bytes: 1_000)
        var limits = HTTPLimits()
        limits.waitingBytes = one.request.byteCount * 2
        var queue = RequestQueue(limits)
        try queue.add(one)
        try queue.add(request("a", bytes: 1_000))
        let third = try request("a", bytes: 1_000)
        #expect(throws: HTTPFailure.self) { try queue.add(third) }
        let removals = [queue.remove(one.ticket), queue.remove(one.ticket)]
        #expect(removals == [true, false])
        try queue.add(third)
        let all = queue.removeAll()
        #expect(all.count == 2 && queue.waiting == 0)
    }

    @Test mutating func `what waits too long is taken out`() throws {
        var queue = RequestQueue(HTTPLimits())
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

    @Test mutating func `the first request to an origin runs alone until it is answered`() throws {
        var queue = RequestQueue(HTTPLimits())
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

    @Test mutating func `a long lane stays in order and keeps no memory of the past`() throws {
        var queue = RequestQueue(HTTPLimits())
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
}
