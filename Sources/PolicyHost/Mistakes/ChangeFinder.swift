// Handlers that change locals of the file.

import LuaSource

/// Looks through the files of a plugin for locals that outlive a handler and that handlers change:
/// reload, replay and the debugger begin without such a change. It says nothing where it is not
/// sure, and nothing of tables that only keep computed results to be quicker the next time.
package struct ChangeFinder {
    typealias ID = ObjectIdentifier

    /// Something that a handler does to what a local holds.
    struct Change {
        let local: LuaLocal
        /// What is assigned to: the local, or a field.
        let target: LuaExpression?
        let value: LuaExpression?
        /// The function that does it.
        let function: ID
        let file: Int
        let range: Range<Int>
    }

    /// What a parameter is given, and where.
    private struct Given {
        let local: LuaLocal
        let file: Int
        let range: Range<Int>
    }

    /// As far as what a value is made of is followed.
    static let stepsFollowed = 40

    let map: ScriptMap
    /// Functions that handlers run.
    private(set) var reached: Set<ID> = []
    private var given: [ID: Given] = [:]
    private var waiting: [LuaFunction] = []
    /// What each function is called with.
    private var callers: [ID: [(parameters: [LuaLocal], arguments: [LuaExpression])]] = [:]
    private(set) var changes: [Change] = []

    /// What is told of each of a plugin's files, in their order.
    package static func changes(
        in files: [TypeFinder], of source: PluginSource
    ) -> [[Mistake]] {
        guard files.allSatisfy(\.file.isWhole) else { return files.map { _ in [] } }
        let map = ScriptMap(files.map(\.file), modules: source.modules.keys.sorted())
        var finder = ChangeFinder(map)
        finder.follow()
        return finder.told(of: files.count)
    }

    private init(_ map: ScriptMap) {
        self.map = map
        for (local, all) in map.arguments {
            for function in (map.values[local] ?? []).flatMap({ functions($0) }) {
                callers[ID(function), default: []] += all.map { (function.parameters, $0) }
            }
        }
    }

    private func told(of files: Int) -> [[Mistake]] {
        var told: [[Mistake]] = Array(repeating: [], count: files)
        var seen: Set<[Int]> = []
        let byLocal = Dictionary(grouping: changes) { ID($0.local) }
        for all in byLocal.values where !onlyKeepsResults(all) {
            for change in all {
                let place = [change.file, change.range.lowerBound, change.range.upperBound]
                guard seen.insert(place).inserted else { continue }
                let name = change.local.name.text
                told[change.file].append(
                    Mistake(
                        text: "a handler changes '\(name)', a local of the file: reload, replay "
                            + "and debug begin without it (state.\(name) is kept)",
                        range: change.range))
            }
        }
        return told.map { $0.sorted { $0.range.lowerBound < $1.range.lowerBound } }
    }

    // MARK: What handlers run

    private mutating func follow() {
        for code in map.top {
            for expression in code.expressions {
                guard case .call(let called, let arguments) = expression.kind,
                    Self.takesHandlers(called)
                else { continue }
                for argument in arguments { reach(all: argument) }
            }
        }
        while let function = waiting.popLast() {
            if let code = map.code[ID(function)] { visit(code) }
        }
        // Which locals outlive a handler is known when all that handlers run is known.
        changes = []
        for id in reached {
            if let code = map.code[id] { collect(code, id) }
        }
        let running = reached
        changes.removeAll { change in
            map.owner[ID(change.local)].map(running.contains) ?? false
        }
    }

    private static func takesHandlers(_ called: LuaExpression) -> Bool {
        switch called.kind {
        case .global("every"), .global("at"), .global("timer"): true
        case .member(let owner, _): if case .global("on") = owner.kind { true } else { false }
        default: false
        }
    }

    private mutating func reach(_ function: LuaFunction) {
        guard reached.insert(ID(function)).inserted else { return }
        waiting.append(function)
        for inner in map.code[ID(function)]?.within ?? [] { reach(inner) }
    }

    /// Every function that the value may be, or have in it.
    private mutating func reach(all value: LuaExpression, steps: Int = 0) {
        guard steps < Self.stepsFollowed else { return }
        for function in functions(value) { reach(function) }
        if case .call(let called, let arguments) = value.kind {
            // What it gives may be any function that is written in it.
            for function in functions(called) {
                for inner in map.code[ID(function)]?.within ?? [] { reach(inner) }
            }
            for argument in arguments { reach(all: argument, steps: steps + 1) }
        }
    }

    private mutating func visit(_ code: ScriptMap.Code) {
        for expression in code.expressions {
            switch expression.kind {
            case .local, .member: functions(expression).forEach { reach($0) }
            case .call(let called, let arguments): follow(called, arguments, code.file)
            case .method(let owner, let name, let arguments):
                let own = functions(of: owner, method: name.text)
                own.forEach { reach($0) }
                own.forEach { bind($0, [owner] + arguments, code.file) }
            default: break
            }
        }
    }

    private mutating func follow(
        _ called: LuaExpression, _ arguments: [LuaExpression], _ file: Int
    ) {
        if case .local(let local) = called.kind {
            for value in map.values[ID(local)] ?? [] { reach(all: value) }
            for value in passed(to: local) { reach(all: value) }
        }
        for function in functions(called) { bind(function, arguments, file) }
    }

    /// A table that a function is given is the same table there.
    private mutating func bind(
        _ function: LuaFunction, _ arguments: [LuaExpression], _ file: Int
    ) {
        for (parameter, argument) in zip(function.parameters, arguments) {
            guard given[ID(parameter)] == nil, !parameter.isReassigned,
                let (local, place) = table(argument)
            else { continue }
            given[ID(parameter)] =
                place ?? Given(local: local, file: file, range: argument.range)
            // What it calls may be given the table as well.
            waiting.append(function)
        }
    }

    // MARK: Changes

    private mutating func collect(_ code: ScriptMap.Code, _ function: ID) {
        for (target, value) in code.assignments {
            guard let (local, place) = changed(by: target) else { continue }
            changes.append(
                Change(
                    local: local, target: target, value: value, function: function,
                    file: place?.file ?? code.file, range: place?.range ?? target.range))
        }
        for expression in code.expressions {
            guard case .call(let called, let arguments) = expression.kind,
                let first = arguments.first, let name = library(called),
                Self.changing.contains(name)
            else { continue }
            let list = name == "table.move" && arguments.count > 4 ? arguments[4] : first
            guard let (local, place) = table(list) else { continue }
            changes.append(
                Change(
                    local: local, target: nil, value: nil, function: function,
                    file: place?.file ?? code.file, range: place?.range ?? list.range))
        }
    }

    private func changed(by target: LuaExpression) -> (local: LuaLocal, place: Given?)? {
        switch target.kind {
        case .local(let local): (local, nil)
        case .member(let owner, _), .index(let owner, _): table(owner)
        default: nil
        }
    }

    /// Functions of Lua that change the table that they are given.
    private static let changing: Set<String> = [
        "table.insert", "table.remove", "table.sort", "table.move", "rawset", "setmetatable",
    ]

    /// The name of a function of Lua's library, also where a local stands for it.
    func library(_ called: LuaExpression, steps: Int = 0) -> String? {
        switch called.kind {
        case .global(let name): return name
        case .member(let owner, let name):
            guard case .global(let library) = owner.kind else { return nil }
            return "\(library).\(name.text)"
        case .local(let local):
            guard steps < Self.stepsFollowed, !local.isReassigned, let value = local.value else {
                return nil
            }
            return library(value, steps: steps + 1)
        default: return nil
        }
    }
}

