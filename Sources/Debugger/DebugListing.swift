// The run of a test or decision as text, for a person without an editor: it plays an editor that
// steps into every line and writes down where it stands.

import JSON
import LuaSource
import WebProtocols

/// Plays an editor: prints the lines that run, the values that they read, and what changed.
public final class DebugListing {
    /// Lines that are printed; the run goes on to its end without the others.
    private let most: Int
    private let say: (String) -> Void

    private var number: Int64 = 0
    private var requests: [JSONValue] = []
    private var frames = MessageFrames(limit: 64 << 20)
    private var count = 0

    // Where the run stands.
    private var place = ListedPlace()
    /// The variables that are still asked for, by the number of the request.
    private var asked: [Int64: ListedScope] = [:]
    /// The expressions that are still asked for, by the number of the request.
    private var reads: [Int64: String] = [:]
    private var values: [String] = []
    /// The values that were seen last in each function under way, by their names.
    private var seen: [ListedFrame: [String: String]] = [:]
    private var waits: [Int64: Int] = [:]
    private var handler = ""
    /// The lines of files, by how an editor reaches them.
    private var texts: [String: [String]] = [:]

    /// A listing of what the arguments `launch` name.
    ///
    /// - Parameters:
    ///   - most: how many lines are printed at most.
    ///   - say: gets each line.
    public init(_ launch: JSONObject, most: Int, say: @escaping (String) -> Void) {
        (self.most, self.say) = (most, say)
        var launch = launch
        launch["stopOnEntry"] = true
        ask("initialize", ["adapterID": "callagent"])
        ask("launch", launch)
        ask("configurationDone")
    }

    /// The way to and from the session.
    public var wire: DebugSession.Wire {
        DebugSession.Wire(
            read: { [self] mayWait in
                guard mayWait else { return .nothing }
                guard !requests.isEmpty else { return .ended }
                return .frame(.message(requests.removeFirst().bytes))
            }, write: { [self] in take($0) })
    }

    /// Whether what was launched ran to its end and went as it should.
    public private(set) var isGood = false

    @discardableResult
    private func ask(_ command: String, _ arguments: JSONObject = JSONObject()) -> Int64 {
        number += 1
        requests.append([
            "type": "request", "seq": .integer(number), "command": .string(command),
            "arguments": .object(arguments),
        ])
        return number
    }

    // MARK: Messages

    private func take(_ bytes: [UInt8]) {
        for case .message(let body) in frames.take(bytes) {
            let limits = JSONLimits(bytes: max(1, body.count), depth: 64)
            guard let json = try? JSONValue(parsing: body, limits: limits) else { continue }
            if let event = json["event"]?.string {
                happened(event, json["body"] ?? .null)
            } else {
                answered(json)
            }
        }
    }

    private func happened(_ event: String, _ body: JSONValue) {
        switch event {
        case "output": say(Self.trimmed(body["output"]?.string ?? ""))
        case "exited": isGood = body["exitCode"] == 0
        case "terminated": ask("disconnect")
        case "stopped":
            if body["reason"] == "exception" { say("  error: \(body["text"]?.string ?? "?")") }
            place = ListedPlace(thread: body["threadId"]?.integer ?? 0)
            ask("threads")
            ask("stackTrace", ["threadId": .integer(place.thread)])
        default: break
        }
    }

    private func answered(_ answer: JSONValue) {
        let number = answer["request_seq"]?.integer ?? 0
        let body = answer["body"] ?? .null
        guard answer["success"] == true else {
            if reads.removeValue(forKey: number) != nil { return goOnOnceRead() }
            say(answer["message"]?.string ?? "?")
            // Nothing can follow what was not launched.
            requests.removeAll()
            return
        }
        switch answer["command"]?.string {
        case "threads":
            let threads = body["threads"]?.array ?? []
            let own = threads.first { $0["id"]?.integer == place.thread }
            place.handler = own?["name"]?.string ?? ""
        case "stackTrace": stands(body["stackFrames"]?.array ?? [])
        case "source":
            let text = body["content"]?.string ?? ""
            texts[place.file] = text.split(separator: "\n", omittingEmptySubsequences: false)
                .map(String.init)
            askForScopes()
        case "scopes": askForVariables(body["scopes"]?.array ?? [])
        case "variables":
            if let scope = asked.removeValue(forKey: number) {
                compare(scope, body["variables"]?.array ?? [])
            }
            if asked.isEmpty { shown() }
        case "evaluate":
            if let path = reads.removeValue(forKey: number) { read(path, body) }
            goOnOnceRead()
        default: break
        }
    }

    // MARK: Where it stands

