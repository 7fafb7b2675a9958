// The console of a node that does not own: its pages are here, everything else is the owner's.

import AgentCore
import CallModel
import CallWire
import ClusterCore
import EventLoop
import JSON
import WebProtocols

/// Serves what the operator's file calls `console` at a front end. The owner checks the tokens: it
/// knows which are taken back. Owner: the loop's thread.
final class FrontConsole {
    private typealias Send = (HTTPRequest, @escaping (HTTPResponse) -> Void) -> Void

    private unowned let front: FrontEnd
    private var door: ConsoleDoor?

    /// What the owner looks at of a request.
    private static let wanted = ["Authorization", SocketUsers.roleHeader]

    /// Listens.
    init(
        _ options: ConsoleOptions, _ front: FrontEnd, _ trouble: AcceptTrouble
    ) throws(EventLoopError) {
        self.front = front
        door = try ConsoleDoor(
            options, front.limits, on: front.loop, now: { [unowned front] in front.now },
            trouble: trouble, ask: { [unowned self] in answer($0, from: $1, isKnown: $2, $3) })
    }

    /// Stops listening, and closes all connections.
    func close() {
        door?.close()
        door = nil
    }

    private func answer(
        _ request: HTTPRequest, from peer: PeerAddress, isKnown: @escaping (String) -> Void,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        guard let token = try? request.bearerToken() else {
            return respond(.refused(.unauthenticated, "a token is needed"))
        }
        let front = front
        let ask: Send = { [weak front] asked, done in
            guard let front else { return }
            var headers: [String] = []
            for name in Self.wanted {
                for value in request.headers.all(name) { headers += [name, value] }
            }
            front.inquire(asked, headers: headers, as: .bearer, from: peer.host) { response in
                if response.status != 401 { isKnown(token) }
                done(response)
            }
        }
        guard front.readsFiles(request) else { return ask(request, respond) }
        // Nobody has files read here before it is known that they may reload.
        let status = ManagementOperation.of(.status).path(with: [:])
        guard let target = try? HTTPTarget(status) else { return }
        ask(HTTPRequest(.get, target)) { [weak front] response in
            guard response.status == 200 else { return respond(response) }
            let role = (try? JSONValue(parsing: response.body))?["you"]?["role"]?.string
            guard let front, role == ManagementIdentity.Role.operator.rawValue else {
                return ask(request, respond)
            }
            front.addOwnFiles(to: request, refused: respond) { ask($0, respond) }
        }
    }
}
