// Globals that no script has, where they are written.

import CLua
import Configuration
import Lua
import LuaSource

/// Looks for names in files that are not run, and may be half typed.
package struct NameFinder: Sendable {
    /// Every name that scripts can use: `NAME` and `LIBRARY.NAME`.
    package let known: Set<String>

    /// The names that plugins have, asked of a Lua state that runs nothing.
    package init() throws(ScriptProblem) {
        let nobody = PluginSource(name: "names", main: SourceFile(name: "names.lua", text: []))
        let state = try PluginState(
            source: nobody, setting: PluginSetting(), services: Services(seed: 0))
        known = state.knownNames()
    }

    /// Every use of a name that does not exist, in order.
    package func mistakes(in types: TypeFinder) -> [Mistake] {
        var mistakes: [Mistake] = []
        var owners: Set<ObjectIdentifier> = []
        for expression in types.nodes.expressions {
            guard case .member(let owner, let name) = expression.kind,
                case .global(let library) = owner.kind, !name.text.isEmpty
            else { continue }
            owners.insert(ObjectIdentifier(owner))
            add(library, name.text, expression.range, to: &mistakes)
        }
        for expression in types.nodes.expressions {
            guard case .global(let name) = expression.kind,
                !owners.contains(ObjectIdentifier(expression))
            else { continue }
            add(name, nil, expression.range, to: &mistakes)
        }
        for case .assign(let targets, _) in types.nodes.statements {
            for target in targets {
                guard case .global(let name) = target.kind else { continue }
                add(name, nil, isAssigned: true, target.range, to: &mistakes)
            }
        }
        return mistakes.sorted { $0.range.lowerBound < $1.range.lowerBound }
    }

    private func add(
        _ name: String, _ member: String?, isAssigned: Bool = false, _ range: Range<Int>,
        to mistakes: inout [Mistake]
    ) {
        guard !name.isEmpty,
            let text = GlobalUse.complaint(name, member, isAssigned: isAssigned, known: known)
        else { return }
        // Of a library that does not exist its name is the mistake.
        let isAlone = member != nil && !known.contains(name)
        let end = isAlone ? range.lowerBound + name.utf8.count : range.upperBound
        mistakes.append(Mistake(text: text, range: range.lowerBound..<end))
    }
}

/// What Lua itself says of a file.
package enum Compiling {
    /// The complaint, with its line; nil: Lua can read it. Nothing is run.
    package static func problem(in file: SourceFile) -> ScriptProblem? {
        let source = PluginSource(name: "p", main: SourceFile(name: "p.lua", text: []))
        do throws(ScriptProblem) {
            let state = try PluginState(
                source: source, setting: PluginSetting(), services: Services(seed: 0))
            _ = try state.compile(file)
            return nil
        } catch {
            return error
        }
    }
}
