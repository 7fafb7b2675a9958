// A node that does not own, between the phones and the server.

import AgentCore
import CallModel
import ClusterStorage
import Configuration
import EventLoop
import StoreContract

@testable import AgentServer

/// A front end on the rig's loop: phones connect to it, and it brings them over its link to
/// whichever life of the server owns.
final class FrontNode {
    private let front: FrontEnd
    private let plan: LinkPlan
    private let loop: EventLoop
    private let log: Log
    private var owner: OwningNode?
    /// Owners that are gone: their links end in a later turn of the loop.
    private var earlier: [OwningNode] = []

    init(on loop: EventLoop, log: Log) throws {
        var cluster = Configuration.Cluster()
        cluster.link = "127.0.0.1:0"
        // A step of a scenario may keep the loop busy.
        cluster.linkSilence = 60_000
        guard let plan = try LinkPlan(cluster, file: nil) else {
            throw StoreError(.notOpen, path: "127.0.0.1:0", operation: "link")
        }
        (self.plan, self.loop, self.log) = (plan, loop, log)
        front = FrontEnd(plan, node: "b", Configuration(), on: loop, log: log)
    }

    /// Whether what phones say reaches the server.
    var isLinked: Bool { front.owner.isOpen }

    func accept(_ connection: Connection) { front.accept(connection) }

    /// The server of this gateway owns from now on; the one before is gone.
    func follow(_ gateway: Gateway) throws {
        let epoch = (owner?.home.epoch ?? 0) + 1
        if let owner {
            owner.links.close()
            earlier.append(owner)
        }
        let owner = try OwningNode(plan, epoch, gateway, on: loop, log: log)
        self.owner = owner
        guard let endpoint = owner.links.endpoint else { return }
        front.owner.follow(
            OwnerLink.Target(
                term: Term(owner: owner.home.node, epoch: epoch), token: owner.home.token,
                place: NodePlace(link: "\(endpoint)", fingerprint: [])))
    }

    /// Links end before the loop does.
    func close() {
        front.owner.end()
        owner?.links.close()
    }
}

/// The owner's end of the links. Without certificates nobody is asked for their digests.
private final class OwningNode {
    final class Home: LinkHome {
        let node = "a"
        let epoch: UInt32
        let token: [UInt8] = [1, 2, 3, 4]
        let maySpeak = true

        init(_ epoch: UInt32) { self.epoch = epoch }

        func isToken(_ shown: [UInt8]) -> Bool { shown == token }
        func note(links: [String]) {}
        func readFingerprints(asked: Int) {}
    }

    let home: Home
    let links: OwnerLinks

    init(
        _ plan: LinkPlan, _ epoch: UInt32, _ gateway: Gateway, on loop: EventLoop, log: Log
    ) throws {
        home = Home(epoch)
        links = try OwnerLinks(plan, home, gateway, ManagementDesk(), on: loop, log: log)
    }
}
