// What a run tells while it goes on: where it stops.

import CLua
import JSON
import Lua

/// A run that stands.
final class DebugStop {
    let state: DebuggedState
    let handler: Int64
    let place: DebugPlace
    let line: Int32
    /// Of an error: its message, and whether the script catches it.
    let error: (text: String, isCaught: Bool)?
    /// Functions of callagent above the innermost one of the script.
    let skipped: Int32
    var frames: [DebugFrame] = []
    var holders: [DebugHolder] = []

    init(
        _ state: DebuggedState, _ place: DebugPlace, line: Int32,
        error: (text: String, isCaught: Bool)?, skipped: Int32
    ) {
        (self.state, self.place, self.line) = (state, place, line)
        (self.error, self.skipped) = (error, skipped)
        handler = place.handler
    }
}

extension DebugSession {
    func begin(_ vm: OpaquePointer, of plugin: String, title: @escaping (Int32) -> String?) {
        let state = DebuggedState(vm, number: states.count, plugin: plugin, title: title) {
            [unowned self] in take($1, from: $0)
        }
        state.see(sight)
        states.append(state)
    }

    func end(_ vm: OpaquePointer) {
        for state in states where state.vm == vm { state.isOpen = false }
    }

    // MARK: Notices

    /// What happens in a Lua state; false ends its run.
    private func take(_ notice: callua_notice, from state: DebuggedState) -> Bool {
        if isEnding { return false }
        switch Int(notice.event) {
        case CALLUA_AT_LINE: line(notice, state)
        case CALLUA_AT_TICK: tick()
        case CALLUA_AT_BEGIN: begun(notice, state)
        case CALLUA_AT_CALL: called(notice, state)
        case CALLUA_AT_ERROR: failed(notice, state)
        default: break
        }
        return !isEnding
    }

    private func tick() {
        ticks &+= 1
        if ticks & 63 == 0 { poll() }
    }

    private func begun(_ notice: callua_notice, _ state: DebuggedState) {
        threads.append(DebugThread(state: state.number, handler: notice.handler))
        guard let handler = state.handlers[notice.handler], stopsAtBreakpoints else { return }
        let names = breakpoints.functions
        if names.contains(where: { handler.title == $0 || handler.title.hasSuffix(": \($0)") }) {
            stopsIn = (state.number, notice.handler)
        }
    }

    private func line(_ notice: callua_notice, _ state: DebuggedState) {
        steps += 1
        if steps & 0xFF == 0 { poll() }
        if isEnding { return }
        if survey != nil { return look(notice, state) }
        if isReplaying {
            // Hits are counted as they were.
            _ = meets(notice, state, isQuiet: true)
            return
        }
        let isMet = meets(notice, state, isQuiet: false)
        guard let reason = reason(notice, state, isMet: isMet) else { return }
        stand(notice, state, reason)
    }

    /// Why the run stops at this line.
    private func reason(
        _ notice: callua_notice, _ state: DebuggedState, isMet: [Int64]?
    ) -> DebugReason? {
        if let isMet { return DebugReason("breakpoint", hits: isMet) }
        if isPauseWanted { return DebugReason("pause") }
        if let stopsIn, stopsIn.state == state.number, stopsIn.handler == notice.handler {
            return DebugReason("function breakpoint")
        }
        switch goal {
        case .free: return nil
        case .entry:
            let isLoad = state.handlers[notice.handler]?.isLoad ?? false
            return isLoad ? nil : DebugReason("entry")
        case .into, .step: return DebugReason("step")
        case .over(let place):
            return isOver(place) || isOutside(place, notice, state, orSame: true) ? .step : nil
        case .out(let place):
            return isOver(place) || isOutside(place, notice, state, orSame: false) ? .step : nil
        }
    }

    /// Whether the handler is over.
    private func isOver(_ place: DebugPlace) -> Bool {
        !states[place.state].isOpen || states[place.state].handlers[place.handler] == nil
    }

    /// Whether the run is further out in the same handler, or in the same function.
    private func isOutside(
        _ place: DebugPlace, _ notice: callua_notice, _ state: DebuggedState, orSame: Bool
    ) -> Bool {
        guard state.number == place.state, notice.handler == place.handler else { return false }
        let depth = state.coroutines(of: place.handler)
        if depth != place.coroutines { return depth < place.coroutines }
        return !callua_debug_is_deeper(state.vm, orSame ? place.levels : place.levels - 1)
    }

    /// The breakpoints that stop here; nil: none does.
    private func meets(
        _ notice: callua_notice, _ state: DebuggedState, isQuiet: Bool
    ) -> [Int64]? {
        guard stopsAtBreakpoints, breakpoints.mayStop(at: notice.line),
            let file = files.place(named: callua_debug_file(state.vm).string)
        else { return nil }
        var met: [Int64] = []
        for point in breakpoints.points(at: Int(notice.line), of: file) {
            guard isTrue(point.condition, notice, state) else { continue }
            point.hits += 1
            guard point.hitCondition?.holds(point.hits) ?? true else { continue }
            guard let message = point.message else {
                met.append(point.id)
                continue
            }
            if !isQuiet { say(filled(message, notice, state), at: placeOf(file, notice.line)) }
        }
        return met.isEmpty ? nil : met
    }

    private func isTrue(
        _ condition: String?, _ notice: callua_notice, _ state: DebuggedState
    ) -> Bool {
        guard let condition else { return true }
        do throws(DebugProblem) {
            return try evaluate(condition, top(state, notice.handler), state).isTrue
        } catch {
            // A condition that cannot be worked out shows itself by stopping.
            say("condition '\(condition)': \(error.text)", category: "important")
            return true
        }
    }

