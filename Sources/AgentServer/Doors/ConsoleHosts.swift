// Whose pages may ask a console.

import EventLoop
import WebProtocols

/// By which names a console may be asked, and by pages of which hosts: a name that points here (DNS
/// rebinding) would make any page one of ours.
struct ConsoleHosts {
    private let names: Set<String>
    private let isLoopback: Bool

    init(_ options: ConsoleOptions) {
        var names = Set(options.origins.compactMap { Self.host(ofOrigin: $0) })
        isLoopback = options.listen.isLoopback
        if case .tcp(let host, _) = options.listen, !["0.0.0.0", "::"].contains(host) {
            names.insert(host.lowercased())
        }
        self.names = names
    }

    /// `fromNobody`: pages without an origin may ask too, as those of the documentation are.
    func admit(_ request: HTTPRequest, fromNobody: Bool = false) -> Bool {
        let hosts = request.headers.all("Host")
        guard hosts.count == 1, admits(Self.name(in: hosts[0])) else { return false }
        return request.headers.all("Origin").allSatisfy { origin in
            if fromNobody, origin == "null" { return true }
            return Self.host(ofOrigin: origin).map { admits($0) } ?? false
        }
    }

    private func admits(_ name: String) -> Bool {
        if names.contains(name) { return true }
        return isLoopback && (name == "localhost" || PeerAddress(host: name)?.isLoopback == true)
    }

    /// The host of `https://console.example.com:8443`, in lower case; nil: it is none. No browser
    /// writes a user or a path into an origin.
    private static func host(ofOrigin origin: String) -> String? {
        for scheme in ["http://", "https://"] where origin.lowercased().hasPrefix(scheme) {
            let rest = origin.dropFirst(scheme.count)
            let host = rest.hasSuffix("/") ? rest.dropLast() : rest
            return host.contains { "@/\\?#".contains($0) } ? nil : name(in: String(host))
        }
        return nil
    }

    /// The name in `name:port` or `[name]:port`.
    private static func name(in host: String) -> String {
        let text = host.lowercased()
        if text.hasPrefix("[") { return String(text.dropFirst().prefix { $0 != "]" }) }
        return String(text.prefix { $0 != ":" })
    }
}
