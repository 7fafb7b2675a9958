// One command line, sorted into operands and options.

import CallClient
import CallModel
import JSON
import Lua

/// Options may stand anywhere, as `--name value` or `--name=value`; what follows `--` are operands.
struct CommandArguments {
    /// The words beside the options.
    private(set) var operands: [String] = []
    private var values: [String: [String]] = [:]

    /// Sorts `words` by what `command` takes.
    init(_ words: some Collection<String>, of command: Command) throws(CommandError) {
        var rest = Array(words)[...]
        while let word = rest.popFirst() {
            if word == "--" {
                operands += rest
                break
            }
            guard word.hasPrefix("-"), word != "-" else {
                operands.append(word)
                continue
            }
            try take(word, &rest, command)
        }
        if !wantsHelp { try check(command.operands) }
    }

    /// Whether help is asked for.
    var wantsHelp: Bool { values["--help"] != nil }

    private mutating func take(
        _ word: String, _ rest: inout ArraySlice<String>, _ command: Command
    ) throws(CommandError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts[0] == "-h" ? "--help" : String(parts[0])
        let known = command.options + [Option("--help", nil, "")]
        guard let option = known.first(where: { $0.name == name }) else {
            let hint = Suggestion.hint(for: name, among: known.map(\.name))
            throw .usage("there is no option '\(name)'\(hint)")
        }
        guard values[name] == nil || option.isRepeatable else {
            throw .usage("\(name) is given twice")
        }
        let value: String
        switch (option.value, parts.count) {
        case (nil, 1): value = ""
        case (nil, _): throw .usage("\(name) takes no value")
        case (_?, 2...): value = String(parts[1])
        case (let expected?, _) where expected.hasPrefix("["):
            let isGiven = rest.first.map { !$0.isEmpty && $0.utf8.allSatisfy(Self.isDigit) }
            value = isGiven == true ? rest.removeFirst() : ""
        case (let expected?, _):
            // A value may begin with one dash, such as a negative number, but not with two.
            guard let next = rest.first, !next.hasPrefix("--") else {
                throw .usage("\(name) needs a value: \(name) \(expected)")
            }
            value = rest.removeFirst()
        }
        values[name, default: []].append(value)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private func check(_ expected: Command.Operands) throws(CommandError) {
        let most: Int
        switch expected {
        case .none: most = 0
        case .optional: most = 1
        case .any: return
        case .one(let name), .several(let name):
            if operands.isEmpty { throw .usage("\(name) is missing") }
            if case .several = expected { return }
            most = 1
        }
        if operands.count > most {
            throw .usage("unexpected word: '\(operands[most])'")
        }
    }
}

// MARK: - Values

extension CommandArguments {
    /// Whether the option is given.
    func has(_ name: String) -> Bool { values[name] != nil }

    /// The option's value as it is.
    func text(_ name: String) -> String? { values[name]?.first }

    /// All values of an option that may be given again, in their order.
    func texts(_ name: String) -> [String] { values[name] ?? [] }

    /// The one of these options that is given, at most one.
    func oneOf(_ names: String...) throws(CommandError) -> String? {
        let given = names.filter { has($0) }
        if given.count > 1 { throw .usage("\(given[0]) and \(given[1]) exclude each other") }
        return given.first
    }

    /// A duration such as `500ms`, in milliseconds.
    func duration(_ name: String) throws(CommandError) -> Milliseconds? {
        guard let text = text(name) else { return nil }
        guard let duration = Span.parse(text) else {
            throw .usage(
                "\(name) takes a duration such as 500ms, 30s or 2m, not '\(text)'")
        }
        return duration
    }

    /// A whole number in `range`.
    func number(_ name: String, in range: ClosedRange<Int>) throws(CommandError) -> Int? {
        guard let text = text(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .usage(
                "\(name) takes a number from \(range.lowerBound) to \(range.upperBound), "
                    + "not '\(text)'")
        }
        return number
    }

    /// A number of bytes such as `64MB`.
    func size(_ name: String) throws(CommandError) -> Int? {
        guard let text = text(name) else { return nil }
        guard let size = ByteSize.parse(text), size > 0 else {
            throw .usage("\(name) takes a size such as 512KB or 64MB, not '\(text)'")
        }
        return size
    }

    /// One of a few words.
    func choice(_ name: String, among words: [String]) throws(CommandError) -> String? {
        guard let text = text(name) else { return nil }
        guard words.contains(text) else {
            let hint = Suggestion.hint(for: text, among: words)
            throw .usage(
                "\(name) takes \(words.joined(separator: ", ")), not '\(text)'\(hint)")
        }
        return text
    }

    /// JSON, passed on as it was written.
    func json(_ name: String) throws(CommandError) -> String? {
        guard let text = text(name) else { return nil }
        do throws(JSONError) {
            _ = try JSONValue(parsing: text)
        } catch {
            throw .usage("\(name) takes JSON: \(error)")
        }
        return text
    }

    /// `--name`: what somebody is called; nil: it is not given.
    func personName() throws(CommandError) -> PersonName? {
        guard let text = text("--name") else { return nil }
        guard let name = PersonName(checking: text) else {
            throw .usage(
                "--name: 1 to \(PersonName.bytesMax) bytes of text on one line, without overrides "
                    + "of direction")
        }
        return name
    }

    /// A user's id.
    static func user(_ text: String, _ role: String) throws(CommandError) -> UserID {
        try identifier(text, role, "user", UserID.init(checking:))
    }

    /// The value of `--device`.
    static func device(_ text: String) throws(CommandError) -> DeviceID {
        try identifier(text, "--device", "device", DeviceID.init(checking:))
    }

    /// The identifier that `make` makes of `text`; `what` names its kind in the error.
    static func identifier<Identifier>(
        _ text: String, _ role: String, _ what: String, _ make: (String) -> Identifier?
    ) throws(CommandError) -> Identifier {
        guard let identifier = make(text) else {
            throw .usage(
                "\(role) '\(text)' is no \(what): 1-64 bytes of printable ASCII without space")
        }
        return identifier
    }
}
