// What nobody asks for, twice a second: silence, slow requests, tokens and sessions that run out.

import AgentCore
import CallModel
import CallWire
import EventLoop

extension Gateway {
    /// Looks around: at some links in each turn, until it was at all of them; then at all else.
    func keepHouse() {
        let now = exchange.now()
        let wall = Clock.wallMilliseconds()
        if lookedAt == 0 { lookAtTables(at: now) }
        let end = min(lookedAt + Self.looksMax, links.count)
        var ends = 0
        while lookedAt < end, ends < limits.newcomersPerTurn {
            if look(at: links[lookedAt], now, wall: wall) { ends += 1 }
            lookedAt += 1
        }
        if lookedAt < links.count { return scheduleHousekeeping(after: 1) }
        lookedAt = 0
        if !links.isEmpty || desk.sessions.hasDetached { scheduleHousekeeping() }
    }

    /// So many links are looked at in one turn: about a millisecond.
    private static let looksMax = 4_096

    private func lookAtTables(at now: Moment) {
        desk.lookAround(at: now)
        invitations.withLock { $0.forget(at: now) }
        admission.forget(at: now, limits: limits)
        tellLateRefusals(at: now)
        moveSome()
    }

    /// Returns whether it ends.
    private func look(at link: ClientLink, _ now: Moment, wall: Int64) -> Bool {
        if link.isWebSocket {
            look(after: link, at: now, wall: wall)
            return !link.isWebSocket
        }
        guard link.isOverdue(at: now, limits: limits) else { return false }
        if link.incompleteBytes > 0 { giveUp(link) } else { link.end() }
        return true
    }

    private func look(after link: ClientLink, at now: Moment, wall: Int64) {
        if let deadline = link.line.machine.nextDeadline, deadline <= now {
            return desk.handle(.deadlineReached, of: link.line)
        }
        if let end = link.line.identity?.expiresAt, wall >= end + limits.tokenLeeway {
            return dismiss(link, .expired, "the token has run out")
        }
        if link.isDawdling(at: now, limits: limits) {
            return giveUp(link)
        }
        if link.isExcused() { link.line.keepAlive.heard(at: now) }
        switch link.line.keepAlive.due(at: now, limits: limits.session) {
        case .nothing: break
        case .ping: link.ping()
        case .close: dismiss(link, .pingTimeout, "nothing heard")
        }
    }

    /// Closes a connection whose end may never answer: its device counts as gone from now on.
    private func dismiss(_ link: ClientLink, _ code: CloseCode, _ reason: String) {
        desk.part(link.line, forSilence: code == .pingTimeout)
        link.close(code, reason)
    }

    /// More has been begun or left unread than the limit: whoever has more than an equal share of
    /// it goes, the greediest at once, the others some in a turn.
    func boundStrangers() {
        log.debug("strangers fill too much", ("bytes", "\(beginners.bytes)"))
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

    /// Ends the connection of somebody who keeps us waiting.
    func giveUp(_ link: ClientLink) {
        beginners.forget(link)
        desk.part(link.line)
        guard link.unreadBytes == 0 else {
            // Whoever does not read would keep it until a close is over.
            metrics.slowReaders += 1
            admission.sendAway(link.transport)
            return
        }
        metrics.slowSenders += 1
        link.giveUp()
    }

    // MARK: Going away

    /// Whether a newcomer is let in; see `Listener.admits`.
    func admits(_ peer: PeerAddress) -> Bool {
        if !isDraining, admission.admits(from: proxies.source(of: peer), limits: limits) {
            return true
        }
        metrics.refusedConnections += 1
        log.debug("too many connections", ("peer", "\(peer)"))
        return false
    }

    /// A connection was let in; it may still have to shake hands.
    func begins(_ connection: Connection) {
        let source = proxies.source(of: connection.peer)
        admission.begins(connection, from: source, limits: limits)
    }

    /// Asks every client to go elsewhere, in waves, so that they do not all come to the next server
    /// at once; new ones are turned away.
    func drain() {
        isDraining = true
        staying = links
        // Half of the time is for goodbyes.
        let waves = max(1, Int(limits.drainWithin / 2 / Self.lookAroundEvery))
        wave = max(Self.waveMin, (staying.count + waves - 1) / waves)
        moveSome()
    }

    /// So many go at once however few there are.
    private static let waveMin = 100

    /// Moves one wave of clients; the next one goes with the next look around.
    private func moveSome() {
        guard isDraining else { return }
        for link in staying.suffix(wave) {
            if link.isWebSocket {
                link.close(.draining, "the server is going away")
            } else {
                link.endWhenAnswered()
            }
        }
        staying.removeLast(min(wave, staying.count))
    }
}
