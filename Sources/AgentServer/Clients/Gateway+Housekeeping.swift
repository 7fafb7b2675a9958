// What nobody asks for, twice a second: silence, slow requests, tokens and sessions that run out.

import CallModel
import CallWire
import EventLoop

extension Gateway {
    func keepHouse() {
        let now = exchange.now()
        let wall = Clock.wallMilliseconds()
        boundStrangers()
        for link in links {
            if link.isWebSocket {
                look(after: link, at: now, wall: wall)
            } else if link.isOverdue(at: now, limits: limits) {
                if link.incompleteBytes > 0 { giveUp(link) } else { link.end() }
            }
        }
        expireSessions(at: now)
        forgetRates(at: now)
        admission.forget(at: now, limits: limits)
        tellLateRefusals(at: now)
        moveSome()
        if !links.isEmpty || !detached.isEmpty { scheduleHousekeeping() }
    }

    private func look(after link: ClientLink, at now: Moment, wall: Int64) {
        if let deadline = link.machine.nextDeadline, deadline <= now {
            return handle(.deadlineReached, of: link)
        }
        if let end = link.identity?.expiresAt, wall >= end + limits.tokenLeeway {
            return dismiss(link, .expired, "the token has run out")
        }
        if link.isDawdling(at: now, limits: limits) {
            return giveUp(link)
        }
        if link.isExcused() { link.keepAlive.heard(at: now) }
        switch link.keepAlive.due(at: now, limits: limits.session) {
        case .nothing: break
        case .ping: link.ping()
        case .close: dismiss(link, .pingTimeout, "nothing heard")
        }
    }

    /// Closes a connection whose end may never answer: its device counts as gone from now on.
    private func dismiss(_ link: ClientLink, _ code: CloseCode, _ reason: String) {
        part(link)
        link.close(code, reason)
    }

    /// Bounds what is kept of those who have not said who they are: over the limit, whoever has
    /// more than an equal share of it goes.
    private func boundStrangers() {
        var (bytes, speakers) = (0, 0)
        for link in links where link.identity == nil {
            let count = link.incompleteBytes
            bytes += count
            speakers += count > 0 ? 1 : 0
        }
        guard bytes > limits.strangersBytes else { return }
        let share = limits.strangersBytes / speakers
        let greedy = links.filter { $0.identity == nil && $0.incompleteBytes > share }
        log.debug("strangers have begun too much", ("bytes", "\(bytes)"))
        for link in greedy { giveUp(link) }
    }

    private func giveUp(_ link: ClientLink) {
        metrics.slowSenders += 1
        part(link)
        link.giveUp()
    }

    private func expireSessions(at now: Moment) {
        let count = detached.prefix { $0.until <= now }.count
        guard count > 0 else { return }
        for (address, id, _) in detached.prefix(count) {
            guard let live = sessions[address], live.session.id == id,
                live.session.expire(at: now)
            else { continue }
            sessions[address] = nil
            exchange.feed(.deviceGone(address.user, address.device, bye: false))
        }
        detached.removeFirst(count)
    }

    /// Only users that have asked much lately need to be remembered.
    private func forgetRates(at now: Moment) {
        if rates.count > 1_024 { rates = rates.filter { !$0.value.isFull(at: now) } }
        if invitations.count > 1_024 {
            invitations = invitations.filter { !$0.value.isFull(at: now) }
        }
    }

    // MARK: Going away

    /// Whether a newcomer is let in; see `Listener.admits`.
    func admits(_ peer: PeerAddress) -> Bool {
        if !isDraining, admission.admits(peer, limits: limits) { return true }
        metrics.refusedConnections += 1
        log.debug("too many connections", ("peer", "\(peer)"))
        return false
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
