// The language server: messages in, messages out. It reads files and runs nothing, except for the
// test of a lens that somebody presses.

import JSON
import Lua
import LuaSource
import PolicyHost
import WebProtocols

/// What came of one test.
public struct PressedTest: Sendable {
    /// Whether it passed.
    public let hasPassed: Bool
    /// One line for a person.
    public let text: String

    /// A result, told in `text`.
    public init(hasPassed: Bool, text: String) {
        self.hasPassed = hasPassed
        self.text = text
    }
}

/// A session with one editor.
public final class LanguageServer {
    /// Runs the test of this name, which stands in the file with this path.
    public typealias TestRunner = (PluginSource, String, _ path: String) -> PressedTest

    private enum Stage { case begun, initialized, shutDown, over }

    private let diagnostics: Diagnostics
    private let runTest: TestRunner
    private let files = OpenFiles()
    private var stage = Stage.begun
    /// Files that were changed since diagnostics were told.
    private var changed: Set<String> = []
    private var output: [JSONValue] = []
    /// Levels of arrays and objects in a message.
    private static let depth = 128

    /// A session in which `runTest` runs the tests of lenses.
    public init(runTest: @escaping TestRunner) throws(ScriptProblem) {
        diagnostics = try Diagnostics()
        self.runTest = runTest
    }

    /// The exit code of the process once the session is over.
    public var exitCode: Int32? {
        stage == .over ? (wasShutDown ? 0 : 1) : nil
    }
    private var wasShutDown = false

    /// Whether something was changed of which nothing was told yet.
    public var isUnsettled: Bool { !changed.isEmpty }

    // MARK: Messages

    /// What is answered to the body of a message.
    public func take(_ body: [UInt8]) -> [[UInt8]] {
        output = []
        let message: JSONValue
        do throws(JSONError) {
            message = try JSONValue(
                parsing: body, limits: JSONLimits(bytes: body.count, depth: Self.depth))
        } catch {
            fail(.null, -32_700, "\(error)")
            return written()
        }
        guard let object = message.object else {
            fail(.null, -32_600, "a message is an object")
            return written()
        }
        handle(object)
        return written()
    }

    /// A message that was left out.
    public func leftOut(bytes: Int, limit: Int) -> [[UInt8]] {
        output = []
        fail(.null, -32_600, "a message of \(bytes) bytes is over the limit of \(limit)")
        return written()
    }

    /// Tells what is wrong with the files that were changed. To be called when nothing more is
    /// there to read, so that it is told once for many edits.
    public func settle() -> [[UInt8]] {
        output = []
        // What is wrong with one file of a plugin may be due to another.
        let folders = Set(
            changed.compactMap { files[$0] }.compactMap { files.folder(of: $0.path) })
        for (uri, file) in files.all.sorted(by: { $0.key < $1.key })
        where changed.contains(uri) || files.folder(of: file.path).map(folders.contains) == true {
            publish(diagnostics.found(in: file, among: files), uri, file.version)
        }
        changed = []
        return written()
    }

    private func written() -> [[UInt8]] { output.map { MessageFrames.frame($0.bytes) } }

    private func publish(_ found: [JSONValue], _ uri: String, _ version: JSONValue?) {
        var parameters: JSONObject = ["uri": .string(uri), "diagnostics": .array(found)]
        if let version, version.integer != nil { parameters["version"] = version }
        notify("textDocument/publishDiagnostics", .object(parameters))
    }

    private func notify(_ method: String, _ parameters: JSONValue) {
        output.append(["jsonrpc": "2.0", "method": .string(method), "params": parameters])
    }

    private func reply(_ id: JSONValue, _ result: JSONValue) {
        output.append(["jsonrpc": "2.0", "id": id, "result": result])
    }

    private func fail(_ id: JSONValue, _ code: Int64, _ text: String) {
        let error: JSONValue = ["code": .integer(code), "message": .string(text)]
        output.append(["jsonrpc": "2.0", "id": id, "error": error])
    }

    private func handle(_ message: JSONObject) {
        guard let method = message["method"]?.string else {
            // The answer to something that was asked: nothing is.
            if message["id"] == nil { fail(.null, -32_600, "a message has a method") }
            return
        }
        let parameters = message["params"]?.object ?? JSONObject()
        guard let id = message["id"] else { return notified(method, parameters) }
        switch (stage, method) {
        case (.begun, "initialize"):
            stage = .initialized
            reply(id, Self.abilities)
        case (.begun, _): fail(id, -32_002, "'initialize' comes first")
        case (.initialized, "shutdown"):
            (stage, wasShutDown) = (.shutDown, true)
            reply(id, .null)
        case (.initialized, "initialize"): fail(id, -32_600, "'initialize' comes once")
        case (.initialized, _): request(method, parameters, id)
        case (.shutDown, _), (.over, _): fail(id, -32_600, "the server was shut down")
        }
    }

    /// What the server can do.
    static let abilities: JSONValue = [
        "serverInfo": ["name": "callagent"],
        "capabilities": [
            "positionEncoding": "utf-16",
            "textDocumentSync": ["openClose": true, "change": 2],
            "completionProvider": ["triggerCharacters": [".", ":", "\"", "{"]],
            "hoverProvider": true, "definitionProvider": true, "referencesProvider": true,
            "codeLensProvider": ["resolveProvider": false],
            "executeCommandProvider": ["commands": [.string(Lens.command)]],
        ],
    ]

    // MARK: Notifications

