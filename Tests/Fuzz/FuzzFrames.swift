// WebSocket frames: streams are judged the same however they are cut, and valid ones survive.

import WebProtocols

extension Fuzzer {
    static let frames = Fuzzer(
        name: "frames", property: "streams of frames are judged the same however they are cut"
    ) { (random) throws(FuzzFailure) in try judgeCut(&random) { $0 } }

    static let framesCanary = Fuzzer(
        name: "frames-canary", property: "finds a decoder that forgets a byte where it is cut",
        mustFail: true
    ) { (random) throws(FuzzFailure) in
        try judgeCut(&random) { piece in piece.count > 9 ? Array(piece.dropLast()) : piece }
    }

    /// Judges streams whole, and in pieces as `seen` by the decoder.
    private static func judgeCut(
        _ random: inout FuzzGenerator, _ seen: ([UInt8]) -> [UInt8]
    ) throws(FuzzFailure) {
        let role: FrameDecoder.Role = random.once(in: 2) ? .server : .client
        let limit = random.pick([0, 100, 1000, 65_536])
        var stream = FrameStream()
        for _ in 0..<random.pick(1...6) { stream.appendMessage(&random, role) }
        let valid = FrameLog(of: random.cut(stream.bytes).map(seen), role, limit: 1 << 20)
        try expect(valid.error == nil, "refused: \(valid.error as Any)", stream.bytes)
        try expect(valid.entries == stream.entries, "something else was decoded", stream.bytes)
        let damaged = random.damage(stream.bytes, dictionary: ["\u{0}", "\u{7F}", "é", "𝄞"])
        let whole = FrameLog(of: [damaged], role, limit: limit)
        let pieces = FrameLog(of: random.cut(damaged).map(seen), role, limit: limit)
        try expect(whole == pieces, "another judgement when cut", damaged)
    }
}

/// Frames and what must be decoded from them.
private struct FrameStream {
    var bytes: [UInt8] = []
    var entries: [FrameLog.Entry] = []

    /// A message in one or more fragments with pings between them.
    mutating func appendMessage(_ random: inout FuzzGenerator, _ role: FrameDecoder.Role) {
        let isText = random.once(in: 2)
        let count = random.pick(
            [0, 1, 10, 125, 126, 300, 70_000].filter { $0 < 1000 || random.once(in: 50) })
        let payload =
            isText
            ? Array(String(repeating: random.pick(["a", "é", "€", "𝄞"]), count: count).utf8)
            : random.bytes(count)
        var rest = payload[...]
        var opcode: WebSocketOpcode = isText ? .text : .binary
        while random.once(in: 2) {
            let part = rest.prefix(random.pick(0...rest.count))
            rest = rest.dropFirst(part.count)
            append(opcode, Array(part), isFinal: false, &random, role)
            opcode = .continuation
            if random.once(in: 3) { appendPing(&random, role) }
        }
        append(opcode, Array(rest), isFinal: true, &random, role)
        entries.append(FrameLog.Entry(kind: isText ? "text" : "binary", payload: payload))
    }

    private mutating func appendPing(_ random: inout FuzzGenerator, _ role: FrameDecoder.Role) {
        let payload = random.bytes(random.pick(0...125))
        append(.ping, payload, isFinal: true, &random, role)
        entries.append(FrameLog.Entry(kind: "ping", payload: payload))
    }

    private mutating func append(
        _ opcode: WebSocketOpcode, _ payload: [UInt8], isFinal: Bool,
        _ random: inout FuzzGenerator, _ role: FrameDecoder.Role
    ) {
        let mask = role == .server ? UInt32(truncatingIfNeeded: random.next()) : nil
        FrameEncoder.append(opcode, payload, isFinal: isFinal, mask: mask, to: &bytes)
    }
}

/// What a decoder said about a stream.
private struct FrameLog: Equatable {
    struct Entry: Equatable {
        var kind: String
        var payload: [UInt8]
    }

    var entries: [Entry] = []
    var error: WebSocketError?

    init(of pieces: [[UInt8]], _ role: FrameDecoder.Role, limit: Int) {
        var decoder = FrameDecoder(role: role, maximumMessage: limit)
        for piece in pieces where error == nil {
            // The copy ends where its memory ends, so that a sanitizer sees any access beyond it.
            let memory = UnsafeMutableRawBufferPointer.allocate(
                byteCount: piece.count, alignment: 1)
            defer { memory.deallocate() }
            memory.copyBytes(from: piece)
            var input = memory
            do throws(WebSocketError) {
                while let event = try decoder.next(&input) { entries.append(Self.entry(event)) }
            } catch {
                self.error = error
            }
        }
    }

    private static func entry(_ event: WebSocketEvent) -> Entry {
        switch event {
        case .text(let bytes): Entry(kind: "text", payload: Array(bytes))
        case .binary(let bytes): Entry(kind: "binary", payload: Array(bytes))
        case .ping(let bytes): Entry(kind: "ping", payload: Array(bytes))
        case .pong(let bytes): Entry(kind: "pong", payload: Array(bytes))
        case .close(let code, let reason):
            Entry(kind: "close \(code?.rawValue ?? 0)", payload: Array(reason.utf8))
        }
    }
}
