// Tables that only keep what was computed.

import LuaSource

extension ChangeFinder {
    /// Whether handlers only keep results in a local that follow from the key alone: then it makes
    /// no difference whether a result was kept.
    func onlyKeepsResults(_ changes: [Change]) -> Bool {
        var keepers: Set<ID> = []
        for change in changes {
            guard let target = change.target else { return false }
            if let value = change.value, isCleared(target, change.local, value) { continue }
            guard let value = change.value, let key = key(of: target, change.local),
                isComputed(value)
            else { return false }
            let judge = ResultJudge(self, change.local, key: key)
            guard results(of: value, change.local).allSatisfy({ judge.isPure($0) }) else {
                return false
            }
            keepers.insert(change.function)
        }
        guard let local = changes.first?.local, !keepers.isEmpty else { return false }
        // Who only looks whether something is there would see it.
        return reached.subtracting(keepers).allSatisfy { function in
            map.code[function]?.expressions.allSatisfy { expression in
                if case .local(local) = expression.kind { false } else { true }
            } ?? true
        }
    }

    /// `kept = {}`, `kept[key] = nil`.
    private func isCleared(
        _ target: LuaExpression, _ local: LuaLocal, _ value: LuaExpression
    ) -> Bool {
        switch value.kind {
        case .nothing: key(of: target, local) != nil
        case .table(let fields):
            if case .local = target.kind { fields.isEmpty } else { false }
        default: false
        }
    }

    /// What a value is kept under: the names in it. Nil: elsewhere than right in the local.
    private func key(of target: LuaExpression, _ local: LuaLocal) -> Set<String>? {
        switch target.kind {
        case .local(local): return []
        case .member(let owner, _):
            if case .local(local) = owner.kind { return [] }
        case .index(let owner, let key):
            if case .local(local) = owner.kind { return names(in: key) }
        default: break
        }
        return nil
    }

    /// The variables of an expression with their fields: `call.callee.id`.
    private func names(in expression: LuaExpression) -> Set<String> {
        if expression.isPath { return [MistakeFinder.shown(expression)] }
        return expression.kind.parts.reduce(into: []) { $0.formUnion(names(in: $1)) }
    }

    /// What is kept when it is not there yet: of `kept[key] or f(key)` the right side, of a
    /// variable what it has besides what was there.
    private func results(of value: LuaExpression, _ kept: LuaLocal) -> [LuaExpression] {
        switch value.kind {
        case .brackets(let inside): results(of: inside, kept)
        case .binary("or", let left, let right) where isRead(left, of: kept): [right]
        case .local(let local) where local !== kept:
            (map.values[ID(local)] ?? [value]).filter { !isRead($0, of: kept) }
        default: [value]
        }
    }

    private func isRead(_ expression: LuaExpression, of kept: LuaLocal) -> Bool {
        switch expression.kind {
        case .local(kept): return true
        case .member(let owner, _), .index(let owner, _):
            if case .local(kept) = owner.kind { return true }
            return false
        default: return false
        }
    }

    /// Whether it took work: a script that keeps `true` wants to know later that it was here.
    private func isComputed(
        _ value: LuaExpression, followed: FollowedValues = FollowedValues()
    ) -> Bool {
        switch value.kind {
        case .call, .method: true
        case .binary("or", _, let right): isComputed(right, followed: followed)
        case .binary, .unary, .function: true
        case .table(let fields): !fields.isEmpty
        case .brackets(let inside): isComputed(inside, followed: followed)
        case .local(let local):
            followed.enter(local)
                && (map.values[ID(local)] ?? []).contains { isComputed($0, followed: followed) }
        default: false
        }
    }
}

/// Tells whether a value follows from a key and from what never changes.
private final class ResultJudge {
    typealias ID = ObjectIdentifier

    private let finder: ChangeFinder
    private let kept: LuaLocal
    private let key: Set<String>
    /// Functions that are being looked through: what calls itself is as good as the rest of it.
    private var trusted: Set<ID> = []
    /// What was found out of locals; one that is being looked at follows from itself.
    private var judged: [ID: Bool] = [:]

