// What the policies answer.

/// The answer to a question.
public enum Answer: Sendable, Equatable {
    /// To `invite`: what to do, whose decision it is and the place after that plugin.
    case invite(Decision, by: String, next: Int)
    /// To `dial`: go on, changed where a value is given. To `join`: come in.
    case allow(Allowance)
    /// To `dial` and `join`: no, with the plugin's code.
    case refuse(code: String, by: String)
    /// To `incomingData`: the text to go on with.
    case data(String?)
    /// To `incomingData`: what this plugin made of it is too long or too deep.
    case tooLarge(by: String)
    /// To `outgoingData`: the texts that differ from the originals.
    case views([Call.View])
    /// To `token`: one JSON object; nil: no plugin answered.
    case token([UInt8]?)
    /// To any: no opinion, so the declared default.
    case none
}

/// What `on.invite` decided.
public enum Decision: Sendable, Equatable {
    /// Accept, after `wait` unless somebody answers first.
    case accept(wait: Milliseconds, extendedData: String?)
    /// Reject; nil data: the default of the reason.
    case reject(busy: Bool, extendedData: String?)
    /// Let the devices ring; with a time, ask the later plugins at its end.
    case ring(for: Milliseconds?)
    /// Invite these users instead: all at once, or one after the other, each at most so long.
    case forward([UserID], each: Milliseconds? = nil)
}

extension Decision {
    /// Whether it calls others in the place of the account.
    public var isForward: Bool { if case .forward = self { true } else { false } }
    /// Whether it names several, or one after the other.
    public var isFork: Bool {
        guard case .forward(let users, let each) = self else { return false }
        return users.count > 1 || each != nil
    }
    /// Whether it leaves the invitation to the user's devices: nothing has changed, nobody is told.
    public var isRing: Bool { if case .ring = self { true } else { false } }
    /// Whether it lets the account in at once.
    public var isAccept: Bool {
        if case .accept(let wait, _) = self { wait <= 0 } else { false }
    }

    /// The decision as an operation of the account, and what that says; nil: the devices ring, and
    /// what comes later is kept.
    package func action(in call: Call) -> (action: CallAction, text: String?)? {
        switch self {
        case .accept(let wait, let data): wait > 0 ? nil : (.accept(), data)
        case .reject(let busy, let data):
            (.reject(busy: busy), data ?? (busy ? call.busyText : nil))
        case .forward(let targets, let each): (.forward(to: targets, each: each), nil)
        case .ring: nil
        }
    }
}

/// What `on.dial` changed.
public struct Allowance: Sendable, Equatable {
    /// Another ring time.
    public var timeout: Milliseconds?
    /// Only these of the invitees; the others get `refused`.
    public var invitees: [UserID]?
    /// Other extended data.
    public var extendedData: String??

    /// An allowance that changes nothing.
    public init() {}
}
