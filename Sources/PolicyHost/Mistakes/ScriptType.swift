// What a value of a script is known to be.

/// A type, as far as it is known. What is not known is `any`, and of that nothing is said.
package indirect enum ScriptType: Equatable, Sendable {
    case any
    case nothing
    case boolean
    /// The number, where it is written.
    case integer(String?)
    case number
    /// The text, where it is written.
    case text(String?)
    /// A text such as `"3s"`.
    case duration
    /// A text such as `"09:00"`.
    case timeOfDay
    case function(Signature?)
    case list(ScriptType)
    /// Names and values of one type.
    case map(ScriptType)
    /// Some table.
    case table
    /// A table with these fields and no others.
    case shape([ScriptMember])
    /// An object of a class of the file for editors.
    case object(String)
    /// A library, such as `log`.
    case library(String)
    /// The options of the plugin; nil: they are not known.
    case options([ScriptMember]?)
    /// What a function such as `reject` makes.
    case decision(String?)
    case either([ScriptType])

    /// What a function takes and gives.
    package struct Signature: Equatable, Sendable {
        /// Without `self`.
        package var parameters: [ScriptMember] = []
        package var results: [ScriptType] = []
        package var isMethod = false
        package var takesMore = false
        /// Whether it gives back what it is given.
        package var isGeneric = false
    }
}

/// A field of an object, an option, or a parameter.
package struct ScriptMember: Equatable, Sendable {
    package var name: String
    package var type: ScriptType
    package var isOptional = false
    /// Its type as it is written.
    package var written = ""
    package var help = ""

    package init(
        name: String, type: ScriptType, isOptional: Bool = false, written: String = "",
        help: String = ""
    ) {
        self.name = name
        self.type = type
        self.isOptional = isOptional
        self.written = written
        self.help = help
    }
}

extension ScriptType {
    /// More than any field has words.
    private static let casesFollowed = 24

    /// One of these, or simply the only one.
    static func either(of types: [ScriptType]) -> ScriptType {
        var all: [ScriptType] = []
        for type in types {
            if case .either(let parts) = type {
                for part in parts where !all.contains(part) { all.append(part) }
            } else if !all.contains(type) {
                all.append(type)
            }
        }
        if all.contains(.any) || all.count > casesFollowed { return .any }
        return all.count == 1 ? all[0] : .either(all)
    }

    /// What it can be.
    package var cases: [ScriptType] { if case .either(let all) = self { all } else { [self] } }

    /// The same where it is there.
    package var present: ScriptType {
        let rest = cases.filter { $0 != .nothing }
        return rest.isEmpty ? self : Self.either(of: rest)
    }

    /// The same without what is written, which may be different the next time.
    var plain: ScriptType {
        switch self {
        case .text: .text(nil)
        case .integer: .integer(nil)
        case .either(let all): .either(of: all.map(\.plain))
        default: self
        }
    }

    /// Whether it may be nil or false.
    var mayBeFalse: Bool {
        cases.contains { $0 == .nothing || $0 == .boolean || $0 == .any }
    }

    var isText: Bool {
        switch self {
        case .text, .duration, .timeOfDay: true
        default: false
        }
    }

    var isNumber: Bool {
        switch self {
        case .integer, .number: true
        default: false
        }
    }

    /// Whether each of its cases is a table of Lua, as far as a script can tell.
    var isTable: Bool {
        switch self {
        case .table, .list, .map, .shape, .options, .library: true
        default: false
        }
    }

    /// As a sentence has it: `a number`.
    package var phrase: String {
        switch self {
        case .any: "a value"
        case .nothing: "nil"
        case .boolean: "true or false"
        case .integer: "an integer"
        case .number: "a number"
        case .text: "a text"
        case .duration: "a duration such as \"3s\""
        case .timeOfDay: "a time of day such as \"09:00\""
        case .function: "a function"
        case .list: "a list"
        case .map, .table, .shape: "a table"
        case .object(let name): Self.phrases[name] ?? "a \(name)"
        case .library(let name): "the library '\(name)'"
        case .options: "the options"
        case .decision: "a decision"
        case .either(let all):
            all.filter { $0 != .nothing }.map(\.phrase).reduce(into: [String]()) {
                phrases, phrase in
                if !phrases.contains(phrase) { phrases.append(phrase) }
            }.joined(separator: " or ")
        }
    }

    private static let phrases = [
        "Call": "a call", "User": "a user object", "Push": "a push", "Test": "t",
        "Hours": "hours", "Users": "a list of users", "HttpReply": "a reply of http",
        "Summary": "a summary", "Context": "a context", "PluginError": "an error of a plugin",
    ]
}

/// Reads types as lua-language-server writes them.
struct TypeReader {
    private let text: [Character]
    private(set) var place = 0

