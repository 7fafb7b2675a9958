// Splits Swift or C into tokens and comments, so that no rule trips over a string or a remark.

/// A word or a sign of the code. String literals appear as a single `"`.
struct Token: Sendable {
    let text: Substring
    let line: Int
    /// Whether nothing stands between this token and the one before.
    let isJoined: Bool

    var isWord: Bool { text.utf8.first.map(CodeText.isWordByte) ?? false }
}

/// A comment without its slashes.
struct Comment: Sendable {
    let text: Substring
    let line: Int
    /// `///` or `/**`.
    let isDocumentation: Bool
    /// Whether code stands before it on its line.
    let trailsCode: Bool
}

/// The tokens and comments of one file.
struct CodeText: Sendable {
    private(set) var tokens: [Token] = []
    private(set) var comments: [Comment] = []

    /// - Parameter characterLiterals: whether `'x'` is a literal, as in C.
    init(_ text: String, characterLiterals: Bool) {
        var scanner = Scanner(text: text, characterLiterals: characterLiterals)
        while scanner.at < scanner.bytes.count { scanner.step(into: &self) }
    }

    /// The lines on which the given tokens stand in a row.
    func lines(where pattern: [String]) -> [Int] {
        guard tokens.count >= pattern.count else { return [] }
        return (0...(tokens.count - pattern.count)).compactMap { start in
            for (offset, word) in pattern.enumerated() where tokens[start + offset].text != word {
                return nil
            }
            return tokens[start].line
        }
    }

    /// The index of the bracket that closes the one at `open`; the last index if none does.
    func closing(_ open: Int) -> Int {
        var depth = 0
        for index in open..<tokens.count {
            switch tokens[index].text {
            case "(", "[", "{": depth += 1
            case ")", "]", "}": depth -= 1
            default: continue
            }
            if depth == 0 { return index }
        }
        return tokens.count - 1
    }

    static func isWordByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...: true
        default: false
        }
    }

    fileprivate mutating func append(_ token: Token) { tokens.append(token) }
    fileprivate mutating func append(_ comment: Comment) { comments.append(comment) }
}

/// Walks over the bytes of a file, one token, comment or blank at a time.
private struct Scanner {
    let text: String
    let bytes: [UInt8]
    let characterLiterals: Bool
    var at = 0
    var line = 1
    var lineOfLastToken = 0
    var endOfLastToken = -1

    init(text: String, characterLiterals: Bool) {
        self.text = text
        self.bytes = Array(text.utf8)
        self.characterLiterals = characterLiterals
    }

    mutating func step(into code: inout CodeText) {
        if bytes[at] == UInt8(ascii: "\n") {
            line += 1
            at += 1
        } else if bytes[at] <= UInt8(ascii: " ") {
            at += 1
        } else if looks(at: "//") {
            lineComment(into: &code)
        } else if looks(at: "/*") {
            blockComment(into: &code)
        } else if let hashes = stringStart() {
            emit(into: &code, length: 0, as: "\"")
            skipString(hashes: hashes)
        } else if characterLiterals && looks(at: "'") {
            emit(into: &code, length: 0, as: "'")
            skipQuoted(by: UInt8(ascii: "'"))
        } else {
            emit(into: &code, length: tokenLength())
        }
    }

    func looks(at pattern: StaticString) -> Bool {
        guard at + pattern.utf8CodeUnitCount <= bytes.count else { return false }
        return (0..<pattern.utf8CodeUnitCount).allSatisfy {
            bytes[at + $0] == pattern.utf8Start[$0]
        }
    }

    private func slice(_ range: Range<Int>) -> Substring {
        let start = text.utf8.index(text.startIndex, offsetBy: range.lowerBound)
        let end = text.utf8.index(start, offsetBy: range.count)
        return text[start..<end]
    }

    private mutating func emit(into code: inout CodeText, length: Int, as name: Substring? = nil) {
        let text = name ?? slice(at..<at + length)
        code.append(Token(text: text, line: line, isJoined: at == endOfLastToken))
        lineOfLastToken = line
        at += length
        endOfLastToken = at
    }

    private func tokenLength() -> Int {
        if looks(at: "->") { return 2 }
        var end = at
        while end < bytes.count, CodeText.isWordByte(bytes[end]) { end += 1 }
        return max(1, end - at)
    }

    private mutating func lineComment(into code: inout CodeText) {
        let isDocumentation = looks(at: "///")
        let start = at + (isDocumentation ? 3 : 2)
        while at < bytes.count, bytes[at] != UInt8(ascii: "\n") { at += 1 }
        code.append(
            Comment(
                text: slice(min(start, at)..<at), line: line, isDocumentation: isDocumentation,
                trailsCode: lineOfLastToken == line))
    }

    /// Swift's block comments nest; C's do not, but no sane C has `/*` in one.
    private mutating func blockComment(into code: inout CodeText) {
        let isDocumentation = looks(at: "/**")
        let (start, firstLine) = (at + 2, line)
        var depth = 0
        repeat {
            if looks(at: "/*") { depth += 1 } else if looks(at: "*/") { depth -= 1 }
            at += looks(at: "/*") || looks(at: "*/") ? 2 : 1
            if at < bytes.count, bytes[at] == UInt8(ascii: "\n") { line += 1 }
        } while depth > 0 && at < bytes.count
        code.append(
            Comment(
                text: slice(start..<max(start, at - 2)), line: firstLine,
                isDocumentation: isDocumentation, trailsCode: lineOfLastToken == firstLine))
    }

    /// The number of `#` of a string literal that starts here; nil if none does.
    private func stringStart() -> Int? {
        var end = at
        while end < bytes.count, bytes[end] == UInt8(ascii: "#") { end += 1 }
        return end < bytes.count && bytes[end] == UInt8(ascii: "\"") ? end - at : nil
    }

    private mutating func skipString(hashes: Int) {
        at += hashes
        let isMultiline = looks(at: "\"\"\"")
        at += isMultiline ? 3 : 1
        while at < bytes.count {
            if bytes[at] == UInt8(ascii: "\n") { line += 1 }
            if bytes[at] == UInt8(ascii: "\\"), hasHashes(hashes, after: at + 1) {
                skipEscape(hashes: hashes)
            } else if isMultiline ? looks(at: "\"\"\"") : looks(at: "\""),
                hasHashes(hashes, after: at + (isMultiline ? 3 : 1))
            {
                at += (isMultiline ? 3 : 1) + hashes
                return
            } else {
                at += 1
            }
        }
    }

    private func hasHashes(_ count: Int, after start: Int) -> Bool {
        start + count <= bytes.count
            && bytes[start..<start + count].allSatisfy { $0 == UInt8(ascii: "#") }
    }

    /// An escape, with all of `\( … )` when it is an interpolation.
    private mutating func skipEscape(hashes: Int) {
        at += 1 + hashes
        guard looks(at: "(") else {
            if at < bytes.count, bytes[at] != UInt8(ascii: "\n") { at += 1 }
            return
        }
        var depth = 0
        repeat {
            if let inner = stringStart() {
                skipString(hashes: inner)
                continue
            }
            if looks(at: "(") { depth += 1 } else if looks(at: ")") { depth -= 1 }
            if looks(at: "\n") { line += 1 }
            at += 1
        } while depth > 0 && at < bytes.count
    }

    private mutating func skipQuoted(by quote: UInt8) {
        at += 1
        while at < bytes.count, bytes[at] != quote {
            at += bytes[at] == UInt8(ascii: "\\") ? 2 : 1
        }
        at = min(at + 1, bytes.count)
    }
}
