// Which device has a session, and which line speaks for it at the moment.

import CallModel
import CallWire
import Collections

/// A device's session with the line that speaks for it at the moment.
public final class LiveSession {
    /// Whose session it is.
    public let address: Address
    /// The numbers of its events, and those not acknowledged.
    public var session: ClientSession
    /// Nil: it waits for another one.
    public fileprivate(set) var line: Line?
    /// The number of the last event that told of missed calls, and until when those were missed.
    public var missed: (seq: UInt64, until: Moment)?
    /// Whether it asked for those.
    public var wantsMissed = false
    /// When it began.
    public let since: Moment
    /// The calls that it was told of and has not acknowledged, for their journals.
    private(set) var called: [(seq: UInt64, call: CallID)] = []
    /// Of these the newest are kept: a device may never acknowledge anything.
    private static let calledMax = 100

    fileprivate init(_ address: Address, _ session: ClientSession, at now: Moment) {
        self.address = address
        self.session = session
        since = now
    }
}

extension LiveSession {
    /// The device is told of a call under the number `seq`.
    func noteCalled(_ call: CallID, _ seq: UInt64) {
        if called.count >= Self.calledMax { called.removeFirst() }
        called.append((seq, call))
    }

    /// The calls that were told up to `seq`, which the device has now.
    func takeCalled(upTo seq: Int64) -> [CallID] {
        let count = called.prefix { $0.seq <= UInt64(clamping: seq) }.count
        defer { called.removeFirst(count) }
        return called.prefix(count).map(\.call)
    }
}

/// The sessions of devices that are connected or may come back.
public struct SessionTable {
    private var slab = Slab<LiveSession>()
    /// The places in the slab by their addresses: a dictionary would keep each address twice.
    private var places = HashIndex()
    /// The seed is secret, so that nobody can choose devices whose hashes collide.
    private let seed: UInt64
    /// The session that was asked for last: mostly it is told the next thing too.
    private var recent: LiveSession?
    /// Those without a line, in the order in which they expire.
    private var detached = Queue<(address: Address, id: SessionID, until: Moment)>()
    /// So many expire at once: each of them may be told in calls.
    static let expireMax = 64

    /// What became of a `hello`.
    public struct Opening {
        /// The session that is there now.
        public let live: LiveSession
        /// Whether the session goes on.
        public let isResumed: Bool
        /// What spoke for the device until now, and does no more.
        public let replaced: Line?
    }

    /// No device has a session.
    public init(seed: UInt64) { self.seed = seed }

    /// How many devices are connected or may come back.
    public var count: Int { slab.count }

    /// Whether one of them has yet to come back.
    public var hasDetached: Bool { detached.count > 0 }

    /// Whether the time of one of them is over.
    public func hasExpired(at now: Moment) -> Bool {
        detached.first.map { $0.until <= now } ?? false
    }

    /// The session of a device; nil: it has none.
    public subscript(address: Address) -> LiveSession? {
        place(of: address, hash(of: address)).flatMap { slab[$0] }
    }

    private func hash(of address: Address) -> UInt32 {
        let hash = seed.mixed(with: address.user.text).mixed(with: address.device.text)
        return UInt32(truncatingIfNeeded: hash)
    }

    private func place(of address: Address, _ hash: UInt32) -> Int32? {
        places.find(hash) { slab[$0]?.address == address }
    }

    private mutating func add(_ live: LiveSession) {
        places.insert(hash(of: live.address), slab.insert(live))
    }

    private mutating func remove(_ address: Address) -> LiveSession? {
        let hash = hash(of: address)
        guard let place = place(of: address, hash) else { return nil }
        recent = nil
        places.remove(hash, place)
        return slab.remove(at: place)
    }

    /// The same, for whoever asks for one device many times.
    public mutating func recent(_ address: Address) -> LiveSession? {
        if let recent, recent.address == address { return recent }
        guard let live = self[address] else { return nil }
        recent = live
        return live
    }

    /// A device says `hello` over `line`, which speaks for it from now on. Its session goes on, or
    /// begins anew as `newID`.
    public mutating func open(
        _ address: Address, over line: Line, _ resume: Hello.Resume?, newID: SessionID,
        at now: Moment
    ) -> Opening {
        guard let known = self[address] else {
            return begin(address, ClientSession(id: newID), over: line, at: now)
        }
        let replaced = known.line
        known.line = line
        let isResumed = known.session.reconnect(resume, newID: newID, at: now)
        return Opening(live: known, isResumed: isResumed, replaced: replaced)
    }

    /// A device that an owner before served goes on over `line`: its session begins here with the
    /// name and the numbers that it had.
    ///
    /// - Returns: nil when it has a session here.
    public mutating func keep(
        _ kept: Hello.Resume, of address: Address, over line: Line, at now: Moment
    ) -> Opening? {
        guard self[address] == nil, let id = kept.session else { return nil }
        return begin(address, ClientSession(id: id, after: kept.seq), over: line, at: now)
    }

    private mutating func begin(
        _ address: Address, _ session: ClientSession, over line: Line, at now: Moment
    ) -> Opening {
        let live = LiveSession(address, session, at: now)
        live.line = line
        add(live)
        return Opening(live: live, isResumed: false, replaced: nil)
    }

    /// Nothing speaks for the session any more.
    ///
    /// - Returns: whether it may come back; if not, it is gone.
    public mutating func detach(
        _ live: LiveSession, at now: Moment, limits: SessionLimits
    ) -> Bool {
        live.line = nil
        live.session.detach(at: now, limits: limits)
        guard case .detached(let until) = live.session.state else {
            _ = remove(live.address)
            return false
        }
        detached.append((live.address, live.session.id, until))
        return true
    }

    /// Ends the session of a device.
    ///
    /// - Returns: what spoke for it.
    public mutating func end(_ address: Address) -> Line? {
        guard let live = remove(address) else { return nil }
        live.session.logOut()
        return live.line.take()
    }

    /// Forgets all sessions.
    ///
    /// - Returns: what spoke for them.
    public mutating func removeAll() -> [Line] {
        let lines = slab.values.compactMap(\.line)
        self = SessionTable(seed: seed)
        return lines
    }

    /// Ends sessions whose time to come back is over, at most `expireMax` of them.
    ///
    /// - Returns: whose they were.
    public mutating func expire(at now: Moment) -> [Address] {
        var gone: [Address] = []
        while gone.count < Self.expireMax, hasExpired(at: now),
            let (address, id, _) = detached.removeFirst()
        {
            guard let live = self[address], live.session.id == id,
                live.session.expire(at: now)
            else { continue }
            _ = remove(address)
            gone.append(address)
        }
        return gone
    }
}
