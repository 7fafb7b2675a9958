// What two nodes say to each other over a link, as values.

/// One client at another node, by a number that its link never gives twice.
public struct StreamID: Hashable, Sendable, Comparable {
    /// From 1 on.
    public let value: UInt32

    /// The stream of this number.
    public init(_ value: UInt32) { self.value = value }

    /// The one given first.
    public static func < (one: StreamID, other: StreamID) -> Bool { one.value < other.value }
}

/// How each side begins a link.
public struct LinkGreeting: Sendable, Equatable {
    /// The version of what is said over a link.
    public static let version: UInt8 = 1

    /// The space whose calls it is about.
    public var space: String
    /// The node's name.
    public var node: String

    /// The greeting of `node`.
    public init(space: String, node: String) { (self.space, self.node) = (space, node) }
}

/// A client as its front end sees it.
public struct StreamOpening: Sendable, Equatable {
    /// The address that counts for it, without a port; empty: none does.
    public var host: String
    /// How its program names itself, shortened; empty: it does not.
    public var agent: String

    /// A client at `host`.
    public init(host: String, agent: String) { (self.host, self.agent) = (host, agent) }
}

/// A request over HTTP, as far as the owner looks at it.
public struct StreamRequest: Sendable, Equatable {
    /// `GET`, `POST`, …
    public var method: String
    /// As it was sent.
    public var target: String
    /// Names and values in turn.
    public var headers: [String]
    /// The body as it came.
    public var body: [UInt8]

    /// A request of these parts.
    public init(method: String, target: String, headers: [String], body: [UInt8]) {
        (self.method, self.target, self.headers, self.body) = (method, target, headers, body)
    }
}

/// Who asks the management API at another node, as that node's door has identified it.
public struct StreamManager: Sendable, Equatable {
    /// For the audit.
    public var name: String
    /// `operator` or `viewer`; empty: the token of the request says who asks and as what.
    public var role: String
    /// The token of the owner's term, which stands in the database: that the node knows it shows
    /// that it holds the database's password.
    public var proof: [UInt8]

    /// Whoever has the token of the request.
    public static let bearer = StreamManager(name: "", role: "", proof: [])

    /// `name` with `role`.
    public init(name: String, role: String, proof: [UInt8]) {
        (self.name, self.role, self.proof) = (name, role, proof)
    }
}

/// The answer to one.
public struct StreamReply: Sendable, Equatable {
    /// The status of HTTP.
    public var status: UInt16
    /// Names and values in turn.
    public var headers: [String]
    /// The body as it leaves.
    public var body: [UInt8]

    /// An answer of these parts.
    public init(status: UInt16, headers: [String], body: [UInt8]) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }
}

/// A session by its name, as the front end keeps it for its client.
public struct StreamSession: Sendable, Equatable {
    /// The first half of its name.
    public var high: UInt64
    /// The other half.
    public var low: UInt64

    /// The session of this name.
    public init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }
}

/// A client that was connected before this link was.
public struct StreamReturn: Sendable, Equatable {
    /// Its `hello`, as it was said.
    public var hello: [UInt8]
    /// The session that it has.
    public var session: StreamSession
    /// The last event that it was sent.
    public var seq: UInt64

    /// A client with `session`, which was sent events up to `seq`.
    public init(hello: [UInt8], session: StreamSession, seq: UInt64) {
        (self.hello, self.session, self.seq) = (hello, session, seq)
    }
}

/// What becomes of what a client said.
public struct StreamMark: Sendable, Equatable {
    /// So many of its messages are read and answered.
    public var settled: UInt64
    /// Whether its user takes part in no call, and nothing of it is under way.
    public var isIdle: Bool

    /// So many are settled.
    public init(settled: UInt64, isIdle: Bool) { (self.settled, self.isIdle) = (settled, isIdle) }
}

/// One thing that is said over a link.
public enum LinkMessage: Sendable, Equatable {
    // Said by both.

    /// The first of all.
    case greets(LinkGreeting)
    /// The node is there.
    case lives

    // Said by a front end.

    /// A client came.
    case opens(StreamID, StreamOpening)
    /// A client was there before.
    case returns(StreamID, StreamReturn)
    /// A client said this over its WebSocket.
    case says(StreamID, [UInt8])
    /// A client asks over HTTP.
    case asks(StreamID, StreamRequest)
    /// A tool at that node asks the management API.
    case manages(StreamID, StreamManager, StreamRequest)
    /// What this node answers about itself to the question of this number.
    case reports(StreamID, StreamReply)
    /// A client has been given so many bytes in all of what it was told.
    case took(StreamID, UInt64)
    /// A client is gone; `isSilent`: because nothing was heard of it.
    case leaves(StreamID, isSilent: Bool)

    // Said by the owner.

    /// The client is told this over its WebSocket.
    case tells(StreamID, [UInt8])
    /// The client has this session.
    case begins(StreamID, StreamSession)
    /// The client that was there before keeps its session.
    case keeps(StreamID)
    /// See `StreamMark`.
    case settles(StreamID, StreamMark)
    /// The answer over HTTP.
    case answers(StreamID, StreamReply)
    /// Somebody asks the management API about the front end itself. The owner knows who it is, and
    /// gives each question a number of its own, which is no stream's.
    case inquires(StreamID, StreamManager, StreamRequest)
    /// The client's connection is to be closed with this code and reason.
    case ends(StreamID, UInt16, String)
}

/// Why a link is given up: what came is not what a node of this version says.
public enum LinkFault: Error, Sendable, Equatable {
    /// A frame of so many bytes.
    case tooLong(Int)
    /// A frame of another takeover.
    case foreignEpoch(UInt32)
    /// A frame that is not the next one: an old one, or one that is missing before it.
    case outOfOrder(UInt64)
    /// The node speaks another version.
    case version(UInt8)
    /// The first frame is no greeting, or the greeting of another space.
    case noGreeting
    /// A frame whose inside is not what it says.
    case malformed
    /// Only the other side says that.
    case wrongSide
    /// A stream that is open already, or was before.
    case streamTwice(UInt32)
    /// A stream that was never opened.
    case noStream(UInt32)
    /// More clients, messages or bytes than a node may bring.
    case tooMuch(String)
}

extension LinkFault: CustomStringConvertible {
    /// One line for the log.
    public var description: String {
        switch self {
        case .tooLong(let count): "a frame of \(count) bytes"
        case .foreignEpoch(let epoch): "a frame of epoch \(epoch)"
        case .outOfOrder(let number): "frame \(number) out of order"
        case .version(let version): "version \(version) of links"
        case .noGreeting: "no greeting of this space"
        case .malformed: "a frame that cannot be read"
        case .wrongSide: "what only the other side says"
        case .streamTwice(let stream): "stream \(stream) opened twice"
        case .noStream(let stream): "stream \(stream), which was never opened"
        case .tooMuch(let what): "too much: \(what)"
        }
    }
}
