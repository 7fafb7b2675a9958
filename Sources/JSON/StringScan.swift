// Finds the end of a string eight bytes at a time, and checks its escapes and its UTF-8.

/// Marks (0x80 in its byte) the first byte of `word` that needs a closer look inside a string: a
/// quote, a backslash, a control character or a non-ASCII byte. Bytes above the first mark may be
/// marked wrongly, because the subtraction borrows from them; only the lowest mark counts.
@inline(__always)
func markSpecialBytes(_ word: UInt64) -> UInt64 {
    markEscapedBytes(word) | (word & 0x8080_8080_8080_8080)
}

/// The same for the bytes that a writer must escape: quote, backslash and control characters.
@inline(__always)
func markEscapedBytes(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quote = word ^ (0x22 &* ones)
    let backslash = word ^ (0x5C &* ones)
    let marks =
        ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
        | ((word &- (0x20 &* ones)) & ~word)
    return marks & (0x80 &* ones)
}

/// Marks the first backslash of `word`; as above, only the lowest mark counts.
@inline(__always)
func markBackslashes(_ word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let backslash = word ^ (0x5C &* ones)
    return (backslash &- ones) & ~backslash & (0x80 &* ones)
}

extension JSONReader {
    /// Reads a string whose opening quote is at `position`, checks all of it, and leaves the
    /// position after the closing quote.
    mutating func scanString() throws(JSONError) -> JSONText {
        let start = position + 1
        var index = start
        var hasEscapes = false
        while true {
            index = skipPlain(from: index)
            guard index < input.count else { throw JSONError(.endOfInput, at: input.count) }
            switch input[index] {
            case UInt8(ascii: "\""):
                position = index + 1
                let slice = UnsafeRawBufferPointer(rebasing: input[start..<index])
                return JSONText(raw: slice, hasEscapes: hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                index = try checkEscape(at: index)
            case let byte where byte < 0x20:
                throw JSONError(.controlCharacter(byte), at: index)
            default:
                index += try checkScalar(at: index)
            }
        }
    }

    /// The index of the first byte from `start` on that is not plain ASCII text, or the end.
    @inline(__always)
    private func skipPlain(from start: Int) -> Int {
        var index = start
        while index &+ 8 <= input.count {
            let word = input.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let marks = markSpecialBytes(UInt64(littleEndian: word))
            if marks != 0 { return index &+ marks.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < input.count, Self.isPlain(input[index]) { index &+= 1 }
        return index
    }

    @inline(__always)
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x80 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// Checks the escape at `index` and returns the index after it.
    private func checkEscape(at index: Int) throws(JSONError) -> Int {
        guard index + 1 < input.count else { throw JSONError(.endOfInput, at: input.count) }
        switch input[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return index + 2
        case UInt8(ascii: "u"):
            return try checkUnicodeEscape(at: index)
        default:
            throw JSONError(.invalidEscape, at: index)
        }
    }

    private func checkUnicodeEscape(at index: Int) throws(JSONError) -> Int {
        let unit = try checkedUnit(at: index)
        switch unit {
        case 0xD800..<0xDC00:
            let next = index + 6
            guard next < input.count else { throw JSONError(.endOfInput, at: input.count) }
            guard input[next] == UInt8(ascii: "\\") else {
                throw JSONError(.loneSurrogate, at: index)
            }
            guard next + 1 < input.count else { throw JSONError(.endOfInput, at: input.count) }
            guard input[next + 1] == UInt8(ascii: "u") else {
                throw JSONError(.loneSurrogate, at: index)
            }
            guard (0xDC00..<0xE000).contains(try checkedUnit(at: next)) else {
                throw JSONError(.loneSurrogate, at: index)
            }
            return index + 12
        case 0xDC00..<0xE000:
            throw JSONError(.loneSurrogate, at: index)
        default:
            return index + 6
        }
    }

    /// The value of the `\uXXXX` at `index`.
    private func checkedUnit(at index: Int) throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for offset in 2..<6 {
            guard index + offset < input.count else {
                throw JSONError(.endOfInput, at: input.count)
            }
            guard let digit = hexDigit(input[index + offset]) else {
                throw JSONError(.invalidEscape, at: index)
            }
            unit = unit << 4 | digit
        }
        return unit
    }

    /// The length in bytes of the non-ASCII scalar at `index` (Unicode 15, table 3-7: no
    /// overlong forms, no surrogates, nothing above U+10FFFF).
    private func checkScalar(at index: Int) throws(JSONError) -> Int {
        let second: ClosedRange<UInt8>
        let length: Int
        switch input[index] {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw JSONError(.invalidUTF8, at: index)
        }
        for offset in 1..<length {
            guard index + offset < input.count else {
                throw JSONError(.endOfInput, at: input.count)
            }
            let allowed = offset == 1 ? second : 0x80...0xBF
            guard allowed.contains(input[index + offset]) else {
                throw JSONError(.invalidUTF8, at: index)
            }
        }
        return length
    }
}

/// The value of a hexadecimal digit of either case.
@inline(__always)
func hexDigit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
    default: nil
    }
}
