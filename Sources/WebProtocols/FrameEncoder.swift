// Writes WebSocket frames (RFC 6455 section 5).

/// Appends frames to an output buffer.
///
/// A server passes no mask key, a client a new unpredictable one for each frame: dice belong to the
/// caller.
public enum FrameEncoder {
    /// Appends one frame.
    ///
    /// - Parameters:
    ///   - payload: at most 125 bytes for close, ping and pong; longer ones are cut there.
    ///   - isFinal: false when continuations follow; control frames are always final.
    ///   - mask: the key, with the byte for the first payload byte lowest.
    public static func append(
        _ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer, isFinal: Bool = true,
        mask: UInt32? = nil, to output: inout [UInt8]
    ) {
        let isControl = opcode.isControl
        let payload = isControl ? UnsafeRawBufferPointer(rebasing: payload.prefix(125)) : payload
        output.append((isFinal || isControl ? 0x80 : 0) | opcode.rawValue)
        appendLength(payload.count, maskBit: mask == nil ? 0 : 0x80, to: &output)
        if let mask {
            withUnsafeBytes(of: mask.littleEndian) { output.append(contentsOf: $0) }
        }
        let start = output.count
        output.append(contentsOf: payload)
        guard let mask else { return }
        output.withUnsafeMutableBytes {
            FrameMask.apply(mask, to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
        }
    }

    /// Appends one frame with a payload that lies in an array.
    public static func append(
        _ opcode: WebSocketOpcode, _ payload: [UInt8], isFinal: Bool = true,
        mask: UInt32? = nil, to output: inout [UInt8]
    ) {
        payload.withUnsafeBytes {
            append(opcode, $0, isFinal: isFinal, mask: mask, to: &output)
        }
    }

    /// Appends a close frame. A reason that does not fit into 123 bytes is cut between characters.
    public static func appendClose(
        _ code: WebSocketCloseCode?, reason: String = "", mask: UInt32? = nil,
        to output: inout [UInt8]
    ) {
        var payload: [UInt8] = []
        if let code {
            payload.append(UInt8(code.rawValue >> 8))
            payload.append(UInt8(truncatingIfNeeded: code.rawValue))
            for scalar in reason.unicodeScalars {
                guard payload.count + scalar.utf8.count <= 125 else { break }
                payload.append(contentsOf: scalar.utf8)
            }
        }
        append(.close, payload, mask: mask, to: &output)
    }

    private static func appendLength(_ count: Int, maskBit: UInt8, to output: inout [UInt8]) {
        switch count {
        case ...125: output.append(maskBit | UInt8(count))
        case ...0xFFFF:
            output.append(maskBit | 126)
            withUnsafeBytes(of: UInt16(count).bigEndian) { output.append(contentsOf: $0) }
        default:
            output.append(maskBit | 127)
            withUnsafeBytes(of: UInt64(count).bigEndian) { output.append(contentsOf: $0) }
        }
    }
}
