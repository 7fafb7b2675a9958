// Who may connect at all: how many from where, how many strangers, and with how many bad tokens.

import CallModel
import EventLoop
import WebProtocols

/// Counts connections: in all, by address, and those that have not said who they are. Owner: the
/// loop's thread.
///
/// An address is the client's (K110): of a peer on loopback, on a Unix socket or among the trusted
/// proxies none is known before its first request, and then what the proxy says of it.
struct AdmissionControl {
    /// Peers whose word about their clients is taken.
    var proxies = TrustedProxies()
    /// Those that have not said who they are.
    private var newcomers = ArrivalQueue<Connection, PeerAddress.Source>()
    /// Those that showed a good token over HTTP, in the order of their last requests. What is idle
    /// gives way: it comes again when it has something to ask.
    private var askers = ArrivalQueue<Connection, UserID>()
    private var total = 0
    /// Of connections whose address counts.
    private var sources: [ObjectIdentifier: PeerAddress.Source] = [:]
    private var bySource: [PeerAddress.Source: Int] = [:]
    /// Newcomers that were sent away and are not gone yet: they count no more.
    private var leaving: Set<ObjectIdentifier> = []
    /// Bad tokens by address, and since when they are counted.
    private var failures: [PeerAddress.Source: (count: Int, since: Moment)] = [:]

    /// Connections that have said who they are.
    var knownCount: Int { total - newcomers.count }
    /// Connections that have not.
    var newcomerCount: Int { newcomers.count }

    /// Whether a connection is let in. Where there is no room the oldest newcomer goes for it, or
    /// who has asked nothing over HTTP for longest.
    mutating func admits(_ peer: PeerAddress, limits: ServerLimits) -> Bool {
        if let source = countedSource(of: peer),
            bySource[source, default: 0] >= limits.connectionsPerAddress,
            !sendAway(newcomers.oldest(of: source))
        {
            return false
        }
        return total < limits.connections || sendAway(newcomers.oldest) || sendAway(askers.oldest)
    }

    /// A connection that was let in begins as a newcomer.
    mutating func begins(_ connection: Connection, limits: ServerLimits) {
        total += 1
        let source = countedSource(of: connection.peer)
        if let source { count(connection, from: source) }
        makeRoom(for: source, limits)
        newcomers.add(connection, of: source)
    }

    /// The proxy has said for whom it asks: from now on that address counts; nil: it has not said,
    /// and none does.
    ///
    /// - Returns: whether there is room for one more of that address.
    mutating func learns(
        _ source: PeerAddress.Source?, of connection: Connection, limits: ServerLimits
    ) -> Bool {
        let id = ObjectIdentifier(connection)
        guard sources[id] != source, !leaving.contains(id) else { return true }
        if let source, bySource[source, default: 0] >= limits.connectionsPerAddress,
            !sendAway(newcomers.oldest(of: source))
        {
            return false
        }
        uncount(id)
        if let source { count(connection, from: source) }
        guard newcomers.remove(connection) else { return true }
        makeRoom(for: source, limits)
        newcomers.add(connection, of: source)
        return true
    }

    /// Whether the connection is one of those that have not said who they are.
    func isNewcomer(_ connection: Connection) -> Bool { newcomers.contains(connection) }

    /// The connection has said `hello` with a good token: it is no newcomer any more.
    mutating func isKnown(_ connection: Connection) {
        newcomers.remove(connection)
        askers.remove(connection)
    }

    /// The connection asks over HTTP with a good token of `user`, nil: of a server, which may have
    /// any number of them. Of a user who has too many the one goes that was used longest ago.
    ///
    /// - Returns: whether it may stay after the answer; if not, it is a newcomer still.
    mutating func asks(
        _ connection: Connection, for user: UserID?, limits: ServerLimits
    ) -> Bool {
        guard !leaving.contains(ObjectIdentifier(connection)) else { return false }
        if !askers.remove(connection) {
            guard makeRoom(isReturning: false, limits: limits) else { return false }
            newcomers.remove(connection)
        }
        if let user, askers.count(of: user) >= limits.connectionsPerUser {
            sendAway(askers.oldest(of: user))
        }
        askers.add(connection, of: user)
        return true
    }

    /// The connection becomes a WebSocket, and has yet to say `hello` there.
    mutating func upgrades(_ connection: Connection, limits: ServerLimits) {
        guard askers.remove(connection) else { return }
        let source = sources[ObjectIdentifier(connection)]
        makeRoom(for: source, limits)
        newcomers.add(connection, of: source)
    }

    /// Who asks over this connection; nil: nobody, or a server.
    func asker(over connection: Connection) -> UserID? { askers.owner(of: connection) }

    /// The connections over which a user asks.
    func connections(asking user: UserID) -> [Connection] { askers.elements(of: user) }

    /// A connection that began is gone.
    mutating func leaves(_ connection: Connection) {
        let id = ObjectIdentifier(connection)
        if leaving.remove(id) == nil { forget(connection) }
    }

    /// Whether one more user may come: a tenth of all connections is kept for those who come back
    /// to a session.
    func hasRoom(isReturning: Bool, limits: ServerLimits) -> Bool {
        isReturning || knownCount < limits.connections - limits.connections / 10
    }

    /// The same; who has asked nothing over HTTP for longest goes where there is none.
    mutating func makeRoom(isReturning: Bool, limits: ServerLimits) -> Bool {
        hasRoom(isReturning: isReturning, limits: limits) || sendAway(askers.oldest)
    }

    // MARK: Counting

    /// Where a limit by address counts a peer; nil: nowhere, it may stand for many.
    private func countedSource(of peer: PeerAddress) -> PeerAddress.Source? {
        peer.isLoopback || proxies.contains(peer) ? nil : peer.source
    }

    private mutating func makeRoom(for source: PeerAddress.Source?, _ limits: ServerLimits) {
        if let source, newcomers.count(of: source) >= limits.newcomersPerAddress {
            sendAway(newcomers.oldest(of: source))
        }
        if newcomers.count >= limits.newcomers { sendAway(newcomers.oldest) }
    }

    /// Ends a connection at once; false: there is none.
    @discardableResult
    mutating func sendAway(_ connection: Connection?) -> Bool {
        guard let connection else { return false }
        forget(connection)
        leaving.insert(ObjectIdentifier(connection))
        connection.abort()
        return true
    }

    private mutating func forget(_ connection: Connection) {
        total -= 1
        newcomers.remove(connection)
        askers.remove(connection)
        uncount(ObjectIdentifier(connection))
    }

    private mutating func count(_ connection: Connection, from source: PeerAddress.Source) {
        sources[ObjectIdentifier(connection)] = source
        bySource[source, default: 0] += 1
    }

    private mutating func uncount(_ id: ObjectIdentifier) {
        guard let source = sources.removeValue(forKey: id), let count = bySource[source] else {
            return
        }
        bySource[source] = count > 1 ? count - 1 : nil
    }

    // MARK: Bad tokens

    /// A token was no good; whether the address has had too many of them. Good tokens are none of
    /// this, and neither are peers that may stand for many: behind a proxy that nobody named one
    /// who guesses would make everybody wait.
    mutating func isGuessing(
        _ connection: Connection, at now: Moment, limits: ServerLimits
    ) -> Bool {
        let known = sources[ObjectIdentifier(connection)]
        guard let source = known ?? countedSource(of: connection.peer) else { return false }
        return isGuessing(source, at: now, limits: limits)
    }

    mutating func isGuessing(
        _ source: PeerAddress.Source, at now: Moment, limits: ServerLimits
    ) -> Bool {
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
