// Requests that wait for their turn, fair among those who caused them.

/// How much is under way and how much may wait.
public struct OutboundLimits: Sendable, Equatable {
    /// Requests under way.
    public var running = 2_000
    /// Requests under way to one origin, so that one that hangs leaves room for the others.
    public var runningPerOrigin = 500
    /// Requests of one cause under way to one receiver (G79).
    public var runningPerCause = 8
    /// Requests under way to addresses that an `AddressGuard` checks: users name these, and
    /// together they must not take the room of the push services.
    public var runningGuarded = 1_000
    /// Of these, those of one cause.
    public var guardedPerCause = 64
    /// Requests that wait for a place.
    public var waiting = 10_000
    /// Requests that wait for a place at one origin.
    public var waitingPerOrigin = 4_000
    /// Requests of one cause that wait for a place.
    public var waitingPerCause = 1_000
    /// Bytes of all requests that wait.
    public var waitingBytes = 32 << 20
    /// Of these, those of one cause.
    public var waitingBytesPerCause = 4 << 20
    /// Connections to one origin. Over HTTP/1.1 each carries one request at a time; over HTTP/2 one
    /// or two carry everything.
    public var connectionsPerOrigin = 64
    /// Idle connections that are kept.
    public var idleConnections = 256

    /// The defaults.
    public init() {}
}

/// A request with its number and its end in time.
struct QueuedRequest {
    let ticket: HTTPTicket
    let request: OutboundRequest
    let submittedAt: Int64
    let origin: String
    /// It was sent before.
    var isRepetition = false

    var expiresAt: Int64 { submittedAt + request.timeout }
    /// To whom it goes: mostly the origin.
    var receiver: String { request.receiver ?? origin }
    fileprivate var isGuarded: Bool { !request.addresses.isOff }
}

/// Waiting requests, in turn by cause and then by receiver.
///
/// The first request to an origin starts alone: until its server has answered, nobody knows how
/// many streams a connection may carry, and a server refuses streams that come too early.
struct RequestQueue {
    /// One origin.
    private struct Lane {
        var running = 0
        var waiting = 0
        /// If the server is still unknown, the others wait until this moment.
        var headStartEnds: Int64 = 0
    }

    /// Searching for expired requests reads all that wait, so it is done at most this often, in
    /// milliseconds.
    private static let expiryPeriod: Int64 = 50
    /// The longest that the first request runs alone, in milliseconds.
    private static let headStart: Int64 = 1_000
    /// So many origins are remembered as having answered.
    private static let knownLimit = 1_000

    private let limits: OutboundLimits
    private var lanes: [String: Lane] = [:]
    /// Of each receiver, the requests under way and their causes.
    private var receivers: [String: CauseShares] = [:]
    private var queue = GatedTurns()
    private var places: [HTTPTicket: GatedTurns.Place] = [:]
    private var waitingShares: CauseShares
    private var byteShares: CauseShares
    private var guarded: CauseShares
    /// Origins that have answered and did not break since, with the version of HTTP that they
    /// speak.
    private var known: [String: Int] = [:]
    /// Origins that have a head start, by its end.
    private var headStarts: [(end: Int64, origin: String)] = []
    private(set) var running = 0
    /// Nothing that waits expires before this moment.
    private(set) var nextExpiry = Int64.max

    init(_ limits: OutboundLimits) {
        self.limits = limits
        waitingShares = CauseShares(limit: limits.waiting, each: limits.waitingPerCause)
        byteShares = CauseShares(
            limit: limits.waitingBytes, each: limits.waitingBytesPerCause)
        guarded = CauseShares(limit: limits.runningGuarded, each: limits.guardedPerCause)
    }

    var waiting: Int { waitingShares.total }
    /// How often it was asked whether a request may start.
    var looks: Int { queue.looks }

