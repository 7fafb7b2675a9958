// Requests that wait for their turn, fair among the servers they go to.

/// How much is under way and how much may wait.
public struct HTTPLimits: Sendable, Equatable {
    /// Requests under way.
    public var running = 2_000
    /// Requests under way to one origin, so that one that hangs leaves room for the others.
    public var runningPerOrigin = 500
    /// Requests under way to places that an `AddressGuard` watches: users name those, and all
    /// together must not take the room of the push services.
    public var runningGuarded = 1_000
    /// Requests that wait for a place.
    public var waiting = 10_000
    /// Requests that wait for a place at one origin.
    public var waitingPerOrigin = 4_000
    /// Bytes of all requests that wait.
    public var waitingBytes = 32 << 20
    /// Connections to one origin: over HTTP/1.1 so many requests at once; over HTTP/2 one or two
    /// carry everything.
    public var connectionsPerOrigin = 16
    /// Idle connections that are kept.
    public var idleConnections = 256

    /// The defaults.
    public init() {}
}

/// A request with its number and its end in time.
struct QueuedRequest {
    let ticket: HTTPTicket
    let request: HTTPRequest
    let submittedAt: Int64
    let origin: String
    /// How often it was sent again.
    var repetitions = 0

    var expiresAt: Int64 { submittedAt + request.timeout }
}

/// Waiting requests in one lane per origin. The lanes take turns.
///
/// The first request to an origin has a start of its own: until its server has answered, nobody
/// knows how many streams a connection may carry, and a server refuses what comes too early.
struct RequestQueue {
    private struct Lane {
        /// Those before `start` have been taken.
        private var requests: [QueuedRequest] = []
        private var start = 0
        var running = 0
        /// The others wait until here if the server is still unknown.
        var headStartEnds: Int64 = 0

        var waiting: ArraySlice<QueuedRequest> { requests[start...] }
        var first: QueuedRequest? { waiting.first }

        mutating func append(_ request: QueuedRequest) { requests.append(request) }

        mutating func removeFirst() {
            start += 1
            guard start > 64, start * 2 > requests.count else { return }
            requests.removeFirst(start)
            start = 0
        }

        mutating func removeAll(
            where isWanted: (QueuedRequest) -> Bool
        ) -> [QueuedRequest] {
            let removed = waiting.filter(isWanted)
            if !removed.isEmpty { requests = waiting.filter { !isWanted($0) } }
            if !removed.isEmpty { start = 0 }
            return removed
        }
    }

    /// Looking for expired requests reads all that wait, so it is done this often at most.
    private static let expiryPeriod: Int64 = 50
    /// The longest that the first request runs alone, in milliseconds.
    private static let headStart: Int64 = 1_000
    /// So many origins are remembered as having answered.
    private static let knownLimit = 1_000

    private let limits: HTTPLimits
    private var lanes: [String: Lane] = [:]
    /// Origins with waiting requests, in the order of their turns.
    private var turns: [String] = []
    private var waitingBytes = 0
    private var runningGuarded = 0
    /// Origins that have answered and did not break since.
    private var known: Set<String> = []
    private(set) var running = 0
    private(set) var waiting = 0
    /// Nothing that waits expires before this moment.
    private(set) var nextExpiry = Int64.max

    init(_ limits: HTTPLimits) {
        self.limits = limits
    }

    /// Puts a request at the end of its lane.
    mutating func add(_ request: QueuedRequest) throws(HTTPFailure) {
        let bytes = request.request.byteCount
        let inLane = lanes[request.origin]?.waiting.count ?? 0
        guard waiting < limits.waiting, waitingBytes + bytes <= limits.waitingBytes else {
            throw HTTPFailure(.overloaded, "\(waiting) requests wait")
        }
        guard inLane < limits.waitingPerOrigin else {
            throw HTTPFailure(.overloaded, "\(inLane) requests wait for \(request.origin)")
        }
        if inLane == 0 { turns.append(request.origin) }
        lanes[request.origin, default: Lane()].append(request)
        waiting += 1
        waitingBytes += bytes
        nextExpiry = min(nextExpiry, request.expiresAt)
    }