    private func notified(_ method: String, _ parameters: JSONObject) {
        if method == "exit" {
            stage = .over
            return
        }
        guard stage == .initialized else { return }
        let document = parameters["textDocument"]?.object
        guard let uri = document?["uri"]?.string else { return }
        switch method {
        case "textDocument/didOpen":
            files[uri] = OpenFile(
                uri: uri, text: Array((document?["text"]?.string ?? "").utf8),
                version: document?["version"] ?? .null)
            changed.insert(uri)
        case "textDocument/didChange": change(uri, document, parameters)
        case "textDocument/didClose":
            guard files[uri] != nil else { return }
            files[uri] = nil
            changed.remove(uri)
            publish([], uri, nil)
        default: break
        }
    }

    private func change(_ uri: String, _ document: JSONObject?, _ parameters: JSONObject) {
        guard let file = files[uri] else { return }
        for change in parameters["contentChanges"]?.array ?? [] {
            guard let text = change.object?["text"]?.string else { continue }
            var place: Range<Int>?
            if let range = change.object?["range"]?.object {
                guard let start = Place.read(range["start"], file.lines),
                    let end = Place.read(range["end"], file.lines)
                else { continue }
                place = min(start, end)..<max(start, end)
            }
            file.replace(place, with: Array(text.utf8))
        }
        file.version = document?["version"] ?? .null
        changed.insert(uri)
    }

    // MARK: Requests

    private func request(_ method: String, _ parameters: JSONObject, _ id: JSONValue) {
        switch method {
        case "textDocument/completion":
            reply(id, at(parameters) { .array(completion($0, $1)) } ?? .array([]))
        case "textDocument/hover":
            reply(id, at(parameters) { cursor, _ in Hover.note(at: cursor) } ?? .null)
        case "textDocument/definition":
            reply(id, at(parameters) { .array(References(at: $0, in: $1).declarations) } ?? .null)
        case "textDocument/references":
            let context = parameters["context"]?.object
            let isWhole = context?["includeDeclaration"]?.bool ?? false
            let found = at(parameters) { cursor, plugin in
                let all = References(at: cursor, in: plugin)
                return .array((isWhole ? all.declarations : []) + all.uses)
            }
            reply(id, found ?? .null)
        case "textDocument/codeLens":
            let uri = parameters["textDocument"]?.object?["uri"]?.string
            let file = uri.flatMap { files[$0] }
            reply(id, .array(file.flatMap(pluginFile).map { Lens.lenses(in: $0.0, $0.1) } ?? []))
        case "workspace/executeCommand": press(parameters, id)
        default: fail(id, -32_601, "there is no method '\(method)'")
        }
    }

    private func pluginFile(_ file: OpenFile) -> (PluginFile, OpenFile)? {
        guard file.text.count <= files.limit else { return nil }
        return files.plugin(of: file).file(at: file.path).map { ($0, file) }
    }

    /// What `body` says of the place that is asked about.
    private func at(
        _ parameters: JSONObject, _ body: (Cursor, OpenPlugin) -> JSONValue
    ) -> JSONValue? {
        guard let uri = parameters["textDocument"]?.object?["uri"]?.string, let file = files[uri],
            file.text.count <= files.limit,
            let place = Place.read(parameters["position"], file.lines)
        else { return nil }
        let plugin = files.plugin(of: file)
        return plugin.file(at: file.path).map { body(Cursor(file: $0, place: place), plugin) }
    }

    private func completion(_ cursor: Cursor, _ plugin: OpenPlugin) -> [JSONValue] {
        Completion.items(at: cursor, in: plugin, names: diagnostics.known)
    }

    /// A lens was pressed: now something runs.
    private func press(_ parameters: JSONObject, _ id: JSONValue) {
        let arguments = parameters["arguments"]?.array ?? []
        guard parameters["command"]?.string == Lens.command, arguments.count == 2,
            let uri = arguments[0].string, let name = arguments[1].string
        else {
            return fail(id, -32_602, "'\(Lens.command)' takes the address of a file and a test")
        }
        guard let file = files[uri], let (own, _) = pluginFile(file) else {
            return fail(id, -32_602, "the file '\(uri)' is not open")
        }
        guard Lens.tests(in: own).contains(where: { $0.name == name }) else {
            return fail(id, -32_602, "there is no test '\(name)' in this file")
        }
        let test = runTest(files.plugin(of: file).source, name, file.path)
        notify(
            "window/showMessage",
            ["type": .integer(test.hasPassed ? 3 : 1), "message": .string(test.text)])
        reply(id, ["passed": .bool(test.hasPassed), "text": .string(test.text)])
    }
}

/// The lenses over tests.
enum Lens {
    static let command = "callagent.runTest"

    static func lenses(in file: PluginFile, _ open: OpenFile) -> [JSONValue] {
        tests(in: file).map { test in
            [
                "range": Place.range(test.range, file.lines),
                "command": [
                    "title": "run this test", "command": .string(command),
                    "arguments": [.string(open.uri), .string(test.name)],
                ],
            ]
        }
    }

    /// The tests of a file whose names are written out.
    static func tests(in file: PluginFile) -> [(name: String, range: Range<Int>)] {
        file.types.nodes.expressions.compactMap { expression in
            guard case .call(let called, let arguments) = expression.kind,
                case .global("test") = called.kind,
                case .text(let name?)? = arguments.first?.kind
            else { return nil }
            return (name, called.range)
        }
    }
}
