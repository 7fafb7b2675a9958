// A string of a JSON text where it stands: compared in place, turned into a `String` on demand.

/// The checked contents of a string or member name, still in the reader's input.
///
/// Valid only while that input is. Compare it with literals in a `switch`; nothing is allocated
/// until `string` is asked for:
///
///     while let key = try reader.nextKey() {
///         switch key {
///         case "id": id = try reader.readInteger()
///         default: try reader.skip()
///         }
///     }
public struct JSONText {
    /// The bytes between the quotes as they stand in the input, escapes included.
    public let raw: UnsafeRawBufferPointer
    /// Whether `raw` holds escapes, so that it differs from the text it means.
    public let hasEscapes: Bool

    /// The text.
    public var string: String {
        guard hasEscapes else { return String(decoding: raw, as: UTF8.self) }
        return String(unsafeUninitializedCapacity: raw.count) { target in
            decode(into: UnsafeMutableRawBufferPointer(target))
        }
    }

    /// The length of the text in UTF-8 bytes, escapes resolved.
    public var utf8Count: Int {
        guard hasEscapes else { return raw.count }
        return withUnsafeTemporaryAllocation(byteCount: raw.count, alignment: 1) {
            decode(into: $0)
        }
    }

    /// Whether the text is `literal`, byte for byte. A long `switch` compares lengths mostly, so
    /// that much is done in place.
    @inlinable
    public static func == (text: JSONText, literal: StaticString) -> Bool {
        guard text.raw.count == literal.utf8CodeUnitCount || text.hasEscapes else { return false }
        return text.isEqual(to: literal)
    }

    /// Lets a `switch` over a text have literals as its cases.
    @inlinable
    public static func ~= (literal: StaticString, text: JSONText) -> Bool { text == literal }

    @usableFromInline
    func isEqual(to literal: StaticString) -> Bool {
        literal.withUTF8Buffer { wanted in
            guard hasEscapes else { return Self.equal(raw, UnsafeRawBufferPointer(wanted)) }
            return withUnsafeTemporaryAllocation(byteCount: raw.count, alignment: 1) {
                let count = decode(into: $0)
                return Self.equal(.init(rebasing: $0[..<count]), UnsafeRawBufferPointer(wanted))
            }
        }
    }

    @inline(__always)
    private static func equal(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
        guard a.count == b.count else { return false }
        switch a.count {
        case 8...:
            var index = 0
            while index &+ 8 < a.count {
                guard areEqual(a, b, at: index, UInt64.self) else { return false }
                index &+= 8
            }
            return areEqual(a, b, at: a.count &- 8, UInt64.self)
        case 4...7:
            return areEqual(a, b, at: 0, UInt32.self)
                && areEqual(a, b, at: a.count &- 4, UInt32.self)
        case 2...3:
            return areEqual(a, b, at: 0, UInt16.self)
                && areEqual(a, b, at: a.count &- 2, UInt16.self)
        case 1: return a[0] == b[0]
        default: return true
        }
    }

    /// Whether both have the same word there; the last one of a text may overlap the one before.
    @inline(__always)
    private static func areEqual<Word: BitwiseCopyable & Equatable>(
        _ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer, at place: Int, _: Word.Type
    ) -> Bool {
        a.loadUnaligned(fromByteOffset: place, as: Word.self)
            == b.loadUnaligned(fromByteOffset: place, as: Word.self)
    }
}

extension JSONText {
    /// Writes the text with its escapes resolved and returns its length, which is never more than
    /// `raw.count`. The scan has checked the escapes already.
    private func decode(into target: UnsafeMutableRawBufferPointer) -> Int {
        var (read, written) = (0, 0)
        while true {
            // Eight bytes at a time: what is written never overtakes what is read.
            while read &+ 8 <= raw.count {
                let word = raw.loadUnaligned(fromByteOffset: read, as: UInt64.self)
                target.storeBytes(of: word, toByteOffset: written, as: UInt64.self)
                let plain = markBackslashes(UInt64(littleEndian: word)).trailingZeroBitCount / 8
                (read, written) = (read &+ plain, written &+ plain)
                if plain < 8 { break }
            }
            while read < raw.count, raw[read] != UInt8(ascii: "\\") {
                target[written] = raw[read]
                (read, written) = (read &+ 1, written &+ 1)
            }
            guard read < raw.count else { return written }
            if raw[read + 1] == UInt8(ascii: "u") {
                let (scalar, length) = scalar(at: read)
                for byte in scalar.utf8 {
                    target[written] = byte
                    written += 1
                }
                read += length
            } else {
                target[written] = Self.meaning(ofEscape: raw[read + 1])
                (read, written) = (read + 2, written + 1)
            }
        }
    }

    private static func meaning(ofEscape byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: byte
        }
    }

    /// The scalar that the one or two `\uXXXX` at `index` mean, and their length in bytes.
    private func scalar(at index: Int) -> (Unicode.Scalar, Int) {
        let first = unit(at: index)
        guard (0xD800..<0xDC00).contains(first) else {
            return (Unicode.Scalar(first) ?? "\u{FFFD}", 6)
        }
        let value = 0x10000 + (first - 0xD800) << 10 + (unit(at: index + 6) - 0xDC00)
        return (Unicode.Scalar(value) ?? "\u{FFFD}", 12)
    }

    private func unit(at index: Int) -> UInt32 {
        (2..<6).reduce(0) { $0 << 4 | (hexDigit(raw[index + $1]) ?? 0) }
    }
}
