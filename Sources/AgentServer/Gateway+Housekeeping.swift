// What nobody asks for, twice a second: silence, slow requests, tokens and sessions that run out.

import CallModel
import CallWire
import EventLoop

extension Gateway {
    func keepHouse() {
        let now = exchange.now()
        let wall = Clock.wallMilliseconds()
        for link in links {
            if link.isWebSocket {
                look(after: link, at: now, wall: wall)
            } else if link.isOverdue(at: now, limits: limits) {
                link.end()
            }
        }
        expireSessions(at: now)
        forgetRates(at: now)
        if !links.isEmpty || !detached.isEmpty { scheduleHousekeeping() }
    }

    private func look(after link: ClientLink, at now: Moment, wall: Int64) {
        if let deadline = link.machine.nextDeadline, deadline <= now {
            return handle(.deadlineReached, of: link)
        }
        if let end = link.identity?.expiresAt, wall >= end + limits.tokenLeeway {
            return link.close(.expired, "the token has run out")
        }
        if link.isExcused() { link.keepAlive.heard(at: now) }
        switch link.keepAlive.due(at: now, limits: limits.session) {
        case .nothing: break
        case .ping: link.ping()
        case .close: link.close(.pingTimeout, "nothing heard")
        }
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
        guard rates.count > 1_024 else { return }
        rates = rates.filter { !$0.value.isFull(at: now) }
    }
}
