// A session with one editor: the Debug Adapter Protocol. One thread reads messages and runs the
// script: a run that goes on looks for messages now and then, a run that has stopped waits for
// them.

import CLua
import JSON
import Lua
import WebProtocols

/// Debugs what an editor launches.
public final class DebugSession {
    /// What came from an editor.
    public enum Incoming {
        case frame(MessageFrames.Frame)
        /// Nothing so far.
        case nothing
        /// It is gone.
        case ended
    }

    /// The way to and from an editor.
    public struct Wire {
        /// What came next; with true it waits for it.
        let read: (Bool) -> Incoming
        /// Sends a message with its head.
        let write: ([UInt8]) -> Void

        /// A way that `read` and `write` lead over.
        public init(read: @escaping (Bool) -> Incoming, write: @escaping ([UInt8]) -> Void) {
            (self.read, self.write) = (read, write)
        }
    }

    /// What the arguments of `launch` name.
    public typealias Finder = (JSONObject) throws(DebugProblem) -> any DebugTarget

    enum Stage: Int { case begun, initialized, launched, running, ended, over }

    private let wire: Wire
    private let find: Finder
    var sight = DebugSight()
    var stage = Stage.begun
    private var sequence: Int64 = 0
    /// Levels of arrays and objects in a message.
    private static let depth = 64
    private var wasBroken = false

    // What is debugged.
    private var target: (any DebugTarget)?
    var files = DebugFiles()
    /// See `DebugTarget.unknownStates`.
    private(set) var unknownStates: Set<String> = []
    var breakpoints = Breakpoints()
    var stopsAtErrors: Set<String> = ["uncaught"]
    private var stopsOnEntry = false
    /// Whether the first line of a handler or test is still to come, where it is to stop.
    var awaitsEntry = false
    private var ignoresBreakpoints = false
    /// What editors count from, less 1.
    private(set) var lineShift = 0
    private(set) var columnShift = 0

    // The run at hand.
    var states: [DebuggedState] = []
    var steps = 0
    var goal = DebugGoal.free
    var survey: DebugSurvey?
    /// Nothing of the script counts any more.
    var isEnding = false
    var runsAgain = false
    var isPauseWanted = false
    /// A handler that stops where it begins.
    var stopsIn: (state: Int, handler: Int64)?
    var stop: DebugStop?
    var ticks = 0
    var threads: [DebugThread] = []
    /// Whether values were set that a run once more does not set.
    var hasSetValues = false

    /// A session over `wire` that debugs what `find` finds.
    public init(_ wire: Wire, find: @escaping Finder) {
        (self.wire, self.find) = (wire, find)
    }

    /// Goes on until the editor has left; returns the exit code of the process.
    public func run() -> Int32 {
        while stage != .over {
            if stage == .running {
                runTarget()
            } else {
                take(wire.read(true))
            }
        }
        return wasBroken ? 1 : 0
    }

    // MARK: Messages

    /// Takes what has come meanwhile.
    func poll() {
        while stage != .over {
            let incoming = wire.read(false)
            if case .nothing = incoming { return }
            take(incoming)
        }
    }

    /// Waits for the next message.
    func takeNext() { take(wire.read(true)) }

    private func take(_ incoming: Incoming) {
        switch incoming {
        case .nothing: break
        case .ended: leave()
        case .frame(.message(let body)): take(body)
        case .frame(.tooLarge(let bytes)):
            refuse(nil, "a message of \(bytes) bytes is over the limit")
        case .frame(.broken(let why)):
            wasBroken = true
            refuse(nil, why)
            leave()
        }
    }

    /// The editor is gone, or has said so.
    func leave() {
        stage = .over
        (isEnding, runsAgain, stop, survey) = (true, false, nil, nil)
    }

