// What happened to people beside their calls.

import CallModel

/// The newest refused invitations, and comings and goings of devices, for who asks why a phone did
/// not ring.
public struct PeopleJournal {
    /// Entries of each kind that are kept.
    static let most = 10_000
    /// Users of one refused request that are noted.
    static let inviteesMax = 10

    /// An invitation that made no call.
    public struct Refused: Sendable {
        public let at: Moment
        public let caller: UserID
        public let invitees: [UserID]
        public let code: Refusal.Code
        public let message: String
    }

    /// A device came or went.
    public struct Connection: Sendable {
        public let at: Moment
        public let address: Address
        public let isThere: Bool
        /// Why it went, such as `revoked`; nil: it did by itself.
        public let why: String?
    }

    private var refusals: [Refused] = []
    private var oldestRefusal = 0
    private var connections: [Connection] = []
    private var oldestConnection = 0

    mutating func refused(
        _ operation: Operation, by user: UserID, _ refusal: Refusal, at now: Moment
    ) {
        guard let invitees = operation.invitees, !invitees.isEmpty else { return }
        let entry = Refused(
            at: now, caller: user, invitees: Array(invitees.prefix(Self.inviteesMax)),
            code: refusal.code, message: refusal.message)
        Self.add(entry, to: &refusals, &oldestRefusal)
    }

    mutating func connection(of address: Address, isThere: Bool, _ why: String?, at now: Moment) {
        let entry = Connection(at: now, address: address, isThere: isThere, why: why)
        Self.add(entry, to: &connections, &oldestConnection)
    }

    /// Nothing is known of `user` any more.
    mutating func forget(_ user: UserID) {
        refusals = Self.inOrder(refusals, oldestRefusal).filter {
            $0.caller != user && !$0.invitees.contains(user)
        }
        connections = Self.inOrder(connections, oldestConnection).filter {
            $0.address.user != user
        }
        (oldestRefusal, oldestConnection) = (0, 0)
    }

    private static func add<Entry>(_ entry: Entry, to list: inout [Entry], _ oldest: inout Int) {
        guard list.count == most else { return list.append(entry) }
        list[oldest] = entry
        oldest = (oldest + 1) % most
    }

    /// The entries of a list whose oldest one stands at `oldest`, the oldest first.
    private static func inOrder<Entry>(_ list: [Entry], _ oldest: Int) -> ArraySlice<Entry> {
        list[oldest...] + list[..<oldest]
    }

    /// The refused invitations of `user` since a moment, the oldest first.
    public func refused(inviting user: UserID, since: Moment) -> [Refused] {
        Self.inOrder(refusals, oldestRefusal).filter {
            $0.at >= since && $0.invitees.contains(user)
        }
    }

    /// What `user` wanted to begin since a moment and was refused, the oldest first.
    public func refused(by user: UserID, since: Moment) -> [Refused] {
        Self.inOrder(refusals, oldestRefusal).filter {
            $0.at >= since && $0.caller == user
        }
    }

    /// The comings and goings of the devices of `user`, the oldest first.
    public func connections(of user: UserID) -> [Connection] {
        Self.inOrder(connections, oldestConnection).filter { $0.address.user == user }
    }
}
