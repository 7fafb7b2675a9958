// Turns the bytes of a WebSocket connection into messages and control frames (RFC 6455).

/// What the peer said.
///
/// Payloads point into the caller's input or into the decoder and are valid until the next call of
/// `next`, or until the input is reused.
public enum WebSocketEvent {
    /// A whole text message, valid UTF-8.
    case text(UnsafeRawBufferPointer)
    /// A whole binary message.
    case binary(UnsafeRawBufferPointer)
    /// A ping; answer with a pong of the same payload (at most 125 bytes).
    case ping(UnsafeRawBufferPointer)
    /// A pong.
    case pong(UnsafeRawBufferPointer)
    /// The closing handshake: answer with the same code, then close. Nothing follows.
    case close(WebSocketCloseCode?, reason: String)
}

/// A strict decoder for one direction of one connection.
///
///     while let event = try decoder.next(&input) { … }
///
/// `input` is the unread rest of a read buffer; it is advanced, and unmasked in place. A frame that
/// lies whole in it is delivered from there without a copy or an allocation. Only what is not whole
/// is kept, in a buffer that grows with what really arrived and is freed with the message; an idle
/// decoder owns no memory beyond its own 80 bytes.
///
/// After an error every further call throws it again; after a close frame the rest is discarded.
public struct FrameDecoder: ~Copyable, @unchecked Sendable {
    /// Which side the decoder is on.
    public enum Role: Sendable {
        /// Reads a client's frames, which must be masked.
        case server
        /// Reads a server's frames, which must not be.
        case client
    }

    private enum Phase {
        case open
        case closed
        case failed(WebSocketError)
    }

    // One decoder lives as long as its connection, so the fields are packed: large ones first.

    /// The beginning of a header that is not complete.
    private var partialHeader: (UInt64, UInt64) = (0, 0)
    /// Message bytes, then those of a control frame that interrupts them.
    private var store = FrameStore()
    /// The frame under way, once its header is complete.
    private var frame: FrameHeader?
    private var phase = Phase.open
    private let maximumMessage: Int32
    private var validator = UTF8Validator()
    private var partialHeaderCount: UInt8 = 0
    /// The opcode of the fragmented message under way.
    private var message: WebSocketOpcode?
    private let role: Role

    /// A decoder at the first byte after the handshake.
    ///
    /// - Parameter maximumMessage: the longest message in bytes, after reassembly.
    public init(role: Role, maximumMessage: Int = 65_536) {
        self.role = role
        self.maximumMessage = Int32(clamping: max(maximumMessage, 0))
    }

    /// The memory in bytes that is held beside the decoder itself; 0 when nothing is incomplete.
    public var reservedBytes: Int { store.capacity }

    /// Whether a frame or a message has begun and not ended.
    public var isMidMessage: Bool { message != nil || frame != nil || partialHeaderCount > 0 }

    /// How many bytes of what is incomplete have come; the headers of whole frames do not count.
    public var incompleteBytes: Int { store.count + Int(partialHeaderCount) }

    /// The next event in `input`, or nil when all of it is used up.
    ///
    /// - Throws: the first violation of the protocol.
    public mutating func next(
        _ input: inout UnsafeMutableRawBufferPointer
    ) throws(WebSocketError) -> WebSocketEvent? {
        switch phase {
        case .failed(let error): throw error
        case .closed:
            input = .init(rebasing: input[input.count...])
            return nil
        case .open: break
        }
        if message == nil, frame == nil { store.release() }
        do throws(WebSocketError) {
            while !input.isEmpty {
                if let event = try step(&input) { return event }
            }
            return nil
        } catch {
            phase = .failed(error)
            store.release()
            throw error
        }
    }

    /// Forgets what is not complete, and its memory; the rest is discarded.
    public mutating func giveUp() {
        phase = .closed
        store.release()
    }

    private mutating func step(
        _ input: inout UnsafeMutableRawBufferPointer
    ) throws(WebSocketError) -> WebSocketEvent? {
        guard let frame else {
            guard let header = try nextHeader(&input) else { return nil }
            try start(header)
            return try advance(header, isFresh: true, &input)
        }
        return try advance(frame, isFresh: false, &input)
    }