    private func take(_ body: [UInt8]) {
        let message: JSONValue
        do throws(JSONError) {
            message = try JSONValue(
                parsing: body, limits: JSONLimits(bytes: max(1, body.count), depth: Self.depth))
        } catch {
            return refuse(nil, "no JSON: \(error)")
        }
        guard message["type"]?.string == "request" else {
            // The answer to something that was asked: nothing is.
            if message["type"]?.string != "response" { refuse(nil, "a request is expected") }
            return
        }
        guard let command = message["command"]?.string, let number = message["seq"]?.integer else {
            return refuse(nil, "a request has a command and a number")
        }
        var arguments = JSONObject()
        // Some editors write what they do not say.
        for member in message["arguments"]?.object?.members ?? [] where !member.value.isNull {
            arguments[member.key] = member.value
        }
        let request = DebugRequest(command: command, sequence: number, arguments: arguments)
        do throws(DebugProblem) {
            try handle(request)
        } catch {
            refuse(request, error.text)
        }
    }

    private func send(_ message: JSONObject) {
        sequence += 1
        var message = message
        message["seq"] = .integer(sequence)
        wire.write(MessageFrames.frame(JSONValue.object(message).bytes))
    }

    // Some editors fail where no body is, though the protocol lets it be left out.

    func tell(_ event: String, _ body: JSONObject = JSONObject()) {
        send(["type": "event", "event": .string(event), "body": .object(body)])
    }

    func reply(_ request: DebugRequest, _ body: JSONObject = JSONObject()) {
        send([
            "type": "response", "request_seq": .integer(request.sequence), "success": true,
            "command": .string(request.command), "body": .object(body),
        ])
    }

    private func refuse(_ request: DebugRequest?, _ text: String) {
        send([
            "type": "response", "request_seq": .integer(request?.sequence ?? 0), "success": false,
            "command": .string(request?.command ?? ""), "message": .string(text),
            "body": ["error": ["id": 1, "format": .string(Self.format(text)), "showUser": true]],
        ])
    }

    /// Braces stand for variables where editors read formats.
    private static func format(_ text: String) -> String {
        String(text.map { $0 == "{" ? "(" : $0 == "}" ? ")" : $0 })
    }

    /// Whether the run only goes to where one was before.
    var isReplaying: Bool {
        if case .step(let number) = goal, steps < number { return true }
        return survey != nil
    }

    /// A line for the person.
    func say(_ text: String, category: String = "console", at place: JSONObject? = nil) {
        guard !isReplaying else { return }
        var body = place ?? JSONObject()
        body["category"] = .string(category)
        body["output"] = .string(text + "\n")
        tell("output", body)
    }

    // MARK: Requests

    private func handle(_ request: DebugRequest) throws(DebugProblem) {
        switch request.command {
        case "initialize":
            guard stage == .begun else { throw DebugProblem("'initialize' comes once") }
            initialize(request)
        case "disconnect":
            reply(request)
            leave()
        case _ where stage == .begun: throw DebugProblem("'initialize' comes first")
        case "launch": try launch(request)
        case "attach":
            throw DebugProblem("nothing that runs is debugged: launch a test or a decision")
        case "configurationDone": try begin(request)
        case "terminate": terminate(request)
        case "restart": try restart(request)
        case "setBreakpoints": try setBreakpoints(request)
        case "setFunctionBreakpoints": setFunctions(request)
        case "setExceptionBreakpoints": setErrors(request)
        case "breakpointLocations": try locations(request)
        case "loadedSources":
            reply(request, ["sources": .array(files.all.indices.map { files.source($0) })])
        case "source": try source(request)
        case "threads": reply(request, ["threads": .array(threadsUnderWay())])
        case "pause":
            guard stage == .running else { throw DebugProblem("nothing runs") }
            reply(request)
            isPauseWanted = stop == nil
        default: try handleAtStop(request)
        }
    }

    private func initialize(_ request: DebugRequest) {
        lineShift = request.arguments["linesStartAt1"]?.bool == false ? -1 : 0
        columnShift = request.arguments["columnsStartAt1"]?.bool == false ? -1 : 0
        breakpoints.lineShift = lineShift
        stage = .initialized
        reply(request, Self.abilities)
    }

