// What the machine gives a server: descriptors, a clock, an address.

import Configuration
import EventLoop

extension Doctor {
    mutating func examineDescriptors() {
        let files = process.flatMap { DescriptorLimit.soft(of: $0) }
        guard let allowed = files ?? DescriptorLimit.hard else { return }
        let (wanted, room) = (
            configuration.limits.connections, DescriptorLimit.connections(of: allowed)
        )
        if room < wanted {
            let needed = DescriptorLimit.needed(for: wanted)
            note(
                .warning(
                    "\(allowed) files may be open, so \(room) clients may be connected, "
                        + "limits.connections is \(wanted)",
                    "raise LimitNOFILE to \(needed), or lower limits.connections"))
        } else {
            note(.good("\(allowed) files may be open"))
        }
    }

    /// How many clients the process lets in, by the limits of the file and of the machine.
    public var mostConnections: Int {
        let wanted = configuration.limits.connections
        guard let files = process.flatMap({ DescriptorLimit.soft(of: $0) }) else { return wanted }
        return min(wanted, DescriptorLimit.connections(of: files))
    }

    /// A client that the kernel has no room for is not refused: it tries again, each time after
    /// twice the pause.
    mutating func examineBacklog() {
        let path = "/proc/sys/net/core/somaxconn"
        let text = Files.read(path).map { String(decoding: $0, as: UTF8.self) }
        let rate = configuration.limits.acceptsPerSecond
        guard let room = text.flatMap({ Int($0.dropLast()) }), room < rate else { return }
        note(
            .warning(
                "the kernel lets \(room) newcomers wait, limits.accepts_per_second is \(rate)",
                "set net.core.somaxconn to \(rate) or more (sysctl), and restart"))
    }

    /// A server that listens on loopback with keys is behind a proxy. If the proxy does not send
    /// client addresses, no limit by address applies to the clients.
    mutating func examineProxies() {
        guard !configuration.auth.isEmpty, listensOnLoopback,
            let peer = PeerAddress(host: "127.0.0.1")
        else { return }
        note(proxyAt: peer, "before \(configuration.listen)")
    }

    /// The process has received X-Forwarded-For from `host`, a peer on this machine that is not
    /// configured: there is a proxy, even where `listen` does not show it.
    public mutating func examineProxy(at host: String) {
        guard !listensOnLoopback, let peer = PeerAddress(host: host) else { return }
        note(proxyAt: peer, "at \(host)")
    }

    private var listensOnLoopback: Bool {
        (try? NetworkAddress(parsing: configuration.listen))?.isLoopback == true
    }

    private mutating func note(proxyAt peer: PeerAddress, _ place: String) {
        guard !TrustedProxies(configuration.trustedProxies).contains(peer) else { return }
        let range = peer.host.contains(":") ? peer.host : "127.0.0.0/8"
        note(
            .warning(
                "clients have no limit by address: the proxy \(place) is not named",
                "if it sends X-Forwarded-For, write trusted_proxies = { \"\(range)\" }"))
    }

    /// Tokens expire by the wall clock, and opening hours go by it.
    mutating func examineClock() {
        guard !Clock.isKept else { return }
        note(
            .warning(
                "the clock of this machine is not synchronised",
                "start chrony or systemd-timesyncd: tokens run out by the clock"))
    }

    mutating func examineAddresses() {
        do throws(EventLoopError) {
            let endpoint = try NetworkAddress(parsing: configuration.listen)
            let loop = try EventLoop()
            defer { loop.close() }
            let listener = try Listener(
                at: endpoint, on: loop, failed: { _ in }, accepted: { $0.abort() })
            listener.close()
            note(.good("\(endpoint) is free to listen at"))
        } catch {
            if case .addressInUse = error.kind { mayRun = true }
            note(.trouble("\(error)", Self.advice(on: error.kind)))
        }
        guard configuration.admin == nil,
            let listen = try? NetworkAddress(parsing: configuration.listen),
            case .unix(let path) = NetworkAddress.admin(
                stateDirectory: AgentOptions.place(configuration), listen: listen, file: file),
            path.utf8.count > NetworkAddress.unixPathMax
        else { return }
        note(
            .trouble(
                "the path of the admin socket is too long: \(path)",
                "a socket's path has at most \(NetworkAddress.unixPathMax) bytes: shorten state_dir"
            ))
    }

    private static func advice(on kind: EventLoopError.Kind) -> String {
        switch kind {
        case .addressInUse:
            // What a server has of a store that was deleted ends with it.
            "ss -ltnp says who uses it: of a callagent whose state_dir is gone save /proc/PID/fd "
                + "first, then end it, or change listen"
        case .permissionDenied: "ports below 1024 need CAP_NET_BIND_SERVICE; or change listen"
        case .addressUnavailable: "this machine has no such address (ip addr); change listen"
        case .invalidAddress, .refused, .unreachable, .reset, .timedOut, .nameNotFound,
            .outOfDescriptors, .tls, .cancelled, .system:
            "change listen"
        }
    }
}
