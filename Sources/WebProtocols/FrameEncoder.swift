// Writes WebSocket frames (RFC 6455 section 5).

/// Appends frames to an output buffer.
///
/// A server passes no mask key, a client a new unpredictable one for each frame: the caller makes
/// the random numbers.
public enum FrameEncoder {
    /// Bytes of the longest header without a mask key.
    public static let longestHeader = 10

    /// Writes the header of a frame with a payload of `count` bytes; returns its length. A mask
    /// key, if there is one, follows it.
    public static func writeHeader(
        _ opcode: WebSocketOpcode, payload count: Int, isFinal: Bool = true,
        isMasked: Bool = false, to buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        let mask: UInt8 = isMasked ? 0x80 : 0
        buffer[0] = (isFinal ? 0x80 : 0) | opcode.rawValue
        switch count {
        case ...125:
            buffer[1] = mask | UInt8(count)
            return 2
        case ...0xFFFF:
            buffer[1] = mask | 126
            buffer.storeBytes(of: UInt16(count).bigEndian, toByteOffset: 2, as: UInt16.self)
            return 4
        default:
            buffer[1] = mask | 127
            buffer.storeBytes(of: UInt64(count).bigEndian, toByteOffset: 2, as: UInt64.self)
            return 10
        }
    }

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
        withUnsafeTemporaryAllocation(byteCount: longestHeader, alignment: 1) { header in
            let count = writeHeader(
                opcode, payload: payload.count, isFinal: isFinal || isControl,
                isMasked: mask != nil, to: header)
            output.append(contentsOf: header[..<count])
        }
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
}
