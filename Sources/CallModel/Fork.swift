// An invitation that was forwarded to several.

extension Call {
    /// Several are called in the place of one: all at once, or one after the other. The first one
    /// who accepts ends it (F62).
    public struct Fork: Sendable, Equatable {
        /// Who forwarded; those who are called are invited by this user, or by somebody who
        /// forwarded again.
        public let by: UserID
        /// Who is still to be called.
        public internal(set) var waiting: [UserID]
        /// How long each may ring; nil: all are called at once.
        public let each: Milliseconds?
        /// When the last one must have answered.
        public let until: Moment

        /// A fork of `by`.
        public init(by: UserID, waiting: [UserID], each: Milliseconds?, until: Moment) {
            (self.by, self.waiting, self.each, self.until) = (by, waiting, each, until)
        }

        /// How long calling one after the other may take in all.
        public static let timeMax: Milliseconds = 600_000
    }

    /// Whether the participant at `index` is called because `user` forwarded, at once or over
    /// others who forwarded again.
    package func descends(_ index: Int, from user: UserID) -> Bool {
        var inviter = participants[index].invitedBy
        for _ in 0...Settings.forwardHopsMax {
            if inviter == user { return true }
            guard let host = inviter.flatMap({ participant($0) }), host.reason == .forwarded else {
                return false
            }
            inviter = host.invitedBy
        }
        return false
    }

    /// Whether somebody is called because `user` forwarded.
    package func isCalling(for user: UserID) -> Bool {
        participants.indices.contains {
            participants[$0].state.isPending && descends($0, from: user)
        }
    }

    /// `user` forwards to `members`: those who wait are called one after the other.
    package mutating func fork(
        by user: UserID, among members: [UserID], each: Milliseconds?, at now: Moment
    ) {
        forks.append(
            Fork(
                by: user, waiting: each == nil ? [] : members, each: each,
                until: now + Fork.timeMax))
    }

    /// How long the participant at `index` may ring because others wait behind it; nil: as long as
    /// anybody.
    package func turn(of index: Int) -> Milliseconds? {
        forks.first { $0.each != nil && descends(index, from: $0.by) }?.each
    }

    /// Takes the next one out who is still to be called.
    package mutating func takeNext(of fork: Int) -> UserID? {
        forks[fork].waiting.isEmpty ? nil : forks[fork].waiting.removeFirst()
    }
}
