// Writes pieces of JSON to memory that is known to be large enough.

/// A place in memory and what can be written from there on. The writer makes room once for a whole
/// member, so that nothing has to be checked for each of its pieces.
@usableFromInline
struct JSONPen {
    @usableFromInline var next: UnsafeMutablePointer<UInt8>

    @inlinable
    init(_ start: UnsafeMutablePointer<UInt8>) { next = start }

    /// How far the pen is from `start`.
    @inlinable
    func distance(from start: UnsafeMutablePointer<UInt8>) -> Int { next - start }

    @inlinable @inline(__always)
    mutating func put(_ byte: UInt8) {
        next.pointee = byte
        next += 1
    }

    @inlinable @inline(__always)
    mutating func put(_ text: StaticString) {
        copy(text.utf8Start, text.utf8CodeUnitCount, to: next)
        next += text.utf8CodeUnitCount
    }

    @inline(__always)
    mutating func put(_ text: UnsafeBufferPointer<UInt8>) {
        guard let start = text.baseAddress else { return }
        copy(start, text.count, to: next)
        next += text.count
    }

    // MARK: Names

    /// The bytes of a member name with its quotes, colon and a comma before it.
    @inlinable
    static func room(forName name: StaticString) -> Int { name.utf8CodeUnitCount + 4 }

    /// A member name that needs no escapes.
    @inlinable @inline(__always)
    mutating func name(_ name: StaticString, comma: Bool) {
        assert(Self.isPlain(name), "a name with escapes")
        // Written in any case: what comes next overwrites a comma that is not wanted.
        next.pointee = UInt8(ascii: ",")
        next += comma ? 1 : 0
        put(UInt8(ascii: "\""))
        put(name)
        put(UInt8(ascii: "\""))
        put(UInt8(ascii: ":"))
    }

    @usableFromInline
    static func isPlain(_ name: StaticString) -> Bool {
        name.withUTF8Buffer { firstEscaped(in: $0, from: 0) == $0.count }
    }

    // MARK: Strings

    /// The most bytes of a string with its quotes and escapes; without escapes exactly those.
    @inline(__always)
    static func room(forString text: UnsafeBufferPointer<UInt8>) -> Int {
        let raw = UnsafeRawBufferPointer(text)
        var index = 0
        var marks: UInt64 = 0
        while index &+ 8 <= raw.count {
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            marks |= markEscapedBytes(UInt64(littleEndian: word))
            index &+= 8
        }
        if index < raw.count { marks |= markEscapedBytes(lastWord(of: raw)) }
        return raw.count &+ 2 &+ (marks == 0 ? 0 : roomForEscapes(in: raw))
    }

    /// What the escapes of a text take beyond its bytes.
    @inline(never)
    private static func roomForEscapes(in raw: UnsafeRawBufferPointer) -> Int {
        // To count takes longer than to have room that is not used.
        guard raw.count > 256 else { return raw.count &* (longestEscape - 1) }
        var index = 0
        var escapes = 0
        while index &+ 8 <= raw.count {
            // May count bytes behind an escape too, never too few.
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            escapes &+= markEscapedBytes(UInt64(littleEndian: word)).nonzeroBitCount
            index &+= 8
        }
        if index < raw.count {
            escapes &+= markEscapedBytes(lastWord(of: raw)).nonzeroBitCount
        }
        return escapes &* (longestEscape - 1)
    }

