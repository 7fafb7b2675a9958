// Runs callagent.lua once in a sandbox and reads what it assigned.

import CLua
import CallModel
import Glibc
import JSON
import Lua

extension Configuration {
    /// What the file at `path` says. Paths in it begin at its folder. An unknown name or a wrong
    /// type is a problem with file, line and a suggestion.
    public static func load(
        path: String, isForTests: Bool = false, environment: @escaping (String) -> String?
    ) throws(ScriptProblems) -> Configuration {
        guard let text = Files.read(path) else {
            throw ScriptProblems([ScriptProblem(Files.complaint(path))])
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.count > 1 ? parts.dropLast().joined(separator: "/") : "."
        let file = SourceFile(name: parts.last.map(String.init) ?? path, text: text)
        var configuration = try read(
            file, folder: folder.isEmpty ? "/" : folder, isForTests: isForTests,
            environment: environment)
        configuration.file = path
        return configuration
    }

    /// What `file` says; `secret "file:…"` looks into `folder`.
    ///
    /// - Parameters:
    ///   - part: the only part that is read, and whose secrets must be there; nil: both.
    ///   - isForTests: whether every secret reads as `secret:NAME`, wherever it is.
    public static func read(
        _ file: SourceFile, folder: String = ".", only part: ConfigurationField.Part? = nil,
        isForTests: Bool = false, environment: @escaping (String) -> String?
    ) throws(ScriptProblems) -> Configuration {
        let sandbox = SettingsSandbox(
            folder: folder, environment: environment, looksAtOnce: part == nil)
        sandbox.isForTests = isForTests
        do throws(ScriptProblem) {
            try sandbox.run(file)
        } catch {
            throw ScriptProblems([error])
        }
        var configuration = Configuration()
        configuration.lines = sandbox.lines
        var problems: [ScriptProblem] = []
        for name in ConfigurationField.topLevel
        where part == nil || ConfigurationField.part(of: name) == part {
            do throws(LuaProblem) {
                try configuration.assign(name, sandbox)
            } catch {
                problems.append(
                    ScriptProblem(
                        "\(name): \(error.message)", file: file.name, line: sandbox.lines[name]))
            }
        }
        guard problems.isEmpty else { throw ScriptProblems(problems) }
        configuration.server.values = configuration.server.values.withoutTextKeys()
        return configuration
    }

    /// Whether the text of a file assigns `name`, as far as it runs.
    public static func assigns(_ name: String, in file: SourceFile) -> Bool {
        let sandbox = SettingsSandbox(folder: ".", environment: { _ in nil }, looksAtOnce: false)
        try? sandbox.run(file)
        return sandbox.lines[name] != nil
    }

    /// The text that a file assigns to `name`, as far as it runs; nil when it does not.
    public static func text(of name: String, in file: SourceFile) -> String? {
        let sandbox = SettingsSandbox(folder: ".", environment: { _ in nil }, looksAtOnce: false)
        try? sandbox.run(file)
        return (try? sandbox.value(of: name))?.text
    }

    private mutating func assign(
        _ name: String, _ sandbox: SettingsSandbox
    ) throws(LuaProblem) {
        let written = try sandbox.value(of: name)
        if written.isNull { return }
        let before = self
        try assign(name, try written.resolved(sandbox.secret))
        // What is written and says the default is as if it were not written.
        switch ConfigurationField.part(of: name) {
        case .generation:
            if generation != before.generation { generation.values.add(name, written) }
        case .server:
            if server != before.server { server.values.add(name, written) }
        case nil: break
        }
    }

    private mutating func assign(_ name: String, _ value: LuaValue) throws(LuaProblem) {
        let all = ConfigurationField.all
        if let field = all.first(where: { $0.name == name }) {
            return try field.assign(value, to: &self)
        }
        guard let pairs = value.table else { throw value.wrong("a table") }
        for pair in pairs {
            let key = pair.key.text ?? pair.key.typeName
            guard let field = all.first(where: { $0.name == "\(name).\(key)" }) else {
                let names = all.map(\.name).filter { $0.hasPrefix("\(name).") }
                    .map { String($0.dropFirst(name.count + 1)) }
                throw LuaProblem(
                    "unknown field '\(key)'" + Suggestion.text(for: key, among: names))
            }
            do throws(LuaProblem) {
                try field.assign(pair.value, to: &self)
            } catch {
                throw LuaProblem("\(key): \(error.message)")
            }
        }
        try checkAgreement(in: name)
    }

    /// Fields of one table that make no sense beside each other.
    private func checkAgreement(in table: String) throws(LuaProblem) {
        if table == "tls",
            server.tls?.certificate.isEmpty == true || server.tls?.key.isEmpty == true
        {
            throw LuaProblem("cert and key belong together")
        }
        if table == "console", let console = server.console {
            guard !console.listen.isEmpty else { throw LuaProblem("listen is missing") }
            let isEverywhere = ["0.0.0.0:", "[::]:"].contains { console.listen.hasPrefix($0) }
            guard !isEverywhere || !console.origins.isEmpty else {
                throw LuaProblem(
                    "listen: \(console.listen) has no name: origins must say its names")
            }
        }
        if table == "cluster", let cluster = server.cluster {
            if cluster.database.text.isEmpty { throw LuaProblem("database is missing") }
            if cluster.lease < cluster.beat * 5 {
                throw LuaProblem("lease: at least five times beat")
            }
            if let problem = cluster.linkProblem { throw LuaProblem(problem) }
        }
        if table == "limits", server.limits.silence <= server.limits.ping {
            throw LuaProblem("silence: longer than ping, or nobody is asked before the end")
        }
    }
}

/// The Lua state in which a file of settings runs.
private final class SettingsSandbox {
    private(set) var lines: [String: Int] = [:]
    /// Whether secrets are not looked at.
    var isForTests = false
    private let folder: String
    private let environment: (String) -> String?
    /// Whether a secret that is not there is a mistake where it is named.
    private let looksAtOnce: Bool
    private let reply = PlainWriter()
    private var vm: OpaquePointer?

