// What can be asked of a run that stands.

import CLua
import JSON
import Lua

/// A function that an editor was told of.
struct DebugFrame {
    let state: DebuggedState
    let frame: callua_frame
}

/// What has variables.
enum DebugHolder {
    case locals(DebugFrame)
    case upvalues(DebugFrame)
    /// Members of a value, and how an expression reaches it; from `start` on of those that are no
    /// places of its list where an earlier page has ended.
    case members(DebuggedState, SeenValue, String?, start: Int)
    /// What a handler waited for.
    case waits(DebuggedState, Int64)
    case data(LuaValue)
}

extension DebugSession {
    func handleAtStop(_ request: DebugRequest) throws(DebugProblem) {
        let commands = [
            "continue", "next", "stepIn", "stepOut", "stepBack", "reverseContinue", "stackTrace",
            "scopes", "variables", "evaluate", "setVariable", "setExpression", "exceptionInfo",
            "completions",
        ]
        guard commands.contains(request.command) else {
            throw DebugProblem("there is no command '\(request.command)'")
        }
        guard let stop else {
            throw DebugProblem(stage == .running ? "the script does not stand" : "nothing runs")
        }
        switch request.command {
        case "continue": resume(.free, request)
        case "next": resume(.over(stop.place), request)
        case "stepIn": resume(.into, request)
        case "stepOut": resume(.out(stop.place), request)
        case "stepBack":
            reply(request)
            goBack(.line(stop.place))
        case "reverseContinue":
            reply(request)
            goBack(.breakpoint)
        case "stackTrace": try stackTrace(request, stop)
        case "scopes": try scopes(request, stop)
        case "variables": try variables(request, stop)
        case "evaluate": try evaluate(request, stop)
        case "setVariable": try setVariable(request, stop)
        case "setExpression": try setExpression(request, stop)
        case "completions": try complete(request, stop)
        default: try exceptionInfo(request, stop)
        }
    }

    // MARK: Threads and functions

    /// The handlers under way, in the order in which they began.
    func threadsUnderWay() -> [JSONValue] {
        threads.enumerated().compactMap { index, thread in
            let state = states[thread.state]
            guard state.isOpen, let handler = state.handlers[thread.handler] else { return nil }
            return ["id": .integer(Int64(index + 1)), "name": .string(handler.title)]
        }
    }

    private func stackTrace(_ request: DebugRequest, _ stop: DebugStop) throws(DebugProblem) {
        guard let id = request.arguments["threadId"]?.integer, id >= 1, id <= Int64(threads.count)
        else { throw DebugProblem("there is no such thread") }
        let thread = threads[Int(id) - 1]
        let state = states[thread.state]
        guard state.isOpen, state.handlers[thread.handler] != nil else {
            throw DebugProblem("this handler is over")
        }
        let isHere = state === stop.state && thread.handler == stop.handler
        let frames = StackPages(state, thread.handler, skipping: isHere ? stop.skipped : 0)
        let first = max(0, Int(clamping: request.arguments["startFrame"]?.integer ?? 0))
        let wanted = Int(clamping: request.arguments["levels"]?.integer ?? 0)
        let count = min(wanted > 0 ? wanted : sight.frames, sight.frames)
        let shown = frames.page(first, count).compactMap { shownFrame($0, state, stop) }
        reply(
            request,
            ["stackFrames": .array(shown), "totalFrames": .integer(Int64(frames.count))])
    }

    private func shownFrame(
        _ frame: callua_frame, _ state: DebuggedState, _ stop: DebugStop
    ) -> JSONValue? {
        guard let function = state.function(frame) else { return nil }
        stop.frames.append(DebugFrame(state: state, frame: frame))
        var json: JSONObject = [
            "id": .integer(Int64(stop.frames.count)), "column": .integer(Int64(1 + columnShift)),
            "line": .integer(Int64(max(function.line, 0) + lineShift)),
        ]
        let handler = state.handlers[frame.handler]?.title ?? ""
        guard function.isLua else {
            json["name"] = .string(function.name.isEmpty ? "callagent" : function.name)
            json["line"] = 0
            json["presentationHint"] = "subtle"
            return .object(json)
        }
        let place = "function at line \(function.firstLine)"
        let isOutermost = frame.coroutine == 0 && function.name.isEmpty
        let name = function.isFile ? "file" : isOutermost ? handler : place
        json["name"] = .string(function.name.isEmpty ? name : function.name)
        if let file = files.place(named: function.file) {
            json["source"] = files.source(file)
        } else {
            json["source"] = ["name": .string(function.file), "presentationHint": "deemphasize"]
        }
        return .object(json)
    }