    private static let abilities: JSONObject = [
        "supportsConfigurationDoneRequest": true, "supportsFunctionBreakpoints": true,
        "supportsConditionalBreakpoints": true, "supportsHitConditionalBreakpoints": true,
        "supportsEvaluateForHovers": true, "supportsStepBack": true, "supportsSetVariable": true,
        "supportsSetExpression": true,
        "supportsRestartRequest": true, "supportsExceptionInfoRequest": true,
        "supportsDelayedStackTraceLoading": true, "supportsLoadedSourcesRequest": true,
        "supportsLogPoints": true, "supportsTerminateRequest": true,
        "supportsBreakpointLocationsRequest": true, "supportTerminateDebuggee": false,
        "supportsCompletionsRequest": true, "completionTriggerCharacters": ["."],
        "exceptionBreakpointFilters": [
            [
                "filter": "uncaught", "label": "Errors that nothing catches", "default": true,
            ],
            ["filter": "caught", "label": "Errors that a script catches", "default": false],
        ],
    ]

    private func launch(_ request: DebugRequest) throws(DebugProblem) {
        guard stage == .initialized else { throw DebugProblem("'launch' comes once") }
        let arguments = request.arguments
        sight = try DebugSight(arguments)
        let target = try find(arguments)
        self.target = target
        stopsOnEntry = arguments["stopOnEntry"]?.bool ?? false
        ignoresBreakpoints = arguments["noDebug"]?.bool ?? false
        files = DebugFiles(target.files)
        unknownStates = target.unknownStates
        stage = .launched
        reply(request)
        for point in breakpoints.place(in: files) {
            tell("breakpoint", ["reason": "changed", "breakpoint": point])
        }
        for note in target.notes { say(note) }
        tell("initialized")
    }

    private func begin(_ request: DebugRequest) throws(DebugProblem) {
        guard stage == .launched else {
            throw DebugProblem(
                stage == .initialized ? "'launch' comes first" : "the run has begun already")
        }
        reply(request)
        stage = .running
    }

    private func terminate(_ request: DebugRequest) {
        reply(request)
        if stage == .running {
            (isEnding, runsAgain, stop, survey) = (true, false, nil, nil)
        } else {
            if stage != .ended { tell("terminated") }
            stage = .ended
        }
    }

    private func restart(_ request: DebugRequest) throws(DebugProblem) {
        guard target != nil, stage == .running else { throw DebugProblem("nothing runs") }
        reply(request)
        if let stop {
            // Threads are numbered anew. Who takes the one that stood for one that still stands
            // would send the next stop away.
            let id = threadID(stop.state.number, stop.handler)
            tell("continued", ["threadId": .integer(id), "allThreadsContinued": true])
            tell("thread", ["reason": "started", "threadId": .integer(id)])
        }
        (isEnding, runsAgain, stop, survey) = (true, true, nil, nil)
        beginAtEntry()
    }

    private func setBreakpoints(_ request: DebugRequest) throws(DebugProblem) {
        guard let source = request.arguments["source"], source.object != nil else {
            throw DebugProblem("'setBreakpoints' needs a source")
        }
        let asked =
            request.arguments["breakpoints"]?.array
            ?? (request.arguments["lines"]?.array ?? [])
            .map { ["line": $0] }
        guard asked.count <= 10_000 else { throw DebugProblem("over 10,000 breakpoints") }
        let lines = try asked.map { json throws(DebugProblem) in
            guard let line = json["line"]?.integer, (0...Int64(Int32.max)).contains(line) else {
                throw DebugProblem("a breakpoint has a line")
            }
            return (Int(line) - lineShift, json)
        }
        reply(request, ["breakpoints": .array(breakpoints.set(source, lines, in: files))])
    }

    private func setFunctions(_ request: DebugRequest) {
        let asked = request.arguments["breakpoints"]?.array ?? []
        breakpoints.functions = asked.compactMap { $0["name"]?.string }
        reply(request, ["breakpoints": .array(asked.map { _ in ["verified": true] })])
    }

    private func setErrors(_ request: DebugRequest) {
        let filters = request.arguments["filters"]?.array?.compactMap(\.string) ?? []
        let options = request.arguments["filterOptions"]?.array ?? []
        stopsAtErrors = Set(filters + options.compactMap { $0["filterId"]?.string })
        reply(request)
    }

