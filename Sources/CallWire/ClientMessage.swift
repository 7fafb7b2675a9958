// What a client can say in one message.

import CallModel

/// One message of a client, its form checked.
public enum ClientMessage: Sendable, Equatable {
    /// The first message of a connection.
    case hello(MessageID, Hello)
    /// Is the server there? May come without an id.
    case ping(MessageID?)
    /// The device logs out.
    case bye(MessageID)
    /// Events up to this number have arrived. Any integer: the session clamps it (B26).
    case acknowledge(Int64)
    /// An operation for the switchboard. The key is nil where it has no meaning (B25).
    case request(MessageID, key: IdempotencyKey?, Operation)
}

/// What a client calls its request; the reply carries it back in `re`.
public enum MessageID: Sendable, Hashable {
    /// Any 64-bit integer.
    case integer(Int64)
    /// At most 64 bytes.
    case text(String)
}

/// The data of `hello`.
public struct Hello: Sendable, Equatable {
    /// Who the client is; the shell checks it.
    public var token: String
    /// Which device of the user it is.
    public var device: DeviceID
    /// The session to go on with.
    public var resume: Resume?
    /// Whether a new session is told of missed calls.
    public var wantsMissed: Bool
    /// What the user is called; nil: that is not said. Counts with development tokens only.
    public var name: PersonName?

    /// A `hello` of `device`.
    public init(
        token: String, device: DeviceID, resume: Resume? = nil, wantsMissed: Bool = false,
        name: PersonName? = nil
    ) {
        self.name = name
        self.token = token
        self.device = device
        self.resume = resume
        self.wantsMissed = wantsMissed
    }

    init(_ values: FieldValues) {
        self.init(
            token: values.token, device: values.device,
            resume: values.resume.map { Resume(session: SessionID($0.session), seq: $0.seq) },
            wantsMissed: values.isOn(.missed), name: values.personName)
    }

    var values: FieldValues {
        var values = FieldValues()
        values.give(.token, token, \.token)
        values.give(.device, device, \.device)
        if wantsMissed { values.give(.missed, true) }
        if let name {
            values.note(.name)
            values.personName = name
        }
        if let resume, let session = resume.session {
            let point = ResumePoint(session: session.description, seq: resume.seq)
            values.give(.resume, point, \.resume)
        }
        return values
    }

    /// A wish to go on with a session.
    public struct Resume: Sendable, Equatable {
        /// The session; nil when the text cannot be the name of one.
        public var session: SessionID?
        /// The last event that has arrived.
        public var seq: UInt64

        /// Going on with `session` after the event `seq`.
        public init(session: SessionID?, seq: UInt64) {
            self.session = session
            self.seq = seq
        }
    }
}

/// The name of a session: 128 bits, written as 32 lower-case hex digits.
public struct SessionID: Hashable, Sendable, CustomStringConvertible {
    /// The upper half.
    public let high: UInt64
    /// The lower half.
    public let low: UInt64

    /// A session named by 128 random bits.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The session written as 32 lower-case hex digits, or nil for any other text.
    public init?(_ text: String) {
        guard let halves = CallID(text) else { return nil }
        (high, low) = (halves.high, halves.low)
    }

    /// 32 lower-case hex digits.
    public var description: String { CallID(high: high, low: low).description }
}

/// A message that cannot be carried out, with what to answer.
public struct Malformed: Error, Sendable, Equatable {
    /// The request's id, nil when that is what is wrong.
    public let id: MessageID?
    /// What the client asked for, as far as that could be told.
    public let operation: OperationName?
    /// Why not.
    public let refusal: Refusal
    /// Whether the message is no JSON object at all; three of these end a connection (B24).
    public let isUnparseable: Bool

    /// A message that is refused for `refusal`.
    public init(
        id: MessageID?, operation: OperationName? = nil, refusal: Refusal,
        isUnparseable: Bool = false
    ) {
        self.id = id
        self.operation = operation
        self.refusal = refusal
        self.isUnparseable = isUnparseable
    }
}
