// Strings with their escapes, and integers, for the writer.

extension JSONWriter {
    /// Appends `text` in quotes. A `String` on this platform is contiguous UTF-8, so the common
    /// case is one scan for escapes and one copy.
    mutating func appendString(_ text: String) {
        let done: Void? = text.utf8.withContiguousStorageIfAvailable { appendString($0) }
        if done == nil { Array(text.utf8).withUnsafeBufferPointer { appendString($0) } }
    }

    private mutating func appendString(_ text: UnsafeBufferPointer<UInt8>) {
        bytes.append(UInt8(ascii: "\""))
        var start = 0
        while true {
            let stop = Self.firstEscaped(in: text, from: start)
            bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[start..<stop]))
            guard stop < text.count else { break }
            appendEscape(text[stop])
            start = stop + 1
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// The index of the first byte from `start` on that must be escaped, or the end.
    @inline(__always)
    private static func firstEscaped(in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        let raw = UnsafeRawBufferPointer(text)
        var index = start
        while index &+ 8 <= raw.count {
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let marks = markEscapedBytes(UInt64(littleEndian: word))
            if marks != 0 { return index &+ marks.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < raw.count, raw[index] >= 0x20, raw[index] != 0x22, raw[index] != 0x5C {
            index &+= 1
        }
        return index
    }

    private mutating func appendEscape(_ byte: UInt8) {
        switch byte {
        case 0x08: bytes.append(contentsOf: "\\b".utf8)
        case 0x09: bytes.append(contentsOf: "\\t".utf8)
        case 0x0A: bytes.append(contentsOf: "\\n".utf8)
        case 0x0C: bytes.append(contentsOf: "\\f".utf8)
        case 0x0D: bytes.append(contentsOf: "\\r".utf8)
        case 0x22: bytes.append(contentsOf: "\\\"".utf8)
        case 0x5C: bytes.append(contentsOf: "\\\\".utf8)
        default:
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(Self.hexDigits[Int(byte >> 4)])
            bytes.append(Self.hexDigits[Int(byte & 15)])
        }
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)

    mutating func appendInteger(_ value: Int64) {
        if value >= 0, value < 10 { return bytes.append(UInt8(ascii: "0") + UInt8(value)) }
        // 19 digits and a sign are the most that 64 bits need.
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
            var rest = value.magnitude
            var start = digits.count
            repeat {
                let (quotient, remainder) = rest.quotientAndRemainder(dividingBy: 10)
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: remainder)
                rest = quotient
            } while rest != 0
            if value < 0 {
                start -= 1
                digits[start] = UInt8(ascii: "-")
            }
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: digits[start...]))
        }
    }
}