    func frame(_ id: JSONValue?, _ stop: DebugStop) throws(DebugProblem) -> DebugFrame {
        guard let number = id?.integer, number >= 1, number <= Int64(stop.frames.count) else {
            throw DebugProblem("this function is not under way any more")
        }
        return stop.frames[Int(number) - 1]
    }

    // MARK: Variables

    private func scopes(_ request: DebugRequest, _ stop: DebugStop) throws(DebugProblem) {
        let frame = try frame(request.arguments["frameId"], stop)
        var scopes: [JSONValue] = []
        func add(_ name: String, _ holder: DebugHolder, isCostly: Bool, hint: String? = nil) {
            var scope: JSONObject = [
                "name": .string(name), "variablesReference": reference(holder, stop),
                "expensive": .bool(isCostly),
            ]
            scope["presentationHint"] = hint.map { .string($0) }
            scopes.append(.object(scope))
        }
        add("Locals", .locals(frame), isCostly: false, hint: "locals")
        add("Upvalues", .upvalues(frame), isCostly: false)
        if let (call, name) = try call(of: frame) {
            add("call", .members(frame.state, call, name, start: 0), isCostly: false)
        }
        let globals = try frame.state.globals()
        let kept = try frame.state.member(.text("state"), of: globals)
        let isUnknown = unknownStates.contains(frame.state.plugin)
        add(
            isUnknown ? "state (not recorded)" : "state",
            .members(frame.state, kept, "state", start: 0), isCostly: false)
        add("Globals", .members(frame.state, globals, "", start: 0), isCostly: true)
        add("Waits", .waits(frame.state, frame.frame.handler), isCostly: false)
        reply(request, ["scopes": .array(scopes)])
    }

    /// The call that the handler is about: the first one among the locals of the function, else of
    /// the outermost one; and the name that the function has for it.
    private func call(
        of frame: DebugFrame
    ) throws(DebugProblem) -> (SeenValue, String?)? {
        let own = try frame.state.locals(frame.frame).first { $0.value.type == "call" }
        if let own { return (own.value, own.key.text) }
        var outermost = frame.frame
        outermost.coroutine = 0
        // The last one is callagent's own.
        outermost.level = frame.state.levels(outermost) - 2
        guard outermost.level >= 0 else { return nil }
        let row = try frame.state.locals(outermost).first { $0.value.type == "call" }
        return row.map { ($0.value, nil) }
    }

    private func reference(_ holder: DebugHolder, _ stop: DebugStop) -> JSONValue {
        stop.holders.append(holder)
        return .integer(Int64(stop.holders.count))
    }

    func holder(_ id: JSONValue?, _ stop: DebugStop) throws(DebugProblem) -> DebugHolder {
        guard let number = id?.integer, number >= 1, number <= Int64(stop.holders.count) else {
            throw DebugProblem("these variables are not shown any more")
        }
        return stop.holders[Int(number) - 1]
    }

