// What has to be checked twice a second: silent clients, slow requests, expired tokens and
// sessions.

import AgentCore
import CallModel
import CallWire
import EventLoop

extension Gateway {
    /// Ends sessions because the operator wants it: the devices may come back as new ones.
    func endSessions(_ devices: [Address]) {
        for address in devices {
            let line = desk.sessions[address]?.line
            desk.forget(address)
            line?.endpoint?.close(.draining, "the operator ended the session")
        }
    }
}

extension Gateway {
    /// Checks some links in each turn, until all were checked; the tables once in a round.
    func runHousekeeping() {
        let now = exchange.now()
        let wall = Clock.wallMilliseconds()
        if lookedAt == 0 { lookAtTables(at: now) }
        let end = min(lookedAt + Self.looksMax, links.count)
        var left = limits.newcomersPerTurn * Look.end.cost
        while lookedAt < end, left > 0 {
            left -= look(at: links[lookedAt], now, wall: wall).cost
            lookedAt += 1
        }
        if lookedAt < links.count { return scheduleHousekeeping(after: 1) }
        lookedAt = 0
        if !links.isEmpty || desk.sessions.hasDetached { scheduleHousekeeping() }
    }

    /// Links that are checked in one turn: about a millisecond.
    private static let looksMax = 4_096

    /// What comes of a look at a link.
    private enum Look {
        case nothing, ping, end

        /// What that takes: a ping is written by itself, an end is told besides.
        var cost: Int {
            switch self {
            case .nothing: 0
            case .ping: 1
            case .end: 8
            }
        }
    }

    /// Ends sessions whose time to resume is over, some in each turn: they may be very many when
    /// all went at once.
    func endSessions() {
        let now = exchange.now()
        desk.endSessions(at: now)
        if desk.sessions.hasExpired(at: now) { expiring?.arm(after: 1) }
    }

    private func lookAtTables(at now: Moment) {
        desk.lookAround(at: now)
        if desk.sessions.hasExpired(at: now) { expiring?.arm(after: 1) }
        invitations.withLock { $0.forget(at: now) }
        admission.forget(at: now, limits: limits)
        tellLateRefusals(at: now)
        moveSome()
    }

    private func look(at link: ClientLink, _ now: Moment, wall: Int64) -> Look {
        if link.isWebSocket {
            let isPinged = look(after: link, at: now, wall: wall)
            return link.isWebSocket ? isPinged ? .ping : .nothing : .end
        }
        guard link.isOverdue(at: now, limits: limits) else { return .nothing }
        if link.incompleteBytes > 0 { giveUp(link) } else { link.end() }
        return .end
    }

    /// Returns whether it is pinged.
    private func look(after link: ClientLink, at now: Moment, wall: Int64) -> Bool {
        if link.line.isLate(at: now) {
            desk.handle(.deadlineReached, of: link.line)
        } else if let end = link.line.identity?.token?.expiresAt, wall >= end + limits.tokenLeeway {
            dismiss(link, .expired, "the token has run out")
        } else if link.isMessageOverdue(at: now, limits: limits) {
            giveUp(link)
        } else {
            if link.isExcused() { link.line.keepAlive.heard(at: now) }
            switch link.line.keepAlive.due(at: now, limits: limits.session) {
            case .nothing: break
            case .ping:
                link.ping()
                return true
            case .close: dismiss(link, .pingTimeout, "nothing heard")
            }
        }
        return false
    }

    /// Closes a connection whose peer may never answer: its device counts as gone from now on.
    private func dismiss(_ link: ClientLink, _ code: CloseCode, _ reason: String) {
        desk.part(link.line, forSilence: code == .pingTimeout)
        link.close(code, reason)
    }

    /// Clients without a session have begun or left unread more than the limit. Those with more
    /// than an equal share are closed: the largest at once, the others a few in each turn.
    func boundStrangers() {
        log.debug("clients without a session use too much memory", ("bytes", "\(beginners.bytes)"))
        if greedy.isEmpty { greedy = beginners.greedy(of: limits.strangersBytes) }
        while beginners.bytes > limits.strangersBytes, let greediest = beginners.greediest {
            giveUp(greediest)
        }
        if sendingAway?.isArmed == false { sendingAway?.arm(after: 1) }
    }

    func sendGreedyAway() {
        for link in greedy.suffix(limits.newcomersPerTurn) where !link.line.isIdentified {
            if link.counted.bytes > 0 { giveUp(link) }
        }
        greedy.removeLast(min(greedy.count, limits.newcomersPerTurn))
        if !greedy.isEmpty { sendingAway?.arm(after: 1) }
    }

    /// Closes the connection of a client that is too slow.
    func giveUp(_ link: ClientLink) {
        beginners.forget(link)
        desk.part(link.line)
        guard link.unreadBytes == 0 else {
            // A client that does not read would keep the memory until closing ends.
            metrics.slowReaders += 1
            admission.sendAway(link.transport)
            return
        }
        metrics.slowSenders += 1
        link.giveUp()
    }

    // MARK: Going away

    /// Whether a new connection is accepted; see `Listener.admits`.
    func admits(_ peer: PeerAddress) -> Bool {
        if !isDraining, admission.admits(from: proxies.source(of: peer), limits: limits) {
            return true
        }
        metrics.refusedConnections += 1
        log.debug("too many connections", ("peer", "\(peer)"))
        return false
    }

    /// A connection was accepted; its TLS handshake may still be under way.
    func begins(_ connection: Connection) {
        let source = proxies.source(of: connection.peer)
        admission.begins(connection, from: source, limits: limits)
    }

    /// Asks every client to connect elsewhere, in waves, so that they do not all reach the next
    /// server at once. New connections are refused.
    func drain() {
        isDraining = true
        staying = links
        // Half of the time is for the waves.
        let waves = max(1, Int(limits.drainWithin / 2 / Self.lookAroundEvery))
        wave = max(Self.waveMin, (staying.count + waves - 1) / waves)
        moveSome()
    }

    /// A wave has at least so many.
    private static let waveMin = 100

    /// Closes one wave of clients; the next one follows at the next check.
    private func moveSome() {
        guard isDraining else { return }
        for link in staying.suffix(wave) {
            if link.isWebSocket {
                link.close(.draining, "the server stops")
            } else {
                link.endWhenAnswered()
            }
        }
        staying.removeLast(min(wave, staying.count))
    }
}
