// The operator's socket of a front end: what is about calls, people and policies goes to the owner.

import AgentCore
import CallModel
import CallWire
import ClusterCore
import EventLoop
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
        guard path != ManagementOperation.root + "/reload" else { return refuseReload(link) }
        guard request.body.count <= plan.buffer / 2 else {
            return link.respond(.refused(.tooLarge, "the body is too long for a link"))
        }
        do throws(Refusal) {
            let identity = try socketUsers.identity(of: link.transport, request)
            let stream = stream(of: client)
            let query = request.target.rawQuery.map { "?" + $0 } ?? ""
            let asked = StreamRequest(
                method: request.method.rawValue, target: path + query, headers: [],
                body: request.body)
            let manager = StreamManager(name: identity.name, role: identity.role.rawValue)
            client.isAsking = true
            owner.send { $0.append(.manages(stream, manager, asked)) }
        } catch {
            link.respond(HTTPResponse(HTTPReply(error)))
        }
    }

    /// A reload reads the files of the machine where it runs: the operator would take those of the
    /// owner for the ones that were changed here.
    private func refuseReload(_ link: ClientLink) {
        link.respond(
            .refused(
                .wrongState,
                "node \(node) does not own, and a reload reads the owner's files: reload at "
                    + "\(ownerName), or first callagent cluster hand-over \(node)"))
    }
}