    private func variables(_ request: DebugRequest, _ stop: DebugStop) throws(DebugProblem) {
        let holder = try holder(request.arguments["variablesReference"], stop)
        let start = max(0, Int(clamping: request.arguments["start"]?.integer ?? 0))
        let wanted = Int(clamping: request.arguments["count"]?.integer ?? 0)
        let count = min(wanted > 0 ? wanted : sight.members, sight.members)
        var shown: [JSONValue]
        switch holder {
        case .locals(let frame):
            shown = try frame.state.locals(frame.frame)
                .filter { $0.isShown }.map { variable($0, frame.state, nil, stop) }
        case .upvalues(let frame):
            shown = try frame.state.upvalues(frame.frame)
                .filter { $0.isShown }.map { variable($0, frame.state, nil, stop) }
        case .members(let state, let value, let owner, let first):
            let filter = request.arguments["filter"]?.string
            var pages = MemberPages(state: state, value: value, owner: owner, count: count)
            if filter != "named", first == 0 { try pages.addPlaces(from: start) }
            if filter != "indexed" {
                try pages.addNamed(from: filter == "named" ? start + first : first)
            }
            // What callagent makes of unknown names is nobody's business.
            let rows = owner == "" ? pages.rows.filter { $0.isShown } : pages.rows
            shown = rows.map { variable($0, state, owner, stop) }
            if let more = pages.more(after: filter == nil) {
                shown.append(rest(.members(state, value, owner, start: more), stop))
            }
        case .waits(let state, let handler):
            let waits = state.handlers[handler]?.waits ?? []
            shown = waits.suffix(sight.members).map { wait($0, stop) }
        case .data(let value): shown = value.members.prefix(count).map { data($0, stop) }
        }
        reply(request, ["variables": .array(shown)])
    }

    private func rest(_ holder: DebugHolder, _ stop: DebugStop) -> JSONValue {
        [
            "name": "(more)", "value": "…", "variablesReference": reference(holder, stop),
            "presentationHint": ["kind": "virtual"],
        ]
    }

    private func variable(
        _ row: SeenRow, _ state: DebuggedState, _ owner: String?, _ stop: DebugStop
    ) -> JSONValue {
        var expression = row.shownKey
        var hasExpression = !expression.hasPrefix("(")
        if let owner, !owner.isEmpty {
            let whole = row.expression(in: owner)
            hasExpression = whole != nil
            expression = whole ?? ""
        }
        var json = shown(row.value, state, hasExpression ? expression : nil, stop)
        json["name"] = .string(row.shownKey)
        if hasExpression { json["evaluateName"] = .string(expression) }
        return .object(json)
    }

    /// The value, type and members of a value.
    func shown(
        _ value: SeenValue, _ state: DebuggedState, _ expression: String?, _ stop: DebugStop
    ) -> JSONObject {
        var text = value.shown(sight.text)
        if value.type == "user", let id = try? state.member(.text("id"), of: value).plain.text {
            text = "user \(id)"
        }
        var json: JSONObject = [
            "value": .string(text), "type": .string(value.type), "variablesReference": 0,
        ]
        guard value.reference != 0 else { return json }
        json["variablesReference"] = reference(
            .members(state, value, expression, start: 0), stop)
        // Long lists are asked for in pieces.
        if value.length > sight.members {
            json["indexedVariables"] = .integer(Int64(value.length))
            json["namedVariables"] = .integer(Int64(value.named))
        }
        return json
    }

    private func wait(_ wait: AnsweredWait, _ stop: DebugStop) -> JSONValue {
        guard let answer = wait.answer else {
            return ["name": .string(wait.words), "value": "(waits)", "variablesReference": 0]
        }
        return data((wait.words, answer), stop)
    }

    private func data(_ member: (name: String, value: LuaValue), _ stop: DebugStop) -> JSONValue {
        let hasMembers = !member.value.members.isEmpty
        return [
            "name": .string(member.name), "value": .string(member.value.shownAsData),
            "type": .string(member.value.typeName),
            "variablesReference": hasMembers ? reference(.data(member.value), stop) : 0,
        ]
    }

    // MARK: Expressions

    /// The value of an expression in a function.
    func evaluate(
        _ text: String, _ frame: callua_frame, _ state: DebuggedState
    ) throws(DebugProblem) -> SeenValue {
        state.see(sight, wholeTexts: true)
        defer { state.see(sight) }
        let evaluator = Evaluator(
            name: { name throws(DebugProblem) in try self.value(of: name, frame, state) },
            member: { key, owner throws(DebugProblem) in try state.member(key, of: owner) })
        return try evaluator.value(of: text)
    }

