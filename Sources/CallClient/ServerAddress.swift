// The address of a server, as written after `--server`.

import EventLoop
import WebProtocols

/// A text that is no address of a server.
public struct ServerAddressError: Error, Sendable, Equatable, CustomStringConvertible {
    /// One sentence without the final stop.
    public let description: String
}

/// A server: how to reach it, and under which path its interface begins.
public struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    /// Where to connect.
    public let endpoint: NetworkAddress
    /// Whether the connection is encrypted.
    public let isSecure: Bool
    /// The path before `/v1/…`: empty, or such as `/callagent` behind a proxy.
    public let prefix: String

    /// The server at `endpoint`.
    public init(_ endpoint: NetworkAddress, isSecure: Bool = false) {
        self.init(endpoint, isSecure, prefix: "")
    }

    private init(_ endpoint: NetworkAddress, _ isSecure: Bool, prefix: String) {
        self.endpoint = endpoint
        self.isSecure = isSecure
        self.prefix = prefix
    }

    /// Reads `ws://host:port`, `wss://host/path`, the same with `http` and `https`, `host:port` or
    /// `unix:/path`. The ports default to 80 and 443; `/v1/ws` at the end makes no difference.
    ///
    /// - Throws: what is wrong with the text.
    public init(parsing text: String) throws(ServerAddressError) {
        guard let mark = text.firstRange(of: "://") else {
            self.init(try Self.endpoint(text))
            return
        }
        let scheme = text[..<mark.lowerBound].lowercased()
        guard let isSecure = Self.schemes[scheme] else {
            throw Self.error(text, "begins with '\(scheme)'; write ws://, wss:// or host:port")
        }
        let rest = text[mark.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let path = rest.dropFirst(authority.count)
        guard path.isEmpty || path.hasPrefix("/"), !path.contains("?"), !path.contains("#") else {
            throw Self.error(text, "has a query, which no server address has")
        }
        guard path.isEmpty || (try? HTTPTarget(String(path))) != nil else {
            throw Self.error(text, "has a path that cannot stand in a request")
        }
        let full = Self.withPort(authority, isSecure ? 443 : 80)
        self.init(try Self.endpoint(full), isSecure, prefix: Self.prefix(of: path))
    }

    private static let schemes = ["ws": false, "http": false, "wss": true, "https": true]

    private static func withPort(_ authority: Substring, _ port: Int) -> String {
        let lastColon = authority.lastIndex(of: ":")
        let bracket = authority.lastIndex(of: "]")
        let hasPort = lastColon.map { colon in bracket.map { $0 < colon } ?? true } ?? false
        return hasPort ? String(authority) : "\(authority):\(port)"
    }

    private static func prefix(of path: Substring) -> String {
        var path = path
        if path.hasSuffix("/v1/ws") { path = path.dropLast(6) }
        while path.hasSuffix("/") { path = path.dropLast() }
        return String(path)
    }

    private static func endpoint(_ text: String) throws(ServerAddressError) -> NetworkAddress {
        do throws(EventLoopError) {
            return try NetworkAddress(parsing: text)
        } catch {
            throw ServerAddressError(description: "server \(error)")
        }
    }

    private static func error(_ text: String, _ problem: String) -> ServerAddressError {
        ServerAddressError(description: "server address '\(text)' \(problem)")
    }

    /// The target of a request for `path`, which begins with `/` and is well formed.
    public func target(_ path: String) -> HTTPTarget {
        guard let target = try? HTTPTarget(prefix + path) else {
            preconditionFailure("not the path of a request: \(prefix + path)")
        }
        return target
    }

    /// The header field `Host`: the port only where it is not the scheme's own.
    var host: String {
        switch endpoint {
        case .unix: return "localhost"
        case .tcp(let host, let port):
            let name = host.contains(":") ? "[\(host)]" : host
            return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
        }
    }

    /// The address as `init(parsing:)` reads it.
    public var description: String {
        switch endpoint {
        case .unix: "\(endpoint)"
        case .tcp: "\(isSecure ? "wss" : "ws")://\(host)\(prefix)"
        }
    }
}