    /// Takes what `input` has of the payload of `header`.
    private mutating func advance(
        _ header: FrameHeader, isFresh: Bool, _ input: inout UnsafeMutableRawBufferPointer
    ) throws(WebSocketError) -> WebSocketEvent? {
        var header = header
        let count = min(header.remaining, input.count)
        let piece = UnsafeMutableRawBufferPointer(rebasing: input[..<count])
        input = .init(rebasing: input[count...])
        header.unmask(piece)
        frame = header.remaining == 0 ? nil : header
        let isWhole = isFresh && header.remaining == 0
        return try take(UnsafeRawBufferPointer(piece), of: header, isWhole: isWhole)
    }

    // MARK: Headers

    /// The next header, or nil when it is not complete; then its beginning is kept.
    private mutating func nextHeader(
        _ input: inout UnsafeMutableRawBufferPointer
    ) throws(WebSocketError) -> FrameHeader? {
        if partialHeaderCount == 0, input.count >= FrameHeader.longest {
            let bytes = UnsafeRawBufferPointer(input)
            let opcode = try FrameHeader.check(bytes[0], bytes[1], masked: role == .server)
            input = .init(rebasing: input[FrameHeader.length(second: bytes[1])...])
            return try FrameHeader(bytes, opcode: opcode)
        }
        let masked = role == .server
        while let byte = input.first {
            input = .init(rebasing: input[1...])
            let count = Int(partialHeaderCount)
            partialHeaderCount += 1
            let header = try withUnsafeMutableBytes(of: &partialHeader) {
                (partial) throws(WebSocketError) -> FrameHeader? in
                partial[count] = byte
                guard count > 0 else { return nil }
                let opcode = try FrameHeader.check(partial[0], partial[1], masked: masked)
                guard count + 1 == FrameHeader.length(second: partial[1]) else { return nil }
                return try FrameHeader(UnsafeRawBufferPointer(partial), opcode: opcode)
            }
            guard let header else { continue }
            partialHeaderCount = 0
            return header
        }
        return nil
    }

    /// Checks a new frame against the message under way and the size limit.
    private mutating func start(_ header: FrameHeader) throws(WebSocketError) {
        guard !header.opcode.isControl else { return }
        if header.opcode == .continuation {
            guard message != nil else { throw .unexpectedContinuation }
        } else {
            guard message == nil else { throw .expectedContinuation }
            message = header.opcode
            validator = UTF8Validator()
        }
        let limit = Int(maximumMessage)
        guard header.remaining <= limit - store.messageCount else {
            throw .messageTooBig(limit: limit)
        }
    }

    // MARK: Payloads

    private mutating func take(
        _ piece: UnsafeRawBufferPointer, of header: FrameHeader, isWhole: Bool
    ) throws(WebSocketError) -> WebSocketEvent? {
        if header.opcode.isControl {
            if isWhole { return try control(header.opcode, piece) }
            store.appendControl(piece)
            guard header.remaining == 0 else { return nil }
            return try control(header.opcode, store.takeControl())
        }
        if message == .text, !validator.accepts(piece) { throw .invalidUTF8 }
        let isEnd = header.remaining == 0 && header.isFinal
        if isEnd, !validator.isComplete { throw .invalidUTF8 }
        if isEnd, isWhole, header.opcode != .continuation { return finish(piece) }
        store.appendMessage(piece)
        return isEnd ? finish(store.takeMessage()) : nil
    }

    private mutating func finish(_ payload: UnsafeRawBufferPointer) -> WebSocketEvent {
        let isText = message == .text
        message = nil
        return isText ? .text(payload) : .binary(payload)
    }

    private mutating func control(
        _ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer
    ) throws(WebSocketError) -> WebSocketEvent {
        switch opcode {
        case .ping: return .ping(payload)
        case .pong: return .pong(payload)
        case .close, .continuation, .text, .binary: return try close(payload)
        }
    }

    private mutating func close(
        _ payload: UnsafeRawBufferPointer
    ) throws(WebSocketError) -> WebSocketEvent {
        guard payload.count != 1 else { throw .closePayloadTooShort }
        phase = .closed
        guard payload.count > 1 else { return .close(nil, reason: "") }
        let number = UInt16(bigEndian: payload.loadUnaligned(as: UInt16.self))
        let code = WebSocketCloseCode(rawValue: number)
        guard code.isValidOnTheWire else { throw .badCloseCode(number) }
        let reason = UnsafeRawBufferPointer(rebasing: payload[2...])
        guard UTF8Validator.isValid(reason) else { throw .invalidUTF8 }
        return .close(code, reason: String(decoding: reason, as: UTF8.self))
    }
}
