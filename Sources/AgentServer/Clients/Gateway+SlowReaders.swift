// Clients that do not read what is sent to them.

import AgentCore
import CallModel
import CallWire
import EventLoop

extension Gateway {
    /// Checks a link with much unsent again when the socket has had a turn to send it.
    func watch(_ link: ClientLink) {
        guard !link.isWatched, link.unsentBytes > watchedBytes(of: link) else { return }
        link.isWatched = true
        watched.append(link)
    }

    private func watchedBytes(of link: ClientLink) -> Int {
        if isStranger(link) { return 0 }
        return link.isWebSocket ? limits.watchedBytes : limits.watchedAnswerBytes
    }

    private func isStranger(_ link: ClientLink) -> Bool {
        !link.line.isIdentified && admission.isNewcomer(link.transport)
    }

    /// Runs at the end of a turn, before its writes.
    func judgeSlowReaders() {
        // Mostly there is nobody; this runs in every turn.
        guard !judged.isEmpty || !watched.isEmpty else { return }
        for link in judged {
            link.isWatched = false
            if isStranger(link) {
                noteUnread(by: link)
                continue
            }
            if link.isWebSocket, link.unreadSinceGreeted() > limits.unsentBytes {
                cutOff(link)
            } else if link.unsentBytes > watchedBytes(of: link) {
                boundUser(of: link)
            }
        }
        judged.removeAll(keepingCapacity: true)
        swap(&judged, &watched)
    }

    /// The socket has had its turn. What a client without a session has not read counts like the
    /// messages that it has begun, until it reads.
    private func noteUnread(by link: ClientLink) {
        link.unreadBytes = link.transport.unsentBytes
        if link.unreadBytes > 0 { link.transport.notifyWhenDrained() }
        noteBeginning(of: link)
    }

    /// Bounds what one user leaves unread on all devices and over HTTP together: the slowest
    /// connection is closed (B27).
    private func boundUser(of link: ClientLink) {
        let asker = admission.asker(over: link.transport)
        guard let user = link.line.session?.address.user ?? asker else { return }
        let links =
            exchange.devices(of: user).compactMap {
                desk.sessions[$0]?.line?.endpoint as? ClientLink
            }
            + admission.connections(asking: user).compactMap { $0.handler as? ClientLink }
        let unsent = links.reduce(0) { $0 + $1.unsentBytes }
        guard unsent > limits.unsentBytesPerUser else { return }
        if let slowest = links.max(by: { $0.unsentBytes < $1.unsentBytes }) { cutOff(slowest) }
    }

    /// Closes the connection of a client that does not read (B27). Its session is detached at once,
    /// so that another connection gets the events that this one is never sent. The close frame has
    /// the usual time.
    private func cutOff(_ link: ClientLink) {
        metrics.slowReaders += 1
        // Over HTTP there is no close frame, and a response that is not whole is none.
        guard link.isWebSocket else {
            admission.sendAway(link.transport)
            return
        }
        desk.part(link.line)
        link.close(.tooSlow, "this client does not read its events")
    }
}
