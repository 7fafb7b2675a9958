// The installation that a command works with: the server's address and its operator's socket.

import AgentServer
import CallClient
import Configuration
import Decisions
import EventLoop
import Glibc
import Lua

enum Installation {
    /// The option of every command that works with an installation.
    static let options = [
        Option("--config", "FILE", "the operator's file (default: ./callagent.lua)")
    ]

    /// The operator's file: the one that is named, else `callagent.lua` if there is one. One that
    /// cannot be read is there: with the defaults instead everybody of this machine might sign in.
    static func file(_ named: String?) -> String? {
        named ?? (Files.exists("callagent.lua") ? "callagent.lua" : nil)
    }

    /// The operator's file of the plugin at `path`: beside `plugins`, else beside the plugin; nil:
    /// there is none.
    static func file(of path: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.lastIndex(of: "plugins").map { parts[..<$0] } ?? parts.dropLast()
        let file = (folder + ["callagent.lua"]).joined(separator: "/")
        return Files.exists(file) ? file : nil
    }

    /// Where clients connect: `--server`, else where the operator's file lets the server listen.
    static func server(_ arguments: CommandArguments) throws(CommandError) -> ServerAddress {
        do throws(ServerAddressError) {
            if let text = arguments.text("--server") { return try ServerAddress(parsing: text) }
        } catch {
            throw .usage("--server: \(error)")
        }
        let configuration = try configuration(arguments)
        return ServerAddress(
            try endpoint(configuration.listen), isSecure: configuration.tls != nil)
    }

    /// Where the tools reach a running server (E52).
    static func admin(_ arguments: CommandArguments) throws(CommandError) -> ServerAddress {
        try admin(of: try configuration(arguments))
    }

    /// The same, for what the operator's file says.
    static func admin(of configuration: Configuration) throws(CommandError) -> ServerAddress {
        if let named = AgentOptions.admin(configuration) { return ServerAddress(named) }
        return ServerAddress(
            .admin(
                stateDirectory: AgentOptions.place(configuration),
                listen: try endpoint(configuration.listen), file: configuration.file))
    }

    /// The state directory; nil: nothing is kept on disk.
    static func directory(_ arguments: CommandArguments) throws(CommandError) -> String? {
        let place = AgentOptions.place(try configuration(arguments))
        return place == ":memory:" ? nil : place
    }

    /// What users other than the server's are told: they may not look into its directory.
    static let notAllowed = "Permission denied; run this as the user of the server, or as root"

    /// The files of decisions; nil: none are kept on disk.
    static func decisions(_ arguments: CommandArguments) throws(CommandError) -> DecisionFiles? {
        let place = AgentOptions.place(try configuration(arguments))
        guard place != ":memory:" else { return nil }
        let path = DecisionFiles.path(in: place)
        guard !Files.isHidden(path) else {
            throw .failure("\(path): \(notAllowed)")
        }
        return DecisionFiles(directory: place)
    }

    private static func endpoint(_ text: String) throws(CommandError) -> NetworkAddress {
        do throws(EventLoopError) {
            return try NetworkAddress(parsing: text)
        } catch {
            throw .failure("\(error)")
        }
    }

    /// The configuration, with its secrets.
    static func configurationWithSecrets(
        _ arguments: CommandArguments
    ) throws(AgentError) -> Configuration {
        guard let file = file(arguments.text("--config")) else { return Configuration() }
        do throws(ScriptProblems) {
            return try Configuration.load(path: file) { name in
                getenv(name).map { String(cString: $0) }
            }
        } catch {
            throw .configuration(error.description)
        }
    }

    /// The configuration. Secrets that are not in the tool's environment, or in files that it
    /// cannot read, are left out: they are the server's.
    static func configuration(
        _ arguments: CommandArguments
    ) throws(CommandError) -> Configuration {
        guard let file = file(arguments.text("--config")) else { return Configuration() }
        do throws(ScriptProblems) {
            return try Configuration.load(path: file) { name in
                getenv(name).map { String(cString: $0) } ?? String(repeating: "?", count: 64)
            }
        } catch {
            let without = try? Configuration.load(path: file, isForTests: true) { _ in nil }
            if let without { return without }
            throw .failure(error.description)
        }
    }
}