    init(_ text: String) { self.text = Array(text) }

    /// The type at the beginning of `text`.
    static func type(_ text: String) -> ScriptType {
        var reader = TypeReader(text)
        return reader.type(isTop: true)
    }

    /// What stands behind the type that was read.
    var rest: String { String(text[place...].drop { $0 == " " }) }

    private var next: Character? { place < text.count ? text[place] : nil }

    private mutating func skipSpaces() { while next == " " { place += 1 } }

    private mutating func take(_ word: String) -> Bool {
        guard text[place...].starts(with: word) else { return false }
        place += word.count
        return true
    }

    private mutating func word() -> String {
        let start = place
        while let letter = next, letter.isLetter || letter.isNumber || letter == "_" { place += 1 }
        return String(text[start..<place])
    }

    mutating func type(isTop: Bool = false) -> ScriptType {
        var cases = [suffixed(isTop)]
        while take("|") { cases.append(suffixed(false)) }
        return .either(of: cases)
    }

    private mutating func suffixed(_ isTop: Bool) -> ScriptType {
        var type = primary(isTop)
        while true {
            if take("[]") {
                type = .list(type)
            } else if take("?") {
                type = .either(of: [type, .nothing])
            } else {
                return type
            }
        }
    }

    private mutating func primary(_ isTop: Bool) -> ScriptType {
        if take("\"") {
            let start = place
            while let letter = next, letter != "\"" { place += 1 }
            defer { _ = take("\"") }
            return .text(String(text[start..<place]))
        }
        if take("{") { return shape() }
        if take("(") {
            let inside = type()
            _ = take(")")
            return inside
        }
        if take("...") { return .any }
        let name = word()
        switch name {
        case "fun": return function(isTop)
        case "table":
            guard take("<") else { return .table }
            let keys = type()
            _ = take(",")
            skipSpaces()
            let values = type()
            _ = take(">")
            if case .integer = keys { return .list(values) }
            return .map(values)
        default: return Self.named[name] ?? (name.first?.isUppercase == true ? .object(name) : .any)
        }
    }

    private static let named: [String: ScriptType] = [
        "any": .any, "nil": .nothing, "boolean": .boolean, "false": .boolean, "true": .boolean,
        "integer": .integer(nil), "number": .number, "string": .text(nil), "T": .any,
        "Duration": .duration, "TimeOfDay": .timeOfDay, "Decision": .decision(nil),
    ]

    private mutating func shape() -> ScriptType {
        var fields: [ScriptMember] = []
        skipSpaces()
        while next != nil, !take("}") {
            let start = place
            fields.append(member())
            _ = take(",")
            skipSpaces()
            if place == start { break }
        }
        return .shape(fields)
    }

    /// `name?: type`.
    private mutating func member() -> ScriptMember {
        skipSpaces()
        if take("...") { return ScriptMember(name: "...", type: .any, isOptional: true) }
        let name = word()
        let isOptional = take("?")
        guard take(":") else { return ScriptMember(name: name, type: .any, isOptional: isOptional) }
        skipSpaces()
        let start = place
        let type = type()
        return ScriptMember(
            name: name, type: type, isOptional: isOptional,
            written: String(text[start..<place]))
    }

    private mutating func function(_ isTop: Bool) -> ScriptType {
        var signature = ScriptType.Signature()
        if take("<T>") { signature.isGeneric = true }
        guard take("(") else { return .function(nil) }
        while next != nil, !take(")") {
            let start = place
            let parameter = member()
            if parameter.name == "self" {
                signature.isMethod = true
            } else if parameter.name == "..." {
                signature.takesMore = true
            } else {
                signature.parameters.append(parameter)
            }
            _ = take(",")
            skipSpaces()
            if place == start { break }
        }
        if take(":") {
            skipSpaces()
            signature.results.append(type())
            while isTop, take(", ") { signature.results.append(type()) }
        }
        return .function(signature)
    }
}

extension ScriptType {
    /// As lua-language-server writes it.
    package var name: String {
        switch self {
        case .any: "any"
        case .nothing: "nil"
        case .boolean: "boolean"
        case .integer: "integer"
        case .number: "number"
        case .text(let text): text.map { "\"\($0)\"" } ?? "string"
        case .duration: "Duration"
        case .timeOfDay: "TimeOfDay"
        case .function: "function"
        case .list(let element): "\(element.name)[]"
        case .map(let element): "table<string, \(element.name)>"
        case .table, .shape, .library: "table"
        case .object(let name): name
        case .options(let fields):
            "{ " + (fields ?? []).map { "\($0.name): \($0.type.name)" }.joined(separator: ", ")
                + " }"
        case .decision: "Decision"
        case .either(let all): all.map(\.name).joined(separator: "|")
        }
    }
}
