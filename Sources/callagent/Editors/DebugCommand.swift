// `callagent debug`: a test, or a decision that was made, under the debugger of an editor.

import AgentServer
import CallModel
import Debugger
import Decisions
import JSON
import PolicyHost
import WebProtocols

extension Command {
    static let debug = Command(
        "debug", "debug a test or a past decision, for editors",
        operands: .optional("CALL"),
        options: Installation.options + [
            Option("--decision", "N", "which decision about CALL, from 1 (the last one)"),
            Option("--edit", nil, "ask the files on disk, not the generation that decided"),
            Option("--lines", "N", "print the first N lines that ran; no editor is needed"),
            Option("--max-message", "SIZE", "bytes of the longest message (64MB)"),
            Option("--stdio", nil, "use the standard streams, as it always does"),
        ]
    ) { (arguments) throws(CommandError) in
        if let call = arguments.operands.first, CallID(call) == nil {
            throw .usage("CALL '\(call)' is no call id, which has 32 lower-case hex digits")
        }
        let number = try arguments.number("--decision", in: 1...1_000_000)
        let usual = DebugOrder(
            call: arguments.operands.first, number: number, isEdited: arguments.has("--edit"),
            file: arguments.text("--config"))
        if let most = try arguments.number("--lines", in: 1...1_000_000) {
            return try list(usual, most)
        }
        let stream = EditorStream(limit: try arguments.size("--max-message") ?? 64 << 20)
        let session = DebugSession(wire(over: stream)) { launch throws(DebugProblem) in
            try DebugOrder(launch, usual).target()
        }
        return session.run()
    }

    /// Plays the editor itself, and prints what it sees.
    private static func list(_ order: DebugOrder, _ most: Int) throws(CommandError) -> Int32 {
        guard order.call != nil else { throw .usage("--lines needs a CALL") }
        let listing = DebugListing(JSONObject(), most: most) { Screen.say(Screen.plain($0)) }
        let session = DebugSession(listing.wire) { launch throws(DebugProblem) in
            try DebugOrder(launch, order).target()
        }
        _ = session.run()
        return listing.isGood ? ExitCode.success : ExitCode.failure
    }

    private static func wire(over stream: EditorStream) -> DebugSession.Wire {
        var waiting: [MessageFrames.Frame] = []
        return DebugSession.Wire(
            read: { mayWait in
                while waiting.isEmpty {
                    guard mayWait || stream.hasMore else { return .nothing }
                    guard let frames = stream.read() else { return .ended }
                    waiting = frames
                }
                return .frame(waiting.removeFirst())
            }, write: { Screen.write($0) })
    }
}

/// What is to be debugged: the words of the command line, and those of `launch`, which win.
private struct DebugOrder {
    var call: String?
    var number: Int?
    var isEdited = false
    var file: String?
    var plugin: String?
    var test: String?
    var record: JSONValue?

    init(call: String?, number: Int?, isEdited: Bool, file: String?) {
        (self.call, self.number, self.isEdited, self.file) = (call, number, isEdited, file)
    }

    init(_ launch: JSONObject, _ usual: DebugOrder) throws(DebugProblem) {
        self = usual
        func text(_ name: String) throws(DebugProblem) -> String? {
            guard let value = launch[name], !value.isNull else { return nil }
            guard let text = value.string else { throw DebugProblem("'\(name)' is a text") }
            return text
        }
        file = try text("config") ?? file
        let program = try text("program")
        plugin = try text("plugin") ?? program
        test = try text("test")
        record = launch["record"]
        if let given = try text("call") { (call, number) = (given, nil) }
        if let given = launch["decision"], !given.isNull {
            guard let count = given.integer, (1...1_000_000).contains(count) else {
                throw DebugProblem("'decision' is a number from 1")
            }
            number = Int(count)
        }
        if let edit = launch["edit"]?.bool { isEdited = edit }
        if plugin != nil || record != nil, launch["call"] == nil { call = nil }
        let given = [plugin != nil, record != nil, call != nil].count { $0 }
        guard given == 1 else {
            throw DebugProblem(
                "launch needs one of 'plugin' (with 'test'), 'call' (with 'decision') and 'record'")
        }
    }

    func target() throws(DebugProblem) -> any DebugTarget {
        let file = Installation.file(file)
        if let plugin {
            return try PluginDebugging.test(test, of: plugin, file: file)
        }
        var made: DecisionRecord
        if let record { made = try Self.read(record) } else { made = try found() }
        do throws(CommandError) {
            made = try Installation.files(of: file)?.withStates(made) ?? made
        } catch {
            throw DebugProblem(error.message)
        }
        return try PluginDebugging.decision(made, file: file, isEdited: isEdited)
    }

    /// A line of the decision log, as it is or in quotes.
    private static func read(_ line: JSONValue) throws(DebugProblem) -> DecisionRecord {
        let found = line.string.map { DecisionRecord(line: Array($0.utf8)) } ?? DecisionRecord(line)
        guard let found else { throw DebugProblem("'record' is no line of decisions.jsonl") }
        return found
    }

    private func found() throws(DebugProblem) -> DecisionRecord {
        guard let text = call, let call = CallID(text) else {
            throw DebugProblem("'call' is a call id, which has 32 lower-case hex digits")
        }
        let records: [DecisionRecord]
        do throws(CommandError) {
            records = try Installation.records(of: call, file: file)
        } catch {
            throw DebugProblem(error.message)
        }
        guard !records.isEmpty else { throw DebugProblem("no decision about \(text) is kept") }
        if let number {
            guard records.indices.contains(number - 1) else {
                throw DebugProblem("there are \(records.count) decisions about \(text)")
            }
            return records[number - 1]
        }
        return records.last { $0.input != nil } ?? records[records.count - 1]
    }
}

extension Installation {
    /// The files of decisions, of the operator who has this file; nil: none are kept on disk.
    fileprivate static func files(of file: String?) throws(CommandError) -> DecisionFiles? {
        var words: [String] = []
        if let file { words = ["--config", file] }
        return try decisions(try CommandArguments(words, of: .debug))
    }

    /// The recorded decisions about a call, oldest first.
    fileprivate static func records(
        of call: CallID, file: String?
    ) throws(CommandError) -> [DecisionRecord] {
        guard let files = try files(of: file) else {
            throw .failure("no decision is kept where state_dir is \":memory:\"")
        }
        return files.lines(about: call).compactMap { DecisionRecord(line: $0) }
    }
}
