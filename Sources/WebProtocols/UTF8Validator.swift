// Checks UTF-8 that arrives in pieces, and notices an error at its first byte.

/// An incremental validator (Unicode 15, table 3-7: no overlong forms, no surrogates, nothing above
/// U+10FFFF). Pieces may end inside a scalar.
struct UTF8Validator: Equatable {
    /// How many continuation bytes are still missing.
    private var missing: UInt8 = 0
    /// The range of the next continuation byte.
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    /// Whether what came so far could end here.
    var isComplete: Bool { missing == 0 }

    /// Takes the next piece; false as soon as a byte cannot be part of UTF-8.
    mutating func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var index = 0
        while index < bytes.count {
            if missing == 0 { index = skipASCII(bytes, from: index) }
            guard index < bytes.count else { return true }
            guard step(bytes[index]) else { return false }
            index &+= 1
        }
        return true
    }

    @inline(__always)
    private func skipASCII(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var index = start
        while index &+ 8 <= bytes.count {
            let word = bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            let marks = UInt64(littleEndian: word) & 0x8080_8080_8080_8080
            if marks != 0 { return index &+ marks.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < bytes.count, bytes[index] < 0x80 { index &+= 1 }
        return index
    }

    private mutating func step(_ byte: UInt8) -> Bool {
        guard missing == 0 else {
            guard byte >= lowest, byte <= highest else { return false }
            missing &-= 1
            (lowest, highest) = (0x80, 0xBF)
            return true
        }
        switch byte {
        case 0...0x7F: break
        case 0xC2...0xDF: missing = 1
        case 0xE0: (missing, lowest) = (2, 0xA0)
        case 0xED: (missing, highest) = (2, 0x9F)
        case 0xE1...0xEF: missing = 2
        case 0xF0: (missing, lowest) = (3, 0x90)
        case 0xF1...0xF3: missing = 3
        case 0xF4: (missing, highest) = (3, 0x8F)
        default: return false
        }
        return true
    }

    /// Whether `bytes` as a whole are UTF-8.
    static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var validator = UTF8Validator()
        return validator.accepts(bytes) && validator.isComplete
    }
}
