// What handlers return, and what may stand where.

import CLua
import CallModel
import Lua
import LuaSource

extension MistakeFinder {
    // MARK: Returns

    mutating func judgeHandler(_ name: String, _ handler: LuaExpression?) {
        guard let hook = Hook(rawValue: name), let handler,
            let (function, _) = types.function(handler)
        else { return }
        var found: [(ScriptType, Range<Int>)] = []
        types.forEachReturn(in: function.body) { values, range in
            guard let first = values.first else { return }
            found.append((type(of: first).present, range))
        }
        for (type, range) in found { judge(type, returnedBy: hook, range) }
        judgeShaping(hook, function)
    }

    private mutating func judge(
        _ type: ScriptType, returnedBy hook: Hook, _ range: Range<Int>
    ) {
        if case .decision(let name) = type {
            guard let name, !hook.decisions.contains(name) else { return }
            let text =
                hook.kind == .report
                ? "on.\(hook.rawValue) only reports: a decision decides nothing here"
                : "on.\(hook.rawValue) cannot answer with '\(name)'\(hook.instead)"
            return report(text, range)
        }
        guard hook.kind != .report, let kinds = type.kinds,
            kinds.isDisjoint(with: hook.returns.union(["nil", "decision"]))
        else { return }
        report("on.\(hook.rawValue) returns \(type.phrase), which is \(hook.isNotThis)", range)
    }

    // MARK: Places

    /// What belongs to the top level, or does not.
    mutating func judgePlaces() {
        var declared: Set<String> = []
        for statement in types.file.body.statements {
            for expression in LuaNodes.outside(statement) {
                guard case .call(let called, let arguments) = expression.kind else { continue }
                let name = Self.shown(called)
                judgeTop(name, called)
                guard let once = Self.declaration(name, called, arguments) else { continue }
                guard !declared.insert(once).inserted else { continue }
                report("\(once) twice", called.range)
            }
        }
        for expression in types.nodes.expressions {
            guard case .call(let called, let arguments) = expression.kind,
                case .function = type(of: called), Self.isOfHost(called)
            else { continue }
            for argument in arguments { judgeWithin(argument) }
        }
    }

    private mutating func judgeTop(_ name: String, _ called: LuaExpression) {
        guard Self.isOfHost(called), let flags = Self.flags[name],
            flags & (CALLUA_HANDLER_ONLY | CALLUA_WAITS) != 0
        else { return }
        report("'\(name)' cannot be used while a plugin is loaded", called.range)
    }

    /// The body of a function that is called later.
    private mutating func judgeWithin(_ argument: LuaExpression) {
        guard case .function(let function) = argument.kind else { return }
        judgeCalls(
            in: function, having: CALLUA_LOAD_ONLY, "belongs to the top level of a plugin")
    }

    /// Says `text` of what the host offers with `flag` and a function calls, however deep.
    mutating func judgeCalls(in function: LuaFunction, having flag: Int, _ text: String) {
        for expression in LuaNodes.within(function.body) {
            guard case .call(let called, _) = expression.kind, Self.isOfHost(called) else {
                continue
            }
            let name = Self.shown(called)
            guard let flags = Self.flags[name], flags & flag != 0 else { continue }
            report("'\(name)' \(text)", called.range)
        }
    }

    /// What a plugin may declare once.
    private static func declaration(
        _ name: String, _ called: LuaExpression, _ arguments: [LuaExpression]
    ) -> String? {
        guard isOfHost(called) else { return nil }
        if ["plugin", "config"].contains(name) { return "'\(name)' is called" }
        if name == "migrate" || name.hasPrefix("on.") { return "'\(name)' is declared" }
        let place = name == "timer" ? 0 : name == "every" || name == "at" ? 1 : nil
        guard let place, place < arguments.count, case .text(let timer?) = arguments[place].kind
        else { return nil }
        return "the timer '\(timer)' is declared"
    }

    static func isOfHost(_ called: LuaExpression) -> Bool {
        switch called.kind {
        case .global: return true
        case .member(let owner, _):
            if case .global = owner.kind { return true }
            return false
        default: return false
        }
    }

    static let flags: [String: Int] = Dictionary(
        Bindings.all.map { ($0.name, $0.flags) }, uniquingKeysWith: { first, _ in first })
}

extension LuaNodes {
    /// The expressions of a statement at top level that are run while the file is loaded.
    fileprivate static func outside(_ statement: LuaStatement) -> [LuaExpression] {
        switch statement {
        case .run(let call): [call]
        case .local(_, let values), .assign(_, let values): values
        case .back, .blocks, .loop: []
        }
    }
}

extension Hook {
    /// The decisions that it may return.
    var decisions: [String] {
        switch self {
        case .invite: ["accept", "reject", "ring", "forward"]
        case .dial: ["refuse", "allow"]
        case .join: ["refuse", "admit"]
        case .push, .extendedData: ["drop"]
        case .token, .accepted, .rejected, .cancelled, .timeout, .undelivered, .participant,
            .ended, .signal, .presence, .pushFailed, .start, .stop, .pluginError:
            []
        }
    }

    /// What else it may return.
    fileprivate var returns: Set<String> {
        switch self {
        case .token, .push: ["table"]
        case .extendedData: ["table", "text"]
        default: []
        }
    }

    /// What it can answer with.
    fileprivate var instead: String {
        decisions.isEmpty ? "" : " (it can with \(decisions.joined(separator: ", ")))"
    }

    fileprivate var isNotThis: String {
        switch self {
        case .invite: "no decision (write 'return reject \"busy\"')"
        case .dial, .join: "no decision (write 'return refuse \"blocked\"')"
        case .extendedData: "neither a table nor a text"
        default: "no table"
        }
    }
}
