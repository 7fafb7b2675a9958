// Whether other nodes see this one while it waits: the operator has to know of one that none sees.

import ClusterCore

/// Remembers what the node table said last, and tells when it lasts. Owner: the thread that waits.
final class Sighting {
    private let node: String
    private let log: Log
    private var view: ClusterView?
    /// So many times in turn another node had to take over before this one.
    private var times = 0

    /// After so many looks it is not only that a node has just started.
    private static let timesThatCount = 6

    init(_ node: String, _ log: Log) { (self.node, self.log) = (node, log) }

    /// The node table was read.
    func sees(_ new: ClusterView) {
        view = new
        guard let heir = new.betterHeir(than: node) else {
            if times >= Self.timesThatCount { log.info("other nodes see this one again") }
            times = 0
            return
        }
        times += 1
        guard times == Self.timesThatCount else { return }
        log.warn("beside the owner no node sees this one: it takes over last", ("before", heir))
    }

    /// Figures of the node.
    var samples: [Metrics.Sample] {
        let seers = view?.seers(of: node).count ?? 0
        let isUnseen = view?.betterHeir(than: node) != nil
        return [
            .gauge("cluster_seen_by", "Other nodes that see this one.", seers),
            .gauge(
                "cluster_unseen", "Whether only the owner or nobody sees this node, unlike others.",
                isUnseen ? 1 : 0),
        ]
    }
}
