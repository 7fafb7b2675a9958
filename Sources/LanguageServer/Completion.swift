// What can be written at a place.

import JSON
import LuaSource
import PolicyHost

/// The list that an editor offers at one place.
struct Completion {
    private let cursor: Cursor
    private let plugin: OpenPlugin
    /// Every name that scripts can use.
    private let names: Set<String>
    private var items: [JSONValue] = []

    /// What the protocol calls the kinds of items.
    private enum Kind: Int64 {
        case method = 2, function = 3, field = 5, variable = 6, module = 9, keyword = 14
        case word = 20
    }

    static func items(at cursor: Cursor, in plugin: OpenPlugin, names: Set<String>) -> [JSONValue] {
        guard !cursor.isInComment else { return [] }
        var completion = Completion(cursor: cursor, plugin: plugin, names: names)
        completion.fill()
        return completion.items
    }

    private init(cursor: Cursor, plugin: OpenPlugin, names: Set<String>) {
        (self.cursor, self.plugin, self.names) = (cursor, plugin, names)
    }

    private mutating func fill() {
        if let member = cursor.member { return addMembers(of: member.owner, member.isMethod) }
        if let argument = cursor.argument {
            switch argument.value.kind {
            case .text: return addWords(argument.wanted)
            case .table(let fields):
                if isAtKey { return addKeys(argument.wanted, besides: fields) }
            default: break
            }
        }
        if isInText { return }
        addNames()
    }

    // MARK: Places

    /// The last word that begins before the cursor, and the one before it.
    private var words: (last: LuaToken?, before: LuaToken?) {
        let tokens = cursor.types.file.tokens
        var (low, high) = (0, tokens.count)
        while low < high {
            let middle = (low + high) / 2
            if tokens[middle].range.lowerBound < cursor.place {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return (low > 0 ? tokens[low - 1] : nil, low > 1 ? tokens[low - 2] : nil)
    }

    private var isInText: Bool {
        guard let last = words.last, last.kind == .text else { return false }
        return cursor.place < last.range.upperBound
    }

    /// Whether the name of a field may stand here.
    private var isAtKey: Bool {
        var (word, before) = words
        if word?.kind == .name, word?.range.upperBound ?? 0 >= cursor.place {
            (word, before) = (before, nil)
        }
        return ["{", ",", ";"].contains(word?.text)
    }

    // MARK: Lists

    private mutating func addMembers(of owner: LuaExpression, _ isMethod: Bool) {
        let type = cursor.types.type(of: owner)
        if let members = cursor.known.members(of: type) {
            for member in members {
                let signature: ScriptType.Signature? =
                    if case .function(let signature) = member.type { signature } else { nil }
                guard (signature?.isMethod ?? false) == isMethod else { continue }
                add(member, signature == nil ? .field : isMethod ? .method : .function)
            }
            return
        }
        guard !isMethod, case .global(let library) = owner.kind else { return }
        for name in names.sorted() where name.hasPrefix("\(library).") {
            let own = String(name.dropFirst(library.count + 1))
            add(ScriptMember(name: own, type: .any), .function)
        }
    }

    private mutating func addKeys(_ wanted: ScriptType, besides fields: [LuaField]) {
        let present = fields.compactMap { field -> String? in
            guard case .name(let name) = field.key else { return nil }
            let isTyped =
                name.range.lowerBound <= cursor.place
                && cursor.place <= name.range.upperBound
            return isTyped ? nil : name.text
        }
        for type in wanted.cases {
            for member in cursor.known.members(of: type) ?? []
            where !present.contains(member.name) {
                add(member, .field, inserting: "\(member.name) = ")
            }
        }
    }

    private mutating func addWords(_ wanted: ScriptType) {
        for case .text(let word?) in wanted.cases {
            add(ScriptMember(name: word, type: .any), .word)
        }
        guard cursor.argument?.isTimer == true else { return }
        for timer in TimerNames.all(in: plugin.files.map(\.types)).compactMap({ $0 }) {
            add(ScriptMember(name: timer, type: .any), .word)
        }
    }

    private mutating func addNames() {
        var seen: Set<String> = []
        for local in cursor.types.file.locals.reversed()
        where local.scope.contains(cursor.place) || local.scope.upperBound == cursor.place {
            guard seen.insert(local.name.text).inserted else { continue }
            let type = cursor.types.type(of: local)
            add(ScriptMember(name: local.name.text, type: type, written: type.name), .variable)
        }
        for name in names.sorted() where !name.contains(".") && !seen.contains(name) {
            let member = cursor.known.global(name) ?? ScriptMember(name: name, type: .any)
            if case .library = member.type { add(member, .module) } else { add(member, .function) }
        }
        for word in LuaLexer.keywords.sorted() {
            add(ScriptMember(name: word, type: .any), .keyword)
        }
    }

    private mutating func add(
        _ member: ScriptMember, _ kind: Kind, inserting text: String? = nil
    ) {
        var item: JSONObject = ["label": .string(member.name), "kind": .integer(kind.rawValue)]
        if !member.written.isEmpty { item["detail"] = .string(member.written) }
        if !member.help.isEmpty { item["documentation"] = .string(member.help) }
        if let text { item["insertText"] = .string(text) }
        items.append(.object(item))
    }
}
