// Where the operator's tools find a server.

import EventLoop
import Glibc
import Outbound

extension NetworkAddress {
    /// Where the tools find the process of a configuration (E51): a socket in its state directory,
    /// or in the user's runtime directory when nothing is kept. There its name has the port that
    /// clients connect to (I102), and where no port is named, a digest of the operator's file.
    ///
    /// - Parameters:
    ///   - listen: where clients connect.
    ///   - file: the operator's file; nil: the defaults.
    public static func admin(
        stateDirectory: String, listen: NetworkAddress, file: String?
    ) -> NetworkAddress {
        guard stateDirectory == ":memory:" else {
            return .unix(path: stateDirectory + "/admin.sock")
        }
        if case .tcp(_, let port) = listen, port != 0 { return inRuntimeFolder("\(port)") }
        return inRuntimeFolder(digest(of: file, listen))
    }

    private static func inRuntimeFolder(_ name: String) -> NetworkAddress {
        let runtime = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }
        let folder = runtime ?? "/tmp"
        return .unix(path: "\(folder)/callagent-\(getuid())-\(name).sock")
    }

    /// Which operator's file it is, wherever it is named from.
    private static func digest(of file: String?, _ listen: NetworkAddress) -> String {
        let real = realpath(file ?? ".", nil)
        defer { free(real) }
        let text = (real.map { String(cString: $0) } ?? file ?? "") + " \(listen)"
        return HashFunction.sha256.hash(Array(text.utf8)).prefix(6).hexDigits
    }
}