// MARK: What values are

extension ChangeFinder {
    /// The functions that an expression may mean, as far as they are written in the files.
    func functions(
        _ expression: LuaExpression, steps: Int = 0, followed: FollowedValues = FollowedValues()
    ) -> [LuaFunction] {
        guard steps < Self.stepsFollowed else { return [] }
        func next(_ value: LuaExpression) -> [LuaFunction] {
            functions(value, steps: steps + 1, followed: followed)
        }
        switch expression.kind {
        case .function(let function): return [function]
        case .brackets(let inside): return next(inside)
        case .local(let local):
            guard followed.enter(local) else { return [] }
            return (map.values[ID(local)] ?? []).flatMap(next)
        case .member(let owner, let name):
            return fields(owner, name.text, steps: steps + 1, followed).flatMap(next)
        default: return []
        }
    }

    /// What the field of a table may hold.
    private func fields(
        _ owner: LuaExpression, _ name: String, steps: Int, _ followed: FollowedValues
    ) -> [LuaExpression] {
        guard steps < Self.stepsFollowed else { return [] }
        func next(_ value: LuaExpression) -> [LuaExpression] {
            fields(value, name, steps: steps + 1, followed)
        }
        switch owner.kind {
        case .local(let local):
            guard followed.enter(local, field: name) else { return [] }
            let stored = (map.stored[ID(local)] ?? []).filter { $0.name == name }.map(\.value)
            return stored + (map.values[ID(local)] ?? []).flatMap(next)
        case .table(let written):
            return written.compactMap { field in
                if case .name(let key) = field.key, key.text == name { field.value } else { nil }
            }
        case .call(let called, let arguments):
            guard case .global(let function) = called.kind else { return [] }
            if function == "require", case .text(let module?)? = arguments.first?.kind {
                return map.module(module).map(next) ?? []
            }
            guard function == "setmetatable", let table = arguments.first else { return [] }
            return next(table)
        default: return []
        }
    }

    /// The functions that a method of a plugin's own may be.
    private func functions(of owner: LuaExpression, method name: String) -> [LuaFunction] {
        let own = fields(owner, name, steps: 0, FollowedValues()).flatMap { functions($0) }
        guard own.isEmpty else { return own }
        let named = map.methods[name] ?? []
        return named.count == 1 ? named : []
    }

