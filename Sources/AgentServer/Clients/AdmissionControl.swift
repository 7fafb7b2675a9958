// Who may connect at all: how many from where, and with how many bad tokens.

import CallModel
import EventLoop
import WebProtocols

/// Counts connections, in all and by address. Owner: the loop's thread.
struct AdmissionControl {
    private var total = 0
    private var bySource: [PeerAddress.Source: Int] = [:]
    /// Bad tokens by address, and since when they are counted.
    private var failures: [PeerAddress.Source: (count: Int, since: Moment)] = [:]

    /// Lets a connection in, unless there are enough.
    mutating func admits(_ peer: PeerAddress, limits: ServerLimits) -> Bool {
        guard total < limits.connections else { return false }
        if let source = peer.source {
            let count = bySource[source, default: 0]
            guard count < limits.connectionsPerAddress else { return false }
            bySource[source] = count + 1
        }
        total += 1
        return true
    }

    /// A connection that was let in is gone.
    mutating func leaves(_ peer: PeerAddress) {
        total -= 1
        guard let source = peer.source, let count = bySource[source] else { return }
        bySource[source] = count > 1 ? count - 1 : nil
    }

    /// A token was no good; whether the address has had too many of them. Good tokens are none of
    /// this: whoever shares an address with a guesser, such as a proxy, does not feel it.
    mutating func isGuessing(_ peer: PeerAddress, at now: Moment, limits: ServerLimits) -> Bool {
        guard let source = peer.source else { return false }
        var (count, since) = failures[source] ?? (0, now)
        if now - since >= limits.authWindow { (count, since) = (0, now) }
        failures[source] = (count + 1, since)
        return count >= limits.authFailures
    }

    /// Forgets addresses that have behaved for a while.
    mutating func forget(at now: Moment, limits: ServerLimits) {
        guard !failures.isEmpty else { return }
        failures = failures.filter { now - $0.value.since < limits.authWindow }
    }
}
