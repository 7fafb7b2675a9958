// The words of a step, to be taken one after the other.

import CallModel

/// A step's text as words: bare ones, texts in quotes, commas, and JSON up to the line's end.
struct StepReader {
    private enum Word: Equatable {
        case bare(String)
        case text(String)
        case comma
    }

    private let words: [Word]
    private var place = 0
    let line: Int

    init(_ text: String, line: Int) throws(ScenarioError) {
        self.line = line
        var words: [Word] = []
        var rest = Substring(text)
        while let first = rest.first {
            switch first {
            case " ": rest = rest.dropFirst()
            case ",":
                words.append(.comma)
                rest = rest.dropFirst()
            case "\"", "'": words.append(.text(try Self.quoted(&rest, by: first, line)))
            case "{", "[":
                words.append(.text(String(rest)))
                rest = ""
            default:
                let word = rest.prefix { $0 != " " && $0 != "," }
                words.append(.bare(String(word)))
                rest = rest[word.endIndex...]
            }
        }
        self.words = words
    }

    private static func quoted(
        _ rest: inout Substring, by quote: Character, _ line: Int
    ) throws(ScenarioError) -> String {
        let start = rest.index(after: rest.startIndex)
        guard let end = rest[start...].firstIndex(of: quote) else {
            throw ScenarioError(line: line, "a text without its closing quote")
        }
        defer { rest = rest[rest.index(after: end)...] }
        return String(rest[start..<end])
    }

    var isAtEnd: Bool { place == words.count }

    /// Takes the next word, which is `what`.
    mutating func next(_ what: String) throws(ScenarioError) -> String {
        guard place < words.count else { throw expected(what) }
        switch words[place] {
        case .bare(let word), .text(let word):
            place += 1
            return word
        case .comma: throw expected(what)
        }
    }

    /// Takes the next word if it is `word`.
    mutating func take(_ word: String) -> Bool {
        guard place < words.count, words[place] == .bare(word) else { return false }
        place += 1
        return true
    }

    /// Takes a comma if it is next.
    mutating func takeComma() -> Bool {
        guard place < words.count, words[place] == .comma else { return false }
        place += 1
        return true
    }

    /// Takes `word`, which has to be there.
    mutating func must(_ word: String) throws(ScenarioError) {
        guard take(word) else { throw expected("`\(word)`") }
    }

    /// Takes the word after `word`, if that is next.
    mutating func value(after word: String) throws(ScenarioError) -> String? {
        take(word) ? try next("a value of `\(word)`") : nil
    }

    /// Takes words with commas between.
    mutating func list(_ what: String) throws(ScenarioError) -> [String] {
        var list = [try next(what)]
        while takeComma() { list.append(try next(what)) }
        return list
    }

    /// Takes what is left, word by word.
    mutating func rest() throws(ScenarioError) -> [String] {
        var rest: [String] = []
        while !isAtEnd {
            if words[place] == .comma { place += 1 } else { rest.append(try next("a word")) }
        }
        return rest
    }

    func end() throws(ScenarioError) {
        guard isAtEnd else { throw expected("the end of the line") }
    }

    func expected(_ what: String) -> ScenarioError {
        let found: String
        switch place < words.count ? words[place] : nil {
        case .bare(let word): found = "`\(word)`"
        case .text(let text): found = "\"\(text)\""
        case .comma: found = "a comma"
        case nil: found = "the end of the line"
        }
        return ScenarioError(line: line, "expected \(what), found \(found)")
    }
}

/// A length of time as people write it: `250ms`, `30s`, `5m`, `24h`.
func span(_ text: String) -> Milliseconds? {
    let units: [(String, Milliseconds)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000),
    ]
    for (unit, size) in units where text.hasSuffix(unit) {
        if let number = Int64(text.dropLast(unit.count)) { return number * size }
    }
    return nil
}

/// A length of time in the greatest unit that needs no fraction.
func written(_ span: Milliseconds) -> String {
    if span % 3_600_000 == 0, span != 0 { return "\(span / 3_600_000)h" }
    return span % 1_000 == 0 ? "\(span / 1_000)s" : "\(span)ms"
}

/// The device that a scenario calls `text`: `bob/laptop`, or `bob` for bob's phone.
func address(_ text: String) -> Address {
    let parts = text.split(separator: "/", maxSplits: 1)
    return Address(
        UserID(parts.first.map(String.init) ?? ""),
        DeviceID(parts.count == 2 ? String(parts[1]) : "phone"))
}

/// How a scenario calls a device.
func written(_ address: Address) -> String {
    address.device.text == "phone" ? address.user.text : "\(address.user)/\(address.device)"
}
