// From the bytes of a link to what the other side says; nothing of a refused frame is handed on.

/// Reads frames. After a fault it reads nothing more.
public struct LinkDecoder: Sendable {
    /// Which side speaks.
    public enum Speaker: Sendable {
        case owner
        case frontEnd
    }

    private let speaker: Speaker
    private let epoch: UInt32
    private let space: String
    private let most: Int
    private var bytes: [UInt8] = []
    private var start = 0
    private var number: UInt64 = 0
    private var fault: LinkFault?
    /// Who speaks; nil: it has not said so.
    public private(set) var peer: LinkGreeting?

    /// What it does wrong, so that the checks show that they find it.
    public var faults = PlantedLinkFaults()

    /// What `speaker` says in the takeover `epoch`.
    ///
    /// - Parameter frameBytes: no frame may be longer.
    public init(from speaker: Speaker, space: String, epoch: UInt32, frameBytes: Int) {
        (self.speaker, self.space, self.epoch, most) = (speaker, space, epoch, frameBytes)
    }

    /// Who has not said who it is may say only so much.
    private static let greetingBytes = 1_024

    /// The longest frame that is read now.
    private var bound: Int { peer == nil ? min(most, Self.greetingBytes) : most }

    /// Bytes of a frame that has begun.
    public var waitingBytes: Int { bytes.count - start }

    /// More bytes came.
    public mutating func add(_ more: UnsafeRawBufferPointer) {
        guard fault == nil else { return }
        if start > 0 {
            bytes.removeFirst(start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// The next frame; nil: it has not come whole.
    public mutating func next() throws(LinkFault) -> LinkMessage? {
        if let fault { throw fault }
        do throws(LinkFault) {
            return try read()
        } catch {
            (fault, bytes, start) = (error, [], 0)
            throw error
        }
    }

    private mutating func read() throws(LinkFault) -> LinkMessage? {
        guard waitingBytes >= LinkWriter.headBytes else { return try lookAtLength() }
        let count = Int(word(at: start))
        guard count <= bound else { throw .tooLong(count) }
        guard count >= LinkWriter.headBytes - 4 else { throw .malformed }
        guard let kind = LinkKind(rawValue: bytes[start + 4]) else { throw .malformed }
        let epoch = word(at: start + 5)
        guard epoch == self.epoch || faults.shows(.epochOverlooked) else {
            throw .foreignEpoch(epoch)
        }
        let number = UInt64(word(at: start + 9)) << 32 | UInt64(word(at: start + 13))
        guard number == self.number + 1 || faults.shows(.numberOverlooked) else {
            throw .outOfOrder(number)
        }
        let isOfSpeaker = speaker == .owner ? kind.isOfOwner : kind.isOfFrontEnd
        guard isOfSpeaker else { throw .wrongSide }
        guard waitingBytes >= count + 4 else { return nil }
        var body = FrameBody(
            bytes[(start + LinkWriter.headBytes)..<(start + 4 + count)])
        let message = try body.message(kind)
        guard body.isEmpty else { throw .malformed }
        try greet(message)
        self.number = number
        start += 4 + count
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity <= 65_536)
            start = 0
        }
        return message
    }

    /// A length that is too much is refused before anything of the frame is kept.
    private func lookAtLength() throws(LinkFault) -> LinkMessage? {
        guard waitingBytes >= 4 else { return nil }
        let count = Int(word(at: start))
        guard count <= bound else { throw .tooLong(count) }
        return nil
    }

    private mutating func greet(_ message: LinkMessage) throws(LinkFault) {
        guard case .greets(let greeting) = message else {
            guard peer != nil else { throw .noGreeting }
            return
        }
        guard peer == nil, greeting.space == space, !greeting.node.isEmpty else {
            throw .noGreeting
        }
        peer = greeting
    }

    private func word(at place: Int) -> UInt32 {
        UInt32(bytes[place]) << 24 | UInt32(bytes[place + 1]) << 16
            | UInt32(bytes[place + 2]) << 8 | UInt32(bytes[place + 3])
    }
}

/// What follows the head of a frame.
private struct FrameBody {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isEmpty: Bool { rest.isEmpty }

