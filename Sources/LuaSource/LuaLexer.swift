// Splits Lua 5.4 into words.

/// Reads any bytes: what is no Lua becomes words that nothing begins with.
package struct LuaLexer {
    private let bytes: [UInt8]
    private var place = 0
    private var comments: [Range<Int>] = []
    private var isAtLineStart = true

    package static let keywords: Set<String> = [
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if",
        "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
    ]
    private static let symbols = [
        "...", "..", "==", "~=", "<=", ">=", "<<", ">>", "//", "::",
    ].map { Array($0.utf8) }

    /// All words of `bytes`, with one of the kind `end` behind them, and the places of comments.
    package static func words(
        of bytes: [UInt8]
    ) -> (tokens: [LuaToken], comments: [Range<Int>]) {
        var lexer = LuaLexer(bytes: bytes)
        if bytes.first == UInt8(ascii: "#") { lexer.skipComment(from: 0) }
        var tokens: [LuaToken] = []
        while var token = lexer.next() {
            token.isFirst = lexer.isAtLineStart
            lexer.isAtLineStart = false
            tokens.append(token)
        }
        let end = bytes.count..<bytes.count
        return (tokens + [LuaToken(kind: .end, text: "", range: end)], lexer.comments)
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    private func peek(_ ahead: Int = 0) -> UInt8 {
        place + ahead < bytes.count ? bytes[place + ahead] : 0
    }

    private mutating func next() -> LuaToken? {
        skipSpace()
        guard place < bytes.count else { return nil }
        let start = place
        let byte = peek()
        if Self.isLetter(byte) {
            while Self.isLetter(peek()) || Self.isDigit(peek()) { place += 1 }
            let isKeyword = Self.keywords.contains(text(from: start))
            return token(isKeyword ? .keyword : .name, from: start)
        }
        if Self.isDigit(byte) || (byte == UInt8(ascii: ".") && Self.isDigit(peek(1))) {
            skipNumber()
            return token(.number, from: start)
        }
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") { return quoted(byte) }
        if let level = bracketLevel() {
            let text = long(level)
            return LuaToken(kind: .text, text: text, range: start..<place)
        }
        let symbol = Self.symbols.first { bytes[start...].starts(with: $0) }
        place += symbol?.count ?? 1
        return token(.symbol, from: start)
    }

    private func token(_ kind: LuaToken.Kind, from start: Int) -> LuaToken {
        LuaToken(kind: kind, text: text(from: start), range: start..<place)
    }

    private func text(from start: Int) -> String {
        String(decoding: bytes[start..<min(place, bytes.count)], as: UTF8.self)
    }

    private mutating func skipComment(from start: Int) {
        while place < bytes.count, peek() != UInt8(ascii: "\n") { place += 1 }
        comments.append(start..<place)
    }

    private mutating func skipSpace() {
        while place < bytes.count {
            let byte = peek()
            if byte == UInt8(ascii: "-"), peek(1) == UInt8(ascii: "-") {
                let start = place
                place += 2
                if let level = bracketLevel() {
                    _ = long(level)
                    comments.append(start..<place)
                } else {
                    skipComment(from: start)
                }
            } else if byte <= 0x20 {
                isAtLineStart = isAtLineStart || byte == UInt8(ascii: "\n")
                place += 1
            } else {
                return
            }
        }
    }

    /// The number of `=` in a long bracket that opens here.
    private func bracketLevel() -> Int? {
        guard peek() == UInt8(ascii: "[") else { return nil }
        var level = 0
        while peek(1 + level) == UInt8(ascii: "=") { level += 1 }
        return peek(1 + level) == UInt8(ascii: "[") ? level : nil
    }

    private mutating func long(_ level: Int) -> String {
        place += level + 2
        let start = place
        let bracket = UInt8(ascii: "]")
        while place < bytes.count {
            if peek() == bracket, peek(level + 1) == bracket,
                (0..<level).allSatisfy({ peek(1 + $0) == UInt8(ascii: "=") })
            {
                defer { place += level + 2 }
                return text(from: start)
            }
            place += 1
        }
        return text(from: start)
    }

    /// A text that is not closed ends with its line.
    private mutating func quoted(_ quote: UInt8) -> LuaToken {
        let start = place
        place += 1
        while place < bytes.count, peek() != quote, peek() != UInt8(ascii: "\n") {
            if peek() == UInt8(ascii: "\\") { skipEscape() } else { place += 1 }
        }
        let inside = String(decoding: bytes[start + 1..<place], as: UTF8.self)
        if peek() == quote { place += 1 }
        return LuaToken(kind: .text, text: inside, range: start..<place)
    }

    /// `\z` swallows spaces and ends of lines; a backslash before an end of line keeps it.
    private mutating func skipEscape() {
        let isGap = peek(1) == UInt8(ascii: "z")
        place = min(place + 2, bytes.count)
        while isGap, place < bytes.count, peek() <= 0x20 { place += 1 }
    }

    private mutating func skipNumber() {
        let start = place
        while Self.isLetter(peek()) || Self.isDigit(peek()) || peek() == UInt8(ascii: ".")
            || (peek() == UInt8(ascii: "-") || peek() == UInt8(ascii: "+"))
                && isExponent(from: start)
        {
            place += 1
        }
    }

    /// Whether a sign here belongs to the number.
    private func isExponent(from start: Int) -> Bool {
        let isHex = start + 1 < bytes.count && bytes[start + 1] | 0x20 == UInt8(ascii: "x")
        return bytes[place - 1] | 0x20 == UInt8(ascii: isHex ? "p" : "e")
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_")
            || byte | 0x20 >= UInt8(ascii: "a")
                && byte | 0x20 <= UInt8(ascii: "z")
    }
}
