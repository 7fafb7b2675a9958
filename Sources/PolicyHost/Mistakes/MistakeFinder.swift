// Mistakes that Lua does not mind, found before anything runs.

import CallModel
import Lua

/// Looks through one file for what can never be meant: methods and options that do not exist, a
/// user object compared with a text, a decision that is made and not returned, a text in the place
/// of a decision. It says nothing of what it is not sure of.
struct MistakeFinder {
    private let file: String
    private let nodes: LuaNodes
    private let types = KnownTypes.shared
    private var mistakes: [PolicyProblem] = []

    /// The mistakes in a file that Lua has compiled, by line.
    static func mistakes(in source: SourceFile) -> [PolicyProblem] {
        guard let body = LuaParser.statements(of: source.text) else { return [] }
        var finder = MistakeFinder(file: source.name, nodes: LuaNodes(body))
        // What a function is given may be known only after another one: three rounds are plenty.
        for _ in 0..<3 { finder.learn() }
        for expression in finder.nodes.expressions { finder.judge(expression) }
        for statement in finder.nodes.statements { finder.judge(statement) }
        return finder.mistakes.sorted { ($0.line ?? 0) < ($1.line ?? 0) }
    }

    private init(file: String, nodes: LuaNodes) {
        self.file = file
        self.nodes = nodes
    }

    private mutating func report(_ text: String, _ line: Int) {
        mistakes.append(PolicyProblem(text, file: file, line: line))
    }

    // MARK: What values are

    private func type(of expression: LuaExpression) -> LuaType? {
        switch expression {
        case .local(let local):
            return local.isReassigned ? nil : local.type ?? local.value.flatMap { type(of: $0) }
        case .member(let owner, let name?, _, _):
            guard case .object(let kind)? = type(of: owner) else { return nil }
            return types.member(name, of: kind)
        case .member(let owner, nil, _, _):
            guard case .list(let kind)? = type(of: owner) else { return nil }
            return .object(kind)
        case .call(.global("config"), let arguments, _):
            guard case .table(let names?, _)? = arguments.first else { return nil }
            return .options(names)
        case .call(.global(let name), _, _):
            return Returned.decisions.contains(name) ? .decision : nil
        case .text, .global, .function, .call, .method, .binary, .table, .other: return nil
        }
    }

    private func isText(_ expression: LuaExpression) -> Bool {
        switch expression {
        case .text, .binary("..", _, _, _): true
        // What is no text is false or nil.
        case .binary("and", _, let right, _): isText(right)
        case .binary("or", let left, let right, _): isText(left) && isText(right)
        case .local(let local): !local.isReassigned && local.value.map(isText) == true
        case .member(let owner, let name?, _, _):
            if case .object(let kind)? = type(of: owner) {
                types.isText(name, of: kind)
            } else {
                false
            }
        case .global, .function, .member, .call, .method, .binary, .table, .other: false
        }
    }

    /// The function that an expression means for sure, and the variable that names it.
    private static func function(
        _ expression: LuaExpression
    ) -> (function: LuaFunction, local: LuaLocal?)? {
        switch expression {
        case .function(let function): return (function, nil)
        case .local(let local):
            guard !local.isReassigned, case .function(let function)? = local.value else {
                return nil
            }
            return (function, local)
        default: return nil
        }
    }

    // MARK: What functions are given

    /// A use of a function: what it is given there.
    private struct Use {
        let function: LuaFunction
        let local: LuaLocal?
        let given: [LuaType?]
    }

    private func learn() {
        for case .loop(let locals, let values, _) in nodes.statements {
            guard locals.count == 2, case .call(.global("ipairs"), let list, _)? = values.first,
                let first = list.first, case .list(let kind)? = type(of: first)
            else { continue }
            locals[1].type = .object(kind)
        }
        var uses: [ObjectIdentifier: [Use]] = [:]
        for use in nodes.expressions.flatMap(uses(in:)) {
            uses[ObjectIdentifier(use.function), default: []].append(use)
        }
        for all in uses.values {
            // One that is used in other ways too may be given anything.
            guard let local = all[0].local else { continue }
            guard all.count == local.uses else { continue }
            for (index, parameter) in all[0].function.parameters.enumerated() {
                let given = all.map { index < $0.given.count ? $0.given[index] : nil }
                parameter.type = given.dropFirst().allSatisfy { $0 == given[0] } ? given[0] : nil
            }
        }
        for all in uses.values where all[0].local == nil {
            for (parameter, type) in zip(all[0].function.parameters, all[0].given) {
                parameter.type = type
            }
        }
    }

