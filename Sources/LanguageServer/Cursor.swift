// What stands under the cursor.

import LuaSource
import PolicyHost

/// One place in one file of a plugin.
struct Cursor {
    let file: PluginFile
    let place: Int
    var types: TypeFinder { file.types }
    let known = KnownTypes.shared

    /// Whether a name is written here.
    private func isAt(_ range: Range<Int>) -> Bool {
        range.lowerBound <= place && place <= range.upperBound
    }

    var isInComment: Bool {
        types.file.comments.contains { $0.lowerBound < place && place <= $0.upperBound }
    }

    /// The variable that is written here.
    var local: LuaLocal? {
        types.file.locals.first { local in
            isAt(local.name.range) && !local.name.text.isEmpty
                || local.reads.contains(where: isAt) || local.writes.contains(where: isAt)
        }
    }

    /// The global that is written here.
    var global: String? {
        for expression in types.nodes.expressions where isAt(expression.range) {
            if case .global(let name) = expression.kind { return name }
        }
        return nil
    }

    /// A field or method that is written here, and what it belongs to.
    var member: (owner: LuaExpression, name: LuaName, isMethod: Bool)? {
        let targets = types.nodes.statements.flatMap { statement -> [LuaExpression] in
            if case .assign(let targets, _) = statement { targets } else { [] }
        }
        for expression in types.nodes.expressions + targets where isAt(expression.range) {
            switch expression.kind {
            case .member(let owner, let name) where isBehind(owner, name):
                return (owner, name, false)
            case .method(let owner, let name, _) where isBehind(owner, name):
                return (owner, name, true)
            default: continue
            }
        }
        return nil
    }

    /// Whether the cursor is on the name, or where it is missing.
    private func isBehind(_ owner: LuaExpression, _ name: LuaName) -> Bool {
        isAt(name.range) || owner.range.upperBound < place && place <= name.range.upperBound
    }

    /// A value that a function of callagent is given.
    struct GivenValue {
        let value: LuaExpression
        /// What the function wants there.
        let wanted: ScriptType
        /// The function, as it is written.
        let function: String
        let parameter: String

        /// Whether it names a timer.
        var isTimer: Bool {
            parameter == "name" && (function == "later" || function.hasSuffix(":later"))
        }
    }

    /// The value under the cursor.
    var argument: GivenValue? {
        var best: GivenValue?
        for expression in types.nodes.expressions where isAt(expression.range) {
            let (called, arguments): (String, [LuaExpression])
            let signature: ScriptType.Signature?
            switch expression.kind {
            case .call(let function, let given):
                (called, arguments) = (MistakeFinder.shown(function), given)
                signature = self.signature(types.type(of: function))
            case .method(let owner, let name, let given):
                called = "\(MistakeFinder.shown(owner)):\(name.text)"
                arguments = given
                signature = self.signature(
                    known.member(name.text, of: types.type(of: owner))?.type ?? .any)
            default: continue
            }
            guard let signature else { continue }
            for (parameter, value) in zip(signature.parameters, arguments) where isIn(value) {
                let found = leaf(value, parameter.type)
                if let best, best.value.range.count < found.value.range.count { continue }
                best = GivenValue(
                    value: found.value, wanted: found.wanted, function: called,
                    parameter: parameter.name)
            }
        }
        return best
    }

    private func signature(_ type: ScriptType) -> ScriptType.Signature? {
        if case .function(let signature) = type { signature } else { nil }
    }

    private func isIn(_ value: LuaExpression) -> Bool {
        value.range.lowerBound < place && place < value.range.upperBound
            || value.range.upperBound == place && !isClosed(value)
    }

    /// Whether the last word of a value closes it.
    private func isClosed(_ value: LuaExpression) -> Bool {
        guard let last = file.text[value.range].last else { return false }
        return last == UInt8(ascii: "}")
            || value.range.count > 1
                && last
                    == file.text[
                        value.range.lowerBound]
    }

    /// The value within a table that is written out.
    private func leaf(
        _ value: LuaExpression, _ wanted: ScriptType
    ) -> (value: LuaExpression, wanted: ScriptType) {
        guard case .table(let fields) = value.kind else { return (value, wanted) }
        for field in fields where isIn(field.value) {
            for type in wanted.cases {
                if case .name(let key) = field.key, let member = known.member(key.text, of: type) {
                    return leaf(field.value, member.type)
                }
                if case .next = field.key, case .list(let element) = type {
                    return leaf(field.value, element)
                }
            }
            return (field.value, .any)
        }
        return (value, wanted)
    }

    /// The table that is written out here, whose fields have names.
    var key: (name: LuaName, members: [ScriptMember], of: String)? {
        guard let argument, case .table(let fields) = argument.value.kind else { return nil }
        for field in fields {
            guard case .name(let name) = field.key, isAt(name.range) else { continue }
            let members = argument.wanted.cases.compactMap { known.members(of: $0) }.flatMap { $0 }
            return (name, members, argument.function)
        }
        return nil
    }
}
