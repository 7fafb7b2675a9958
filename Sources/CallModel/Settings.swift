// What the operator decides about the switchboard.

/// The switchboard's settings. A change counts for whatever happens after it.
public struct Settings: Sendable, Equatable {
    /// What happens to an invitation that no plugin decided (`invite.default`).
    public enum InviteDefault: String, Sendable, CaseIterable {
        case ring, reject
    }

    /// A plugin that refuses where it cannot be asked (G71).
    public struct Guard: Sendable, Equatable {
        /// Its name.
        public let plugin: String
        /// Where it stands in the chain.
        public let place: Int
        /// Whom it is asked about; nil: everybody.
        public let users: Accounts?

        /// The guard `plugin` at `place`, which is asked about `users`.
        public init(plugin: String, place: Int, users: Accounts?) {
            (self.plugin, self.place, self.users) = (plugin, place, users)
        }

        /// Whether it is asked about `user` when the chain is asked from `first` on.
        public func isAsked(about user: UserID, from first: Int = 0) -> Bool {
            place >= first && users?.contains(user) ?? true
        }
    }

    /// What counts for the accounts of a canary in the place of what counts for the others.
    public struct Canary: Sendable, Equatable {
        /// For whom it decides.
        public let extent: CanaryExtent
        /// Accounts whose invitations go to these policies.
        public let answerFor: Accounts
        /// Those of these plugins that refuse an invitation when nobody has answered in time.
        public let inviteGuards: [Guard]
        /// Those of these plugins that refuse a call that is made when nobody has answered in time.
        public let dialGuards: [Guard]

        /// Policies that answer for `answerFor`, as far as they decide.
        public init(
            _ extent: CanaryExtent, answerFor: Accounts, inviteGuards: [Guard],
            dialGuards: [Guard]
        ) {
            (self.extent, self.answerFor) = (extent, answerFor)
            (self.inviteGuards, self.dialGuards) = (inviteGuards, dialGuards)
        }
    }

    /// The modes that new calls may have. Live calls keep the rows that they began with.
    public var modes = ModeRow.all
    /// People who are called by one name; `group:NAME` stands for them among invitees.
    public var groups: [String: [UserID]] = [:]
    /// The mode of an invitation that names none (`invite.mode`).
    public var defaultMode = ModeRow.advanced
    /// Accounts whose invitations go to the policies.
    public var answerFor = Accounts()
    /// The policies that are tried for some accounts; nil: those in force decide for all.
    public var canary: Canary?
    /// The user directory; nil: everybody exists.
    public var users: Accounts?
    /// What the operator calls people, which comes before what others call them (K108).
    public var names: [UserID: PersonName] = [:]
    /// What some plugin listens to.
    public var hooks: Hooks = []
    /// What happens to an invitation that no plugin decided.
    public var inviteDefault = InviteDefault.ring
    /// What happens to an invitation when the policies did not answer in time at all.
    public var inviteWhenLate = InviteDefault.ring
    /// Plugins that refuse an invitation when nobody has answered in time.
    public var inviteGuards: [Guard] = []
    /// Plugins that refuse a call that is made when nobody has answered in time.
    public var dialGuards: [Guard] = []
    /// Whether jobs are made for devices that sleep and for calls that were missed. The server
    /// always wants them; scenarios about something else leave them out.
    public var wakesDevices = false
    /// Time for the chain of plugins to decide, bounded by a quarter of the ring time.
    public var decideWithin: Milliseconds = 2_000
    /// How much later than `decideWithin` the switchboard decides by itself: the policies
    /// apply their own failure rules first, so this only meets a stuck policy thread.
    public var decideGrace: Milliseconds = 250
    /// How long an invitation is held for the policies to decide about it at once (H89). Nobody
    /// is told anything meanwhile.
    public var heldWithin: Milliseconds = 5
    /// Devices of one user; one more replaces the one idle longest.
    public var devicesPerUser = 10
    /// Time since anything was heard of a user after which the user is lost.
    public var lostAfter: Milliseconds = 35_000
    /// How long a user whose last connection ended is not lost yet, however long they were silent.
    public var lostAfterEnd: Milliseconds = 10_000
    /// The delivery check of an invitation that says nothing of it (`invite.delivery_check`);
    /// nil: none.
    public var deliveryCheckDefault: Milliseconds?
    /// Age at which a forgotten call ends.
    public var callAgeMax: Milliseconds = 24 * 3_600_000
    /// Texts of one call (D43).
    public var itemsMax = 10
    /// Transfers of one call (K103).
    public var transfersMax = 10
    /// How long a deadline waits for an answer that is being shaped (F65).
    public var shapingGrace: Milliseconds = 200
    /// Live calls in the answer to `hello`; the others are for `call.list` (B31).
    public var welcomeCallsMax = 100
    /// Pending invitations that a new session is told of (B32). More would not fit into what a
    /// connection may leave unread, and its device would be cut off at every attempt.
    public var welcomeInvitationsMax = 500
    /// Groups of one operator.
    public static let groupsMax = 1_000
    /// People of one group.
    public static let groupMembersMax = 10_000
    /// Participants of one call over its life, those who have left among them: the call is written
    /// and told as a whole, and one entry of its journal can name all of them.
    public static let participantsMax = 900
    /// Times one invitation may be forwarded.
    public static let forwardHopsMax = 5
    /// Questions of one cause that may wait for the policies (G76).
    public var questionsPerCause = 100
    /// Idempotency keys kept for one user.
    public var keysPerUser = 1_000
    /// Idempotency keys kept in all.
    public var keysMax = 1_000_000
    /// How long an idempotency key is kept.
    public var keyLifetime: Milliseconds = 24 * 3_600_000
    /// Ended calls kept in memory.
    public var endedCallsMax = 10_000
    /// How long an ended call is kept in memory.
    public var endedCallsFor: Milliseconds = 60_000
    /// Signals kept for a pending addressee whose devices may not know of the call yet.
    public var heldSignalsMax = 64
    /// Bytes of their data.
    public var heldSignalBytesMax = 65_536
    /// Bytes of the data of one sender's signals that are kept, over all calls.
    public var heldSignalBytesOfSenderMax = 1 << 20