    /// Puts a request behind those of its cause for its receiver.
    mutating func add(_ request: QueuedRequest) throws(OutboundFailure) {
        let (cause, origin) = (request.request.cause, request.origin)
        let bytes = request.request.byteCount
        guard waitingShares.admits(cause), byteShares.admits(cause, bytes) else {
            throw OutboundFailure(.overloaded, "\(waiting) requests wait")
        }
        let inLane = lanes[origin]?.waiting ?? 0
        let place = GatedTurns.Place(cause: cause, receiver: request.receiver)
        let own = cause == nil ? 0 : queue.count(at: place)
        guard inLane + own < limits.waitingPerOrigin else {
            throw OutboundFailure(.overloaded, "\(inLane) requests wait for \(origin)")
        }
        queue.append(request, at: place)
        places[request.ticket] = place
        lanes[origin, default: Lane()].waiting += 1
        waitingShares.take(cause)
        byteShares.take(cause, bytes)
        nextExpiry = min(nextExpiry, request.expiresAt)
    }

    /// Takes the next request that may start; it counts as running from now on.
    mutating func next(at now: Int64) -> QueuedRequest? {
        guard running < limits.running else { return nil }
        endHeadStarts(at: now)
        guard let next = takeNext(at: now) else { return nil }
        count(out: next)
        let (cause, origin) = (next.request.cause, next.origin)
        if lanes[origin]?.running == 0 {
            lanes[origin]?.headStartEnds = now + Self.headStart
            if known[origin] == nil { noteHeadStart(of: origin) }
        }
        lanes[origin]?.running += 1
        if receivers[next.receiver] == nil { receivers[next.receiver] = newReceiver() }
        receivers[next.receiver]?.take(cause)
        running += 1
        if next.isGuarded { guarded.take(cause) }
        return next
    }

    /// A running request has ended. `wasAnswered` tells how the connection did, nil nothing;
    /// `version` is that of the answer.
    mutating func ended(
        _ request: QueuedRequest, wasAnswered: Bool? = nil, version: Int = 2
    ) {
        running -= 1
        if let wasAnswered { note(request.origin, wasAnswered, version) }
        let cause = request.request.cause
        if request.isGuarded {
            guarded.giveBack(cause)
            queue.stir(.guarded, cause)
        }
        lanes[request.origin]?.running -= 1
        queue.stir(.lane(request.origin))
        receivers[request.receiver]?.giveBack(cause)
        if receivers[request.receiver]?.total == 0 { receivers[request.receiver] = nil }
        queue.stir(.receiver(request.receiver), cause)
        dropLaneIfUnused(request.origin)
    }

    /// Takes out a waiting request; false if it does not wait.
    mutating func remove(_ ticket: HTTPTicket) -> Bool {
        guard let place = places[ticket],
            let removed = queue.remove(at: place, where: { $0.ticket == ticket })
        else { return false }
        forget(removed)
        return true
    }

    /// Takes out those whose time is over.
    mutating func expire(at now: Int64) -> [QueuedRequest] {
        guard now >= nextExpiry else { return [] }
        let expired = queue.removeAll { $0.expiresAt <= now }
        for request in expired { forget(request) }
        var next = Int64.max
        queue.forEach { next = min(next, $0.expiresAt) }
        nextExpiry = waiting == 0 ? .max : max(next, now + Self.expiryPeriod)
        return expired
    }

    /// Takes out all that wait, in no order.
    mutating func removeAll() -> [QueuedRequest] {
        let removed = queue.removeAll { _ in true }
        for request in removed { forget(request) }
        return removed
    }

    /// The earliest moment at which a lane stops waiting for its first answer.
    func nextHeadStartEnd(after now: Int64) -> Int64? {
        headStarts.first { end, origin in
            end > now && known[origin] == nil && lanes[origin]?.waiting ?? 0 > 0
        }?.end
    }

    /// The queue is out of its place meanwhile, for what is asked about each is beside it.
    private mutating func takeNext(at now: Int64) -> QueuedRequest? {
        var queue = GatedTurns()
        swap(&queue, &self.queue)
        defer { swap(&queue, &self.queue) }
        return queue.take { gate(before: $0, at: now) }
    }

