// The lease of a process that is a node of a cluster.

import AgentCore
import CallModel
import ClusterCore
import ClusterStorage
import EventLoop
import StoreContract
import WebProtocols

extension Agent {
    /// What becomes of the process now that `run` has ended.
    public var aftermath: Aftermath { ownership?.aftermath ?? .ends }

    func watchLease() throws(EventLoopError) {
        guard let member else { return }
        ownership = try Ownership(member, exchange, on: loop, log: log) { [unowned self] in
            stop()
        }
        ownership?.alarmed = { [unowned self] in raise($0) }
        if let back = member.setBack { raise(.setBack(back)) }
        gateway.looksAtLease = { [unowned self] in ownership?.lookAtLease() }
        remote = try member.linkPlan.map { plan throws(EventLoopError) in
            try OwnerLinks(plan, member, gateway, admin.desk, on: loop, log: log)
        }
        if remote != nil { member.listens() }
        admin.desk.nodes = OtherNodes(
            own: member.node,
            names: { [unowned self] in
                let known = ownership?.sight?.state.nodes.map(\.note.name) ?? []
                return Set(known).union(remote?.nodes ?? []).union([member.node]).sorted()
            },
            ask: { [unowned self] in askNode($0, $1, $2, $3) })
        ownership?.fingerprintsRead = { [unowned self] in remote?.fingerprintsAre($0, asked: $1) }
        // From now on there is somebody to link to.
        try member.keptFront?.begin()
    }

    /// Asks another node about itself.
    private func askNode(
        _ name: String, _ request: HTTPRequest, _ identity: ManagementIdentity,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        if remote?.ask(name, request, by: identity, respond) == true { return }
        let nodes = ownership?.sight?.state.nodes ?? []
        guard let known = nodes.first(where: { $0.note.name == name }) else {
            return respond(.refused(.notFound, "there is no node '\(name)'"))
        }
        let why = known.isAlive ? "has no link to \(member?.node ?? "")" : "does not run"
        respond(.refused(.unavailable, "node \(name) \(why)"))
    }

    /// Figures of the cluster; none where there is none.
    var clusterSamples: [Metrics.Sample] {
        guard let sight = ownership?.sight else { return [] }
        let state = sight.state
        let living = state.nodes.filter { $0.isAlive && $0.note.name != state.term.owner }
        let view = state.view
        let mayBeLost = alarms.contains(where: \.isLossOfCommits)
        return [
            .gauge("cluster_standbys", "Living nodes that stand by.", living.count),
            .gauge(
                "cluster_nodes_lost", "Nodes that are gone and that nobody ended.",
                state.nodes.filter(\.isLost).count),
            .gauge(
                "cluster_nodes_differing", "Living nodes with other settings than the owner.",
                living.filter { !state.differing($0).isEmpty }.count),
            .gauge(
                "cluster_database_synchronous", "Whether a standby has every commit.",
                state.isSynchronous ? 1 : 0),
            .gauge(
                "cluster_commits_may_be_lost",
                "Whether the database changed without a standby in step.", mayBeLost ? 1 : 0),
            .gauge("cluster_epoch", "The takeovers so far.", Int(state.term.epoch)),
            .gauge(
                "cluster_seen_by", "Other nodes that see this one.",
                view.seers(of: state.term.owner).count),
            .gauge(
                "cluster_nodes_unseen", "Living nodes that only the owner sees, or nobody.",
                living.filter { view.betterHeir(than: $0.note.name) != nil }.count),
            .gauge("cluster_links", "Front ends with a link.", remote?.nodes.count ?? 0),
            .gauge("cluster_remote_clients", "Clients of front ends.", remote?.clientCount ?? 0),
        ]
    }

    /// Stops because the operator wants the process to end, also while it hands over.
    func end() {
        let handsOver = isStopping && aftermath == .standsBy
        ownership?.endForGood()
        if handsOver { tellManagerOfEnd() }
        stop()
    }

    /// To the service manager a process that stands by afterwards does not end.
    func tellManagerOfEnd() {
        if aftermath == .standsBy {
            systemd?.tell("STATUS=hands over")
        } else {
            systemd?.tell("STOPPING=1", "STATUS=draining")
        }
    }
}
