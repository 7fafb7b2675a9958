// The first 2 to 14 bytes of a WebSocket frame (RFC 6455 section 5.2), and its mask.

/// What a frame is for.
public enum WebSocketOpcode: UInt8, Sendable {
    /// A further part of a fragmented message.
    case continuation = 0
    /// The start of a text message.
    case text = 1
    /// The start of a binary message.
    case binary = 2
    /// The end of the connection.
    case close = 8
    /// A question whether the peer lives.
    case ping = 9
    /// Its answer.
    case pong = 10

    var isControl: Bool { rawValue & 8 != 0 }
}

struct FrameHeader {
    /// The longest header: 2 bytes, 8 of length, 4 of mask.
    static let longest = 14

    /// Payload bytes that are still to come.
    var remaining: Int
    /// The mask, turned so that its lowest byte belongs to the next payload byte; 0 masks nothing.
    var mask: UInt32
    var opcode: WebSocketOpcode
    var isFinal: Bool

    /// The length of the header whose second byte is `second`.
    static func length(second: UInt8) -> Int {
        let mask = second & 0x80 != 0 ? 4 : 0
        switch second & 0x7F {
        case 126: return 4 + mask
        case 127: return 10 + mask
        default: return 2 + mask
        }
    }

    /// Checks what the first two bytes alone show.
    static func check(
        _ first: UInt8, _ second: UInt8, masked: Bool
    ) throws(WebSocketError) -> WebSocketOpcode {
        guard first & 0x70 == 0 else { throw .reservedBits }
        guard let opcode = WebSocketOpcode(rawValue: first & 0x0F) else {
            throw .reservedOpcode(first & 0x0F)
        }
        guard (second & 0x80 != 0) == masked else { throw masked ? .maskMissing : .maskUnexpected }
        if opcode.isControl {
            guard first & 0x80 != 0 else { throw .fragmentedControl }
            guard second & 0x7F <= 125 else { throw .controlTooLong }
        }
        return opcode
    }

    /// Reads a whole header whose first two bytes were checked.
    init(_ bytes: UnsafeRawBufferPointer, opcode: WebSocketOpcode) throws(WebSocketError) {
        self.opcode = opcode
        isFinal = bytes[0] & 0x80 != 0
        var end = 2
        switch bytes[1] & 0x7F {
        case 126:
            let length = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
            guard length > 125 else { throw .badLength }
            (remaining, end) = (Int(length), 4)
        case 127:
            let length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            guard length > 0xFFFF, let value = Int(exactly: length) else { throw .badLength }
            (remaining, end) = (value, 10)
        case let length: remaining = Int(length)
        }
        mask = 0
        if bytes[1] & 0x80 != 0 {
            mask = UInt32(
                littleEndian: bytes.loadUnaligned(fromByteOffset: end, as: UInt32.self))
        }
    }

    /// Accounts for `bytes` as the next part of the payload and takes the mask off them, in place.
    mutating func unmask(_ bytes: UnsafeMutableRawBufferPointer) {
        remaining -= bytes.count
        guard mask != 0 else { return }
        FrameMask.apply(mask, to: bytes)
        let turn = UInt32(bytes.count & 3) * 8
        if turn != 0 { mask = mask >> turn | mask << (32 - turn) }
    }
}

/// The masking of RFC 6455 section 5.3, eight bytes at a time.
enum FrameMask {
    /// Exclusive-ors `bytes` with the key, whose lowest byte belongs to the first of them.
    static func apply(_ key: UInt32, to bytes: UnsafeMutableRawBufferPointer) {
        let wide = (UInt64(key) | UInt64(key) << 32).littleEndian
        var index = 0
        while index &+ 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            bytes.storeBytes(of: word ^ wide, toByteOffset: index, as: UInt64.self)
            index &+= 8
        }
        while index < bytes.count {
            bytes[index] ^= UInt8(truncatingIfNeeded: key >> (8 * UInt32(index & 3)))
            index &+= 1
        }
    }
}
