// What is known of the values that callagent gives to scripts, from the table that editors get.

import CallModel

/// The members of the classes that mistakes are looked for in, and what hooks are given.
struct KnownTypes {
    /// Made once: it is the same for every plugin.
    static let shared = KnownTypes(MetaFile.text)

    /// The classes whose values are followed.
    private static let followed = ["Call", "User"]
    /// Member → type, as it is written in the file for editors, by class.
    private var members: [String: [String: String]] = [:]

    /// Reads the lines `---@class NAME` and `---@field NAME TYPE …` of `text`.
    private init(_ text: String) {
        var current = ""
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 2)
            if words.count >= 2, words[0] == "---@class" {
                current = String(words[1].prefix { $0 != ":" })
            } else if words.count == 3, words[0] == "---@field" {
                members[current, default: [:]][String(words[1])] = String(words[2])
            } else if !line.hasPrefix("---") {
                current = ""
            }
        }
    }

    /// What a member of an object of `name` is, if it is followed.
    func member(_ member: String, of name: String) -> LuaType? {
        members[name]?[member].flatMap { type in Self.type(String(type.prefix { $0 != " " })) }
    }

    /// Whether a member of an object of `name` is a text whenever it is there.
    func isText(_ member: String, of name: String) -> Bool {
        let type = members[name]?[member]?.prefix { $0 != " " }
        return type == "string" || type == "string?"
    }

    /// Whether objects of `name` have `member`.
    func has(_ member: String, in name: String) -> Bool { members[name]?[member] != nil }

    /// The methods of objects of `name`.
    func methods(of name: String) -> [String] {
        (members[name] ?? [:]).filter { $0.value.hasPrefix("fun(") }.map(\.key).sorted()
    }

    /// `User`, `User?` and `User[]`; nil: anything else.
    static func type(_ text: String) -> LuaType? {
        let name = text.hasSuffix("?") ? String(text.dropLast()) : text
        if name.hasSuffix("[]"), followed.contains(String(name.dropLast(2))) {
            return .list(of: String(name.dropLast(2)))
        }
        return followed.contains(name) ? .object(name) : nil
    }

    /// What the function is given that `on.NAME` takes.
    static func parameters(of hook: Hook) -> [LuaType?] { parameters(in: hook.handlerType) }

    /// What the function is given that a declaration such as `timer` takes last.
    static func parameters(of declaration: String) -> [LuaType?] {
        guard let type = Bindings.declarations.first(where: { $0.name == declaration })?.type,
            let start = type.firstRange(of: "handler: fun(")
        else { return [] }
        return parameters(in: "fun(" + type[start.upperBound...])
    }

    /// The types in `fun(call: Call, by?: User): …`.
    private static func parameters(in type: String) -> [LuaType?] {
        let inside = type.dropFirst(4).prefix { $0 != ")" }
        return inside.split(separator: ",").map { part in
            part.split(separator: ":").last.flatMap { word in
                Self.type(String(word.drop { $0 == " " }))
            }
        }
    }
}
