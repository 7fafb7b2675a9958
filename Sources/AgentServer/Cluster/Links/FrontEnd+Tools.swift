// The operator's socket of a front end: what is about calls, people and policies goes to the owner.

import AgentCore
import CallModel
import CallWire
import ClusterCore
import EventLoop
import JSON
import WebProtocols

extension FrontEnd {
    /// The header of an answer that names the node which gave it.
    static let nodeHeader = "X-Node"

    /// A tool asks; the owner answers, or this node where it is about itself.
    func manage(_ request: HTTPRequest, _ client: FrontClient) {
        let (link, path) = (client.link, request.target.rawPath)
        switch (request.method, path) {
        case (.get, "/healthz"): return link.respond(HTTPResponse(200, text: "ok\n"))
        case (.get, "/metrics"): return link.respond(HTTPResponse(200, text: tellFigures()))
        default: break
        }
        guard owner.isOpen else {
            return link.respond(.refused(.unavailable, "node \(node) has no link to an owner"))
        }
        if request.method == .post, path == ManagementOperation.root + "/reload" {
            return reload(request, client)
        }
        handOn(request, client)
    }

    private func handOn(_ request: HTTPRequest, _ client: FrontClient) {
        let link = client.link
        guard owner.isOpen else { return link.respond(HTTPReply(.notReady)) }
        guard request.body.count <= plan.buffer / 2 else {
            return link.respond(.refused(.tooLarge, "the body is too long for a link"))
        }
        do throws(Refusal) {
            let identity = try socketUsers.identity(of: link.transport, request)
            let stream = stream(of: client)
            let manager = StreamManager(
                name: identity.name, role: identity.role.rawValue, proof: owner.proof)
            client.isAsking = true
            owner.send { $0.append(.manages(stream, manager, StreamRequest(request))) }
        } catch {
            link.respond(HTTPResponse(HTTPReply(error)))
        }
    }

    /// A reload reads the files of this node, and the owner puts them into force: who changed them
    /// here means these.
    private func reload(_ request: HTTPRequest, _ client: FrontClient) {
        guard
            var asked = request.body.isEmpty
                ? JSONObject() : (try? JSONValue(parsing: request.body))?.object
        else { return handOn(request, client) }
        guard let ownFiles, asked["files"] == nil else {
            return client.link.respond(
                HTTPReply(Refusal.bad("files", "are those of this node, which it reads itself")))
        }
        ownFiles.read { [weak self, weak client] result in
            guard let self, let client else { return }
            switch result {
            case .failure(let error):
                client.link.respond(.refused(.refused, "\(error)"))
            case .success(let files):
                asked["files"] = .object(files)
                var given = request
                given.body = JSONValue.object(asked).bytes
                handOn(given, client)
            }
        }
    }
}
