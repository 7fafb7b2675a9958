// Splits Lua 5.4 into words.

/// A word of Lua with the line that it ends on.
struct LuaToken: Equatable {
    enum Kind: Equatable { case name, keyword, text, number, symbol, end }

    let kind: Kind
    let text: String
    let line: Int
}

/// Reads a file that Lua has compiled already: what is wrong in it is not told again.
struct LuaLexer {
    private let bytes: [UInt8]
    private var place = 0
    private var line = 1

    private static let keywords: Set<String> = [
        "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if",
        "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
    ]
    private static let symbols = [
        "...", "..", "==", "~=", "<=", ">=", "<<", ">>", "//", "::",
    ].map { Array($0.utf8) }

    /// All words of `bytes`, with one of the kind `end` behind them.
    static func tokens(of bytes: [UInt8]) -> [LuaToken] {
        var lexer = LuaLexer(bytes: bytes)
        if bytes.first == UInt8(ascii: "#") { lexer.skipLine() }
        var tokens: [LuaToken] = []
        while let token = lexer.next() { tokens.append(token) }
        return tokens + [LuaToken(kind: .end, text: "", line: lexer.line)]
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
            let text = text(from: start)
            let isKeyword = Self.keywords.contains(text)
            return LuaToken(kind: isKeyword ? .keyword : .name, text: text, line: line)
        }
        if Self.isDigit(byte) || (byte == UInt8(ascii: ".") && Self.isDigit(peek(1))) {
            return number()
        }
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") { return quoted(byte) }
        if let level = bracketLevel() {
            return LuaToken(kind: .text, text: long(level), line: line)
        }
        let symbol = Self.symbols.first { bytes[start...].starts(with: $0) }
        place += symbol?.count ?? 1
        return LuaToken(kind: .symbol, text: text(from: start), line: line)
    }

    private func text(from start: Int) -> String {
        String(decoding: bytes[start..<min(place, bytes.count)], as: UTF8.self)
    }

    private mutating func skipLine() {
        while place < bytes.count, peek() != UInt8(ascii: "\n") { place += 1 }
    }

    private mutating func skipSpace() {
        while place < bytes.count {
            let byte = peek()
            if byte == UInt8(ascii: "-"), peek(1) == UInt8(ascii: "-") {
                place += 2
                if let level = bracketLevel() { _ = long(level) } else { skipLine() }
            } else if byte <= 0x20 {
                if byte == UInt8(ascii: "\n") { line += 1 }
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
        let close =
            [UInt8(ascii: "]")] + Array(repeating: UInt8(ascii: "="), count: level)
            + [UInt8(ascii: "]")]
        while place < bytes.count, !bytes[place...].starts(with: close) {
            if peek() == UInt8(ascii: "\n") { line += 1 }
            place += 1
        }
        let text = text(from: start)
        place += close.count
        return text
    }

    /// The text is as it is written: escapes matter to nobody here.
    private mutating func quoted(_ quote: UInt8) -> LuaToken {
        place += 1
        let start = place
        while place < bytes.count, peek() != quote {
            if peek() == UInt8(ascii: "\\") { place += 1 }
            if peek() == UInt8(ascii: "\n") { line += 1 }
            place += 1
        }
        let text = text(from: start)
        place += 1
        return LuaToken(kind: .text, text: text, line: line)
    }

    private mutating func number() -> LuaToken {
        let start = place
        while Self.isLetter(peek()) || Self.isDigit(peek()) || peek() == UInt8(ascii: ".")
            || (peek() == UInt8(ascii: "-") || peek() == UInt8(ascii: "+"))
                && isExponent(from: start)
        {
            place += 1
        }
        return LuaToken(kind: .number, text: text(from: start), line: line)
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