    private func value(
        of name: String, _ frame: callua_frame, _ state: DebuggedState
    ) throws(DebugProblem) -> SeenValue {
        if let local = try state.locals(frame).last(where: { $0.key == .text(name) }) {
            return local.value
        }
        if let upvalue = try state.upvalues(frame).first(where: { $0.key == .text(name) }) {
            return upvalue.value
        }
        let global = try state.member(.text(name), of: state.globals())
        guard global != .nothing else {
            // In functions that the handler calls its call is shown, so it is known there too.
            let of = DebugFrame(state: state, frame: frame)
            if name == "call", let (call, _) = try call(of: of) { return call }
            throw DebugProblem("there is no '\(name)' in this function")
        }
        return global
    }

    private func evaluate(_ request: DebugRequest, _ stop: DebugStop) throws(DebugProblem) {
        guard let text = request.arguments["expression"]?.string else {
            throw DebugProblem("'evaluate' needs an expression")
        }
        let given = request.arguments["frameId"]
        let frame = try given == nil ? topFrame(stop) : frame(given, stop)
        let value = try evaluate(text, frame.frame, frame.state)
        var json = shown(value, frame.state, text, stop)
        json["result"] = json["value"]
        json["value"] = nil
        reply(request, json)
    }

    /// How the last name of what a person has begun to write can go on.
    private func complete(_ request: DebugRequest, _ stop: DebugStop) throws(DebugProblem) {
        guard let text = request.arguments["text"]?.string,
            let column = request.arguments["column"]?.integer
        else { throw DebugProblem("'completions' needs a text and a column") }
        let given = request.arguments["frameId"]
        let frame = try given == nil ? topFrame(stop) : frame(given, stop)
        // Columns count UTF-16; what stands behind the place does not matter.
        let units = Int(clamping: column - 1 - Int64(columnShift))
        let begun = BegunName(String(decoding: text.utf16.prefix(max(0, units)), as: UTF16.self))
        let names = try names(after: begun.owner, frame)
            .filter { $0.hasPrefix(begun.name) }
        let start = column - Int64(begun.name.utf16.count)
        let targets = Set(names).sorted().prefix(sight.members).map { name -> JSONValue in
            [
                "label": .string(name), "type": begun.owner == nil ? "variable" : "field",
                "start": .integer(start), "length": .integer(Int64(begun.name.utf16.count)),
            ]
        }
        reply(request, ["targets": .array(targets)])
    }

    /// Names of members of what `owner` stands for; without it all that the function sees.
    private func names(
        after owner: String?, _ frame: DebugFrame
    ) throws(DebugProblem) -> [String] {
        let (state, place) = (frame.state, frame.frame)
        var rows: [SeenRow] = []
        var table: SeenValue?
        if let owner {
            table = try? evaluate(owner, place, state)
        } else {
            rows = try state.locals(place) + state.upvalues(place)
            table = try state.globals()
        }
        if let table, table.reference != 0 {
            var pages = MemberPages(state: state, value: table, owner: nil, count: sight.members)
            try pages.addNamed(from: 0)
            rows += pages.rows
        }
        return rows.filter { $0.isName && $0.isShown }.map(\.shownKey)
    }

    func topFrame(_ stop: DebugStop) -> DebugFrame {
        var frame = top(stop.state, stop.handler)
        frame.level = stop.skipped
        return DebugFrame(state: stop.state, frame: frame)
    }

    private func exceptionInfo(_ request: DebugRequest, _ stop: DebugStop) throws(DebugProblem) {
        guard let error = stop.error else { throw DebugProblem("no error has stopped the script") }
        let frames = StackPages(stop.state, stop.handler, skipping: stop.skipped)
        let lines = frames.page(0, 20).compactMap { frame -> String? in
            guard let function = stop.state.function(frame), function.isLua else { return nil }
            return "\(function.file):\(function.line)"
        }
        reply(
            request,
            [
                "exceptionId": error.isCaught ? "an error that the script catches" : "error",
                "description": .string(error.text),
                "breakMode": error.isCaught ? "always" : "unhandled",
                "details": [
                    "message": .string(error.text),
                    "stackTrace": .string(lines.joined(separator: "\n")),
                ],
            ])
    }
}

