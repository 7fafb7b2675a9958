// Checks the database of a cluster from outside.

import ClusterCore
import ClusterStorage
import Configuration
import EventLoop
import StoreContract

extension Doctor {
    mutating func examineCluster() {
        guard let cluster = configuration.cluster else { return }
        examineLinkCertificate(cluster)
        do throws(StoreError) {
            let address = try DatabaseAddress(cluster.database.text)
            if case .weaker(let mode) = address.protection {
                note(
                    .warning(
                        "\(address.name): sslmode=\(mode) does not check whom it talks to",
                        "leave sslmode out, or write sslmode=verify-full"))
            }
            examine(try ClusterDatabase(at: address).state(), at: address.name)
        } catch {
            note(.trouble("\(error)", Self.advice(on: error.kind)))
        }
    }

    /// Where it has run out no new link is made, so that front ends serve nobody.
    private mutating func examineLinkCertificate(_ cluster: Configuration.Cluster) {
        guard let context = try? LinkPlan(cluster, file: file)?.accepting,
            let path = cluster.certificate
        else { return }
        examineTime(
            of: context, "the certificate \(path) of cluster",
            "renew it, then restart this node: without it there is no link",
            good: "cluster: \(path)")
    }

    private static func advice(on kind: StoreError.Kind) -> String {
        switch kind {
        case .noSchema, .older, .newer: "see callagent cluster init, and the page Cluster"
        default:
            "look at PostgreSQL, its log, and the network to it; nodes go on by themselves when it "
                + "answers"
        }
    }

    /// The process that stands by and serves clients for the owner: it has no store to lock, only
    /// the operator's socket.
    func waitingNode(_ place: String) -> Int32? {
        guard let listen = try? NetworkAddress(parsing: configuration.listen) else { return nil }
        let own = NetworkAddress.admin(
            stateDirectory: place, listen: listen, file: configuration.file)
        return (AgentOptions.admin(configuration) ?? own).listeningProcess
    }

    private mutating func examine(_ state: ClusterState, at name: String) {
        note(.good("\(name): \(state.tables)"))
        if !state.isSynchronous {
            note(
                .warning(
                    "\(name): no synchronous standby: what was acknowledged may be lost with it",
                    "set synchronous_standby_names in PostgreSQL"))
        }
        if let path = state.importing {
            note(
                .trouble(
                    "the import of \(path) is under way or did not end: no node owns before",
                    "import again, or callagent cluster discard"))
        }
        let living = state.nodes.filter(\.isAlive)
        for node in state.nodes {
            let (name, names) = (node.note.name, state.differing(node).joined(separator: ", "))
            if node.isLost {
                let advice = "start it, or callagent cluster forget \(name)"
                note(.warning("node \(name) is lost", advice))
            } else if state.hasOwner, name == state.term.owner, let why = node.trouble {
                note(
                    .trouble(
                        "node \(name) owns and takes no calls: \(why)",
                        "look at its log; end its process, and another node takes over"))
            } else if node.isAlive, let why = node.trouble {
                note(
                    .trouble(
                        "node \(name) may not own: \(why)",
                        "fix it there; the node tries again by itself"))
            } else if node.isAlive, let why = state.whyNot(node), node.note.isEligible {
                let advice = "look at its link and bind, and at the network between the nodes"
                note(.warning("node \(name) would not take over: \(why)", advice))
            } else if node.isAlive, !names.isEmpty {
                note(.warning("node \(name) has other settings: \(names)", "make them the same"))
            }
            if node.isAlive, !node.note.link.isEmpty, state.role(of: node) == "standby" {
                let why = "node \(name) has no link to \(state.term.owner), and serves nobody"
                note(.warning(why, "look at its log for: no link"))
            }
        }
        if state.hasOwner, let other = state.view.betterOwner() {
            note(
                .warning(
                    "more nodes see \(other) than \(state.term.owner), "
                        + "which gives up to it if that lasts",
                    "look at the network between the nodes"))
        }
        if !state.hasOwner {
            note(.trouble("no living node owns", "start one: callagent run"))
        } else if living.count < 2 {
            note(
                .warning(
                    "\(state.term.owner) is the only living node",
                    "start another one, which takes over when it dies"))
        } else {
            note(.good("\(state.term) owns, \(living.count - 1) nodes stand by"))
        }
    }
}
