// What the frame tests share: a peer that writes frames, and a record of what was decoded.

import Testing
import WebProtocols

/// An event with its payload copied out, so that it can be kept and compared.
enum Decoded: Equatable, CustomStringConvertible {
    case text(String)
    case binary([UInt8])
    case ping([UInt8])
    case pong([UInt8])
    case close(UInt16?, String)
    case failed(WebSocketError)

    init(_ event: WebSocketEvent) {
        switch event {
        case .text(let bytes): self = .text(String(decoding: bytes, as: UTF8.self))
        case .binary(let bytes): self = .binary(Array(bytes))
        case .ping(let bytes): self = .ping(Array(bytes))
        case .pong(let bytes): self = .pong(Array(bytes))
        case .close(let code, let reason): self = .close(code?.rawValue, reason)
        }
    }

    var description: String {
        switch self {
        case .text(let text): "text(\(text.utf8.count): \(text.prefix(20)))"
        case .binary(let bytes): "binary(\(bytes.count))"
        case .ping(let bytes): "ping(\(bytes.count))"
        case .pong(let bytes): "pong(\(bytes.count))"
        case .close(let code, let reason): "close(\(code.map { "\($0)" } ?? "-"), \(reason))"
        case .failed(let error): "failed(\(error))"
        }
    }
}

/// Feeds `pieces` one after another to a new decoder and returns all events, the error last.
func decode(
    _ pieces: [[UInt8]], role: FrameDecoder.Role = .server, limit: Int = 65_536
) -> [Decoded] {
    var decoder = FrameDecoder(role: role, maximumMessage: limit)
    var events: [Decoded] = []
    for piece in pieces {
        var piece = piece
        let error = piece.withUnsafeMutableBytes { buffer -> WebSocketError? in
            var input = buffer
            do throws(WebSocketError) {
                while let event = try decoder.next(&input) { events.append(Decoded(event)) }
                return nil
            } catch {
                return error
            }
        }
        if let error { return events + [.failed(error)] }
    }
    return events
}

/// Decodes `bytes` at once, byte by byte, and cut in two at every place; all must agree.
func decodeAtEverySplit(
    _ bytes: [UInt8], role: FrameDecoder.Role = .server, limit: Int = 65_536,
    sourceLocation: SourceLocation = #_sourceLocation
) -> [Decoded] {
    let whole = decode([bytes], role: role, limit: limit)
    let single = decode(bytes.map { [$0] }, role: role, limit: limit)
    #expect(single == whole, "byte by byte", sourceLocation: sourceLocation)
    for place in bytes.indices {
        let halves = [Array(bytes[..<place]), Array(bytes[place...])]
        let split = decode(halves, role: role, limit: limit)
        if split != whole {
            Issue.record("\(split) at \(place), not \(whole)", sourceLocation: sourceLocation)
        }
    }
    return whole
}

/// One frame as a client writes it.
func clientFrame(
    _ opcode: WebSocketOpcode, _ payload: [UInt8] = [], isFinal: Bool = true,
    mask: UInt32 = 0x3D21_FA37
) -> [UInt8] {
    var frame: [UInt8] = []
    FrameEncoder.append(opcode, payload, isFinal: isFinal, mask: mask, to: &frame)
    return frame
}

/// One text frame as a client writes it.
func clientText(
    _ text: String, _ opcode: WebSocketOpcode = .text, isFinal: Bool = true
) -> [UInt8] {
    clientFrame(opcode, Array(text.utf8), isFinal: isFinal)
}

/// A close frame as a client writes it, whatever the code.
func clientClose(_ code: UInt16, _ reason: [UInt8] = []) -> [UInt8] {
    clientFrame(.close, [UInt8(code >> 8), UInt8(code & 0xFF)] + reason)
}

/// Random numbers from a seed (splitmix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