    mutating func message(_ kind: LinkKind) throws(LinkFault) -> LinkMessage {
        switch kind {
        case .greets: return .greets(try greeting())
        case .lives: return .lives
        case .opens:
            return .opens(try stream(), StreamOpening(host: try text(), agent: try text()))
        case .returns:
            return .returns(
                try stream(),
                StreamReturn(hello: try content(), session: try session(), seq: try long()))
        case .says: return .says(try stream(), try content())
        case .asks:
            return .asks(try stream(), try request())
        case .manages: return .manages(try stream(), try manager(), try request())
        case .inquires: return .inquires(try stream(), try manager(), try request())
        case .took: return .took(try stream(), try long())
        case .leaves: return .leaves(try stream(), isSilent: try flag())
        case .tells: return .tells(try stream(), try content())
        case .begins: return .begins(try stream(), try session())
        case .keeps: return .keeps(try stream())
        case .settles:
            return .settles(try stream(), StreamMark(settled: try long(), isIdle: try flag()))
        case .answers: return .answers(try stream(), try reply())
        case .reports: return .reports(try stream(), try reply())
        case .ends: return .ends(try stream(), try short(), try text())
        }
    }

    private mutating func greeting() throws(LinkFault) -> LinkGreeting {
        let version = try byte()
        guard version == LinkGreeting.version else { throw .version(version) }
        return LinkGreeting(space: try text(), node: try text())
    }

    private mutating func request() throws(LinkFault) -> StreamRequest {
        StreamRequest(
            method: try text(), target: try text(), headers: try pairs(), body: try content())
    }

    private mutating func manager() throws(LinkFault) -> StreamManager {
        StreamManager(name: try text(), role: try text(), proof: try content())
    }

    private mutating func reply() throws(LinkFault) -> StreamReply {
        StreamReply(status: try short(), headers: try pairs(), body: try content())
    }

    private mutating func stream() throws(LinkFault) -> StreamID {
        let value = try word()
        guard value > 0 else { throw .malformed }
        return StreamID(value)
    }

    private mutating func session() throws(LinkFault) -> StreamSession {
        StreamSession(high: try long(), low: try long())
    }

    private mutating func byte() throws(LinkFault) -> UInt8 {
        guard let byte = rest.popFirst() else { throw .malformed }
        return byte
    }

    private mutating func flag() throws(LinkFault) -> Bool {
        switch try byte() {
        case 0: false
        case 1: true
        default: throw .malformed
        }
    }

    private mutating func word() throws(LinkFault) -> UInt32 {
        guard rest.count >= 4 else { throw .malformed }
        defer { rest.removeFirst(4) }
        return rest.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }

    private mutating func short() throws(LinkFault) -> UInt16 {
        guard let value = UInt16(exactly: try word()) else { throw .malformed }
        return value
    }

    private mutating func long() throws(LinkFault) -> UInt64 {
        UInt64(try word()) << 32 | UInt64(try word())
    }

    private mutating func content() throws(LinkFault) -> [UInt8] {
        let count = Int(try word())
        guard count <= rest.count else { throw .malformed }
        defer { rest.removeFirst(count) }
        return Array(rest.prefix(count))
    }

    private mutating func text() throws(LinkFault) -> String {
        guard let text = String(validating: try content(), as: UTF8.self) else { throw .malformed }
        return text
    }

    /// Names and values in turn: an even number of texts.
    private mutating func pairs() throws(LinkFault) -> [String] {
        let count = Int(try word())
        // Each has at least its length.
        guard count.isMultiple(of: 2), count <= rest.count / 4 else { throw .malformed }
        var texts: [String] = []
        for _ in 0..<count { texts.append(try text()) }
        return texts
    }
}
