// The trace to which a request belongs, as other systems name it.

/// A W3C `traceparent`: 55 bytes of text, kept as the 26 bytes that it stands for, so that no
/// client makes the server hold more by what it sends. It is handed on as it came, and never acted
/// upon.
///
///     00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
public struct TraceParent: Sendable, Hashable, BitwiseCopyable, CustomStringConvertible {
    /// How many bytes the text has, always.
    public static let length = 55

    private let traceHigh: UInt64
    private let traceLow: UInt64
    private let parent: UInt64
    private let version: UInt8
    private let flags: UInt8

    /// The trace that `text` names; nil: it is malformed, and to be ignored.
    public init?(_ text: some StringProtocol) {
        guard text.utf8.count == Self.length else { return nil }
        let found = Array(text.utf8).withUnsafeBytes { Self($0) }
        guard let found else { return nil }
        self = found
    }

    /// The trace that the bytes of a text name; nil: it is malformed.
    public init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.length, let version = Self.number(bytes, 0, 2),
            let high = Self.number(bytes, 3, 16), let low = Self.number(bytes, 19, 16),
            let parent = Self.number(bytes, 36, 16), let flags = Self.number(bytes, 53, 2),
            [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            // The version 255 is forbidden, and zeros name nothing.
            version != 0xFF, high != 0 || low != 0, parent != 0
        else { return nil }
        (traceHigh, traceLow, self.parent) = (high, low, parent)
        (self.version, self.flags) = (UInt8(version), UInt8(flags))
    }

    /// The number that `count` lower-case hex digits stand for; nil: they are none.
    private static func number(
        _ bytes: UnsafeRawBufferPointer, _ start: Int, _ count: Int
    ) -> UInt64? {
        var value: UInt64 = 0
        for byte in bytes[start..<start + count] {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | UInt64(byte & 0xF)
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                value = value << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
            default: return nil  // external: bytes of a text that somebody sent
            }
        }
        return value
    }

    /// The text, as it came.
    public var description: String {
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.length) { room, count in
            Self.write(UInt64(version), 2, to: room, at: 0)
            Self.write(traceHigh, 16, to: room, at: 3)
            Self.write(traceLow, 16, to: room, at: 19)
            Self.write(parent, 16, to: room, at: 36)
            Self.write(UInt64(flags), 2, to: room, at: 53)
            for place in [2, 35, 52] { room[place] = UInt8(ascii: "-") }
            count = Self.length
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func write(
        _ value: UInt64, _ count: Int, to room: UnsafeMutableBufferPointer<UInt8>, at start: Int
    ) {
        let digits: StaticString = "0123456789abcdef"
        for place in 0..<count {
            let digit = Int(value >> UInt64(4 * (count - 1 - place)) & 0xF)
            room[start + place] = digits.utf8Start[digit]
        }
    }
}
