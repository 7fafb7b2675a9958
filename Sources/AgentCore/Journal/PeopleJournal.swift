// What happened to people beside their calls.

import CallModel
import Collections

/// The newest refused invitations, and the newest connections and disconnections of devices, for
/// whoever asks why a phone did not ring.
public struct PeopleJournal {
    /// Entries of each kind that are kept.
    static let most = 10_000
    /// Those of one account, which began the invitation or whose device it was.
    static let share = 100
    /// Users of one refused request that are noted.
    static let inviteesMax = 10

    /// An invitation that made no call.
    public struct Refused: Sendable {
        /// When.
        public let at: Moment
        /// Who wanted to invite.
        public let caller: UserID
        /// Whom; the first ones, where there were many.
        public let invitees: [UserID]
        /// Why not.
        public let code: Refusal.Code
        /// The same, for a person.
        public let message: String
    }

    /// A device came or went.
    public struct Connection: Sendable {
        /// When.
        public let at: Moment
        /// Which device.
        public let device: DeviceID
        /// Why it went, such as `revoked`; nil: it did by itself.
        public let why: String?
        /// Whether it came; else it went.
        public let isThere: Bool
    }

    /// A time in which nobody could call.
    public struct Outage: Sendable {
        /// From when on.
        public let at: Moment
        /// Until when; nil: it lasts.
        public internal(set) var until: Moment?
        /// Why.
        public let why: String
    }

    /// Outages that are kept.
    static let outagesMax = 100

    // Whoever floods the server pushes out only their own entries.
    private var refusals = SharedHistory<UserID, Refused>(most: most, share: share)
    private var connections = SharedHistory<UserID, Connection>(most: most, share: share)
    private var outages: [Outage] = []

    mutating func refuse(
        _ invitees: [UserID], by user: UserID, _ refusal: Refusal, at now: Moment
    ) {
        guard !invitees.isEmpty else { return }
        let entry = Refused(
            at: now, caller: user, invitees: Array(invitees.prefix(Self.inviteesMax)),
            code: refusal.code, message: refusal.message)
        refusals.append(entry, of: user)
    }

    mutating func connection(of address: Address, isThere: Bool, _ why: String?, at now: Moment) {
        let entry = Connection(at: now, device: address.device, why: why, isThere: isThere)
        connections.append(entry, of: address.user)
    }

    /// Nobody can call from now on.
    ///
    /// - Parameter isAnother: whether somebody could since the last time; else that goes on.
    mutating func beginOutage(_ why: String, isAnother: Bool, at now: Moment) {
        if !isAnother, let last = outages.indices.last { return outages[last].until = nil }
        if outages.count >= Self.outagesMax { outages.removeFirst() }
        outages.append(Outage(at: now, why: why))
    }

    mutating func endOutage(at now: Moment) {
        guard let last = outages.indices.last, outages[last].until == nil else { return }
        outages[last].until = now
    }

    /// The times since a moment in which nobody could call, the oldest first. Whoever tried was
    /// mostly sent away before their request was read, so it is told of everybody.
    public func outages(since: Moment) -> [Outage] {
        outages.filter { $0.until.map { $0 >= since } ?? true }
    }

    /// Nothing is known of `user` any more.
    mutating func forget(_ user: UserID) {
        refusals.keep { caller, entry in caller != user && !entry.invitees.contains(user) }
        connections.keep { owner, _ in owner != user }
    }

    /// The refused invitations of `user` since a moment, the oldest first.
    public func refused(inviting user: UserID, since: Moment) -> [Refused] {
        refusals.values.filter { $0.at >= since && $0.invitees.contains(user) }
    }

    /// What `user` wanted to begin since a moment and was refused, the oldest first.
    public func refused(by user: UserID, since: Moment) -> [Refused] {
        refusals.values(of: user).filter { $0.at >= since }
    }

    /// The comings and goings of the devices of `user`, the oldest first.
    public func connections(of user: UserID) -> [Connection] { connections.values(of: user) }
}
