// Strings with their escapes, integers and hexadecimal digits, for the writer.

extension JSONWriter {
    /// Appends `text` in quotes. A `String` on this platform is contiguous UTF-8, so the common
    /// case is one scan for escapes and one copy.
    mutating func appendString(_ text: String) {
        let done: Void? = text.utf8.withContiguousStorageIfAvailable { appendString(.init($0)) }
        if done == nil { Array(text.utf8).withUnsafeBytes { appendString($0) } }
    }

    private mutating func appendString(_ text: UnsafeRawBufferPointer) {
        text.firstEscaped(from: 0) == text.count ? appendPlain(text) : appendEscaped(text)
    }

    /// Appends a text that needs no escapes, in quotes.
    @inline(__always)
    mutating func appendPlain(_ text: UnsafeRawBufferPointer) {
        let room = buffer.reserve(text.count &+ 2)
        room[0] = UInt8(ascii: "\"")
        if let source = text.baseAddress { copy(source, text.count, to: room + 1) }
        room[text.count &+ 1] = UInt8(ascii: "\"")
        buffer.commit(text.count &+ 2)
    }

    private mutating func appendEscaped(_ text: UnsafeRawBufferPointer) {
        buffer.append(UInt8(ascii: "\""))
        var start = 0
        while true {
            let stop = text.firstEscaped(from: start)
            buffer.append(UnsafeRawBufferPointer(rebasing: text[start..<stop]))
            guard stop < text.count else { break }
            appendEscape(text[stop])
            start = stop + 1
        }
        buffer.append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(_ byte: UInt8) {
        let letter: UInt8 =
            switch byte {
            case 0x08: UInt8(ascii: "b")
            case 0x09: UInt8(ascii: "t")
            case 0x0A: UInt8(ascii: "n")
            case 0x0C: UInt8(ascii: "f")
            case 0x0D: UInt8(ascii: "r")
            case 0x22, 0x5C: byte
            default: UInt8(ascii: "u")
            }
        buffer.append(UInt8(ascii: "\\"))
        buffer.append(letter)
        guard letter == UInt8(ascii: "u") else { return }
        let room = buffer.reserve(4)
        room.update(repeating: UInt8(ascii: "0"), count: 2)
        room[2] = UInt8(ascii: "0") + byte >> 4
        room[3] = byte & 15 < 10 ? UInt8(ascii: "0") + byte & 15 : 0x57 + byte & 15
        buffer.commit(4)
    }

    mutating func appendInteger(_ value: Int64) {
        // 19 digits and a sign are the most that 64 bits need.
        withUnsafeTemporaryAllocation(byteCount: 20, alignment: 1) { digits in
            var rest = value.magnitude
            var start = digits.count
            while rest >= 100 {
                let (quotient, remainder) = rest.quotientAndRemainder(dividingBy: 100)
                start &-= 2
                Self.writePair(Int(truncatingIfNeeded: remainder), to: digits, at: start)
                rest = quotient
            }
            start &-= 2
            Self.writePair(Int(truncatingIfNeeded: rest), to: digits, at: start)
            if rest < 10 { start &+= 1 }
            if value < 0 {
                start &-= 1
                digits[start] = UInt8(ascii: "-")
            }
            buffer.append(UnsafeRawBufferPointer(rebasing: digits[start...]))
        }
    }

    /// Writes the two digits of a number below 100.
    @inline(__always)
    private static func writePair(
        _ number: Int, to digits: UnsafeMutableRawBufferPointer, at place: Int
    ) {
        let pairs: StaticString = """
            0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243\
            4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687\
            888990919293949596979899
            """
        digits[place] = pairs.utf8Start[number &* 2]
        digits[place &+ 1] = pairs.utf8Start[number &* 2 &+ 1]
    }

    /// Appends the sixteen hexadecimal digits of `word`, eight at a time.
    mutating func appendDigits(ofHex word: UInt64) {
        let room = UnsafeMutableRawPointer(buffer.reserve(16))
        room.storeBytes(of: hexDigits(of: word >> 32).bigEndian, as: UInt64.self)
        room.storeBytes(of: hexDigits(of: word).bigEndian, toByteOffset: 8, as: UInt64.self)
        buffer.commit(16)
    }
}

/// The hexadecimal digits of the lower half of `word` as text, the first in the highest byte.
@inline(__always)
private func hexDigits(of word: UInt64) -> UInt64 {
    // Spread the eight nibbles over eight bytes, halving the distance each time.
    var nibbles = word & 0xFFFF_FFFF
    nibbles = (nibbles << 16 | nibbles) & 0x0000_FFFF_0000_FFFF
    nibbles = (nibbles << 8 | nibbles) & 0x00FF_00FF_00FF_00FF
    nibbles = (nibbles << 4 | nibbles) & 0x0F0F_0F0F_0F0F_0F0F
    // Adding six carries into the next bit for ten and more: those need letters.
    let letters = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return nibbles &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
}

extension UnsafeRawBufferPointer {
    /// The index of the first byte from `start` on that must be escaped, or the end.
    @inline(__always)
    fileprivate func firstEscaped(from start: Int) -> Int {
        var index = start
        while index &+ 8 <= count {
            let word = loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let marks = markEscapedBytes(UInt64(littleEndian: word))
            if marks != 0 { return index &+ marks.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < count, self[index] >= 0x20, self[index] != 0x22, self[index] != 0x5C {
            index &+= 1
        }
        return index
    }
}
