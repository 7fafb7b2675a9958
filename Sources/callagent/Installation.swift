// The installation that the tool works with: where its server listens and where its socket lies.

import AgentServer
import CallClient
import EventLoop

enum Installation {
    /// Options of every command that talks to an installation.
    static let options = [
        Option("--config", "FILE", "the operator's file (default: ./callagent.lua)")
    ]

    /// What a server is started with.
    static func options(file: String?) throws(AgentError) -> AgentOptions {
        if let file {
            throw .configuration("\(file): no operator's file can be read yet")
        }
        return AgentOptions()
    }

    /// Where clients connect: `--server`, else what the operator's file says.
    static func server(_ arguments: Arguments) throws(UsageError) -> ServerAddress {
        if let text = arguments.text("--server") {
            do throws(ServerAddressError) {
                return try ServerAddress(parsing: text)
            } catch {
                throw UsageError("--server: \(error)")
            }
        }
        let options = try configured(arguments)
        return ServerAddress(options.listen.first ?? .tcp(host: "127.0.0.1", port: 7_600))
    }

    /// Where the tools reach a running server.
    static func admin(_ arguments: Arguments) throws(UsageError) -> ServerAddress {
        let options = try configured(arguments)
        let socket = Endpoint.unix(path: "\(options.stateDirectory)/admin.sock")
        return ServerAddress(options.admin ?? socket)
    }

    private static func configured(_ arguments: Arguments) throws(UsageError) -> AgentOptions {
        do throws(AgentError) {
            return try options(file: arguments.text("--config"))
        } catch {
            throw UsageError("\(error)")
        }
    }
}