    private static let secretFunction = UInt32(CALLUA_OWN)
    private static let budget: UInt64 = 200_000_000

    init(folder: String, environment: @escaping (String) -> String?, looksAtOnce: Bool) {
        self.folder = folder
        self.looksAtOnce = looksAtOnce
        self.environment = environment
        let limits = callua_limits(
            memory: 16 << 20, coroutines: 1, coroutines_of_origin: 1, origins_of_account: 1,
            value: 1 << 20, state: 0,
            source: 0, stride: 1_000)
        let host = callua_host(
            context: Unmanaged.passUnretained(self).toOpaque(), call: serveSettings)
        vm = callua_new(limits, host, 0)
    }

    deinit { callua_free(vm) }

    func run(_ file: SourceFile) throws(ScriptProblem) {
        guard vm != nil,
            callua_bind(vm, "secret", Self.secretFunction, 0), callua_seal(vm), makeAssignable()
        else { throw ScriptProblem("no memory for \(file.name)") }
        let outcome = file.load(into: vm, budget: Self.budget)
        guard Int(outcome.status) == CALLUA_FINISHED else {
            throw ScriptProblem(message: outcome.message, in: file.name)
                .naming(wordsIn: file.text)
        }
    }

    /// `options["NAME"] = …` and `limits.connections = …` as well as the whole table.
    private func makeAssignable() -> Bool {
        let tables = ConfigurationField.tables.map { strdup($0) }
        defer { tables.forEach { free($0) } }
        var names = tables.map { UnsafePointer<CChar>($0) }
        return callua_make_assignable(vm, &names, names.count)
    }

    func value(of name: String) throws(LuaProblem) -> LuaValue {
        guard let vm else { throw LuaProblem("no memory for \(name)") }
        var bytes = callua_bytes()
        guard callua_read(vm, name, &bytes) else { throw LuaProblem(bytes.string) }
        var reader = PlainReader(bytes)
        return reader.value()
    }

    fileprivate func serve(_ function: Int, _ bytes: callua_bytes) -> Int {
        var reader = PlainReader(bytes)
        let arguments = Arguments(values: reader.values(), name: "secret")
        reply.cut()
        do throws(Refused) {
            if function == CALLUA_ASSIGN {
                try assigned(arguments)
                reply.list(0)
            } else {
                let source = try arguments.text(0)
                guard source.hasPrefix("env:") || source.hasPrefix("file:") else {
                    throw Refused("secret: write \"env:NAME\" or \"file:PATH\"")
                }
                if looksAtOnce { _ = try found(source) }
                reply.list(1)
                reply.text(SecretMark.of(source))
            }
            return CALLUA_RETURN
        } catch {
            reply.cut()
            reply.raw(error.message)
            return CALLUA_RAISE
        }
    }

    var answer: callua_bytes { reply.written }

    private func assigned(_ arguments: Arguments) throws(Refused) {
        let name = arguments[2].text ?? ""
        let top = String(name.prefix { $0 != "." })
        guard ConfigurationField.topLevel.contains(top) else {
            throw Refused(
                "unknown name '\(name)'"
                    + Suggestion.text(for: name, among: ConfigurationField.topLevel)
                    + " (write 'local \(name)' for a variable of the file)")
        }
        lines[name] = Int(arguments[1].integer ?? 0)
        if lines[top] == nil { lines[top] = lines[name] }
    }

    /// The text of a secret.
    func secret(_ source: String) throws(LuaProblem) -> String {
        do throws(Refused) {
            return try found(source)
        } catch {
            throw LuaProblem(error.message)
        }
    }

    private func found(_ source: String) throws(Refused) -> String {
        if isForTests, let place = ["env:", "file:"].first(where: source.hasPrefix) {
            return "secret:\(source.dropFirst(place.count))"
        }
        if source.hasPrefix("env:") {
            let name = String(source.dropFirst(4))
            guard let value = environment(name), !value.isEmpty else {
                throw Refused("secret: the environment variable '\(name)' is not set")
            }
            return value
        }
        let path = String(source.dropFirst(5))
        let full = path.hasPrefix("/") ? path : folder + "/" + path
        guard let bytes = Files.read(full, limit: 65_536) else {
            throw Refused("secret: \(Files.complaint(full, limit: 65_536))")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            // Bytes that are replaced by others would make a key that nobody else has.
            throw Refused("secret: \(full) is no text: write its bytes in Base64 or as digits")
        }
        let isClosed = text.last == "\n" || text.last == "\r\n"
        let secret = isClosed ? String(text.dropLast()) : text
        // A file that was just being written when a machine stopped may be all zero bytes.
        if secret.utf8.allSatisfy({ $0 == 0 }) {
            throw Refused("secret: \(full) is empty" + (secret.isEmpty ? "" : ": zero bytes only"))
        }
        return secret
    }
}

/// The one function that C calls for the functions of a file of settings.
private let serveSettings:
    @convention(c) (
        UnsafeMutableRawPointer?, UInt32, callua_bytes, UnsafeMutablePointer<callua_bytes>?
    ) -> Int32 = { context, function, arguments, result in
        guard let context, let result else { return Int32(CALLUA_RAISE) }
        let sandbox = Unmanaged<SettingsSandbox>.fromOpaque(context).takeUnretainedValue()
        let status = sandbox.serve(Int(function), arguments)
        result.pointee = sandbox.answer
        return Int32(status)
    }
