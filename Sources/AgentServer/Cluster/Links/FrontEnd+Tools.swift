// The operator's socket of a front end: questions about calls, people and policies go to the owner.

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
        // What is about this node does not need another one.
        if let desk, request.target.query("node") == node { return answer(request, client, desk) }
        guard owner.isOpen else {
            return link.respond(.refused(.unavailable, "node \(node) has no link to an owner"))
        }
        guard readsFiles(request) else { return handOn(request, client) }
        addOwnFiles(to: request, refused: { [weak link] in link?.respond($0) }) {
            [weak self, weak client] given in
            if let self, let client { handOn(given, client) }
        }
    }

    private func answer(_ request: HTTPRequest, _ client: FrontClient, _ desk: ManagementDesk) {
        let link = client.link
        do throws(Refusal) {
            let identity = try socketUsers.identity(of: link.transport, request)
            desk.answer(request, by: identity) { [weak link] in link?.respond($0) }
        } catch {
            link.respond(HTTPResponse(HTTPReply(error)))
        }
    }

    /// What people who look after the server are told when the owner went away with their question.
    var ownerLost: HTTPResponse {
        let text =
            "node \(node) lost its owner before that answered: whether a change was made is not "
            + "known; ask again"
        return HTTPResponse(HTTPReply(Refusal(.unavailable, text, retryAfter: 1_000)))
    }

    /// The owner asks about this node, for somebody whom it knows.
    func inquired(_ number: StreamID, _ manager: StreamManager, _ request: StreamRequest) {
        let link = owner.linkNumber
        let report = { [weak self] (response: HTTPResponse) -> Void in
            guard let self, self.owner.linkNumber == link else { return }
            let fits = response.body.count <= plan.buffer / 2
            let told = fits ? response : .refused(.tooLarge, "ask node \(node) itself for this")
            owner.send { $0.append(.reports(number, StreamReply(told))) }
        }
        guard let desk, let role = ManagementIdentity.Role(rawValue: manager.role),
            let asked = try? HTTPRequest(request), asked.method == .get
        else {
            return report(.refused(.badRequest, "a node is asked about itself, and not changed"))
        }
        desk.answer(asked, by: ManagementIdentity(manager.name, role, ofNode: ownerName), report)
    }

    /// Whether it reads the files of this node.
    func readsFiles(_ request: HTTPRequest) -> Bool {
        request.method == .post && Self.pathsWithFiles.contains(request.target.rawPath)
    }

    private static let pathsWithFiles = [ManagementOperation.Name.reload, .shadow, .replay].map {
        ManagementOperation.of($0).path(with: [:])
    }

    /// Questions to the owner at once, beside those of clients and tools.
    static let inquiriesMax = 1_000

    /// Asks the management API of the owner, for somebody who has no stream.
    ///
    /// - Parameter host: the address that they come from.
    func inquire(
        _ request: HTTPRequest, headers: [String], as manager: StreamManager, from host: String,
        _ done: @escaping (HTTPResponse) -> Void
    ) {
        guard owner.isOpen else {
            return done(.refused(.unavailable, "node \(node) has no link to an owner"))
        }
        guard request.body.count <= plan.buffer / 2 else {
            return done(.refused(.tooLarge, "the body is too long for a link"))
        }
        guard inquiries.count < Self.inquiriesMax else {
            return done(.refused(.rateLimited, "\(Self.inquiriesMax) requests wait already"))
        }
        let stream = newStream(StreamOpening(host: host, agent: ""))
        inquiries[stream] = done
        owner.send {
            $0.append(.manages(stream, manager, StreamRequest(request, headers: headers)))
        }
    }

    /// The owner has answered somebody who has no stream.
    func answer(_ stream: StreamID, _ response: HTTPResponse) {
        guard let done = inquiries.removeValue(forKey: stream) else { return }
        owner.send { $0.append(.leaves(stream, isSilent: false)) }
        var response = response
        response.headers.append(Self.nodeHeader, ownerName)
        done(response)
    }

    private func handOn(_ request: HTTPRequest, _ client: FrontClient) {
        let link = client.link
        guard owner.isOpen else { return link.respond(ownerLost) }
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

    /// A reload reads the files of this node, and the owner puts them into force; what is replayed
    /// before is the same. Who changed them here means these.
    func addOwnFiles(
        to request: HTTPRequest, refused: @escaping (HTTPResponse) -> Void,
        _ done: @escaping (HTTPRequest) -> Void
    ) {
        guard
            var asked = request.body.isEmpty
                ? JSONObject() : (try? JSONValue(parsing: request.body))?.object
        else { return done(request) }
        guard let ownFiles, asked["files"] == nil else {
            let refusal = Refusal.bad("files", "are those of this node, which it reads itself")
            return refused(HTTPResponse(HTTPReply(refusal)))
        }
        ownFiles.read { result in
            switch result {
            case .failure(let error): refused(.refused(.refused, "\(error)"))
            case .success(let files):
                asked["files"] = .object(files)
                var given = request
                given.body = JSONValue.object(asked).bytes
                done(given)
            }
        }
    }
}
