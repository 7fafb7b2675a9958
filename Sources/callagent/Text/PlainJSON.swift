// JSON for a person: names and values, indented, without brackets and quotes.

import JSON

/// Shows answers whose members the tool does not know.
enum PlainJSON {
    /// Prints `value`.
    static func show(_ value: JSONValue) {
        for line in lines(value) { Screen.say(Screen.plain(line)) }
    }

    /// The lines of `value`.
    static func lines(_ value: JSONValue) -> [String] {
        switch value {
        case .object(let object): object.members.flatMap { member($0.key, $0.value) }
        case .array(let elements): elements.flatMap(element)
        case .null, .bool, .integer, .number, .string: [value.shown]
        }
    }

    private static func member(_ name: String, _ value: JSONValue) -> [String] {
        switch value {
        case .object, .array:
            let inner = lines(value)
            return inner.isEmpty ? ["\(name): none"] : ["\(name):"] + inner.map { "  \($0)" }
        case .null, .bool, .integer, .number, .string: return ["\(name): \(value.shown)"]
        }
    }

    private static func element(_ value: JSONValue) -> [String] {
        let inner = lines(value)
        return inner.enumerated().map { ($0.offset == 0 ? "- " : "  ") + $0.element }
    }
}
