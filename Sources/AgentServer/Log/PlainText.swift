// Text from others, shown to the operator.

import Lua

extension String {
    /// The text on one line. It cannot break the line, control the terminal or change the direction
    /// of the text behind it.
    public var onOneLine: String {
        let isPlain = utf8.allSatisfy { 0x20..<0x7F ~= $0 }
        if isPlain { return self }
        return String(UnicodeScalarView(unicodeScalars.map { $0.isShown ? $0 : " " }))
    }

    /// The text as the value of a field: in quotes where its end would not be clear.
    var asFieldValue: String {
        let text = onOneLine
        guard text.isEmpty || text.contains(where: { " \"\\=".contains($0) }) else { return text }
        let escaped = text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
        return "\"\(String(escaped))\""
    }
}

extension [UInt8] {
    /// JSON in which nothing can control the terminal or change the direction of the text behind
    /// it: that is escaped, and so it is the same text for whoever reads JSON.
    public var escapingUnshown: [UInt8] {
        guard contains(where: { $0 >= 0x7F }) else { return self }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(2 * count)  // a scalar of three bytes becomes six
        for scalar in String(decoding: self, as: UTF8.self).unicodeScalars {
            if scalar.value < 0x7F {
                bytes.append(UInt8(scalar.value))
            } else if scalar.isShown {
                for unit in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                    bytes.append(unit)
                }
            } else {
                for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                    bytes.appendEscape(of: unit)
                }
            }
        }
        return bytes
    }

    /// As in JSON: `\u`, and four hexadecimal digits.
    private mutating func appendEscape(of unit: UInt16) {
        append(UInt8(ascii: "\\"))
        append(UInt8(ascii: "u"))
        for shift in stride(from: 12, through: 0, by: -4) {
            let digit = UInt8(unit >> shift & 0xF)
            append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}