    /// The last eight bytes of a text that is not empty; a shorter one is filled up with its own
    /// bytes and with spaces.
    @inline(__always)
    private static func lastWord(of raw: UnsafeRawBufferPointer) -> UInt64 {
        let count = raw.count
        if count >= 8 { return raw.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self) }
        if count >= 4 {
            let head = raw.loadUnaligned(fromByteOffset: 0, as: UInt32.self)
            let tail = raw.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)
            return UInt64(head) | UInt64(tail) << 32
        }
        let ends = UInt64(raw[0]) | UInt64(raw[count / 2]) << 8 | UInt64(raw[count &- 1]) << 16
        return ends | 0x2020_2020_2000_0000
    }

    /// The bytes of `\u0000`.
    private static let longestEscape = 6

    /// A string; `room` is what `room(forString:)` says.
    @usableFromInline
    mutating func string(_ text: UnsafeBufferPointer<UInt8>, room: Int) {
        put(UInt8(ascii: "\""))
        if room == text.count + 2 {
            put(text)
        } else {
            escaped(text)
        }
        put(UInt8(ascii: "\""))
    }

    /// Eight bytes are copied at a time, and only those before the first escape count: there is
    /// room for all that is left.
    private mutating func escaped(_ text: UnsafeBufferPointer<UInt8>) {
        let raw = UnsafeRawBufferPointer(text)
        var index = 0
        while index &+ 8 <= raw.count {
            let word = raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            UnsafeMutableRawPointer(next).storeBytes(of: word, as: UInt64.self)
            let marks = markEscapedBytes(UInt64(littleEndian: word))
            let plain = marks.trailingZeroBitCount / 8
            next += plain
            index &+= plain
            guard plain < 8 else { continue }
            escape(raw[index])
            index &+= 1
        }
        while index < raw.count {
            if Self.isEscaped(raw[index]) { escape(raw[index]) } else { put(raw[index]) }
            index &+= 1
        }
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == 0x22 || byte == 0x5C
    }

    @inline(__always)
    private mutating func escape(_ byte: UInt8) {
        guard byte == 0x22 || byte == 0x5C else { return escapeControl(byte) }
        put(UInt8(ascii: "\\"))
        put(byte)
    }

    @inline(never)
    private mutating func escapeControl(_ byte: UInt8) {
        switch byte {
        case 0x08: put("\\b")
        case 0x09: put("\\t")
        case 0x0A: put("\\n")
        case 0x0C: put("\\f")
        case 0x0D: put("\\r")
        default:
            put("\\u00")
            put(Self.hexDigit(byte >> 4))
            put(Self.hexDigit(byte & 15))
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
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

    // MARK: Other values

    /// The most digits of an integer and its sign.
    @inlinable static var roomForInteger: Int { 20 }

    /// An integer.
    @usableFromInline
    mutating func integer(_ value: Int64) {
        if value < 0 { put(UInt8(ascii: "-")) }
        // Written from the end of the room, then moved: that is less than to count digits first.
        let end = next + (Self.roomForInteger - 1)
        var rest = value.magnitude
        var place = end
        while rest >= 100 {
            let (quotient, pair) = rest.quotientAndRemainder(dividingBy: 100)
            place -= 2
            Self.put(pair: Int(truncatingIfNeeded: pair), at: place)
            rest = quotient
        }
        if rest >= 10 {
            place -= 2
            Self.put(pair: Int(truncatingIfNeeded: rest), at: place)
        } else {
            place -= 1
            place.pointee = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest)
        }
        let count = end - place
        copy(place, count, to: next)
        next += count
    }

    /// The two digits of a number below 100.
    @inline(__always)
    private static func put(pair: Int, at place: UnsafeMutablePointer<UInt8>) {
        let pairs: StaticString = """
            00010203040506070809101112131415161718192021222324252627282930313233343536373839\
            40414243444546474849505152535455565758596061626364656667686970717273747576777879\
            8081828384858687888990919293949596979899
            """
        copy(pairs.utf8Start + pair * 2, 2, to: place)
    }

    /// The sixteen hexadecimal digits of `word`.
    mutating func digits(ofHex word: UInt64) {
        let target = UnsafeMutableRawPointer(next)
        target.storeBytes(of: Self.hexDigits(of: word >> 32).bigEndian, as: UInt64.self)
        target.storeBytes(
            of: Self.hexDigits(of: word).bigEndian, toByteOffset: 8, as: UInt64.self)
        next += 16
    }

    /// The eight hexadecimal digits of the lower half of `word` as text, the first in the highest
    /// byte.
    @inline(__always)
    private static func hexDigits(of word: UInt64) -> UInt64 {
        // Spread the nibbles over the bytes, halving the distance each time.
        var nibbles = word & 0xFFFF_FFFF
        nibbles = (nibbles << 16 | nibbles) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles << 8 | nibbles) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles << 4 | nibbles) & 0x0F0F_0F0F_0F0F_0F0F
        // Adding six carries into the next bit for ten and more: those are letters.
        let letters = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return nibbles &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
    }
}
