// Values where others are wanted.

import CallModel
import Configuration
import Lua
import LuaSource

extension MistakeFinder {
    /// Tells when a value is surely none that `name` takes.
    mutating func judge(_ value: LuaExpression, as wanted: ScriptType, _ name: String) {
        let cases = wanted.cases
        guard !cases.contains(.any) else { return }
        if case .table(let fields) = value.kind, cases.contains(where: \.takesTables) {
            for type in cases.meant(by: fields) { judge(fields, as: type, name) }
            return
        }
        let given = type(of: value)
        guard !given.cases.contains(where: { part in cases.contains { part.mayFit($0) } })
        else { return }
        if case .text(let text?) = given {
            if cases.contains(.duration) {
                let forms = "(write \"250ms\", \"3s\", \"10m\", \"2h\")"
                return report("bad duration '\(text)' \(forms)", value.range)
            }
            if cases.contains(.timeOfDay) {
                return report("bad time of day '\(text)' (write \"09:00\")", value.range)
            }
            let words = cases.compactMap { if case .text(let word?) = $0 { word } else { nil } }
            if !words.isEmpty {
                let hint = Suggestion.text(for: text, among: words)
                let list = words.joined(separator: ", ")
                return report("\(name): '\(text)' is none of \(list)\(hint)", value.range)
            }
        }
        report("\(name) is \(wanted.phrase), not \(given.phrase)", value.range)
    }

    /// The fields of a table that is written out.
    private mutating func judge(_ fields: [LuaField], as type: ScriptType, _ name: String) {
        switch type {
        case .list(let element):
            for field in fields {
                if case .next = field.key { judge(field.value, as: element, "an entry of \(name)") }
            }
        case .map(let element):
            for field in fields { judge(field.value, as: element, "a value of \(name)") }
        case .shape(let members): judge(fields, members, name)
        case .object(let kind):
            if let members = known.members(of: kind) { judge(fields, members, name) }
        default: break
        }
    }

    private mutating func judge(
        _ fields: [LuaField], _ members: [ScriptMember], _ name: String
    ) {
        for field in fields {
            switch field.key {
            case .computed: return
            case .next: report("\(name) takes fields with names", field.value.range)
            case .name(let key):
                guard let member = members.first(where: { $0.name == key.text }) else {
                    let hint = Suggestion.text(for: key.text, among: members.map(\.name))
                    report("unknown field '\(key.text)' of \(name)\(hint)", key.range)
                    continue
                }
                judge(
                    field.value, as: .either(of: [member.type, .nothing]),
                    "'\(key.text)' of \(name)")
            }
        }
    }
}

extension [ScriptType] {
    /// Those that a table with these fields can be: where a list is among them, one with entries is
    /// a list.
    fileprivate func meant(by fields: [LuaField]) -> [ScriptType] {
        let hasEntries = fields.contains { if case .next = $0.key { true } else { false } }
        let lists = filter { if case .list = $0 { true } else { false } }
        return hasEntries && !lists.isEmpty ? lists : self
    }
}

extension ScriptType {
    fileprivate var takesTables: Bool {
        if case .object = self { return true }
        return isTable
    }

    /// Whether one case of a value may be what is wanted.
    func mayFit(_ wanted: ScriptType) -> Bool {
        switch (self, wanted) {
        case (.any, _), (_, .any), (.nothing, .nothing), (.boolean, .boolean),
            (.function, .function), (.decision, .decision):
            true
        case (.integer, .integer), (.integer, .number), (.number, .number), (.number, .integer):
            true
        case (.text(let text?), .text(let word?)): text == word
        case (.text(let text?), .duration): Duration.parse(text) != nil
        case (.text(let text?), .timeOfDay): Hours.minute(text).map { $0 < 1_440 } ?? false
        case (.text, .text), (.text, .duration), (.text, .timeOfDay), (.duration, .text),
            (.duration, .duration), (.timeOfDay, .text), (.timeOfDay, .timeOfDay):
            true
        // A user object stands for its id in most places.
        case (.object("User"), .text): true
        case (.object(let a), .object(let b)): a == b || self.isPlainTable && wanted.isPlainTable
        case (.object, _): isPlainTable && wanted.takesTables
        default: isTable && wanted.takesTables
        }
    }

    /// Whether its objects are tables like others: what a handler is given and may give back.
    private var isPlainTable: Bool {
        guard case .object(let name) = self else { return false }
        return !["Call", "User", "Hours", "Users", "Test"].contains(name)
    }
}
