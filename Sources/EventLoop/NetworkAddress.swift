// Where to listen or connect: a TCP host and port, or a path.
import CUV
import Glibc

/// A place to listen at or to connect to.
public enum NetworkAddress: Hashable, Sendable, CustomStringConvertible {
    /// A name or address without brackets, and a port; port 0 lets the system choose when
    /// listening.
    case tcp(host: String, port: UInt16)
    /// The path of a Unix socket.
    case unix(path: String)

    /// The most bytes of the path of a Unix socket.
    public static var unixPathMax: Int { cuv_unix_path_limit() }

    /// Reads `127.0.0.1:7600`, `[::1]:7600`, `name:7600` or `unix:/run/callagent.sock`.
    ///
    /// - Throws: `invalidAddress`, saying what is wrong with the text.
    public init(parsing text: String) throws(EventLoopError) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            if path.isEmpty { throw Self.invalid(text, "has no path after 'unix:'") }
            self = .unix(path: path)
            return
        }
        guard let colon = text.lastIndex(of: ":") else {
            throw Self.invalid(text, "has no port; write host:port or unix:PATH")
        }
        let digits = text[text.index(after: colon)...]
        guard let port = UInt16(digits), digits.allSatisfy(\.isNumber) else {
            throw Self.invalid(text, "has the port '\(digits)', which is not a number up to 65535")
        }
        self = .tcp(host: try Self.host(text[..<colon], in: text), port: port)
    }

    /// As `init(parsing:)` reads it.
    public var description: String {
        switch self {
        case .tcp(let host, let port):
            return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): return "unix:\(path)"
        }
    }

    private static func host(_ part: Substring, in text: String) throws(EventLoopError) -> String {
        if part.hasPrefix("["), part.hasSuffix("]") { return String(part.dropFirst().dropLast()) }
        if part.isEmpty { throw invalid(text, "has no host before the port") }
        if part.contains(":") {
            throw invalid(text, "needs brackets around its IPv6 address, as in [::1]:7600")
        }
        return String(part)
    }

    private static func invalid(_ text: String, _ problem: String) -> EventLoopError {
        EventLoopError(.invalidAddress, text, "address '\(text)' \(problem)")
    }
}
