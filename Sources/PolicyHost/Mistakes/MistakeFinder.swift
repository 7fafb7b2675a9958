// Mistakes that Lua does not mind, found before anything runs.

import CallModel
import Lua
import LuaSource

/// Something that can never be meant, and where it stands.
package struct Mistake: Equatable, Sendable {
    package let text: String
    package let range: Range<Int>
}

/// Looks through one file for what can never be meant: names, fields and options that do not exist,
/// values of a type that nobody takes, a user object compared with a text, a decision that is made
/// and not returned. It says nothing of what it is not sure of.
package struct MistakeFinder {
    let types: TypeFinder
    var known: KnownTypes { types.known }
    let declared: DeclaredNames
    private(set) var mistakes: [Mistake] = []

    /// What is told of a plugin's files, by file and line.
    struct Findings {
        var mistakes: [ScriptProblem] = []
        /// What is no mistake: see `ChangeFinder`.
        var changes: [ScriptProblem] = []
    }

    /// What is found in the files of a plugin, to which the operator grants these capabilities.
    static func findings(in source: PluginSource, granted: Set<String>? = nil) -> Findings {
        let all = source.files.map { TypeFinder(LuaParser.file($0.text)) }
        let declared = DeclaredNames(all, of: source, granted: granted)
        let changes = ChangeFinder.changes(in: all, of: source)
        var findings = Findings()
        for (file, (types, changes)) in zip(source.files, zip(all, changes)) {
            // What Lua cannot read is told by Lua.
            guard types.file.troubles.isEmpty else { continue }
            let lines = LineMap(file.text)
            func placed(_ found: [Mistake]) -> [ScriptProblem] {
                found.map {
                    ScriptProblem(
                        $0.text, file: file.name, line: lines.line(of: $0.range.lowerBound))
                }
            }
            findings.mistakes += placed(mistakes(in: types, declared))
            findings.changes += placed(changes + unreached(in: types))
        }
        return findings
    }

    /// The mistakes in one file, in order.
    package static func mistakes(
        in types: TypeFinder, _ declared: DeclaredNames
    ) -> [Mistake] {
        var finder = MistakeFinder(types: types, declared: declared)
        for expression in types.nodes.expressions { finder.judge(expression) }
        for statement in types.nodes.statements { finder.judge(statement) }
        finder.judgePlaces()
        var seen: [Range<Int>: Set<String>] = [:]
        return finder.mistakes.filter { seen[$0.range, default: []].insert($0.text).inserted }
            .sorted { $0.range.lowerBound < $1.range.lowerBound }
    }

    /// What is never reached: it is no mistake, and does nothing.
    package static func unreached(in types: TypeFinder) -> [Mistake] {
        types.file.unreached.map { Mistake(text: "this is never reached", range: $0) }
    }

    private init(types: TypeFinder, declared: DeclaredNames) {
        self.types = types
        self.declared = declared
    }

    mutating func report(_ text: String, _ range: Range<Int>) {
        mistakes.append(Mistake(text: text, range: range))
    }

    func type(of expression: LuaExpression) -> ScriptType { types.type(of: expression) }

    // MARK: Expressions

    private mutating func judge(_ expression: LuaExpression) {
        switch expression.kind {
        case .member(let owner, let name): judgeMember(name, of: owner)
        case .method(let owner, let name, let arguments):
            judgeMethod(name, of: owner, arguments, expression.range)
        case .call(let called, let arguments): judgeCall(called, arguments, expression.range)
        case .unary(let sign, let value): judgeOperand(sign, value)
        case .binary(let sign, let left, let right):
            judgeOperator(sign, left, right, expression.range)
        case .missing, .unread, .nothing, .truth, .number, .text, .varargs, .local, .global,
            .function, .index, .table, .brackets:
            break
        }
    }

    private mutating func judgeMember(_ name: LuaName, of owner: LuaExpression) {
        guard !name.text.isEmpty else { return }
        let type = type(of: owner).present
        switch type {
        case .options(let fields?) where !fields.contains { $0.name == name.text }:
            let hint = Suggestion.text(for: name.text, among: fields.map(\.name))
            report("no option '\(name.text)' is declared\(hint)", name.range)
        case .object: reportUnknown("field", name, of: type)
        case .decision: report("a decision has no fields", name.range)
        case .nothing:
            report("'\(Self.shown(owner))' is nil here: it has no '\(name.text)'", owner.range)
        case .list:
            report("a list has no field '\(name.text)'", name.range)
        case .integer, .number, .boolean:
            report("\(type.phrase) has no field '\(name.text)'", name.range)
        case _ where type.isText: judgeTextMember("field", name)
        default: break
        }
    }

    /// What a text has: the functions of `string`.
    private static let textFunctions: Set<String> = [
        "byte", "char", "find", "format", "gmatch", "gsub", "len", "lower", "match", "pack",
        "packsize", "rep", "reverse", "sub", "unpack", "upper",
    ]

    /// `push.user.id`, where `push.user` is the id already.
    mutating func judgeTextMember(_ what: String, _ name: LuaName) {
        guard !name.text.isEmpty, !Self.textFunctions.contains(name.text) else { return }
        let hint = Suggestion.text(for: name.text, among: Self.textFunctions.sorted())
        report("a text has no \(what) '\(name.text)'\(hint)", name.range)
    }

    /// Whether it was told that the class has nothing of this name.
    @discardableResult
    mutating func reportUnknown(_ what: String, _ name: LuaName, of type: ScriptType) -> Bool {
        guard let members = known.members(of: type), !name.text.isEmpty,
            !members.contains(where: { $0.name == name.text })
        else { return false }
        let isMethod = what == "method"
        let names = members.filter { member in
            guard isMethod else { return true }
            return if case .function = member.type { true } else { false }
        }.map(\.name)
        let hint = Suggestion.text(for: name.text, among: names)
        report("\(type.phrase) has no \(what) '\(name.text)'\(hint)", name.range)
        return true
    }

    // MARK: Statements

    private mutating func judge(_ statement: LuaStatement) {
        switch statement {
        case .run(let call): judgeDiscarded(call)
        case .local(let locals, let values):
            guard types.file.isWhole, locals.count == 1, let value = values.first,
                case .decision = type(of: value), locals[0].reads.isEmpty,
                locals[0].writes.isEmpty
            else { return }
            let name = locals[0].name
            report("the decision in '\(name.text)' is not returned: it decides nothing", name.range)
        case .assign(let targets, let values):
            for (index, target) in targets.enumerated() {
                judgeAssignment(target, index < values.count ? values[index] : nil)
            }
        case .loop(_, let values, _): judgeLoop(over: values)
        case .back, .blocks: break
        }
    }

    private mutating func judgeDiscarded(_ call: LuaExpression) {
        guard case .call(let called, _) = call.kind, case .decision = type(of: call) else { return }
        switch called.kind {
        case .global(let name):
            report("'\(name)' without 'return' decides nothing", called.range)
        case .local(let local):
            report(
                "the decision of '\(local.name.text)' is not returned: it decides nothing",
                called.range)
        default: break
        }
    }

    private mutating func judgeAssignment(_ target: LuaExpression, _ value: LuaExpression?) {
        judgeKept(target, value)
        guard case .member(let owner, let name) = target.kind else { return }
        let type = type(of: owner).present
        switch type {
        case .options: report("options are set by the operator", name.range)
        case .object("Call"):
            let isVars = name.text == "vars"
            report(
                isVars
                    ? "call.vars cannot be replaced; set fields of it"
                    : "a call cannot be changed (field '\(name.text)'); use call.vars", name.range)
        case .object("User"): report("a user object cannot be changed", name.range)
        case .object("Push"):
            guard !reportUnknown("field", name, of: type) else { return }
            if PushDraft.fixed.contains(name.text) {
                report("push.\(name.text) cannot be changed", name.range)
            } else if let value, let member = known.member(name.text, of: type) {
                judge(value, as: .either(of: [member.type, .nothing]), "push.\(name.text)")
            }
        default: break
        }
    }

    /// `state.decide = function() … end`.
    private mutating func judgeKept(_ target: LuaExpression, _ value: LuaExpression?) {
        guard let value, case .function = value.kind, let owner = target.owner else { return }
        var isKept = owner.isGlobal("state") || target.root?.isGlobal("state") == true
        if case .member(let call, let name) = owner.kind, name.text == "vars" {
            isKept = isKept || type(of: call).present == .object("Call")
        }
        if isKept { report("a function is no data: it cannot be kept here", value.range) }
    }
}
