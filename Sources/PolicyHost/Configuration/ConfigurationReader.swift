// Runs callagent.lua once in a sandbox and reads what it assigned.

import CLua
import CallModel
import Glibc
import JSON

extension Configuration {
    /// What the file at `path` says. Paths in it begin at its folder. An unknown name or a wrong
    /// type is a problem with file, line and a suggestion.
    public static func load(
        path: String, environment: @escaping (String) -> String?
    ) throws(PolicyProblems) -> Configuration {
        guard let text = Files.read(path) else {
            throw PolicyProblems([PolicyProblem(Files.complaint(path))])
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.count > 1 ? parts.dropLast().joined(separator: "/") : "."
        let file = SourceFile(name: parts.last.map(String.init) ?? path, text: text)
        var configuration = try read(
            file, folder: folder.isEmpty ? "/" : folder, environment: environment)
        configuration.file = path
        return configuration
    }

    /// What `file` says; `secret "file:…"` looks into `folder`.
    public static func read(
        _ file: SourceFile, folder: String = ".", environment: @escaping (String) -> String?
    ) throws(PolicyProblems) -> Configuration {
        let sandbox = SettingsSandbox(folder: folder, environment: environment)
        do throws(PolicyProblem) {
            try sandbox.run(file)
        } catch {
            throw PolicyProblems([error])
        }
        var configuration = Configuration()
        configuration.fingerprint = Fingerprint.of(file.text)
        configuration.lines = sandbox.lines
        configuration.secretFiles = sandbox.secretFiles
        var problems: [PolicyProblem] = []
        for name in ConfigurationField.topLevel {
            do throws(LuaProblem) {
                let value = try sandbox.value(of: name)
                try configuration.assign(name, value)
            } catch {
                problems.append(
                    PolicyProblem(
                        "\(name): \(error.message)", file: file.name, line: sandbox.lines[name]))
            }
        }
        guard problems.isEmpty else { throw PolicyProblems(problems) }
        return configuration
    }

    private mutating func assign(_ name: String, _ value: LuaValue) throws(LuaProblem) {
        if value.isNull { return }
        let all = ConfigurationField.all
        if let field = all.first(where: { $0.name == name }) {
            return try field.set(&self, value)
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
                try field.set(&self, pair.value)
            } catch {
                throw LuaProblem("\(key): \(error.message)")
            }
        }
        try checkAgreement(in: name)
    }

    /// Fields of one table that make no sense beside each other.
    private func checkAgreement(in table: String) throws(LuaProblem) {
        if table == "tls", tls?.certificate.isEmpty == true || tls?.key.isEmpty == true {
            throw LuaProblem("cert and key belong together")
        }
        if table == "limits", limits.silence <= limits.ping {
            throw LuaProblem("silence: longer than ping, or nobody is asked before the end")
        }
    }
}

/// The Lua state in which a file of settings runs.
private final class SettingsSandbox {
    private(set) var lines: [String: Int] = [:]
    private(set) var secretFiles: [String] = []
    private let folder: String
    private let environment: (String) -> String?
    private let reply = PlainWriter()
    private var vm: OpaquePointer?

    private static let secretFunction = UInt32(CALLUA_OWN)
    private static let budget: UInt64 = 200_000_000

    init(folder: String, environment: @escaping (String) -> String?) {
        self.folder = folder
        self.environment = environment
        let limits = callua_limits(
            memory: 16 << 20, coroutines: 1, value: 1 << 20, state: 0, source: 0,
            stride: 1_000)
        let host = callua_host(
            context: Unmanaged.passUnretained(self).toOpaque(), call: serveSettings)
        vm = callua_new(limits, host, 0)
    }

    deinit { callua_free(vm) }

    func run(_ file: SourceFile) throws(PolicyProblem) {
        guard vm != nil,
            callua_bind(vm, "secret", Self.secretFunction, 0), callua_seal(vm), makeAssignable()
        else { throw PolicyProblem("no memory for \(file.name)") }
        let outcome = file.load(into: vm, budget: Self.budget)
        guard Int(outcome.status) == CALLUA_FINISHED else {
            throw PolicyProblem(message: outcome.message, in: file.name)
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
                let text = try secret(arguments.text(0))
                reply.list(1)
                reply.text(text)
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

    private func secret(_ source: String) throws(Refused) -> String {
        if source.hasPrefix("env:") {
            let name = String(source.dropFirst(4))
            guard let value = environment(name), !value.isEmpty else {
                throw Refused("secret: the environment variable '\(name)' is not set")
            }
            return value
        }
        guard source.hasPrefix("file:") else {
            throw Refused("secret: write \"env:NAME\" or \"file:PATH\"")
        }
        let path = String(source.dropFirst(5))
        let full = path.hasPrefix("/") ? path : folder + "/" + path
        guard let bytes = Files.read(full, limit: 65_536) else {
            throw Refused("secret: \(Files.complaint(full, limit: 65_536))")
        }
        secretFiles.append(path)
        let text = String(decoding: bytes, as: UTF8.self)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
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
