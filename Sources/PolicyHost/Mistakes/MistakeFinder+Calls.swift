// Calls of functions that callagent gives to scripts.

import CallModel
import Configuration
import Lua
import LuaSource

extension MistakeFinder {
    mutating func judgeMethod(
        _ name: LuaName, of owner: LuaExpression, _ arguments: [LuaExpression], _ range: Range<Int>
    ) {
        let type = type(of: owner).present
        if name.text == "gsub" { judgeCallbacks("string.gsub", arguments) }
        switch type {
        case .nothing:
            return report(
                "'\(Self.shown(owner))' is nil here: it has no '\(name.text)'", owner.range)
        case .object: if reportUnknown("method", name, of: type) { return }
        case .library: break
        case _ where type.isText: return judgeTextMember("method", name)
        default: return
        }
        guard let member = known.member(name.text, of: type) else { return }
        let called = "\(Self.shown(owner)):\(name.text)"
        guard let signature = types.signature(of: member) else {
            return report("'\(called)' is no function, but \(member.type.phrase)", name.range)
        }
        guard signature.isMethod else {
            guard !signature.parameters.isEmpty else { return }
            return report(
                "write \(Self.shown(owner)).\(name.text)(…), with a dot", name.range)
        }
        judge(arguments, of: signature, called, range)
        if called.hasSuffix(":later") { judgeTimer(arguments.dropFirst().first) }
    }

    mutating func judgeCall(
        _ called: LuaExpression, _ arguments: [LuaExpression], _ range: Range<Int>
    ) {
        let type = type(of: called)
        let name = Self.shown(called)
        switch type {
        case .function(let signature?):
            if signature.isMethod {
                judgeWithoutColon(called, arguments)
            } else {
                let count = mistakes.count
                judge(arguments, of: signature, name, range)
                if mistakes.count == count { judgeMore(called, arguments, range) }
            }
        case .nothing, .boolean, .integer, .number, .text, .duration, .timeOfDay, .list, .map,
            .decision, .object:
            report("'\(name)' is no function, but \(type.phrase)", called.range)
        case .any, .function, .table, .shape, .library, .options, .either: break
        }
        guard Self.isOfHost(called) else { return }
        judgeCallbacks(name, arguments)
        judgeWalk(name, arguments)
        if name == "require" { judgeModule(arguments.first) }
    }

    /// `call.finish()` has no call.
    private mutating func judgeWithoutColon(
        _ called: LuaExpression, _ arguments: [LuaExpression]
    ) {
        guard case .member(let owner, let name) = called.kind else { return }
        let wanted = type(of: owner).present
        if let first = arguments.first {
            // A table that is written out is no call, although some are taken in its place.
            let given = type(of: first)
            guard !given.cases.contains(where: { $0 == .any || $0 == wanted }) else { return }
        }
        report("write \(Self.shown(owner)):\(name.text)(…), with a colon", name.range)
    }

    private mutating func judge(
        _ arguments: [LuaExpression], of signature: ScriptType.Signature, _ name: String,
        _ range: Range<Int>
    ) {
        for (parameter, argument) in zip(signature.parameters, arguments) {
            let wanted: ScriptType =
                parameter.isOptional ? .either(of: [parameter.type, .nothing]) : parameter.type
            judge(argument, as: wanted, shown(parameter, of: name))
        }
        let most = signature.parameters.count
        if !signature.takesMore, let more = arguments.dropFirst(most).first, !more.isOpen {
            let values = most == 1 ? "value" : "values"
            return report(
                "\(name) takes at most \(most) \(values), and is given \(arguments.count)",
                more.range)
        }
        let missing = signature.parameters.dropFirst(arguments.count).first { parameter in
            !parameter.isOptional && !parameter.type.cases.contains { $0 == .any || $0 == .nothing }
        }
        guard let missing, arguments.last?.givesMore != true else { return }
        report("\(name) needs '\(missing.name)', \(missing.type.phrase)", range)
    }

    /// A table of options is known by the function that takes it.
    private func shown(_ parameter: ScriptMember, of name: String) -> String {
        switch parameter.type {
        case .shape, .object: name
        default: "'\(parameter.name)' of \(name)"
        }
    }

