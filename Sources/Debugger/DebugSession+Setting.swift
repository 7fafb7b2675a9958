// Values that a person sets while a run stands.

import CLua
import JSON
import Lua

extension DebugSession {
    func setVariable(_ request: DebugRequest, _ stop: DebugStop) throws(DebugProblem) {
        let holder = try self.holder(request.arguments["variablesReference"], stop)
        guard let name = request.arguments["name"]?.string,
            let text = request.arguments["value"]?.string
        else { throw DebugProblem("'setVariable' needs a name and a value") }
        let variable = try slot(of: name, in: holder, stop)
        try set(variable, to: text, variable.frame, request, stop)
    }

    /// The same for what a person looks at: `total`, `call.vars.n`, `lines[1].id`.
    func setExpression(_ request: DebugRequest, _ stop: DebugStop) throws(DebugProblem) {
        guard let expression = request.arguments["expression"]?.string,
            let text = request.arguments["value"]?.string
        else { throw DebugProblem("'setExpression' needs an expression and a value") }
        let given = request.arguments["frameId"]
        let frame = try given == nil ? topFrame(stop) : frame(given, stop)
        let target = try SetTarget(expression)
        let variable: Variable
        if let owner = target.owner {
            let value = try evaluate(owner, frame.frame, frame.state)
            guard value.reference != 0 else {
                throw DebugProblem("'\(owner)' is \(value.shown(sight.text)): it has no members")
            }
            let key = try target.key.map { key throws(DebugProblem) in
                try evaluate(key, frame.frame, frame.state).plain
            }
            let holder = DebugHolder.members(frame.state, value, owner, start: 0)
            variable = try slot(
                of: key?.integer.map { "[\($0)]" } ?? target.name, key: key, in: holder, stop)
        } else if let local = try? slot(of: target.name, in: .locals(frame), stop) {
            variable = local
        } else if let upvalue = try? slot(of: target.name, in: .upvalues(frame), stop) {
            variable = upvalue
        } else {
            throw DebugProblem("there is no variable '\(target.name)' in this function")
        }
        try set(variable, to: text, frame, request, stop)
    }

    private func set(
        _ variable: Variable, to text: String, _ frame: DebugFrame, _ request: DebugRequest,
        _ stop: DebugStop
    ) throws(DebugProblem) {
        let value = try evaluate(text, frame.frame, frame.state)
        guard variable.state === frame.state || !value.isObject else {
            throw DebugProblem("this value belongs to another Lua state")
        }
        try variable.state.set(variable.slot(), to: value)
        hasSetValues = true
        reply(request, shown(value, variable.state, nil, stop))
    }

    private typealias Variable = (
        state: DebuggedState, slot: () -> callua_slot, frame: DebugFrame
    )

    /// Where a variable is kept, and where its new value is worked out. `key`: of a member, in the
    /// place of its name.
    private func slot(
        of name: String, key wanted: LuaValue? = nil, in holder: DebugHolder, _ stop: DebugStop
    ) throws(DebugProblem) -> Variable {
        switch holder {
        case .locals(let frame), .upvalues(let frame):
            var isLocal = false
            if case .locals = holder { isLocal = true }
            let rows =
                try isLocal
                ? frame.state.locals(frame.frame) : frame.state.upvalues(frame.frame)
            guard !name.hasPrefix("("),
                let index = rows.lastIndex(where: { $0.key == .text(name) })
            else { throw DebugProblem("'\(name)' cannot be changed") }
            var slot = callua_slot()
            slot.frame = frame.frame
            slot.number = Int32(isLocal ? index + 1 : -(index + 1))
            return (frame.state, { slot }, frame)
        case .members(let state, let value, _, let start):
            var pages = MemberPages(state: state, value: value, owner: nil, count: sight.members)
            try pages.addPlaces(from: 0)
            try pages.addNamed(from: start)
            let place = name.hasPrefix("[") ? Int64(name.dropFirst().dropLast()) : nil
            let key =
                place.map { LuaValue.integer($0) }
                ?? pages.rows.first { row in
                    wanted.map { row.key == $0 } ?? (row.shownKey == name)
                }?.key
            guard let key, !name.hasPrefix("("), key.list == nil else {
                throw DebugProblem("'\(name)' cannot be changed")
            }
            return (state, { state.slot(key, of: value.reference) }, topFrame(stop))
        case .waits, .data: throw DebugProblem("what has been cannot be changed")
        }
    }
}

/// What an expression names that can be set: a variable, or a member of something.
private struct SetTarget {
    /// The expression of what has the member; nil: it is a variable.
    var owner: String?
    var name = ""
    /// The expression in the brackets.
    var key: String?

    init(_ expression: String) throws(DebugProblem) {
        let text = expression.trimmingPrefix { $0.isWhitespace }
        let rest = text.reversed().drop { $0.isWhitespace }.reversed()
        let target = String(rest)
        if target.last == "]", let open = Self.bracket(closedAtTheEndOf: target) {
            owner = String(target[..<open])
            key = String(target[target.index(after: open)...].dropLast())
        } else if let dot = target.lastIndex(of: "."),
            Self.isName(target[target.index(after: dot)...])
        {
            owner = String(target[..<dot])
            name = String(target[target.index(after: dot)...])
        } else if Self.isName(target[...]) {
            name = target
        } else {
            throw DebugProblem("'\(expression)' is nothing that can be set")
        }
    }

    private static func isName(_ text: Substring) -> Bool {
        guard let first = text.first, !first.isNumber else { return false }
        return text.allSatisfy { $0 == "_" || $0.isASCII && ($0.isLetter || $0.isNumber) }
    }

    /// The bracket that the last one closes; nil: there is none with something before it.
    private static func bracket(closedAtTheEndOf text: String) -> String.Index? {
        var depth = 0
        for index in text.indices.reversed() {
            if text[index] == "]" { depth += 1 }
            if text[index] == "[" { depth -= 1 }
            if depth == 0 { return index > text.startIndex ? index : nil }
        }
        return nil
    }
}
