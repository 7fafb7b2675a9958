// Frames of a link: each has a length, a kind, an epoch and a number.
//
//     length: 4 bytes, of what follows    kind: 1    epoch: 4    number: 8    the rest by its kind
//
// Numbers are big-endian. Text and bytes have their length before them in 4 bytes.

/// Writes what one side of a link says.
public struct LinkWriter: Sendable {
    /// Bytes of a frame before what its kind says.
    static let headBytes = 17
    private static let countBytes = 4

    let epoch: UInt32
    private var number: UInt64 = 0
    /// The frames written so far; whoever sends them takes them out.
    public private(set) var bytes: [UInt8] = []

    /// A side of a link in the takeover `epoch`.
    public init(epoch: UInt32) { self.epoch = epoch }

    /// Takes the frames that were written.
    public mutating func take() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    /// Forgets the frames that were written and sent, and keeps their memory.
    public mutating func removeAll() { bytes.removeAll(keepingCapacity: bytes.capacity <= 65_536) }

    /// Writes one frame.
    public mutating func append(_ message: LinkMessage) {
        let start = begin(message.kind)
        switch message {
        case .greets(let greeting):
            bytes.append(LinkGreeting.version)
            put(greeting.space)
            put(greeting.node)
        case .lives: break
        case .opens(let stream, let opening):
            put(stream.value)
            put(opening.host)
            put(opening.agent)
        case .returns(let stream, let client):
            put(stream.value)
            put(client.hello)
            put(client.session)
            put(client.seq)
        case .says(let stream, let text), .tells(let stream, let text):
            put(stream.value)
            put(text)
        case .asks(let stream, let request):
            put(stream.value)
            put(request)
        case .manages(let stream, let manager, let request),
            .inquires(let stream, let manager, let request):
            put(stream.value)
            put(manager.name)
            put(manager.role)
            put(manager.proof)
            put(request)
        case .answers(let stream, let reply), .reports(let stream, let reply):
            put(stream.value)
            put(UInt32(reply.status))
            put(reply.headers)
            put(reply.body)
        case .took(let stream, let count):
            put(stream.value)
            put(count)
        case .leaves(let stream, let isSilent):
            put(stream.value)
            bytes.append(isSilent ? 1 : 0)
        case .begins(let stream, let session):
            put(stream.value)
            put(session)
        case .keeps(let stream): put(stream.value)
        case .settles(let stream, let mark):
            put(stream.value)
            put(mark.settled)
            bytes.append(mark.isIdle ? 1 : 0)
        case .ends(let stream, let code, let reason):
            put(stream.value)
            put(UInt32(code))
            put(reason)
        }
        finish(start)
    }

    /// Writes `tells` of a message in two parts, without making one of them before.
    public mutating func tell(
        _ stream: StreamID, _ head: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer
    ) {
        let start = begin(.tells)
        put(stream.value)
        put(UInt32(head.count + tail.count))
        bytes.append(contentsOf: head)
        bytes.append(contentsOf: tail)
        finish(start)
    }

    /// Writes `says`.
    public mutating func say(_ stream: StreamID, _ text: UnsafeRawBufferPointer) {
        let start = begin(.says)
        put(stream.value)
        put(UInt32(text.count))
        bytes.append(contentsOf: text)
        finish(start)
    }

    private mutating func begin(_ kind: LinkKind) -> Int {
        let start = bytes.count
        number += 1
        put(UInt32(0))
        bytes.append(kind.rawValue)
        put(epoch)
        put(number)
        return start
    }

    private mutating func finish(_ start: Int) {
        let count = UInt32(bytes.count - start - Self.countBytes)
        for place in 0..<Self.countBytes {
            bytes[start + place] = UInt8(truncatingIfNeeded: count >> (24 - 8 * UInt32(place)))
        }
    }

    private mutating func put(_ value: UInt32) {
        for shift in stride(from: UInt32(24), through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    private mutating func put(_ value: UInt64) {
        put(UInt32(truncatingIfNeeded: value >> 32))
        put(UInt32(truncatingIfNeeded: value))
    }

    private mutating func put(_ session: StreamSession) {
        put(session.high)
        put(session.low)
    }

    private mutating func put(_ request: StreamRequest) {
        put(request.method)
        put(request.target)
        put(request.headers)
        put(request.body)
    }

    private mutating func put(_ text: String) {
        put(UInt32(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func put(_ content: [UInt8]) {
        put(UInt32(content.count))
        bytes.append(contentsOf: content)
    }

    private mutating func put(_ texts: [String]) {
        put(UInt32(texts.count))
        for text in texts { put(text) }
    }
}

/// The byte that names what a frame says.
enum LinkKind: UInt8, CaseIterable {
    case greets = 1
    case lives, opens, returns, says, asks, took, leaves, manages, reports
    case tells = 65
    case begins, keeps, settles, answers, ends, inquires

    /// Whether an owner says it, or both sides do.
    var isOfOwner: Bool { rawValue >= LinkKind.tells.rawValue || isOfBoth }
    /// Whether a front end says it, or both sides do.
    var isOfFrontEnd: Bool { rawValue < LinkKind.tells.rawValue }
    private var isOfBoth: Bool { self == .greets || self == .lives }
}

extension LinkMessage {
    var kind: LinkKind {
        switch self {
        case .greets: .greets
        case .lives: .lives
        case .opens: .opens
        case .returns: .returns
        case .says: .says
        case .asks: .asks
        case .took: .took
        case .leaves: .leaves
        case .manages: .manages
        case .reports: .reports
        case .tells: .tells
        case .begins: .begins
        case .keeps: .keeps
        case .settles: .settles
        case .answers: .answers
        case .ends: .ends
        case .inquires: .inquires
        }
    }
}
