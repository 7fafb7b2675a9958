// The type of a function as lua-language-server writes it, taken apart.

/// `fun(a: T, b?: T): R, R2`, with `<T>` before the parameters where it is generic.
struct FunctionType {
    /// Names, with `?` where they may be left out, and types.
    let parameters: [(name: String, type: String)]
    /// Types, in order.
    let results: [String]
    /// Whether a type parameter `T` stands for whatever is given.
    let isGeneric: Bool

    /// Takes `text` apart; what is no function has neither parameters nor results.
    init(_ text: String) {
        isGeneric = text.hasPrefix("fun<T>(")
        let rest = text.dropFirst(isGeneric ? 7 : 4)
        let inside = Self.untilClosed(rest)
        parameters = Self.parts(inside).map { part in
            guard let colon = part.firstIndex(of: ":") else { return (String(part), "any") }
            let type = part[part.index(after: colon)...].drop { $0 == " " }
            return (String(part[..<colon]), String(type))
        }
        let after = rest[inside.endIndex...].dropFirst()
        results = Self.parts(after.drop { $0 == ":" || $0 == " " }).map { result in
            result == "..." ? "any ..." : String(result)
        }
    }

    /// What stands before the bracket that closes an open one.
    private static func untilClosed(_ text: Substring) -> Substring {
        var depth = 1
        return text.prefix { character in
            depth += change(of: character)
            return depth > 0
        }
    }

    /// The parts between commas that stand in no brackets.
    private static func parts(_ text: Substring) -> [Substring] {
        var depth = 0
        return text.split { character in
            depth += change(of: character)
            return depth == 0 && character == ","
        }.map { $0.drop { $0 == " " } }
    }

    private static func change(of character: Character) -> Int {
        switch character {
        case "(", "{", "[", "<": 1
        case ")", "}", "]", ">": -1
        default: 0
        }
    }
}
