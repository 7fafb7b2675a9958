// Results that get lost, and waits where nothing can wait.

import CLua
import CallModel
import Lua
import LuaSource

extension MistakeFinder {
    // MARK: Results

    /// Shaping hooks that change what they are given, and never give it back.
    mutating func judgeShaping(_ hook: Hook, _ function: LuaFunction) {
        guard hook.kind == .shaping, let shaped = function.parameters.first, types.file.isWhole,
            !returnsValue(function)
        else { return }
        let targets = LuaNodes.assigned(in: function.body)
        guard let first = targets.first(where: { $0.root?.isLocal(shaped) == true }) else { return }
        // Who is given the table itself may do anything with it.
        let looks = LuaNodes.within(function.body) + targets
        guard looks.count(where: { $0.owner?.isLocal(shaped) == true }) == shaped.reads.count
        else { return }
        report(
            "on.\(hook.rawValue) changes '\(shaped.name.text)' and does not return it: "
                + "nothing changes", first.range)
    }

    /// `migrate(function(old) old.x = 1 end)`.
    mutating func judgeMigration(_ body: LuaExpression?, _ range: Range<Int>) {
        guard let body, let (function, _) = types.function(body) else { return }
        if types.file.isWhole, !returnsValue(function) {
            report("migrate returns no table: the new state", range)
        }
        judgeCalls(
            in: function, having: CALLUA_WAITS, "cannot be used in migrate, which cannot wait")
    }

    private func returnsValue(_ function: LuaFunction) -> Bool {
        var isReturned = false
        types.forEachReturn(in: function.body) { values, _ in
            if !values.isEmpty { isReturned = true }
        }
        return isReturned
    }

    // MARK: Waits

    /// Functions of Lua that call a function back, and cannot wait in it.
    private static let callers: Set<String> = ["table.sort", "string.gsub"]

    /// `table.sort(ids, function(a, b) return users.get(a).calls < … end)`.
    mutating func judgeCallbacks(_ name: String, _ arguments: [LuaExpression]) {
        guard Self.callers.contains(name) else { return }
        for argument in arguments {
            guard let (function, _) = types.function(argument) else { continue }
            judgeCalls(
                in: function, having: CALLUA_WAITS, "cannot wait inside a callback of the library")
        }
    }

    // MARK: Loops

    /// `for user in call.users do`.
    mutating func judgeLoop(over values: [LuaExpression]) {
        guard values.count == 1, let walked = values.first else { return }
        let type = type(of: walked)
        guard let kinds = type.kinds, kinds.isDisjoint(with: ["function"]) else { return }
        let isList = if case .list = type.present { true } else { kinds == ["Users"] }
        let walker = isList ? "ipairs" : "pairs"
        report(
            "\(type.phrase) is no iterator: write \(walker)(\(Self.shown(walked)))", walked.range)
    }

    /// `ipairs(call.caller)`.
    mutating func judgeWalk(_ name: String, _ arguments: [LuaExpression]) {
        guard name == "ipairs" || name == "pairs", let walked = arguments.first else { return }
        let type = type(of: walked)
        guard let kinds = type.kinds, kinds.isDisjoint(with: ["table", "Users"]) else { return }
        report("\(name) walks a list or a table, not \(type.phrase)", walked.range)
    }
}

extension LuaNodes {
    /// The fields that are assigned to in a block, however deep.
    static func assigned(in block: LuaBlock) -> [LuaExpression] {
        LuaNodes.done(in: block).flatMap { statement -> [LuaExpression] in
            guard case .assign(let targets, _) = statement else { return [] }
            return targets.filter { $0.owner != nil }
        }
    }
}

extension LuaExpression {
    /// What has the field that it names.
    var owner: LuaExpression? {
        switch kind {
        case .member(let owner, _), .index(let owner, _), .method(let owner, _, _): owner
        default: nil
        }
    }

    /// What has the field of the field … that it names.
    var root: LuaExpression? {
        var root = owner
        while let next = root?.owner { root = next }
        return root
    }

    func isLocal(_ wanted: LuaLocal) -> Bool {
        if case .local(let local) = kind { local === wanted } else { false }
    }

    func isGlobal(_ wanted: String) -> Bool {
        if case .global(let name) = kind { name == wanted } else { false }
    }
}
