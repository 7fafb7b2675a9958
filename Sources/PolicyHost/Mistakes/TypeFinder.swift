// What the values in a plugin's file are.

import CallModel
import LuaSource

/// Follows values from where they come from to where they are used. What may be anything is `any`.
package final class TypeFinder {
    package let file: LuaFile
    package let nodes: LuaNodes
    let known = KnownTypes.shared
    /// What parameters, variables of loops and further results are given.
    private var given: [ObjectIdentifier: ScriptType] = [:]
    private var found: [ObjectIdentifier: ScriptType] = [:]
    private var isBeingFound: Set<ObjectIdentifier> = []
    private var made: [ObjectIdentifier: ScriptType?] = [:]
    /// Locals that are asked about somewhere: they may be nil on purpose.
    private let asked: Set<ObjectIdentifier>
    private static let stepsFollowed = 500

    package init(_ file: LuaFile) {
        self.file = file
        nodes = file.nodes
        asked = nodes.askedLocals
        // What a function is given may be known only after another one: three rounds are plenty.
        for _ in 0..<3 {
            learn()
            (found, made) = ([:], [:])
        }
    }

    // MARK: Variables

    package func type(of local: LuaLocal) -> ScriptType {
        if local.isReassigned { return .any }
        if let type = given[ObjectIdentifier(local)] { return type }
        return local.value.map { type(of: $0) } ?? .any
    }

    /// The function that an expression means for sure, and the variable that names it.
    func function(_ expression: LuaExpression) -> (function: LuaFunction, local: LuaLocal?)? {
        switch expression.kind {
        case .function(let function): return (function, nil)
        case .local(let local):
            guard !local.isReassigned, case .function(let function)? = local.value?.kind else {
                return nil
            }
            return (function, local)
        default: return nil
        }
    }

    /// A use of a function: what it is given there.
    private struct Use {
        let function: LuaFunction
        let local: LuaLocal?
        let given: [ScriptType]
        /// What parameters are that nothing is given to.
        var rest = ScriptType.any
    }

    private func learn() {
        for statement in nodes.statements {
            switch statement {
            case .loop(let locals, let values, _): learnLoop(locals, values)
            case .local(let locals, let values): learnResults(locals, values)
            default: break
            }
        }
        var uses: [ObjectIdentifier: [Use]] = [:]
        for use in nodes.expressions.flatMap(uses(in:)) {
            uses[ObjectIdentifier(use.function), default: []].append(use)
        }
        for all in uses.values {
            // One that is used in other ways too may be given anything.
            if let local = all[0].local, !file.isWhole || all.count != local.reads.count {
                continue
            }
            for (index, parameter) in all[0].function.parameters.enumerated() {
                let types = all.map { index < $0.given.count ? $0.given[index] : $0.rest }
                let type = ScriptType.either(of: types)
                given[ObjectIdentifier(parameter)] = type == .nothing ? never(parameter) : type
            }
        }
    }

    private func learnLoop(_ locals: [LuaLocal], _ values: [LuaExpression]) {
        guard case .call(let walker, let list)? = values.first?.kind, let list = list.first,
            case .global(let name) = walker.kind
        else {
            if values.count >= 2, locals.count == 1 {
                given[ObjectIdentifier(locals[0])] = .number
            }
            return
        }
        let type = type(of: list).present
        if name == "ipairs" {
            given[ObjectIdentifier(locals[0])] = .integer(nil)
            guard locals.count == 2 else { return }
            if case .list(let element) = type { given[ObjectIdentifier(locals[1])] = element }
            if type == .object("Users") { given[ObjectIdentifier(locals[1])] = .text(nil) }
        } else if name == "pairs", case .map(let element) = type, locals.count == 2 {
            given[ObjectIdentifier(locals[0])] = .text(nil)
            given[ObjectIdentifier(locals[1])] = element
        }
    }

    /// `local a, b = f()`.
    private func learnResults(_ locals: [LuaLocal], _ values: [LuaExpression]) {
        if values.isEmpty {
            for local in locals { given[ObjectIdentifier(local)] = never(local) }
        }
        guard locals.count > 1 || values.count > 1 else { return }
        for (index, local) in locals.enumerated() {
            if index < values.count - 1 || index == 0, index < values.count {
                given[ObjectIdentifier(local)] = type(of: values[index])
            } else if let last = values.last {
                let results = results(of: last)
                let place = index - values.count + 1
                given[ObjectIdentifier(local)] = place < results.count ? results[place] : .any
            }
        }
    }

    /// The type of a local that is given nothing: nil for sure, unless a script asks about it.
    private func never(_ local: LuaLocal) -> ScriptType {
        file.isWhole && !asked.contains(ObjectIdentifier(local)) ? .nothing : .any
    }

    private func results(of expression: LuaExpression) -> [ScriptType] {
        switch expression.kind {
        case .call(let called, _), .method(let called, _, _):
            if case .method(_, let name, _) = expression.kind {
                return signature(of: known.member(name.text, of: type(of: called)))?.results ?? []
            }
            if case .function(let signature?) = type(of: called) { return signature.results }
            return []
        default: return []
        }
    }

    func signature(of member: ScriptMember?) -> ScriptType.Signature? {
        if case .function(let signature)? = member?.type { signature } else { nil }
    }

    /// Functions that are called here, and those that are given to somebody who calls them.
    private func uses(in expression: LuaExpression) -> [Use] {
        let (wanted, arguments): (ScriptType.Signature?, [LuaExpression])
        switch expression.kind {
        case .call(let called, let given):
            if let (function, local) = function(called) {
                let types = given.map { type(of: $0).plain }
                return [Use(function: function, local: local, given: types)]
                    + passed(given, to: nil)
            }
            if case .function(let signature) = type(of: called) {
                (wanted, arguments) = (signature, given)
            } else {
                (wanted, arguments) = (nil, given)
            }
        case .method(let owner, let name, let given):
            let member = known.member(name.text, of: type(of: owner))
            (wanted, arguments) = (signature(of: member), given)
        default: return []
        }
        return passed(arguments, to: wanted)
    }

    private func passed(_ arguments: [LuaExpression], to wanted: ScriptType.Signature?) -> [Use] {
        arguments.enumerated().compactMap { index, argument in
            guard let (function, local) = function(argument), let wanted,
                index < wanted.parameters.count,
                case .function(let handler?) = wanted.parameters[index].type
            else { return nil }
            let types = handler.parameters.map { parameter in
                parameter.isOptional
                    ? .either(of: [parameter.type, .nothing]) : parameter.type
            }
            let rest: ScriptType = handler.takesMore ? .any : .nothing
            return Use(function: function, local: local, given: types, rest: rest)
        }
    }

    // MARK: Expressions

    package func type(of expression: LuaExpression) -> ScriptType {
        let id = ObjectIdentifier(expression)
        if let type = found[id] { return type }
        // A value that is made of itself may be anything, and one that comes from far away too.
        guard isBeingFound.count < Self.stepsFollowed, isBeingFound.insert(id).inserted else {
            return .any
        }
        let type = fresh(expression)
        isBeingFound.remove(id)
        found[id] = type
        return type
    }

    private func fresh(_ expression: LuaExpression) -> ScriptType {
        switch expression.kind {
        case .missing, .unread, .varargs: return .any
        case .nothing: return .nothing
        case .truth: return .boolean
        case .number(let text):
            let isWhole = !text.contains { $0 == "." || $0 == "e" || $0 == "E" }
            return isWhole || text.hasPrefix("0x") ? .integer(text) : .number
        case .text(let text): return .text(text)
        case .local(let local): return type(of: local)
        case .global("state"): return .table
        case .global("admit"): return .decision("admit")
        case .global(let name): return known.global(name)?.type ?? .any
        case .function: return .function(nil)
        case .member(let owner, let name): return member(name.text, of: type(of: owner))
        case .index(let owner, _): return element(of: type(of: owner).present)
        case .call(let called, let arguments): return result(of: called, arguments)
        case .method(let owner, let name, _): return result(of: owner, name.text)
        case .unary(let sign, let value): return result(of: sign, type(of: value))
        case .binary(let sign, let left, let right):
            return result(of: sign, type(of: left), type(of: right))
        case .table: return .table
        case .brackets(let inside): return type(of: inside)
        }
    }

    private func member(_ name: String, of owner: ScriptType) -> ScriptType {
        if case .map(let element) = owner.present { return .either(of: [element, .nothing]) }
        guard let member = known.member(name, of: owner) else { return .any }
        return member.isOptional ? .either(of: [member.type, .nothing]) : member.type
    }

    private func element(of owner: ScriptType) -> ScriptType {
        switch owner {
        case .list(let element), .map(let element): .either(of: [element, .nothing])
        case .object("Users"): .either(of: [.text(nil), .nothing])
        default: .any
        }
    }

    private func result(of called: LuaExpression, _ arguments: [LuaExpression]) -> ScriptType {
        if case .global(let name) = called.kind {
            if name == "config" { return .options(OptionReader(self).options(arguments.first)) }
            if Returned.decisions.contains(name) { return .decision(name) }
            if let type = Self.luaResults[name] { return type }
        }
        if let (function, _) = function(called) { return decision(madeBy: function) ?? .any }
        guard case .function(let signature?) = type(of: called) else { return .any }
        return signature.isGeneric ? .any : signature.results.first ?? .any
    }

    /// What functions of Lua give.
    private static let luaResults: [String: ScriptType] = [
        "tostring": .text(nil), "tonumber": .either([.number, .nothing]),
        "type": .either(
            [
                "nil", "boolean", "number", "string", "table", "function", "thread", "userdata",
            ].map { .text($0) }),
    ]

    /// What a function of the plugin makes, if every way through it that returns makes a decision.
    private func decision(madeBy function: LuaFunction) -> ScriptType? {
        let id = ObjectIdentifier(function)
        if let known = made[id] { return known }
        let decision = freshDecision(madeBy: function)
        made[id] = decision
        return decision
    }

    private func freshDecision(madeBy function: LuaFunction) -> ScriptType? {
        var returns: [ScriptType] = []
        forEachReturn(in: function.body) { values, _ in
            returns.append(values.count == 1 ? type(of: values[0]) : .any)
        }
        let isDecision = returns.allSatisfy { if case .decision = $0 { true } else { false } }
        guard isDecision, !returns.isEmpty else { return nil }
        return returns.dropFirst().allSatisfy { $0 == returns[0] } ? returns[0] : .decision(nil)
    }

    /// Every `return` of the function itself, not of those within it.
    func forEachReturn(in block: LuaBlock, _ body: ([LuaExpression], Range<Int>) -> Void) {
        for statement in block.statements {
            switch statement {
            case .back(let values, let range): body(values, range)
            case .blocks(_, let blocks): for block in blocks { forEachReturn(in: block, body) }
            case .loop(_, _, let block): forEachReturn(in: block, body)
            case .local, .assign, .run: break
            }
        }
    }

    private static let textMethods: Set<String> = [
        "sub", "upper", "lower", "rep", "format", "reverse",
    ]

    private func result(of owner: LuaExpression, _ method: String) -> ScriptType {
        let type = type(of: owner).present
        if type.isText { return Self.textMethods.contains(method) ? .text(nil) : .any }
        return signature(of: known.member(method, of: type))?.results.first ?? .any
    }

    private func result(of sign: String, _ value: ScriptType) -> ScriptType {
        switch sign {
        case "not": .boolean
        case "#": value.isText || value.isTable ? .integer(nil) : .any
        default: value.isNumber ? .number : .any
        }
    }

    private func result(
        of sign: String, _ left: ScriptType, _ right: ScriptType
    ) -> ScriptType {
        switch sign {
        case "==", "~=", "<", ">", "<=", ">=": return .boolean
        case "..": return left == .any || right == .any ? .any : .text(nil)
        case "and":
            // What is no result of the right is false or nil.
            guard left.mayBeFalse else { return right }
            return .either(of: [right, .nothing])
        case "or":
            guard left.mayBeFalse else { return left }
            // Of true or false only true is left over.
            return .either(of: left.cases.filter { $0 != .nothing } + [right])
        default: return left.isNumber && right.isNumber ? .number : .any
        }
    }
}

extension LuaNodes {
    /// The locals that a script asks about: whether they are there, or what they equal.
    fileprivate var askedLocals: Set<ObjectIdentifier> {
        var asked: Set<ObjectIdentifier> = []
        func note(_ expression: LuaExpression) {
            switch expression.kind {
            case .local(let local): asked.insert(ObjectIdentifier(local))
            case .brackets(let inside): note(inside)
            default: break
            }
        }
        for case .blocks(let conditions, _) in statements { for one in conditions { note(one) } }
        for expression in expressions {
            switch expression.kind {
            case .unary("not", let value): note(value)
            case .binary("and", let left, let right), .binary("or", let left, let right),
                .binary("==", let left, let right), .binary("~=", let left, let right):
                note(left)
                note(right)
            default: break
            }
        }
        return asked
    }
}
