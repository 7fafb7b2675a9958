// What the nodes of a cluster say about themselves.

import AgentCore
import AgentServer
import CallClient
import JSON

/// What was asked about one node, or about each.
struct NodeReport {
    /// What one node has said.
    struct Item {
        let node: String
        /// Nil: it said nothing.
        let answer: JSONValue?
        /// Why it said nothing.
        let problem: String
        /// Whether it could be asked: one that knows nothing of a call can.
        let isReached: Bool
    }

    /// Each node's, by name.
    let items: [Item]
    private let answer: AdminAnswer

    /// The options by which a command asks about nodes.
    static let options = [
        Option("--node", "NAME", "in a cluster: about this node itself"),
        Option("--all", nil, "in a cluster: about every node itself"),
    ]

    /// Which node is meant; nil: the arguments name none.
    static func node(_ arguments: CommandArguments) throws(CommandError) -> String? {
        guard arguments.has("--all") else { return arguments.text("--node") }
        guard !arguments.has("--node") else { throw .usage("--all goes without --node") }
        return ManagementOperation.everyNode
    }

    /// Asks about `node` for an operation.
    init(
        _ name: ManagementOperation.Name, _ values: [String: String?] = [:], of node: String,
        at server: ServerAddress
    ) {
        answer = .ask(name, values.merging(["node": node]) { $1 }, of: server)
        guard case .answer(let value) = answer else {
            items = []
            return
        }
        guard node == ManagementOperation.everyNode else {
            items = [Item(node: node, answer: value, problem: "", isReached: true)]
            return
        }
        items = (value["items"]?.array ?? []).map { one in
            Item(
                node: one["node"]?.string ?? "?", answer: one["answer"],
                problem: one["problem"]?.string ?? "",
                isReached: one["answer"] != nil || one["status"]?.integer == 404)
        }
    }

    /// Whether it was answered at all.
    var isAnswered: Bool { if case .answer = answer { true } else { false } }

    /// Shows each node's answer by `show`, which returns whether all is well there.
    func show(isJSON: Bool, _ show: (_ node: String, JSONValue) -> Bool) -> Int32 {
        var isWell = true
        let code = answer.show(isJSON: isJSON) { _ in
            for item in items {
                guard let answer = item.answer else {
                    Screen.say(Self.missing(item))
                    isWell = false
                    continue
                }
                isWell = show(item.node, answer) && isWell
            }
        }
        return isWell ? code : max(code, ExitCode.failure)
    }

    /// That a node could not be asked.
    static func missing(_ item: Item) -> String {
        Screen.plain("\(item.node): cannot be asked: \(item.problem)")
    }
}

/// The state of a node as text.
enum NodeText {
    /// Prints it; returns whether the node serves.
    static func status(_ node: String, _ status: JSONValue) -> Bool {
        let isReady = status["ready"]?.bool == true
        var words = [
            status["role"]?.string ?? "alone", "version \(status["version"]?.string ?? "?")",
        ]
        if let name = status["generation"]?.string { words.append("generation \(name)") }
        words.append(isReady ? "serves clients" : "serves no clients")
        if let calls = status["live_calls"]?.integer { words.append("\(calls) live calls") }
        words.append("\(status["connections"]?.integer ?? 0) connections")
        Screen.say(Screen.plain("\(node): \(words.joined(separator: ", "))"))
        for alarm in status["alarms"]?.array ?? [] {
            Screen.say(Screen.plain("  alarm: \(alarm.string ?? "")"))
        }
        return isReady
    }

    /// Prints what a node finds about itself; returns whether it is healthy.
    static func findings(_ node: String, _ answer: JSONValue) -> Bool {
        for finding in (answer["findings"]?.array ?? []).compactMap({ Finding($0) }) {
            Screen.say(Screen.plain("\(node): \(finding.line)"))
        }
        return answer["healthy"]?.bool == true
    }
}