    private func locations(_ request: DebugRequest) throws(DebugProblem) {
        guard let line = request.arguments["line"]?.integer, abs(line) < 1 << 31 else {
            throw DebugProblem("'breakpointLocations' needs a line")
        }
        let first = Int(line) - lineShift
        let last = request.arguments["endLine"]?.integer.map { Int(clamping: $0) - lineShift }
        let range = first...max(first, last ?? first)
        let lines = files.place(of: request.arguments["source"]).map { files.lines(range, in: $0) }
        reply(
            request,
            [
                "breakpoints": .array(
                    (lines ?? []).map { ["line": .integer(Int64($0 + lineShift))] })
            ])
    }

    private func source(_ request: DebugRequest) throws(DebugProblem) {
        var source = request.arguments["source"]?.object ?? JSONObject()
        if let number = request.arguments["sourceReference"], number.integer != 0 {
            source["sourceReference"] = number
        }
        guard let place = files.place(of: .object(source)) else {
            throw DebugProblem("there is no such file here")
        }
        let text = String(decoding: files.all[place].source.text, as: UTF8.self)
        reply(request, ["content": .string(text), "mimeType": "text/x-lua"])
    }

    // MARK: Runs

    var stopsAtBreakpoints: Bool { !ignoresBreakpoints }

    private func runTarget() {
        guard let target else { return stage = .ended }
        beginAtEntry()
        var result = DebugResult(lines: [], isGood: false)
        repeat {
            beginRun()
            result = target.run(DebugObserver(self))
            endRun()
        } while runsAgain && stage != .over
        guard stage != .over else { return }
        if !isEnding {
            let isLost = isReplaying
            goal = .free
            if isLost { say("the run went another way than before") }
            for line in result.lines { say(line, category: result.isGood ? "stdout" : "stderr") }
        }
        stage = .ended
        tell("exited", ["exitCode": .integer(result.isGood && !isEnding ? 0 : 1)])
        tell("terminated")
    }

    private func beginAtEntry() {
        awaitsEntry = stopsOnEntry && !ignoresBreakpoints
        goal = awaitsEntry ? .entry : .free
    }

    private func beginRun() {
        (isEnding, runsAgain, isPauseWanted, stopsIn) = (false, false, false, nil)
        (steps, threads, states) = (0, [], [])
        survey?.hasBegun = true
        breakpoints.begin()
    }

    private func endRun() {
        stop = nil
        guard let survey, survey.hasBegun, stage != .over else { return }
        (self.survey, runsAgain) = (nil, true)
        if !survey.isSame { say("this run is not the same as the one before") }
        let first = survey.entry ?? 1
        goal = .step(max(first, survey.found ?? first))
        if hasSetValues { say("values that were set are as the script left them again") }
        hasSetValues = false
    }
}

/// A request of an editor.
struct DebugRequest {
    let command: String
    let sequence: Int64
    let arguments: JSONObject
}

/// A handler as editors know it.
struct DebugThread: Equatable {
    let state: Int
    let handler: Int64
}

/// Hears of Lua states of a run.
private final class DebugObserver: ScriptObserver, @unchecked Sendable {
    private let session: DebugSession

    init(_ session: DebugSession) {
        self.session = session
        super.init()
    }

    override func begin(
        _ vm: OpaquePointer, of plugin: String, title: @escaping (Int32) -> String?
    ) {
        session.begin(vm, of: plugin, title: title)
    }

    override func end(_ vm: OpaquePointer) { session.end(vm) }
}

extension DebugSight {
    /// What `launch` says of how much is to be shown.
    fileprivate init(_ arguments: JSONObject) throws(DebugProblem) {
        self.init()
        let limits = arguments["limits"]
        func limit(_ name: String, _ most: Int, _ usual: Int) throws(DebugProblem) -> Int {
            guard let value = limits?[name] else { return usual }
            guard let number = value.integer, (1...Int64(most)).contains(number) else {
                throw DebugProblem("limits.\(name) is a number from 1 to \(most)")
            }
            return Int(number)
        }
        text = try limit("text", 1 << 20, text)
        members = try limit("members", 10_000, members)
        frames = try limit("frames", 10_000, frames)
    }
}