/// The end of a text that somebody writes: `call.cal` has the owner `call` and the name `cal`.
private struct BegunName {
    let owner: String?
    let name: String

    init(_ text: String) {
        let isPart: (Character) -> Bool = {
            $0 == "_" || $0.isASCII && ($0.isLetter || $0.isNumber)
        }
        let start = text.lastIndex { !isPart($0) }
        name = start.map { String(text[text.index(after: $0)...]) } ?? text
        guard let start, text[start] == "." else {
            owner = nil
            return
        }
        let before = text[..<start]
        let other = before.lastIndex { !isPart($0) && !".[]\"'".contains($0) }
        owner = String(other.map { before[before.index(after: $0)...] } ?? before)
    }
}

/// The functions under way of a handler, innermost first.
private struct StackPages {
    private let parts: [(coroutine: Int32, first: Int32, count: Int)]
    private let handler: Int64

    init(_ state: DebuggedState, _ handler: Int64, skipping skipped: Int32) {
        self.handler = handler
        var parts: [(coroutine: Int32, first: Int32, count: Int)] = []
        let depth = state.coroutines(of: handler)
        for coroutine in (0..<max(0, depth)).reversed() {
            let frame = callua_frame(handler: handler, coroutine: coroutine, level: 0)
            // The outermost one of a handler is callagent's own.
            let levels = state.levels(frame) - (coroutine == 0 ? 1 : 0)
            let first = coroutine == depth - 1 ? skipped : 0
            parts.append((coroutine, first, max(0, Int(levels - first))))
        }
        self.parts = parts
    }

    var count: Int { parts.reduce(0) { $0 + $1.count } }

    func page(_ start: Int, _ count: Int) -> [callua_frame] {
        var frames: [callua_frame] = []
        var passed = 0
        for part in parts {
            let from = max(0, start - passed)
            passed += part.count
            guard from < part.count else { continue }
            for level in from..<min(part.count, from + count - frames.count) {
                frames.append(
                    callua_frame(
                        handler: handler, coroutine: part.coroutine,
                        level: part.first + Int32(level)))
            }
        }
        return frames
    }
}

/// Members of a value, page by page.
struct MemberPages {
    let state: DebuggedState
    let value: SeenValue
    let owner: String?
    let count: Int
    private(set) var rows: [SeenRow] = []
    /// Where the next page of named ones begins; nil: there is none.
    private var next: Int?

    init(state: DebuggedState, value: SeenValue, owner: String?, count: Int) {
        (self.state, self.value, self.owner, self.count) = (state, value, owner, count)
    }

    mutating func addPlaces(from start: Int) throws(DebugProblem) {
        guard value.type == "table" || value.type == "user" else { return }
        rows += try state.members(
            value.reference,
            callua_page(places: true, start: Int64(start), count: UInt32(clamping: count)))
    }

    mutating func addNamed(from start: Int) throws(DebugProblem) {
        let page = callua_page(places: false, start: Int64(start), count: UInt32(clamping: count))
        let found = try state.members(value.reference, page)
        if value.type == "table", found.count >= count { next = start + count }
        // Lua's own order means nothing.
        let isTable = value.type == "table" || value.type == "user"
        rows += isTable ? found.sorted { $0.shownKey < $1.shownKey } : found
    }

    func more(after isWhole: Bool) -> Int? { isWhole ? next : nil }
}

extension SeenRow {
    /// What Lua keeps for itself is not shown.
    fileprivate var isShown: Bool {
        guard let name = key.text else { return true }
        return name != "_ENV" && (!name.hasPrefix("(") || name.hasPrefix("(vararg"))
    }
}

extension LuaValue {
    /// What data is made of.
    fileprivate var members: [(name: String, value: LuaValue)] {
        switch self {
        case .list(let values):
            values.enumerated().map { ("[\($0.offset + 1)]", $0.element) }
        case .table(let pairs):
            pairs.map { (SeenRow(key: $0.key, value: .nothing).shownKey, $0.value) }
        default: []
        }
    }
}
