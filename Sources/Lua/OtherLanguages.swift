// Words of other languages, where Lua's message does not say what Lua has instead.

extension ScriptProblem {
    /// The same, with what Lua has instead where the line has a word of another language.
    ///
    /// - Parameter source: the file in which the fault is.
    package func naming(wordsIn source: [UInt8]) -> ScriptProblem {
        guard let line, let near = Self.word(near: text) else { return self }
        let lines = source.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.indices.contains(line - 1) else { return self }
        let words = String(decoding: lines[line - 1], as: UTF8.self)
        guard let hint = Self.hint(near, in: words) else { return self }
        return ScriptProblem("\(text) (\(hint))", file: file, line: line)
    }

    /// What Lua had not expected: `!` of `'then' expected near '!'`.
    private static func word(near text: String) -> Substring? {
        let parts = text.split(separator: " ").suffix(2)
        guard parts.first == "near", let last = parts.last, last.count > 2, last.hasPrefix("'")
        else { return nil }
        return last.dropFirst().dropLast()
    }

    private static func hint(_ near: Substring, in line: String) -> String? {
        if reserved.contains(near) {
            let isField = line.split(separator: " ").joined().contains("\(near)=")
            return isField ? "a field of this name is ['\(near)'] = …" : nil
        }
        return others.first { word, _ in word.hasPrefix(near) && line.contains(word) }?.hint
    }

    /// The longer ones first.
    private static let others: [(word: String, hint: String)] = [
        ("!=", "Lua writes '~='"), ("!", "Lua writes 'not'"), ("&&", "Lua writes 'and'"),
        ("||", "Lua writes 'or'"), ("//", "a comment begins with '--'"),
        ("/*", "a comment begins with '--'"), ("++", "Lua writes x = x + 1"),
        ("+=", "Lua writes x = x + …"), ("-=", "Lua writes x = x - …"),
        ("*=", "Lua writes x = x * …"), ("/=", "Lua writes x = x / …"),
    ]

    private static let reserved: Set<Substring> = [
        "and", "break", "do", "else", "elseif", "end", "for", "function", "goto", "if", "in",
        "local", "not", "or", "repeat", "return", "then", "until", "while",
    ]
}
