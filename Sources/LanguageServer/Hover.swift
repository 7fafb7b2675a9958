// What is known of the name under the cursor.

import JSON
import LuaSource
import PolicyHost

/// The note that an editor shows over a name.
enum Hover {
    static func note(at cursor: Cursor) -> JSONValue {
        guard !cursor.isInComment, let text = text(at: cursor) else { return .null }
        return ["contents": ["kind": "markdown", "value": .string(text)]]
    }

    private static func text(at cursor: Cursor) -> String? {
        if let (owner, name, isMethod) = cursor.member {
            let sign = isMethod ? ":" : "."
            let type = cursor.types.type(of: owner)
            return cursor.known.member(name.text, of: type).map {
                text("\(MistakeFinder.shown(owner))\(sign)\($0.name)", $0)
            }
        }
        if let (name, members, owner) = cursor.key {
            let member = members.first { $0.name == name.text }
            return member.map { text("\(owner) { \($0.name) }", $0) }
        }
        if let local = cursor.local {
            return block("local \(local.name.text): \(cursor.types.type(of: local).name)")
        }
        if let name = cursor.global, let member = cursor.known.global(name) {
            return text(name, member)
        }
        return nil
    }

    private static func text(_ name: String, _ member: ScriptMember) -> String {
        let type = member.written.isEmpty ? member.type.name : member.written
        let isFunction = type.hasPrefix("fun")
        let shown = isFunction ? "function \(name)\(type.dropFirst(3))" : "\(name): \(type)"
        return block(shown) + (member.help.isEmpty ? "" : "\n\n\(member.help)")
    }

    private static func block(_ code: String) -> String { "```lua\n\(code)\n```" }
}
