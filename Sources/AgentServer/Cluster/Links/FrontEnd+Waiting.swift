// All clients of a front end share one link: who says much must not keep those who say little.

import AgentCore
import CallWire
import Collections

extension FrontEnd {
    /// Bytes from which on a message is long.
    static let longBytes = 4_096

    /// Whether something with so many bytes waits. While the link is busy short ones pass long
    /// ones; nothing more goes where the owner does not read.
    func hasToWait(_ count: Int) -> Bool {
        owner.isFull || count >= Self.longBytes && (owner.isBusy || waiting.first != nil)
    }

    /// Nothing more of the client is read until this could be passed on. Where very much waits it
    /// is turned back.
    func wait(_ saying: FrontClient.Saying, of client: FrontClient) {
        guard waitingBytes + saying.bytes <= plan.buffer else { return turnBack(saying, client) }
        client.waiting = saying
        waitingBytes += saying.bytes
        waiting.append(client)
        client.link.rest()
    }

    /// The link has room again.
    func waitingGoOn() {
        while !owner.isBusy, let client = waiting.removeFirst() {
            guard let saying = client.waiting, !client.isLeaving else { continue }
            forgetWaiting(of: client)
            switch saying {
            case .message(let text): text.withUnsafeBytes { pass($0, of: client) }
            case .request(let request): pass(request, of: client)
            }
            if !client.isHeld { client.link.restEnds() }
        }
    }

    /// The link broke.
    func waitingTurnBack() {
        while let client = waiting.removeFirst() {
            guard let saying = client.waiting else { continue }
            forgetWaiting(of: client)
            turnBack(saying, client)
            client.link.restEnds()
        }
    }

    private func turnBack(_ saying: FrontClient.Saying, _ client: FrontClient) {
        switch saying {
        case .message(let text): text.withUnsafeBytes { turnBack($0, client) }
        case .request:
            client.isAsking = false
            client.link.respond(HTTPReply(.notReady))
        }
    }

    /// The client says no more, or this goes now.
    func forgetWaiting(of client: FrontClient) {
        waitingBytes -= client.waiting?.bytes ?? 0
        client.waiting = nil
    }
}
