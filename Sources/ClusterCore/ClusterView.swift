// Who sees whom: what the node table says of links, and who should own because of it.

import CallModel

/// A node, as the node table shows it to all.
public struct SeenNode: Sendable, Equatable {
    /// Its name.
    public let name: String
    /// Whether it has written into the table within the last seconds, and did not end.
    public var isAlive = true
    /// Whether other nodes can reach it at all: a node without a link is not among those that see
    /// each other.
    public var hasLink = true
    /// Whether it may own, as it says itself.
    public var mayOwn = true
    /// The nodes that it reaches over the network.
    public var reaches: Set<String> = []

    /// The node `name`, which lives and reaches `others`.
    public init(_ name: String, reaches others: Set<String> = []) {
        (self.name, reaches) = (name, others)
    }
}

/// The node table at one moment. One table is read by all, so all come to the same result.
///
/// A node *sees* another one that it reaches, so the one that is seen by more nodes can serve the
/// clients of more nodes: front ends connect to the owner, and not the other way round.
public struct ClusterView: Sendable, Equatable {
    /// Who owns, or did last.
    public var owner: String
    /// All nodes, this one too.
    public var nodes: [SeenNode]

    /// The cluster that `owner` owns.
    public init(owner: String, _ nodes: [SeenNode]) { (self.owner, self.nodes) = (owner, nodes) }

    /// Living nodes that others can reach.
    private var peers: [SeenNode] { nodes.filter { $0.isAlive && $0.hasLink } }

    /// The living nodes that see `name`, in order.
    public func seers(of name: String) -> [String] {
        peers.filter { $0.name != name && $0.reaches.contains(name) }.map(\.name).sorted()
    }

    /// Those beside the owner.
    private func otherSeers(of name: String) -> Int {
        seers(of: name).count { $0 != owner }
    }

    /// The node that should take over instead of `node`, which no other node sees: one that some
    /// node sees. Nil: there is none, so `node` may. The owner does not count on either side,
    /// because it may be unknown whether it lives. Even where no node sees any other one, some node
    /// has to own.
    public func betterHeir(than node: String) -> String? {
        guard peers.contains(where: { $0.name == node }), otherSeers(of: node) == 0 else {
            return nil
        }
        return best { $0.name != node && otherSeers(of: $0.name) > 0 }
    }

    /// The node to which the owner should give up, because more nodes see that one than see the
    /// owner; nil: it should not. Two nodes alone do not judge each other: one beside the owner
    /// must see it.
    ///
    /// The new owner is seen by more nodes than the one before, so ownership does not move back
    /// while the network stays as it is.
    public func betterOwner() -> String? {
        guard peers.contains(where: { $0.name == owner }) else { return nil }
        let served = seers(of: owner).count
        return best { otherSeers(of: $0.name) > 0 && seers(of: $0.name).count > served }
    }

    /// Of those who may own and do not, the one that most nodes see.
    private func best(where isMeant: (SeenNode) -> Bool) -> String? {
        let fit = peers.filter { $0.mayOwn && $0.name != owner && isMeant($0) }.map(\.name)
        return fit.min { one, other in
            let (ones, others) = (seers(of: one).count, seers(of: other).count)
            return ones == others ? one < other : ones > others
        }
    }
}
