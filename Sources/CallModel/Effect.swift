// Every order that the switchboard gives to its shell.

/// What a switchboard tells its shell to do.
///
/// All effects of all inputs form one queue and are performed in order. `persist` is a barrier:
/// nothing queued after it leaves the process until it is durable. Only `consult` and `withdraw`
/// pass it, because asking tells nobody anything.
public enum Effect: Sendable, Equatable {
    /// Make these durable before anything after it leaves.
    case persist([Record])
    /// Answer a request.
    case reply(RequestID, Reply)
    /// Answer a `hello` with the user's live calls, newest first; `more`: there are others.
    case welcome(RequestID, calls: [Call], more: Bool)
    /// Tell these devices of an event.
    indirect case send(to: [Address], CallEvent)
    /// Close a device's connection: another device took its place (4209).
    case replace(Address)
    /// Ask the policies.
    case consult(Question)
    /// Take a question back: its answer no longer matters.
    case withdraw(QuestionID)
    /// Tell the policies.
    indirect case tell(Report)
    /// Fetch a call that is not in memory; `Input.recalled` answers.
    case recall(CallID)
    /// Fetch what is kept under a key; `Input.recalledKey` answers.
    case recallKey(UserID, key: String)
    /// Answer a `call.list` from the store.
    indirect case list(RequestID, UserID, ListQuery)
}

/// Where an event goes.
public struct Address: Hashable, Sendable {
    /// The user.
    public let user: UserID
    /// The device.
    public let device: DeviceID

    /// The device `device` of `user`.
    public init(_ user: UserID, _ device: DeviceID) {
        self.user = user
        self.device = device
    }
}

/// What is stored with a commit. An ended call moves to history.
public enum Record: Sendable, Equatable {
    /// A call as it is after the commit.
    case call(Call)
    /// A reply kept under an idempotency key.
    indirect case key(KeyRecord)
    /// Wake a user's devices that have no live connection.
    indirect case push(PushJob)
    /// A device's push registration; nil: removed.
    indirect case registration(Address, provider: String, PushRegistration?)
    /// What a user is called from now on; nil: nothing that was set.
    indirect case name(UserID, PersonName?)

    /// The call that ends with it.
    @inlinable
    public var endedCall: CallID? {
        if case .call(let call) = self, !call.isLive { call.id } else { nil }
    }
}

/// An idempotency key with the reply to keep. The shell encodes the reply as it sends it.
public struct KeyRecord: Sendable, Equatable {
    /// Whose key.
    public let user: UserID
    /// The key and the hash of the request's body.
    public let key: IdempotencyKey
    /// When it was used.
    public let at: Moment
    /// The reply.
    public let reply: Reply
    /// Which request gets it; nil: nobody waits for it.
    public let request: RequestID?

    /// The reply to keep for `user` under `key`, first used at `at` by `request`.
    public init(
        user: UserID, key: IdempotencyKey, at: Moment, reply: Reply, to request: RequestID? = nil
    ) {
        self.user = user
        self.key = key
        self.at = at
        self.reply = reply
        self.request = request
    }
}

/// One user to wake for one reason.
public struct PushJob: Sendable, Equatable {
    /// Why a user is woken.
    public enum Kind: String, Sendable, CaseIterable {
        /// Somebody calls.
        case invite
        /// The invitation was withdrawn.
        case cancel
        /// Somebody left a call that goes on, with the text of a push.
        case leave
        /// The call ended while it rang, or with the text of a push.
        case end
        /// The ring time passed.
        case missed
    }

    /// The call.
    public let callID: CallID
    /// Who is woken.
    public let user: UserID
    /// Why.
    public let kind: Kind
    /// What the push shows.
    public let text: PushText?
    /// Devices with a live connection, which need no push.
    public let connected: [DeviceID]
    /// When it no longer matters.
    public let expiresAt: Moment?
    /// The cause (G71).
    public let cause: Cause
    /// The trace of the request that led to it; nil: it named none.
    public var trace: TraceParent?

    /// Wake `user` because of `kind` in the call `callID`.
    public init(
        _ kind: Kind, callID: CallID, user: UserID, text: PushText? = nil,
        connected: [DeviceID] = [], expiresAt: Moment? = nil, cause: Cause = .nobody
    ) {
        self.kind = kind
        self.callID = callID
        self.user = user
        self.text = text
        self.connected = connected
        self.expiresAt = expiresAt
        self.cause = cause
    }
}

/// The answer to a request.
public enum Reply: Sendable, Equatable {
    /// `{}`.
    case done
    /// `call`, as `viewer` sees it.
    case call(Call, viewer: UserID)
    /// `call_id`, `call`, `errors[]`.
    case invited(Call, viewer: UserID, errors: [InviteeError])
    /// `call`, `errors[]`.
    case callWithErrors(Call, viewer: UserID, errors: [InviteeError])
    /// `items`, `keys[]`.
    case items([Call.Item], keys: [String])
    /// `token`: one JSON object.
    case token([UInt8])
    /// `users[]`, `errors[]`.
    case names([NamedUser], errors: [InviteeError])
    /// The first reply to the same key, unchanged.
    case kept([UInt8])
    /// A refusal.
    indirect case refused(Refusal)

    /// Why not; nil: yes.
    public var refusalCode: Refusal.Code? {
        if case .refused(let refusal) = self { refusal.code } else { nil }
    }

    /// The call that it shows; nil: none.
    package var call: Call? {
        switch self {
        case .call(let call, _), .invited(let call, _, _), .callWithErrors(let call, _, _): call
        case .done, .items, .token, .names, .kept, .refused: nil
        }
    }

    /// The mode of the call that was made; nil: none was.
    public var modeOfNewCall: ModeRow? {
        if case .invited(let call, _, _) = self { call.row } else { nil }
    }

    /// Whether the reply is kept under an idempotency key (B25).
    public var isKept: Bool {
        switch self {
        case .refused(let refusal): refusal.code.isKept
        case .kept: false
        case .done, .call, .invited, .callWithErrors, .items, .token, .names: true
        }
    }
}
