// Clients that a node had before it owned. Their front end goes on, on a thread of its own, and
// links itself to the server of its own process, so that a takeover is no loss for them.

import AgentCore
import ClusterCore
import ClusterStorage
import EventLoop
import StoreContract

/// The front end of a node that owns. Owner of the front end: its thread, once that has begun.
final class KeptFront: @unchecked Sendable {
    private let front: FrontEnd
    private let grant: Grant
    private let loop: EventLoop
    private let goodbyes: Mailbox<Void>
    private let thread = Locked<WorkerThread?>(nil)

    /// Takes over a front end whose loop does not turn, on a node that owns by `grant`.
    init(_ front: FrontEnd, _ grant: Grant, on loop: EventLoop) throws(EventLoopError) {
        (self.front, self.grant, self.loop) = (front, grant, loop)
        goodbyes = try Mailbox(on: loop) { [unowned front] _ in front.end { loop.stop() } }
        front.emptied = { loop.stop() }
    }

    /// Lets the loop turn on a thread of its own, until the last client has gone. The server of
    /// this process listens for links by now.
    func begin() throws(EventLoopError) {
        front.follow(grant.term, grant.token)
        let made = try WorkerThread(name: "front") { [self] in
            loop.run()
            front.owner.end()
            loop.close()
        }
        thread.withLock { $0 = made }
    }

    /// Sends the clients away within a second. Any thread may say so.
    func end() { _ = goodbyes.post(()) }

    /// Waits until they are gone, after `end`.
    func join() { thread.withLock { $0.take() }?.join() }
}

extension FrontEnd {
    /// This node owns from now on: clients that talk stay, and are brought to the server of this
    /// process as to any new owner. Whoever only asks connects to it anew.
    func follow(_ term: Term, _ token: [UInt8]) {
        (ownFiles, desk) = (nil, nil)
        (linked, tellFigures) = ({ _ in }, { "" })
        for client in clients where !client.link.isWebSocket { client.link.endWhenAnswered() }
        let place = NodePlace(link: plan.link.description, fingerprint: plan.fingerprint)
        owner.follow(OwnerLink.Target(term: term, token: token, place: place))
    }

    /// Whether it has clients that talk.
    var hasTalkers: Bool { clients.contains { $0.link.isWebSocket && !$0.isLeaving } }
}