    // MARK: Head starts

    private mutating func noteHeadStart(of origin: String) {
        guard let end = lanes[origin]?.headStartEnds, end > 0 else { return }
        // Mostly the last one: they begin one after the other, and all take the same time.
        var place = headStarts.count
        while place > 0, headStarts[place - 1].end > end { place -= 1 }
        headStarts.insert((end, origin), at: place)
    }

    private mutating func endHeadStarts(at now: Int64) {
        guard let first = headStarts.first, first.end <= now else { return }
        let count = headStarts.firstIndex { $0.end > now } ?? headStarts.count
        for (_, origin) in headStarts[..<count] { queue.stir(.lane(origin)) }
        headStarts.removeFirst(count)
    }

    private func newReceiver() -> CauseShares {
        CauseShares(limit: limits.runningPerOrigin, each: limits.runningPerCause)
    }

    private mutating func note(_ origin: String, _ wasAnswered: Bool, _ version: Int) {
        if known.count >= Self.knownLimit {
            (known, headStarts) = ([:], [])
            for origin in lanes.keys { noteHeadStart(of: origin) }
        }
        let wasKnown = known.updateValue(version, forKey: origin) != nil
        guard !wasAnswered else { return }
        known[origin] = nil
        if wasKnown { noteHeadStart(of: origin) }
    }

    /// What waits and could start; nothing, once `next` has given nil. Looks at all that waits.
    func startable(at now: Int64) -> [QueuedRequest] {
        guard running < limits.running else { return [] }
        var requests: [QueuedRequest] = []
        queue.forEach { if gate(before: $0, at: now) == nil { requests.append($0) } }
        return requests
    }

    /// The gate behind which the request has to wait; nil: it may start.
    private func gate(before request: QueuedRequest, at now: Int64) -> GatedTurns.Gate? {
        let (origin, cause) = (request.origin, request.request.cause)
        if let lane = lanes[origin], !mayGrow(lane, origin, at: now) { return .lane(origin) }
        let pool = GatedTurns.Pool.receiver(request.receiver)
        if let gate = receivers[request.receiver]?.gate(of: pool, cause) { return gate }
        return request.isGuarded ? guarded.gate(of: .guarded, cause) : nil
    }

    private func mayGrow(_ lane: Lane, _ origin: String, at now: Int64) -> Bool {
        let isAlone = lane.running > 0 && known[origin] == nil && now < lane.headStartEnds
        guard !isAlone, lane.running < limits.runningPerOrigin else { return false }
        // Requests beyond the connections would wait inside libcurl, without turns.
        return lane.running < limits.connectionsPerOrigin || !isSingle(origin)
    }

    /// Whether a connection to it carries one request at a time.
    private func isSingle(_ origin: String) -> Bool {
        known[origin].map { $0 < 2 } ?? origin.hasPrefix("http:")
    }

    private mutating func forget(_ request: QueuedRequest) {
        count(out: request)
        dropLaneIfUnused(request.origin)
    }

    private mutating func count(out request: QueuedRequest) {
        places[request.ticket] = nil
        waitingShares.giveBack(request.request.cause)
        byteShares.giveBack(request.request.cause, request.request.byteCount)
        lanes[request.origin]?.waiting -= 1
    }

    private mutating func dropLaneIfUnused(_ origin: String) {
        if let lane = lanes[origin], lane.running == 0, lane.waiting == 0 {
            lanes[origin] = nil
        }
    }
}

extension CauseShares {
    /// The gate at which `cause` waits for its share of `pool`; nil: it may have one more.
    fileprivate func gate(of pool: GatedTurns.Pool, _ cause: SendingCause?) -> GatedTurns.Gate? {
        switch bound(of: cause) {
        case .whole: .whole(pool)
        case .caller: .caller(pool, cause?.caller)
        case .crowd: .crowd(pool, cause?.caller)
        case .cause: .cause(pool, cause)
        case nil: nil
        }
    }
}
