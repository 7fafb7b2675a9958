// Who may connect at all: how many from where, how many strangers, and with how many bad tokens.

import CallModel

/// A connection from the moment when it is let in.
public protocol Visitor: AnyObject {
    /// Ends it at once.
    func abort()
}

/// Counts connections: in all, by address, and those that have not said who they are.
///
/// A `Source` is where a client comes from, as far as that is to be counted (K110); nil: the peer
/// may stand for many.
public struct AdmissionControl<Connection: Visitor, Source: Hashable> {
    /// Those that have not said who they are.
    private var newcomers = ArrivalQueue<Connection, Source>()
    /// Those that showed a good token over HTTP, in the order of their last requests. What is idle
    /// gives way: it comes again when it has something to ask.
    private var askers = ArrivalQueue<Connection, UserID>()
    private var total = 0
    /// Of connections whose address counts.
    private var sources: [ObjectIdentifier: Source] = [:]
    private var bySource: [Source: Int] = [:]
    /// Newcomers that were sent away and are not gone yet: they count no more.
    private var leaving: Set<ObjectIdentifier> = []
    /// Bad tokens by address, and since when they are counted.
    private var failures: [Source: (count: Int, since: Moment)] = [:]

    /// Nobody has come.
    public init() {}

    /// Connections that have said who they are.
    public var knownCount: Int { total - newcomers.count }
    /// Connections that have not.
    public var newcomerCount: Int { newcomers.count }

    /// Whether a connection from `source` is let in. Where there is no room, the oldest newcomer
    /// goes for it, or the connection that has asked nothing over HTTP for longest.
    public mutating func admits(from source: Source?, limits: ServerLimits) -> Bool {
        if let source, bySource[source, default: 0] >= limits.connectionsPerAddress,
            !sendAway(newcomers.oldest(of: source))
        {
            return false
        }
        return total < limits.connections || sendAway(newcomers.oldest) || sendAway(askers.oldest)
    }

    /// A connection that was let in begins as a newcomer.
    public mutating func begins(
        _ connection: Connection, from source: Source?, limits: ServerLimits
    ) {
        total += 1
        if let source { count(connection, from: source) }
        makeRoom(for: source, limits)
        newcomers.add(connection, of: source)
    }

    /// The proxy has said for whom it asks: from now on that address counts; nil: it has not said,
    /// and no address counts.
    ///
    /// - Returns: whether there is room for one more of that address.
    public mutating func learns(
        _ source: Source?, of connection: Connection, limits: ServerLimits
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
    public func isNewcomer(_ connection: Connection) -> Bool { newcomers.contains(connection) }

    /// The connection has said `hello` with a good token: it is no newcomer any more.
    public mutating func identifies(_ connection: Connection) {
        newcomers.remove(connection)
        askers.remove(connection)
    }

    /// The connection asks over HTTP with a good token of `user`, nil: of a server, which may have
    /// any number of them. Of a user who has too many, the one that was used longest ago goes.
    ///
    /// - Returns: whether it may stay after the answer; if not, it is a newcomer still.
    public mutating func asks(
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
    public mutating func upgrades(_ connection: Connection, limits: ServerLimits) {
        guard askers.remove(connection) else { return }
        let source = sources[ObjectIdentifier(connection)]
        makeRoom(for: source, limits)
        newcomers.add(connection, of: source)
    }

    /// Who asks over this connection; nil: nobody, or a server.
    public func asker(over connection: Connection) -> UserID? { askers.owner(of: connection) }

    /// The connections over which a user asks.
    public func connections(asking user: UserID) -> [Connection] { askers.elements(of: user) }

    /// A connection that began is gone.
    public mutating func leaves(_ connection: Connection) {
        let id = ObjectIdentifier(connection)
        if leaving.remove(id) == nil { forget(connection) }
    }

    /// Whether one more user may come: a tenth of all connections is kept for those who come back
    /// to a session.
    public func hasRoom(isReturning: Bool, limits: ServerLimits) -> Bool {
        isReturning || knownCount < limits.connections - limits.connections / 10
    }

    /// The same; where there is none, the connection that has asked nothing over HTTP for longest.
    public mutating func makeRoom(isReturning: Bool, limits: ServerLimits) -> Bool {
        hasRoom(isReturning: isReturning, limits: limits) || sendAway(askers.oldest)
    }

    // MARK: Counting

    private mutating func makeRoom(for source: Source?, _ limits: ServerLimits) {
        if let source, newcomers.count(of: source) >= limits.newcomersPerAddress {
            sendAway(newcomers.oldest(of: source))
        }
        if newcomers.count >= limits.newcomers { sendAway(newcomers.oldest) }
    }

    /// Ends a connection at once; false: there is none.
    @discardableResult
    public mutating func sendAway(_ connection: Connection?) -> Bool {
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

    private mutating func count(_ connection: Connection, from source: Source) {
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

    /// The address that counts for a connection; nil: none does.
    public func source(of connection: Connection) -> Source? {
        sources[ObjectIdentifier(connection)]
    }

    /// Counts a token that was no good. Peers that may stand for many have no `source` and are not
    /// counted: behind a proxy that is not named, one client that guesses tokens would make
    /// everybody wait.
    ///
    /// - Returns: whether the address has had too many of them before.
    public mutating func noteBadToken(
        from source: Source, at now: Moment, limits: ServerLimits
    ) -> Bool {
        var (count, since) = failures[source] ?? (0, now)
        if now - since >= limits.authWindow { (count, since) = (0, now) }
        failures[source] = (count + 1, since)
        return count >= limits.authFailures
    }

    /// Forgets addresses that have behaved for a while.
    public mutating func forget(at now: Moment, limits: ServerLimits) {
        guard !failures.isEmpty else { return }
        failures = failures.filter { now - $0.value.since < limits.authWindow }
    }
}