    /// What a parameter may be given.
    func passed(to local: LuaLocal) -> [LuaExpression] {
        guard let owner = map.owner[ID(local)] else { return [] }
        return callers[owner]?.compactMap { list in
            list.parameters.firstIndex { $0 === local }.flatMap { place in
                place < list.arguments.count ? list.arguments[place] : nil
            }
        } ?? []
    }

    /// The local in whose table, or in a table of it, an expression is surely found.
    private func table(
        _ expression: LuaExpression, isDeep: Bool = false, steps: Int = 0,
        followed: FollowedValues = FollowedValues()
    ) -> (local: LuaLocal, place: Given?)? {
        guard steps < Self.stepsFollowed else { return nil }
        func next(_ part: LuaExpression, isDeep: Bool) -> (local: LuaLocal, place: Given?)? {
            table(part, isDeep: isDeep, steps: steps + 1, followed: followed)
        }
        switch expression.kind {
        case .local(let local):
            if let given = given[ID(local)] { return (given.local, given) }
            if let list = map.lists[ID(local)] { return next(list, isDeep: true) }
            let values = map.values[ID(local)] ?? []
            let isOfHandler = map.owner[ID(local)].map(reached.contains) ?? false
            if isOfHandler {
                guard !local.isReassigned, let value = values.first,
                    followed.enter(local, field: isDeep ? "deep" : nil)
                else { return nil }
                return next(value, isDeep: isDeep)
            }
            guard values.contains(where: { isTable($0) }) || isModule(values),
                !values.contains(where: hasState), !isDeep || !holdsState(local)
            else { return nil }
            return (local, nil)
        case .member(let owner, let name):
            return name.text == "vars" ? nil : next(owner, isDeep: true)
        case .index(let owner, _): return next(owner, isDeep: true)
        case .brackets(let inside): return next(inside, isDeep: isDeep)
        case .binary("or", let left, let right):
            return next(left, isDeep: isDeep) ?? next(right, isDeep: isDeep)
        case .binary("and", _, let right): return next(right, isDeep: isDeep)
        default: return nil
        }
    }

    private func isModule(_ values: [LuaExpression]) -> Bool {
        guard case .call(.global("require"), let arguments) = values.first?.shape,
            case .text(let name?)? = arguments.first?.kind, let module = map.module(name)
        else { return false }
        return isTable(module)
    }

    /// Whether it surely makes a table, as those that handlers may change.
    func isTable(
        _ expression: LuaExpression, steps: Int = 0, followed: FollowedValues = FollowedValues()
    ) -> Bool {
        guard steps < Self.stepsFollowed else { return false }
        func next(_ value: LuaExpression) -> Bool {
            isTable(value, steps: steps + 1, followed: followed)
        }
        switch expression.kind {
        case .table: return true
        case .brackets(let inside): return next(inside)
        case .binary("or", let left, let right): return next(left) || next(right)
        case .local(let local):
            let values = map.values[ID(local)] ?? []
            return followed.isTable(ID(local)) { values.contains(where: next) }
        case .call(let called, let arguments):
            if case .global("setmetatable") = called.kind {
                return arguments.first.map(next) ?? false
            }
            let makers = functions(called, steps: steps + 1)
            return !makers.isEmpty
                && makers.allSatisfy { maker in
                    let returns = map.code[ID(maker)]?.returns ?? []
                    return followed.isTable(ID(maker)) {
                        !returns.isEmpty && returns.allSatisfy(next)
                    }
                }
        default: return false
        }
    }

    /// Whether something that is put into the local's table comes from `state` or `call.vars`.
    private func holdsState(_ local: LuaLocal) -> Bool {
        (map.stored[ID(local)] ?? []).contains { hasState($0.value) }
    }

    private func hasState(_ expression: LuaExpression) -> Bool {
        switch expression.kind {
        case .global("state"): true
        case .member(_, let name) where name.text == "vars": true
        default: expression.kind.parts.contains(where: hasState)
        }
    }
}

/// What one search has followed already. Values that are given to each other, such as two that are
/// swapped twice, would be followed over twice as many ways with every further step.
final class FollowedValues {
    private struct Place: Hashable {
        let local: ObjectIdentifier
        let field: String?
    }

    private var places: Set<Place> = []
    /// Which locals hold a table, and which functions give one.
    private var areTables: [ObjectIdentifier: Bool] = [:]

    /// Whether the local, or a field of it, is followed for the first time.
    func enter(_ local: LuaLocal, field: String? = nil) -> Bool {
        places.insert(Place(local: ObjectIdentifier(local), field: field)).inserted
    }

    /// Whether a local holds a table, or a function gives one, found out once. What is made of
    /// itself alone is none.
    func isTable(_ one: ObjectIdentifier, _ find: () -> Bool) -> Bool {
        if let known = areTables[one] { return known }
        areTables[one] = false
        let isOne = find()
        areTables[one] = isOne
        return isOne
    }
}