    init(_ finder: ChangeFinder, _ kept: LuaLocal, key: Set<String>) {
        (self.finder, self.kept, self.key) = (finder, kept, key)
    }

    func isPure(_ value: LuaExpression, steps: Int = 0) -> Bool {
        guard steps < ChangeFinder.stepsFollowed else { return false }
        if value.isPath, key.contains(MistakeFinder.shown(value)) { return true }
        func allPure(_ parts: [LuaExpression]) -> Bool {
            parts.allSatisfy { isPure($0, steps: steps + 1) }
        }
        switch value.kind {
        case .nothing, .truth, .number, .text: return true
        case .missing, .unread, .varargs: return false
        case .local(let local):
            // What follows from what was there before is a count.
            if local === kept { return false }
            if let list = finder.map.lists[ID(local)] { return allPure([list]) }
            if isOfFile(local) { return isConstant(local) }
            if let known = judged[ID(local)] { return known }
            judged[ID(local)] = false
            let values = finder.map.values[ID(local)] ?? []
            let arePure = !values.isEmpty && allPure(values)
            judged[ID(local)] = arePure
            return arePure
        case .global: return Self.isPure(finder.library(value))
        case .member(let owner, _):
            return finder.library(value).map(Self.isPure) ?? allPure([owner])
        case .function(let function): return isPure(function)
        case .call(let called, let arguments): return isPure(call: called) && allPure(arguments)
        case .method(let owner, let name, let arguments):
            return Self.methods.contains(name.text) && allPure([owner] + arguments)
        case .index, .unary, .binary, .table, .brackets: return allPure(value.kind.parts)
        }
    }

    private func isPure(call called: LuaExpression) -> Bool {
        if let name = finder.library(called) { return Self.isPure(name) }
        var made = finder.functions(called)
        if made.isEmpty, case .local(let local) = called.kind {
            let passed = finder.passed(to: local)
            made = passed.flatMap { finder.functions($0) }
            guard made.count >= passed.count else { return false }
        }
        return !made.isEmpty && made.allSatisfy(isPure)
    }

    /// Whether what a function gives follows from what it is given.
    private func isPure(_ function: LuaFunction) -> Bool {
        guard trusted.insert(ID(function)).inserted else { return true }
        guard let code = finder.map.code[ID(function)] else { return false }
        let changesMore = finder.changes.contains {
            $0.function == ID(function) && $0.local !== kept
        }
        return !changesMore
            && code.expressions.allSatisfy { expression in
                switch expression.kind {
                case .varargs, .unread, .missing: false
                case .local(let local): local === kept || !isOfFile(local) || isConstant(local)
                case .global(let name): Self.globals.contains(name)
                case .member: finder.library(expression).map(Self.isPure) ?? true
                case .call(let called, _): isPure(call: called)
                case .method(_, let name, _): Self.methods.contains(name.text)
                default: true
                }
            }
    }

    /// Whether handlers find it as the file left it.
    private func isConstant(_ local: LuaLocal) -> Bool {
        !finder.changes.contains { $0.local === local }
    }

    private func isOfFile(_ local: LuaLocal) -> Bool {
        !(finder.map.owner[ID(local)].map(finder.reached.contains) ?? false)
    }

    private static func isPure(_ name: String?) -> Bool {
        guard let name, name != "math.random" else { return false }
        return globals.contains(name.split(separator: ".").first.map(String.init) ?? name)
    }

    private static let globals: Set<String> = [
        "string", "math", "table", "utf8", "base64", "json", "hmac", "tostring", "tonumber",
        "type", "select", "ipairs", "pairs", "next", "assert", "error", "rawget", "rawlen",
        "rawequal",
    ]
    private static let methods: Set<String> = [
        "sub", "upper", "lower", "rep", "format", "reverse", "gsub", "gmatch", "match", "find",
        "byte", "len",
    ]
}

extension LuaExpression {
    /// Whether it is a variable, or a field of one: `call.callee.id`.
    fileprivate var isPath: Bool {
        switch kind {
        case .local: true
        case .member(let owner, _): owner.isPath
        default: false
        }
    }
}