    /// Takes the next request that may start; it counts as running from here on.
    mutating func next(at now: Int64) -> QueuedRequest? {
        guard running < limits.running else { return nil }
        for index in turns.indices {
            let origin = turns[index]
            guard let first = firstThatMayStart(to: origin, now) else { continue }
            turns.remove(at: index)
            lanes[origin]?.removeFirst()
            count(out: first)
            if lanes[origin]?.waiting.isEmpty == false { turns.append(origin) }
            if lanes[origin]?.running == 0 { lanes[origin]?.headStartEnds = now + Self.headStart }
            lanes[origin]?.running += 1
            running += 1
            if !first.request.addresses.isOff { runningGuarded += 1 }
            return first
        }
        return nil
    }

    /// A running request has ended; `wasAnswered` tells how the connection did, nil nothing.
    mutating func ended(_ request: QueuedRequest, wasAnswered: Bool? = nil) {
        running -= 1
        if let wasAnswered { note(request.origin, wasAnswered) }
        if !request.request.addresses.isOff { runningGuarded -= 1 }
        lanes[request.origin]?.running -= 1
        dropLaneIfUnused(request.origin)
    }

    /// Takes out a waiting request; false if it does not wait.
    mutating func remove(_ ticket: HTTPTicket) -> Bool {
        removeAll { $0.ticket == ticket }.isEmpty == false
    }

    /// Takes out those whose time is over.
    mutating func expire(at now: Int64) -> [QueuedRequest] {
        guard now >= nextExpiry else { return [] }
        let expired = removeAll { $0.expiresAt <= now }
        let next = lanes.values.lazy.flatMap(\.waiting).map(\.expiresAt).min()
        nextExpiry = next.map { max($0, now + Self.expiryPeriod) } ?? .max
        return expired
    }

    /// Takes out all that wait, in no order.
    mutating func removeAll() -> [QueuedRequest] {
        removeAll { _ in true }
    }

    /// When a lane that waits for its first answer may go on, the earliest of them.
    func nextHeadStartEnd(after now: Int64) -> Int64? {
        turns.lazy.compactMap { origin in
            guard !known.contains(origin), let lane = lanes[origin], lane.headStartEnds > now
            else { return nil }
            return lane.headStartEnds
        }.min()
    }

    private mutating func note(_ origin: String, _ wasAnswered: Bool) {
        if known.count >= Self.knownLimit { known = [] }
        if wasAnswered { known.insert(origin) } else { known.remove(origin) }
    }

    private func firstThatMayStart(to origin: String, _ now: Int64) -> QueuedRequest? {
        guard let lane = lanes[origin], lane.running < limits.runningPerOrigin,
            let first = lane.first
        else { return nil }
        let isAlone = lane.running > 0 && !known.contains(origin) && now < lane.headStartEnds
        guard !isAlone else { return nil }
        let isFree = first.request.addresses.isOff || runningGuarded < limits.runningGuarded
        return isFree ? first : nil
    }

    private mutating func removeAll(where isWanted: (QueuedRequest) -> Bool) -> [QueuedRequest] {
        var removed: [QueuedRequest] = []
        for origin in turns {
            removed += lanes[origin]?.removeAll(where: isWanted) ?? []
        }
        for request in removed { count(out: request) }
        turns.removeAll { lanes[$0]?.waiting.isEmpty != false }
        for origin in Set(removed.map(\.origin)) { dropLaneIfUnused(origin) }
        return removed
    }

    private mutating func count(out request: QueuedRequest) {
        waiting -= 1
        waitingBytes -= request.request.byteCount
    }

    private mutating func dropLaneIfUnused(_ origin: String) {
        if let lane = lanes[origin], lane.running == 0, lane.waiting.isEmpty {
            lanes[origin] = nil
        }
    }
}
