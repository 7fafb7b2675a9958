// Questions about nodes themselves: any node takes them, and each answers for itself.

import AgentCore
import CallModel
import JSON
import WebProtocols

/// How a process asks the other nodes of its cluster about themselves.
struct OtherNodes {
    /// This node's name.
    let own: String
    /// All nodes, this one too.
    let names: () -> [String]
    /// Asks one of them.
    let ask:
        (
            _ node: String, HTTPRequest, ManagementIdentity, @escaping (HTTPResponse) -> Void
        ) -> Void
}

extension ManagementDesk {
    /// Answers what is asked about `node`, which may be another one, or each.
    func answer(
        _ request: HTTPRequest, _ asked: ManagementRequest, of node: String,
        _ handler: @escaping Handler, _ respond: @escaping (HTTPResponse) -> Void
    ) throws(Refusal) {
        let own = nodes?.own ?? Machine.name
        if node == own { return handler(asked, respond) }
        guard node == ManagementOperation.everyNode else {
            guard let nodes else {
                throw Refusal(.notFound, "there is no node '\(node)': this server is alone")
            }
            return nodes.ask(node, request, asked.identity, respond)
        }
        for name in ["after", "cursor"] where asked.text(name) != nil {
            throw .bad(name, "is of one node: name it")
        }
        let others = (nodes?.names() ?? []).filter { $0 != own }
        let answers = NodeAnswers(waitingFor: others.count + 1, respond)
        handler(asked) { answers.add($0, of: own) }
        for other in others {
            let done = { (answer: HTTPResponse) -> Void in answers.add(answer, of: other) }
            guard let nodes, let one = request.asking(other) else {
                done(.refused(.notFound, "there is no node '\(other)'"))
                continue
            }
            nodes.ask(other, one, asked.identity, done)
        }
    }
}

extension HTTPRequest {
    /// The same about this node.
    fileprivate func asking(_ node: String) -> HTTPRequest? {
        let others = target.query.filter { $0.name != "node" } + [(name: "node", value: node)]
        let query = others.map { "\(HTTPTarget.encoded($0.name))=\(HTTPTarget.encoded($0.value))" }
        guard let target = try? HTTPTarget(target.rawPath + "?" + query.joined(separator: "&"))
        else { return nil }
        var request = self
        request.target = target
        return request
    }
}

/// What each node has answered: `items[]` {`node`, `status`, `answer` or `problem`}.
private final class NodeAnswers {
    private var waiting: Int
    private var answers: [String: HTTPResponse] = [:]
    private let respond: (HTTPResponse) -> Void

    init(waitingFor count: Int, _ respond: @escaping (HTTPResponse) -> Void) {
        (waiting, self.respond) = (count, respond)
    }

    func add(_ answer: HTTPResponse, of node: String) {
        answers[node] = answer
        waiting -= 1
        if waiting == 0 { respond(.json(200, text)) }
    }

    private var text: [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0.array("items") {
                for (node, answer) in answers.sorted(by: { $0.key < $1.key }) {
                    $0.object {
                        $0.field("node", node)
                        $0.field("status", Int64(answer.status.rawValue))
                        let json = try? JSONValue(
                            parsing: answer.body,
                            limits: JSONLimits(bytes: max(1, answer.body.count)))
                        if answer.status == 200 {
                            $0.key("answer")
                            $0.value(json ?? .null)
                        } else {
                            $0.field("problem", json?["detail"]?.string ?? "it does not answer")
                        }
                    }
                }
            }
        }
        return writer.bytes
    }
}