    private func stands(_ stack: [JSONValue]) {
        let own = stack.first { $0["presentationHint"] == nil }
        guard let own, let line = own["line"]?.integer else { return goOn() }
        place.line = Int(line)
        place.frame = own["id"] ?? 0
        place.source = own["source"] ?? .null
        place.depth = stack.count
        // A function that is over may be called again, with the same depth.
        seen = seen.filter { $0.key.thread != place.thread || $0.key.depth <= place.depth }
        if texts[place.file] == nil {
            ask("source", ["source": place.source])
        } else {
            askForScopes()
        }
    }

    private func askForScopes() { ask("scopes", ["frameId": place.frame]) }

    private func askForVariables(_ scopes: [JSONValue]) {
        for scope in scopes {
            guard let name = scope["name"]?.string.flatMap(ListedScope.init(rawValue:)) else {
                continue
            }
            let reference = scope["variablesReference"] ?? 0
            asked[ask("variables", ["variablesReference": reference])] = name
        }
        if asked.isEmpty { shown() }
    }

    private func compare(_ scope: ListedScope, _ variables: [JSONValue]) {
        let rows = variables.map {
            (name: $0["name"]?.string ?? "?", value: $0["value"]?.string ?? "?")
        }
        guard scope != .waits else {
            for row in rows.dropFirst(waits[place.thread] ?? 0) {
                say("\(Self.indent)\(row.name) was answered \(row.value)")
            }
            waits[place.thread] = rows.count
            return
        }
        let key = ListedFrame(thread: place.thread, depth: place.depth, scope: scope)
        let before = seen[key]
        var now: [String: String] = [:]
        for row in rows { now[row.name] = row.value }
        seen[key] = now
        // What a function begins with is shown where it is read.
        guard let before else { return }
        let changed = rows.filter { before[$0.name] != $0.value }
        guard !changed.isEmpty else { return }
        say(Self.indent + changed.map { "\($0.name) = \($0.value)" }.joined(separator: ", "))
    }

    // MARK: Printing

    private static let indent = String(repeating: " ", count: 8)

    private func shown() {
        let lines = texts[place.file] ?? []
        let text = lines.indices.contains(place.line - 1) ? lines[place.line - 1] : ""
        if handler != place.handler {
            handler = place.handler
            say(handler)
        }
        let name = place.source["name"]?.string ?? "?"
        say("  \(name):\(place.line)  \(Self.trimmed(text))")
        count += 1
        values = []
        for path in Self.paths(in: text) {
            reads[ask("evaluate", ["expression": .string(path), "frameId": place.frame])] = path
        }
        goOnOnceRead()
    }

    private func read(_ path: String, _ body: JSONValue) {
        let isPlain = body["variablesReference"] == 0 && body["type"] != "function"
        guard isPlain || body["type"] == "user" else { return }
        values.append("\(path) is \(body["result"]?.string ?? "?")")
    }

    private func goOnOnceRead() {
        guard reads.isEmpty else { return }
        if !values.isEmpty { say(Self.indent + values.joined(separator: ", ")) }
        goOn()
    }

    private func goOn() {
        if count == most { say("  … the first \(most) lines; it goes on to its end") }
        ask(count < most ? "stepIn" : "continue", ["threadId": .integer(place.thread)])
    }

    /// What a line reads: names with the fields behind them, without what is called.
    private static func paths(in line: String) -> [String] {
        let tokens = LuaLexer.words(of: Array(line.utf8)).tokens
        var paths: [String] = []
        var index = 0
        while tokens[index].kind != .end {
            guard tokens[index].kind == .name else {
                index += 1
                continue
            }
            var path = [tokens[index].text]
            let isDeclared = index > 0 && tokens[index - 1].text == "local"
            index += 1
            while tokens[index].text == ".", tokens[index + 1].kind == .name {
                path.append(tokens[index + 1].text)
                index += 2
            }
            let next = tokens[index]
            if ["(", "{"].contains(next.text) || next.kind == .text { path.removeLast() }
            if path.isEmpty || isDeclared || next.text == "=" || next.text == ":" { continue }
            let whole = path.joined(separator: ".")
            if !paths.contains(whole) { paths.append(whole) }
        }
        return paths
    }

    private static func trimmed(_ text: String) -> String {
        var text = text[...]
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text.drop { $0 == " " || $0 == "\t" })
    }
}

/// Where a run stands.
private struct ListedPlace {
    var thread: Int64 = 0
    var handler = ""
    var line = 0
    var frame: JSONValue = 0
    var source: JSONValue = .null
    var file: String { String(decoding: source.bytes, as: UTF8.self) }
    /// How many functions are under way in the thread.
    var depth = 0
}

/// A scope of a function under way.
private struct ListedFrame: Hashable {
    let thread: Int64
    let depth: Int
    let scope: ListedScope
}

/// Scopes of a function that are looked at.
private enum ListedScope: String {
    case locals = "Locals"
    case upvalues = "Upvalues"
    case waits = "Waits"
}