    /// A message with the values of what stands in braces.
    private func filled(
        _ message: String, _ notice: callua_notice, _ state: DebuggedState
    ) -> String {
        var text = ""
        var rest = message[...]
        while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
            text += rest[..<open]
            let expression = String(rest[rest.index(after: open)..<close])
            do throws(DebugProblem) {
                let value = try evaluate(expression, top(state, notice.handler), state)
                text += String((value.plain.text ?? value.shown(sight.text)).prefix(sight.text))
            } catch {
                text += "{\(expression): \(error.text)}"
            }
            rest = rest[rest.index(after: close)...]
        }
        return text + rest
    }

    func placeOf(_ file: Int, _ line: Int32) -> JSONObject {
        ["source": files.source(file), "line": .integer(Int64(line) + Int64(lineShift))]
    }

    // MARK: Looking for the line to go back to

    private func look(_ notice: callua_notice, _ state: DebuggedState) {
        guard var survey else { return }
        if survey.entry == nil, state.handlers[notice.handler]?.isLoad == false {
            survey.entry = steps
        }
        if steps >= survey.end {
            survey.isSame = survey.line == nil || notice.line == survey.line
            (isEnding, runsAgain) = (true, true)
        } else {
            let isFound: Bool
            switch survey.wish {
            case .breakpoint: isFound = meets(notice, state, isQuiet: true) != nil
            case .line(let place): isFound = isOutside(place, notice, state, orSame: true)
            }
            if isFound { survey.found = steps }
        }
        self.survey = survey
    }

    /// Runs once more, as far as the line before this one.
    func goBack(_ wish: DebugSurvey.Wish) {
        guard let stop else { return }
        // An error is behind its line, which is the one to go back to.
        let isError = stop.error != nil
        survey = DebugSurvey(
            end: isError ? steps + 1 : steps, line: isError ? nil : stop.line, wish: wish,
            isSame: isError)
        goal = .free
        (isEnding, runsAgain) = (true, true)
        self.stop = nil
    }

    // MARK: Calls and errors

    private func called(_ notice: callua_notice, _ state: DebuggedState) {
        guard let name = notice.name.map({ String(cString: $0) }),
            name.hasPrefix("log.") || name == "print"
        else { return }
        guard !isReplaying else { return }
        let values = PlainReader.all(notice.bytes)
        let text = values.map { $0.text ?? $0.shownAsData }.joined(separator: " ")
        let category = name == "log.error" || name == "log.warn" ? "stderr" : "stdout"
        let file = files.place(named: callua_debug_file(state.vm).string)
        say(
            "\(state.plugin): \(name): \(text)", category: category, at: file.map { placeOf($0, 0) }
        )
    }

    private func failed(_ notice: callua_notice, _ state: DebuggedState) {
        guard !isReplaying, stopsAtBreakpoints else { return }
        let isCaught = notice.number == 1
        guard stopsAtErrors.contains(isCaught ? "caught" : "uncaught") else { return }
        let text = notice.bytes.string
        stand(notice, state, DebugReason("exception", text: text), error: (text, isCaught))
    }

    // MARK: Standing

    func top(_ state: DebuggedState, _ handler: Int64) -> callua_frame {
        callua_frame(
            handler: handler, coroutine: max(0, state.coroutines(of: handler) - 1), level: 0)
    }

    private func stand(
        _ notice: callua_notice, _ state: DebuggedState, _ reason: DebugReason,
        error: (text: String, isCaught: Bool)? = nil
    ) {
        var frame = top(state, notice.handler)
        let levels = state.levels(frame)
        while frame.level < levels - 1, state.function(frame)?.isLua == false { frame.level += 1 }
        let place = DebugPlace(
            state: state.number, handler: notice.handler,
            coroutines: state.coroutines(of: notice.handler), levels: levels - frame.level)
        let line = Int32(clamping: state.function(frame)?.line ?? 0)
        let stop = DebugStop(state, place, line: line, error: error, skipped: frame.level)
        self.stop = stop
        (isPauseWanted, stopsIn, goal) = (false, nil, .free)
        if state.handlers[notice.handler]?.isLoad == false { awaitsEntry = false }
        var body = reason.body
        body["threadId"] = .integer(threadID(state.number, notice.handler))
        body["allThreadsStopped"] = true
        tell("stopped", body)
        while self.stop === stop, stage != .over { takeNext() }
        for state in states where state.isOpen { callua_debug_forget(state.vm) }
    }

    func threadID(_ state: Int, _ handler: Int64) -> Int64 {
        let thread = DebugThread(state: state, handler: handler)
        return Int64((threads.firstIndex(of: thread) ?? -1) + 1)
    }

    /// Goes on to `goal`.
    func resume(_ goal: DebugGoal, _ request: DebugRequest) {
        let isContinue = request.command == "continue"
        // What stopped while a file was loaded was not yet where the run is to stop.
        self.goal = isContinue && awaitsEntry ? .entry : goal
        stop = nil
        reply(request, isContinue ? ["allThreadsContinued": true] : JSONObject())
    }
}

/// Why a run stands.
struct DebugReason {
    private let word: String
    private let text: String?
    private let hits: [Int64]

    init(_ word: String, text: String? = nil, hits: [Int64] = []) {
        (self.word, self.text, self.hits) = (word, text, hits)
    }

    static let step = DebugReason("step")

    var body: JSONObject {
        var body: JSONObject = ["reason": .string(word)]
        body["text"] = text.map { .string($0) }
        if !hits.isEmpty { body["hitBreakpointIds"] = .array(hits.map { .integer($0) }) }
        return body
    }
}
