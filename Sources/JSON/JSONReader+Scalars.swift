// Strings, numbers and literals for the pull reader.

/// A number as it was written: an integer that fits, or anything else.
public enum JSONNumber: Equatable, Sendable {
    /// Written without fraction and exponent, and within `Int64`. `-0` is not one.
    case integer(Int64)
    /// Everything else; always finite.
    case double(Double)
}

extension JSONReader {
    /// Reads a string.
    public mutating func readString() throws(JSONError) -> String { try readText().string }

    /// Reads a string and leaves it where it stands.
    public mutating func readText() throws(JSONError) -> JSONText {
        guard try nextByte() == UInt8(ascii: "\"") else { throw try mismatch(.string) }
        return try scanString()
    }

    /// Reads `true` or `false`.
    public mutating func readBool() throws(JSONError) -> Bool {
        switch try peek() {
        case .bool:
            let value = input[position] == UInt8(ascii: "t")
            try readLiteral(value ? "true" : "false")
            return value
        case .object, .array, .string, .number, .null:
            throw try mismatch(.bool)
        }
    }

    /// Reads `null`.
    public mutating func readNull() throws(JSONError) {
        guard try nextByte() == UInt8(ascii: "n") else { throw try mismatch(.null) }
        try readLiteral("null")
    }

    /// Reads `null` if that is the next value, and tells whether it was.
    public mutating func readNullIfPresent() throws(JSONError) -> Bool {
        guard try peek() == .null else { return false }
        try readNull()
        return true
    }

    private mutating func readLiteral(_ literal: StaticString) throws(JSONError) {
        for index in 0..<literal.utf8CodeUnitCount {
            let place = position + index
            guard place < input.count else { throw JSONError(.endOfInput, at: place) }
            guard input[place] == literal.utf8Start[index] else {
                throw JSONError(.unexpected(input[place], wanted: .literal), at: place)
            }
        }
        position += literal.utf8CodeUnitCount
    }
}

extension JSONReader {
    /// Reads an integer: a number without fraction and exponent that fits into 64 bits.
    public mutating func readInteger() throws(JSONError) -> Int64 {
        let literal = try readNumberLiteral()
        if let value = literal.integer { return value }
        position = literal.start
        throw JSONError(literal.isIntegral ? .integerOutOfRange : .notAnInteger, at: position)
    }

    /// Reads any number as the nearest `Double`; one beyond its range is refused.
    public mutating func readDouble() throws(JSONError) -> Double {
        try double(of: try readNumberLiteral())
    }

    /// Reads any number, integers as integers.
    public mutating func readNumber() throws(JSONError) -> JSONNumber {
        let literal = try readNumberLiteral()
        if let value = literal.integer, !(value == 0 && literal.isNegative) {
            return .integer(value)
        }
        return .double(try double(of: literal))
    }

    private mutating func readNumberLiteral() throws(JSONError) -> NumberLiteral {
        switch try nextByte() {
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try scanNumber()
        default: throw try mismatch(.number)
        }
    }

    private mutating func double(of literal: NumberLiteral) throws(JSONError) -> Double {
        let text = String(decoding: input[literal.start..<literal.end], as: UTF8.self)
        guard let value = Double(text), value.isFinite else {
            position = literal.start
            throw JSONError(.numberOutOfRange, at: position)
        }
        return value
    }
}

/// A number that was found to follow the grammar, and its value if that is an integer.
struct NumberLiteral {
    var start: Int
    var end: Int
    var isNegative: Bool
    /// Whether there is neither fraction nor exponent.
    var isIntegral: Bool
    /// The value, unless it is no integer or does not fit.
    var integer: Int64?
}

extension JSONReader {
    /// Reads the number at `position` by the grammar of RFC 8259 section 6.
    mutating func scanNumber() throws(JSONError) -> NumberLiteral {
        let start = position
        var literal = NumberLiteral(start: start, end: start, isNegative: false, isIntegral: true)
        if input[position] == UInt8(ascii: "-") {
            literal.isNegative = true
            position += 1
        }
        let digits = position
        literal.integer = try scanDigits(negative: literal.isNegative)
        if input[digits] == UInt8(ascii: "0"), position > digits + 1 {
            throw JSONError(.leadingZero, at: digits)
        }
        if position < input.count, input[position] == UInt8(ascii: ".") {
            position += 1
            literal.isIntegral = false
            _ = try scanDigits(negative: false)
        }
        if position < input.count, input[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            literal.isIntegral = false
            skipSign()
            _ = try scanDigits(negative: false)
        }
        if !literal.isIntegral { literal.integer = nil }
        literal.end = position
        return literal
    }

    private mutating func skipSign() {
        guard position < input.count else { return }
        let byte = input[position]
        if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") { position += 1 }
    }

    /// Reads one digit or more; the value is nil when it does not fit. Negative numbers are
    /// summed up downwards, because `Int64.min` has no positive counterpart.
    private mutating func scanDigits(negative: Bool) throws(JSONError) -> Int64? {
        guard position < input.count else { throw JSONError(.endOfInput, at: position) }
        guard Self.isDigit(input[position]) else {
            throw JSONError(.unexpected(input[position], wanted: .digit), at: position)
        }
        var value: Int64 = 0
        var overflow = false
        while position < input.count, Self.isDigit(input[position]) {
            let digit = Int64(input[position] &- UInt8(ascii: "0"))
            let (tens, lost) = value.multipliedReportingOverflow(by: 10)
            let (sum, lostToo) =
                negative
                ? tens.subtractingReportingOverflow(digit) : tens.addingReportingOverflow(digit)
            overflow = overflow || lost || lostToo
            value = sum
            position &+= 1
        }
        return overflow ? nil : value
    }

    @inline(__always)
    private static func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10
    }
}
