// What a node that does not own answers about itself.

import AgentCore
import CallModel
import Configuration
import EventLoop
import JSON
import WebProtocols

/// The management API of a front end, as far as it is about the node itself: calls and policies are
/// the owner's. Owner: the loop's thread.
final class FrontDesk {
    let desk = ManagementDesk()
    /// What it has loaded, to serve at once when it owns.
    var warm = WarmState()
    private unowned let front: FrontEnd
    private let configuration: Configuration
    private let files: OwnFiles
    private let pieces: Pieces
    private let polls: LongPolls
    private let startedAt = Clock.wallMilliseconds()

    init(_ front: FrontEnd, _ configuration: Configuration, _ files: OwnFiles) {
        (self.front, self.configuration, self.files) = (front, configuration, files)
        pieces = Pieces(on: front.loop)
        polls = LongPolls(on: front.loop, pieces)
        let node = front.node
        desk.nodes = OtherNodes(
            own: node, names: { return [node] },
            ask: { $3(.refused(.unavailable, "node \(node) does not own: ask it for \($0)")) })
        addRoutes()
    }

    private func addRoutes() {
        let numbers = StreamNumbers(startedAt: startedAt)
        let pages = LogPages(front.log, numbers, pieces, polls)
        desk.serve(.log) { pages.answer($0, $1) }
        desk.serve(.status) { [unowned self] request, respond in
            var json = status
            let (name, role) = (request.identity.name, request.identity.role)
            json["you"] = ["name": .string(name), "role": .string(role.rawValue)]
            respond(.json(200, .object(json)))
        }
        desk.serve(.config) { [configuration] _, respond in
            respond(.json(200, configuration.shown))
        }
        desk.serve(.doctor) { [unowned self] _, respond in respond(.json(200, findings.json)) }
        desk.serve(.journal) { [unowned self] in journal($0, $1) }
        desk.serve(.explain) { [unowned self] in explain($0, $1) }
    }

    private var status: JSONObject {
        [
            "version": .string(Agent.version), "node": .string(front.node),
            "role": .string(front.owner.isOpen ? "front" : "standby"),
            "generation": warm.generation.isEmpty ? .null : .string(warm.generation),
            "since_at": .integer(startedAt), "ready": .bool(front.isReady),
            "connections": .integer(Int64(front.connections)),
            "alarms": .array(alarms),
        ]
    }

    private var alarms: [JSONValue] {
        warm.whyNot.isEmpty ? [] : [.string("may not own: \(warm.whyNot)")]
    }

    private var findings: [Finding] {
        let (node, most) = (front.node, front.limits.connections)
        var found: [Finding] = []
        if front.owner.isOpen {
            let words = "node \(node) runs, version \(Agent.version), and serves clients for"
            found.append(.good("\(words) \(front.ownerName)"))
        } else {
            let text = "node \(node) runs, and has no link to an owner"
            found.append(.trouble(text, "look at its log for: no link"))
        }
        let text = "\(front.connections) connections of at most \(most)"
        found.append(
            front.connections * 10 >= most * 9
                ? .warning(text, "raise limits.connections, or find out whose they are")
                : .good(text))
        if !warm.whyNot.isEmpty {
            let text = "node \(node) may not own: \(warm.whyNot)"
            found.append(.trouble(text, "fix it there; the node tries again by itself"))
        }
        return found
    }

    private func journal(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        guard let id = request.callID else { return }
        let after = Int64(request.integer("after") ?? 0)
        files.journal(of: id) { entries in
            guard let entries else {
                return respond(.refused(.notFound, "no journal of a call \(id) is kept"))
            }
            let items = entries.filter { ($0["n"]?.integer ?? 0) > after }
            let last = items.last?["n"]?.integer ?? after
            let answer: JSONValue = [
                "items": .array(items), "after": .integer(last), "truncated": .bool(false),
            ]
            respond(.json(200, answer))
        }
    }

    private func explain(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        guard let id = request.callID else { return }
        let isViewer = request.identity.role == .viewer
        files.decisions(about: id) { found in
            guard !found.isEmpty else {
                return respond(.refused(.notFound, "nobody knows a call \(id)"))
            }
            let answer: JSONValue = ["decisions": .array(found)]
            respond(.json(200, isViewer ? answer.withoutTexts : answer))
        }
    }
}
