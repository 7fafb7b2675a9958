// What a front end looks at without being told: slow readers, silent clients, late ones.

import AgentCore
import CallModel
import CallWire
import ClusterCore
import EventLoop

extension FrontEnd {
    /// Bytes that a client was given before the owner is told of them.
    private static let reportStep: UInt64 = 16_384

    func watch(_ client: FrontClient) {
        guard !client.link.isWatched else { return }
        client.link.isWatched = true
        told.append(client)
    }

    /// Runs at the end of a turn, before its writes: who was told something in the turn before had
    /// a turn to read.
    func endTurn() {
        for client in judged {
            client.link.isWatched = false
            guard client.link.isWebSocket else {
                boundUnread(over: client.link)
                continue
            }
            if client.link.unreadSinceGreeted() > limits.unsentBytes {
                slowReaders += 1
                leave(client)
                client.isLeaving = true
                client.link.close(.tooSlow, "this client does not read its events")
            } else {
                report(client, atLeast: Self.reportStep)
            }
        }
        judged = told
        told.removeAll(keepingCapacity: true)
    }

    /// Bounds what one user leaves unread over HTTP: the slowest connection ends.
    private func boundUnread(over link: ClientLink) {
        guard link.unsentBytes > limits.watchedAnswerBytes,
            let user = admission.asker(over: link.transport)
        else { return }
        let links = admission.connections(asking: user).compactMap { $0.handler as? ClientLink }
        guard links.reduce(0, { $0 + $1.unsentBytes }) > limits.unsentBytesPerUser else { return }
        slowReaders += 1
        admission.sendAway(links.max { $0.unsentBytes < $1.unsentBytes }?.transport)
    }

    /// Tells the owner how much the client was given of what it was told.
    private func report(_ client: FrontClient, atLeast step: UInt64) {
        let unsent = UInt64(client.link.unsentBytes)
        let taken = client.toldBytes > unsent ? client.toldBytes - unsent : 0
        guard let stream = client.stream, taken >= client.reportedBytes + step else { return }
        client.reportedBytes = taken
        owner.send { $0.append(.took(stream, taken)) }
    }

    /// Looks after some clients, and plans the next look.
    func runHousekeeping() {
        let moment = now
        if lookedAt == 0 { admission.forget(at: moment, limits: limits) }
        if lastStream > Self.nearlyAllStreams { owner.renew() }
        let end = min(lookedAt + Self.looksAtOnce, clients.count)
        var left = Self.asksAtOnce
        while lookedAt < end, left > 0 {
            if look(after: clients[lookedAt], at: moment) { left -= 1 }
            lookedAt += 1
        }
        let isDone = lookedAt >= clients.count
        if isDone { lookedAt = 0 }
        housekeeping?.arm(after: isDone ? Gateway.lookAroundEvery : 1)
    }

    /// Numbers of streams are given once over one link, which is made anew before they end.
    private static let nearlyAllStreams = UInt32.max / 2
    /// Clients that are looked after in one turn.
    private static let looksAtOnce = 4_096
    /// Of these, who are pinged or closed.
    private static let asksAtOnce = 128

    /// Returns whether it is pinged or closed.
    private func look(after client: FrontClient, at moment: Moment) -> Bool {
        let link = client.link
        guard link.isWebSocket else {
            guard link.isOverdue(at: moment, limits: limits) else { return false }
            link.end()
            return true
        }
        report(client, atLeast: 1)
        if client.state.hello == nil, link.line.isLate(at: moment) {
            link.close(.protocolError)
            return true
        }
        if link.isMessageOverdue(at: moment, limits: limits) {
            link.giveUp()
            return true
        }
        if link.isExcused() { link.line.keepAlive.heard(at: moment) }
        switch link.line.keepAlive.due(at: moment, limits: limits.session) {
        case .nothing: return false
        case .ping: link.ping()
        case .close:
            leave(client, isSilent: true)
            link.close(.pingTimeout, "nothing heard")
        }
        return true
    }
}

extension FrontEnd {
    /// Figures of the node, beside those of the owner.
    var samples: [Metrics.Sample] {
        [
            .gauge("ready", "Whether clients are served.", isReady ? 1 : 0),
            .gauge("cluster_links", "Links to an owner.", owner.isOpen ? 1 : 0),
            .gauge("connections", "Client connections.", connections),
            .gauge(
                "connections_limit", "Client connections that there may be.", limits.connections),
            .gauge("link_unsent_bytes", "What the owner has not read.", owner.unsentBytes),
            Metrics.Sample("slow_readers_total", "Clients cut off for not reading.", slowReaders),
        ]
    }
}
