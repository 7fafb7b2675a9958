// How nodes of a cluster reach each other, as the operator's file says it.

import ClusterCore
import Configuration
import EventLoop

/// Addresses, certificates and bounds of a node's links. Immutable; any thread may read it.
struct LinkPlan: Sendable {
    /// Where other nodes reach this one, and where it listens for them.
    let link: NetworkAddress
    let bind: NetworkAddress
    /// What it shows and asks for when others connect, and when it does; nil: no TLS, on loopback.
    let accepting: TLSContext?
    let connecting: TLSContext?
    /// The digest of the certificate that it shows, which stands in the node table so that whoever
    /// has another one of the same name is refused; empty: no TLS.
    let fingerprint: [UInt8]
    /// Bytes that may wait for another node to read.
    let buffer: Int
    let times: LinkTimes

    /// Bytes of what clients say that may be on the way to the owner, about, and so many in each of
    /// the kernels: what one of them says waits behind them.
    static let onTheWay = 65_536

    /// The plan of a node; nil: it has no links.
    ///
    /// - Parameter file: the operator's file, at whose folder paths begin.
    /// - Throws: `configuration`, naming what is wrong.
    init?(_ cluster: Configuration.Cluster, file: String?) throws(AgentError) {
        guard let text = cluster.link else { return nil }
        var times = LinkTimes()
        (times.silence, times.patience) = (cluster.linkSilence, cluster.keepClients)
        (self.times, buffer) = (times, cluster.linkBuffer)
        var place = Configuration()
        place.file = file
        do throws(EventLoopError) {
            link = try NetworkAddress(parsing: text)
            bind = try NetworkAddress(parsing: cluster.bind ?? text)
            guard let authority = cluster.authority, let certificate = cluster.certificate,
                let key = cluster.key
            else {
                (accepting, connecting, fingerprint) = (nil, nil, [])
                return
            }
            let made = try TLSContext.mutual(
                authorities: AgentOptions.path(authority, in: place),
                certificate: AgentOptions.path(certificate, in: place), key: key.text)
            (accepting, connecting) = (made.accepting, made.connecting)
            fingerprint = made.accepting.fingerprint ?? []
        } catch {
            throw .configuration("cluster.link: \(error)")
        }
    }

    /// Listens for other nodes, `most` at once, and tells `trouble` whom it cannot accept.
    func listen(
        atMost most: Int, on loop: EventLoop, _ trouble: LinkTrouble,
        _ accepted: @escaping (Connection) -> Void
    ) throws(EventLoopError) -> Listener {
        var options = Listener.Options()
        options.tls = accepting
        options.handshakeTimeout = times.silence
        // Whoever reaches the port may begin a handshake, which takes about a millisecond.
        options.acceptsPerSecond = OwnerLinks.acceptsPerSecond
        options.handshakesAtOnce = most
        return try Listener(
            at: bind, on: loop, options: options,
            failed: { trouble.tell("link refused", "", "\($0)") }, accepted: accepted)
    }
}
