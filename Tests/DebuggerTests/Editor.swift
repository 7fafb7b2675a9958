// An editor whose messages are written beforehand, each once the answers before it are there.

import AgentServer
import Debugger
import Foundation
import JSON
import Testing
import WebProtocols

/// Plays an editor with one plugin, in a folder of its own.
final class Editor {
    /// What is sent next, made from everything that was told so far.
    typealias Step = (Editor) -> JSONValue

    let folder: String
    private(set) var told: [JSONValue] = []
    private var steps: [Step] = []
    /// Steps that come while the script runs, each after so many others.
    private var meanwhile: [(after: Int, step: Step)] = []
    private var place = 0
    private var number: Int64 = 0
    private var raw: [MessageFrames.Frame] = []

    init(_ text: String) throws {
        folder = NSTemporaryDirectory() + "debug-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    var path: String { "\(folder)/p.lua" }

    /// A message that is no request as it should be.
    func send(_ frame: MessageFrames.Frame) { raw.append(frame) }

    func ask(_ command: String, _ arguments: JSONObject = JSONObject()) {
        steps.append { $0.request(command, arguments) }
    }

    /// A request that is made of what was told.
    func ask(_ command: String, _ arguments: @escaping (Editor) -> JSONObject) {
        steps.append { $0.request(command, arguments($0)) }
    }

    func askMeanwhile(_ command: String) {
        meanwhile.append((steps.count, { $0.request(command, ["threadId": 1]) }))
    }

    private func request(_ command: String, _ arguments: JSONObject) -> JSONValue {
        number += 1
        return [
            "type": "request", "seq": .integer(number), "command": .string(command),
            "arguments": .object(arguments),
        ]
    }

    /// Launches the test with breakpoints on these lines.
    func launch(
        _ test: String, stops: [JSONValue] = [], errors: [JSONValue] = ["uncaught"],
        _ more: JSONObject = JSONObject()
    ) {
        var launch = more
        launch["plugin"] = .string(path)
        launch["test"] = .string(test)
        ask("initialize", ["adapterID": "callagent"])
        ask("launch", launch)
        ask("setBreakpoints", ["source": ["path": .string(path)], "breakpoints": .array(stops)])
        ask("setExceptionBreakpoints", ["filters": .array(errors)])
        ask("configurationDone")
    }

    /// Plays it to the end.
    @discardableResult
    func play() -> Int32 {
        let session = DebugSession(
            DebugSession.Wire(
                read: { [unowned self] in next(mayWait: $0) },
                write: { [unowned self] in take($0) })
        ) { launch throws(DebugProblem) in
            guard let plugin = launch["plugin"]?.string else {
                throw DebugProblem("no plugin")
            }
            return try PluginDebugging.test(launch["test"]?.string, of: plugin, file: nil)
        }
        return session.run()
    }

    private func next(mayWait: Bool) -> DebugSession.Incoming {
        if !mayWait {
            guard let first = meanwhile.first, first.after == place else { return .nothing }
            meanwhile.removeFirst()
            return .frame(.message(first.step(self).bytes))
        }
        if !raw.isEmpty { return .frame(raw.removeFirst()) }
        guard place < steps.count else { return .ended }
        place += 1
        return .frame(.message(steps[place - 1](self).bytes))
    }

    private func take(_ bytes: [UInt8]) {
        var frames = MessageFrames(limit: 1 << 24)
        for case .message(let body) in frames.take(bytes) {
            if let json = try? JSONValue(parsing: body, limits: JSONLimits(bytes: body.count)) {
                told.append(json)
            }
        }
    }

    // MARK: What was told

    func events(_ name: String) -> [JSONValue] {
        told.filter { $0["event"]?.string == name }.map { $0["body"] ?? .null }
    }

    /// The bodies of the answers to a command; of those that were refused, the message.
    func answers(_ command: String) -> [JSONValue] {
        told.filter { $0["type"]?.string == "response" && $0["command"]?.string == command }
            .map { ($0["success"]?.bool == true ? $0["body"] : $0["message"]) ?? .null }
    }

    /// The lines at which the script stood, as told by `stackTrace`.
    var lines: [Int64] {
        answers("stackTrace").compactMap { $0["stackFrames"]?[0]?["line"]?.integer }
    }

    /// What the script and the debugger said.
    var output: String { events("output").compactMap { $0["output"]?.string }.joined() }

    var thread: JSONValue { events("stopped").last?["threadId"] ?? 0 }

    var frame: JSONValue {
        let frames = answers("stackTrace").last?["stackFrames"]?.array ?? []
        let own = frames.first { $0["presentationHint"] == nil }
        return own?["id"] ?? 0
    }

    /// Asks where it stands.
    func look() { ask("stackTrace") { ["threadId": $0.thread] } }

    /// Goes on, and asks where it stands then.
    func go(_ commands: String...) {
        for command in commands {
            ask(command) { ["threadId": $0.thread] }
            look()
        }
    }

    func evaluate(_ expressions: String...) {
        for text in expressions {
            ask("evaluate") { ["expression": .string(text), "frameId": $0.frame] }
        }
    }

    /// What the expressions came to, or why to nothing.
    var values: [String] {
        answers("evaluate").map { $0["result"]?.string ?? $0.string ?? "?" }
    }

    /// Asks for the variables of a scope.
    func open(_ scope: String) {
        ask("scopes") { ["frameId": $0.frame] }
        ask("variables") { editor in
            let scopes = editor.answers("scopes").last?["scopes"]?.array ?? []
            let found = scopes.first { $0["name"]?.string == scope }
            return ["variablesReference": found?["variablesReference"] ?? 0]
        }
    }

    /// `NAME = VALUE` of the variables that were asked for last.
    var variables: [String] {
        (answers("variables").last?["variables"]?.array ?? []).map {
            "\($0["name"]?.string ?? "?") = \($0["value"]?.string ?? "?")"
        }
    }
}
