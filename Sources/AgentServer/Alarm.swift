// What somebody has to see to, as the server knows it. Texts of it are for people only.

import ClusterCore
import PolicyHost

/// Something that the operator has to see to.
enum Alarm: Hashable {
    case policies(PolicyAlarm)
    /// The operator's file cannot be read: what was last in force goes on, without the keys that
    /// were written as text.
    case file(String?, missingKeys: [String])
    /// A canary was in force and cannot be loaded any more.
    case lostCanary(String, String)
    /// The cluster's database became another one, and no standby had every commit.
    case lossOfCommits(from: Int64, to: Int64)
    /// The cluster's database is at an earlier moment than it was.
    case setBack(SetBack)
    /// A node of the cluster is gone, and nobody ended it.
    case lostNode(String)
    /// A node of the cluster cannot load what is in force, and why.
    case unfitNode(String, String)
    /// A node of the cluster has other settings under these names.
    case differingNode(String, [String])

    /// Whether it is over when the canary of now is promoted, ended or replaced.
    var isAboutCanary: Bool {
        switch self {
        case .policies(.canaryFails), .lostCanary: true
        case .policies(.noWayBack), .file, .lossOfCommits, .setBack, .lostNode,
            .unfitNode, .differingNode:
            false
        }
    }

    /// Whether calls that were acknowledged may be gone.
    var isLossOfCommits: Bool {
        switch self {
        case .lossOfCommits, .setBack: true
        case .policies, .file, .lostCanary, .lostNode, .unfitNode, .differingNode: false
        }
    }
}

extension Alarm: CustomStringConvertible {
    var description: String {
        switch self {
        case .policies(let alarm): "\(alarm)"
        case .file(let problem, let keys):
            "the operator's file does not evaluate: the server's part last in force goes on"
                + (keys.isEmpty
                    ? ""
                    : ", without the keys that were written as text: "
                        + keys.joined(separator: ", "))
                + (problem.map { " (\($0))" } ?? "")
        case .lostCanary(let generation, let problem):
            "the canary \(generation) has ended: it cannot be loaded: \(problem)"
        case .lossOfCommits(let old, let new):
            "acknowledged calls may be lost: the database changed from timeline \(old) to \(new) "
                + "without a standby in step"
        case .setBack(let back): "\(back)"
        case .lostNode(let name):
            "node \(name) is lost: start it, or callagent cluster forget \(name)"
        case .unfitNode(let name, let problem): "node \(name) may not own: \(problem)"
        case .differingNode(let name, let settings):
            "node \(name) has other settings: \(settings.joined(separator: ", "))"
        }
    }
}
