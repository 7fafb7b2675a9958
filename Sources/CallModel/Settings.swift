// What the operator decides about the switchboard.

/// The switchboard's settings. A change counts for whatever happens after it.
public struct Settings: Sendable, Equatable {
    /// What happens to an invitation that no plugin decided (`invite.default`).
    public enum InviteDefault: String, Sendable, CaseIterable {
        case ring, reject
    }

    /// The mode table; calls refer to its rows.
    public var modes = Mode.all
    /// Accounts whose invitations go to the policies.
    public var answerFor = Accounts()
    /// The user directory; nil: everybody exists.
    public var users: Accounts?
    /// What some plugin listens to.
    public var hooks: Hooks = []
    /// What happens to an invitation that no plugin decided.
    public var inviteDefault = InviteDefault.ring
    /// What happens to an invitation when the policies did not answer in time at all.
    public var inviteWhenLate = InviteDefault.ring
    /// Whether jobs are made for devices that sleep and for calls that were missed. The server
    /// always wants them; scenarios about something else leave them out.
    public var wakesDevices = false
    /// Time for the chain of plugins to decide, bounded by a quarter of the ring time.
    public var decideWithin: Milliseconds = 2_000
    /// How much later than `decideWithin` the switchboard decides by itself: the policies
    /// apply their own failure rules first, so this only meets a stuck policy thread.
    public var decideGrace: Milliseconds = 250
    /// Devices of one user; one more replaces the one idle longest.
    public var devicesPerUser = 10
    /// Time without any connection after which a user is lost.
    public var lostAfter: Milliseconds = 35_000
    /// Delivery check limit.
    public var deliveryCheckWithin: Milliseconds = 5_000
    /// Age at which a forgotten call ends.
    public var callAgeMax: Milliseconds = 24 * 3_600_000
    /// Texts of one call (D43).
    public var itemsMax = 10
    /// How long a deadline waits for an answer that is being shaped (F65).
    public var shapingGrace: Milliseconds = 200
    /// Live calls in the answer to `hello`; the others are for `call.list` (B31).
    public var welcomeCallsMax = 100
    /// Pending invitations that a new session is told of (B32). More would not fit into what a
    /// connection may leave unread, and cut its device off at every attempt.
    public var welcomeInvitationsMax = 500
    /// Times one invitation may be forwarded.
    public var forwardHopsMax = 5
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

    /// The defaults.
    public init() {}

    /// The mode of a call.
    @inlinable public func mode(_ index: ModeIndex) -> Mode { modes[Int(index.value)] }
}

/// A set of accounts given as names and patterns: `support`, `desk-*`, `*`.
public struct Accounts: Sendable, Equatable {
    private var everyone = false
    private var names: Set<String> = []
    private var prefixes: [String] = []

    /// The accounts that any of `patterns` names; a `*` stands only at the end.
    public init(_ patterns: [String] = []) {
        for pattern in patterns {
            if pattern == "*" {
                everyone = true
            } else if pattern.hasSuffix("*") {
                prefixes.append(String(pattern.dropLast()))
            } else {
                names.insert(pattern)
            }
        }
    }

    /// Whether `user` is one of the accounts.
    public func contains(_ user: UserID) -> Bool {
        everyone || (!names.isEmpty && names.contains(user.text))
            || prefixes.contains { user.text.hasPrefix($0) }
    }

    /// Whether there is no account at all.
    public var isEmpty: Bool { !everyone && names.isEmpty && prefixes.isEmpty }
}