    /// What the types alone do not say.
    private mutating func judgeMore(
        _ called: LuaExpression, _ arguments: [LuaExpression], _ range: Range<Int>
    ) {
        switch called.kind {
        case .global("plugin"): judgeManifest(arguments.first)
        case .global("later"): judgeTimer(arguments.dropFirst().first)
        case .global("config"): judgeOptions(arguments.first)
        case .global("migrate"): judgeMigration(arguments.first, called.range)
        case .global(let name) where Returned.decisions.contains(name):
            judgeDecision(name, arguments, range)
        case .member(let owner, let name):
            if owner.isGlobal("on") { return judgeHandler(name.text, arguments.first) }
            if owner.isGlobal("http") { return judgeAddress(arguments.first) }
            guard case .global("option") = owner.kind,
                let text = OptionReader.mistake(of: name.text, arguments)
            else { return }
            let range = arguments.first?.range ?? name.range
            report(text, range.lowerBound..<(arguments.last?.range.upperBound ?? range.upperBound))
        default: break
        }
    }

    private mutating func judgeManifest(_ manifest: LuaExpression?) {
        guard case .table(let fields)? = manifest?.kind else { return }
        for field in fields {
            guard case .name(let key) = field.key else { continue }
            switch (key.text, field.value.kind) {
            case ("needs", .table(let needs)): for need in needs { judgeNeed(need.value) }
            case ("needs", .text): judgeNeed(field.value)
            case ("state_version", .number(let text)) where Int(text).map { $0 > 0 } != true:
                report("'state_version' is a positive integer", field.value.range)
            default: break
            }
        }
    }

    private mutating func judgeNeed(_ need: LuaExpression) {
        guard case .text(let text?) = need.kind else { return }
        do throws(LuaProblem) {
            try Capability.check(text)
        } catch {
            report("needs: \(error.message)", need.range)
        }
    }

    /// `later` starts only what the plugin declares.
    mutating func judgeTimer(_ name: LuaExpression?) {
        guard let name, let timers = declared.timers, case .text(let text?) = name.kind,
            !timers.contains(text)
        else { return }
        report("unknown timer '\(text)'\(Suggestion.text(for: text, among: timers))", name.range)
    }

    /// As it would be written: `call.caller`.
    package static func shown(_ expression: LuaExpression) -> String {
        switch expression.kind {
        case .local(let local): local.name.text
        case .global(let name): name
        case .member(let owner, let name): "\(shown(owner)).\(name.text)"
        case .index(let owner, _): "\(shown(owner))[…]"
        case .call(let called, _): "\(shown(called))(…)"
        case .method(let owner, let name, _): "\(shown(owner)):\(name.text)(…)"
        default: "(…)"
        }
    }
}

extension LuaExpression {
    /// Whether it may stand for no value at all.
    fileprivate var isOpen: Bool {
        switch kind {
        case .varargs, .unread, .missing: true
        default: false
        }
    }

    /// Whether it may stand for several values.
    var givesMore: Bool {
        switch kind {
        case .call, .method, .varargs, .unread: true
        default: false
        }
    }
}

/// The timers of a plugin.
package enum TimerNames {
    /// What `timer(…)` declares in these files; nil: some names are computed, or not read.
    package static func declared(in files: [TypeFinder]) -> Set<String>? {
        let isRead = files.allSatisfy { $0.file.isWhole && $0.file.troubles.isEmpty }
        let names = all(in: files)
        return isRead && !names.contains(nil) ? Set(names.compactMap { $0 }) : nil
    }

    /// What `timer(…)` declares, as far as it is written out; nil: that one is computed.
    package static func all(in files: [TypeFinder]) -> [String?] {
        files.flatMap { $0.nodes.expressions }.compactMap { expression -> String?? in
            guard case .call(let called, let arguments) = expression.kind,
                case .global("timer") = called.kind
            else { return nil }
            guard case .text(let name)? = arguments.first?.kind else { return .some(nil) }
            return .some(name)
        }
    }
}