    /// The defaults.
    public init() {}
}

extension Settings {
    /// Whether invitations to `user` go to the policies.
    public func answers(for user: UserID) -> Bool {
        guard let canary, canary.extent.contains(user) else { return answerFor.contains(user) }
        return canary.answerFor.contains(user)
    }

    /// The plugins that refuse what is asked about `user` when nobody answers.
    package func inviteGuards(of user: UserID) -> [Guard] {
        guard let canary, canary.extent.contains(user) else { return inviteGuards }
        return canary.inviteGuards
    }

    /// The same of the calls that `user` makes.
    package func dialGuards(of user: UserID) -> [Guard] {
        guard let canary, canary.extent.contains(user) else { return dialGuards }
        return canary.dialGuards
    }

    /// `invitees` with the members in the place of each group that is not larger than `most`, each
    /// once and without `user`. A larger group, and an unknown one, stays as it is.
    public func members(of invitees: [UserID], most: Int, but user: UserID) -> [UserID] {
        guard invitees.contains(where: { $0.group != nil }) else { return invitees }
        var known = Set(invitees)
        known.insert(user)
        return invitees.flatMap { invitee -> [UserID] in
            guard let group = invitee.group, let members = groups[group] else { return [invitee] }
            let others = members.filter { $0 != user }
            return others.count > most ? [invitee] : others.filter { known.insert($0).inserted }
        }
    }

    /// How many people `invitees` are, each group counted with `most` at most.
    public func count(of invitees: [UserID], most: Int) -> Int {
        invitees.reduce(0) { count, invitee in
            count + min(most, invitee.group.flatMap { groups[$0]?.count } ?? 1)
        }
    }

    /// What a policy makes of `invitees` when it keeps only `kept`: who of them is refused, and who
    /// is called. It may choose among the members of the groups that are named.
    package func choose(
        _ kept: [UserID], of invitees: [UserID], but user: UserID
    ) -> (refused: [UserID], called: [UserID]) {
        let kept = Set(kept)
        var (refused, called, known): ([UserID], [UserID], Set<UserID>) = ([], [], [user])
        for invitee in invitees {
            let members = invitee.group.flatMap { groups[$0] }
            let chosen = (members ?? [invitee]).filter { kept.contains($0) }
            if chosen.isEmpty { refused.append(invitee) }
            called += members == nil ? [invitee] : chosen.filter { known.insert($0).inserted }
            if members != nil, chosen.isEmpty { called.append(invitee) }
        }
        return (refused, called)
    }
}