    private func uses(in expression: LuaExpression) -> [Use] {
        guard case .call(let called, let arguments, _) = expression else { return [] }
        if let (function, local) = Self.function(called) {
            return [Use(function: function, local: local, given: arguments.map { type(of: $0) })]
        }
        guard let last = arguments.last, let (function, local) = Self.function(last) else {
            return []
        }
        switch called {
        case .member(.global("on"), let name?, _, _):
            let given = Hook(rawValue: name).map(KnownTypes.parameters(of:)) ?? []
            return [Use(function: function, local: local, given: given)]
        case .global(let name):
            let given = KnownTypes.parameters(of: name)
            return given.isEmpty ? [] : [Use(function: function, local: local, given: given)]
        default: return []
        }
    }

    // MARK: Judging

    private mutating func judge(_ expression: LuaExpression) {
        switch expression {
        case .method(let owner, let name, _, let line):
            guard case .object(let kind)? = type(of: owner), !types.has(name, in: kind) else {
                return
            }
            let what = kind == "Call" ? "a call" : "a user object"
            let hint = Suggestion.text(for: name, among: types.methods(of: kind))
            report("\(what) has no method '\(name)'\(hint)", line)
        case .member(let owner, let name?, _, let line):
            guard case .options(let names)? = type(of: owner), !names.contains(name) else { return }
            let hint = Suggestion.text(for: name, among: names)
            report("no option '\(name)' is declared\(hint)", line)
        case .binary(let sign, let left, let right, let line) where sign == "==" || sign == "~=":
            let sides = [(left, right), (right, left)]
            guard sides.contains(where: { type(of: $0) == .object("User") && isText($1) }) else {
                return
            }
            report("a user object never equals a text: compare its 'id'", line)
        case .call(.member(.global("on"), let name?, _, _), let arguments, _):
            guard let hook = Hook(rawValue: name), hook.takesNoText,
                let (function, _) = arguments.last.flatMap(Self.function)
            else { return }
            judgeReturns(of: function.body, in: hook)
        default: break
        }
    }

    private mutating func judge(_ statement: LuaStatement) {
        guard case .local(let locals, let values) = statement, locals.count == 1,
            let value = values.first, type(of: value) == .decision, locals[0].uses == 0
        else { return }
        report(
            "the decision in '\(locals[0].name)' is not returned: it decides nothing",
            locals[0].line)
    }

    /// What the function itself returns, not those within it.
    private mutating func judgeReturns(of body: [LuaStatement], in hook: Hook) {
        for statement in body {
            switch statement {
            case .back(let values, let line):
                guard let first = values.first, isText(first) else { continue }
                report("on.\(hook.rawValue) returns a text, which is \(hook.isNotThis)", line)
            case .blocks(_, let blocks):
                for block in blocks { judgeReturns(of: block, in: hook) }
            case .loop(_, _, let body): judgeReturns(of: body, in: hook)
            case .local, .assign, .run: break
            }
        }
    }
}

extension Hook {
    /// Whether a text that is returned is a failure.
    fileprivate var takesNoText: Bool {
        switch self {
        case .dial, .invite, .token, .push: true
        case .extendedData, .accepted, .rejected, .cancelled, .timeout, .undelivered,
            .participant, .ended, .signal, .presence, .pushFailed, .start, .stop, .pluginError:
            false
        }
    }

    fileprivate var isNotThis: String {
        switch self {
        case .invite: "no decision (write 'return reject \"busy\"')"
        case .dial: "no decision (write 'return refuse \"blocked\"')"
        default: "no table"
        }
    }
}
