// Names that the operator's file cannot have, where they are typed.

import CallModel
import Configuration
import Lua
import LuaSource

/// Looks through `callagent.lua` without running it, so that no secret is read: `check` runs it,
/// and finds more.
package enum OperatorNames {
    /// Every name that is none, in order.
    package static func mistakes(in file: LuaFile) -> [Mistake] {
        var mistakes: [Mistake] = []
        for statement in file.nodes.statements {
            guard case .assign(let targets, let values) = statement else { continue }
            for (place, target) in targets.enumerated() {
                judge(target, place < values.count ? values[place] : nil, &mistakes)
            }
        }
        return mistakes.sorted { $0.range.lowerBound < $1.range.lowerBound }
    }

    private static func judge(
        _ target: LuaExpression, _ value: LuaExpression?, _ mistakes: inout [Mistake]
    ) {
        let root = target.root ?? target
        guard case .global(let top) = root.kind, !top.isEmpty else { return }
        guard ConfigurationField.topLevel.contains(top) else {
            let hint = Suggestion.text(for: top, among: ConfigurationField.topLevel)
            let text =
                "unknown name '\(top)'\(hint) (write 'local \(top)' for a variable of the file)"
            return mistakes.append(Mistake(text: text, range: root.range))
        }
        let known = members(of: top)
        func judgeMember(_ name: LuaName, _ value: LuaExpression?) {
            judge(name, of: top, among: known, &mistakes)
            if top == "modes" { judgeMode(value, name.text, &mistakes) }
        }
        if case .member(let owner, let name) = target.kind, owner === root {
            judgeMember(name, value)
        }
        guard target === root, case .table(let fields)? = value?.kind else { return }
        for field in fields {
            if case .name(let name) = field.key { judgeMember(name, field.value) }
        }
    }

    private static func judgeMode(
        _ row: LuaExpression?, _ mode: String, _ mistakes: inout [Mistake]
    ) {
        guard case .table(let fields)? = row?.kind else { return }
        let known = ModeParameter.all.map(\.name) + ["like"]
        for field in fields {
            guard case .name(let name) = field.key else { continue }
            judge(name, of: "modes: \(mode)", among: known, &mistakes)
        }
    }

    private static func judge(
        _ name: LuaName, of owner: String, among known: [String], _ mistakes: inout [Mistake]
    ) {
        guard !known.isEmpty, !name.text.isEmpty, !known.contains(name.text) else { return }
        let hint = Suggestion.text(for: name.text, among: known)
        mistakes.append(
            Mistake(text: "\(owner): unknown field '\(name.text)'\(hint)", range: name.range))
    }

    /// The fields of a table that has no others; empty: names of its own stand in it.
    private static func members(of top: String) -> [String] {
        ConfigurationField.all.filter { $0.name.hasPrefix("\(top).") }.map {
            String($0.name.dropFirst(top.count + 1).prefix { $0 != "." })
        }
    }
}
