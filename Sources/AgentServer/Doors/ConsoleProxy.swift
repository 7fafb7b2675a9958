// A console that needs no configuration: it speaks to the process by its socket.

import AgentCore
import CallModel
import EventLoop
import Outbound
import WebProtocols

/// Serves the console on this machine for as long as it is kept, to whoever has its token, and
/// hands requests to the API on. Owner: the loop's thread.
public final class ConsoleProxy {
    /// Sends a request to the operator's socket, and gives the answer to its completion; nil: there
    /// is none.
    public typealias Forward = (HTTPRequest, @escaping (HTTPResponse?) -> Void) -> Void

    private let token: [UInt8]
    private let role: ManagementIdentity.Role
    private let forward: Forward
    private var door: ConsoleDoor?

    /// Listens on loopback at `port`; 0: at one that the system chooses.
    ///
    /// - Parameters:
    ///   - token: what every request must show.
    ///   - isViewer: whether it asks as a viewer, whoever may open the socket.
    public init(
        port: UInt16, token: String, isViewer: Bool, on loop: EventLoop, forward: @escaping Forward
    ) throws(EventLoopError) {
        self.token = Array(token.utf8)
        role = isViewer ? .viewer : .operator
        self.forward = forward
        var options = ConsoleOptions(listen: .tcp(host: "127.0.0.1", port: port))
        options.body = 1 << 20
        door = try ConsoleDoor(
            options, ServerLimits(), on: loop, now: { Moment(Clock.bootMilliseconds()) },
            trouble: AcceptTrouble(Log(level: .error)),
            ask: { [unowned self] request, _, isKnown, respond in
                answer(request, isKnown: isKnown, respond)
            })
    }

    /// Where it listens.
    public var endpoint: NetworkAddress? { door?.endpoint }

    /// Stops.
    public func close() { door?.close() }

    private func answer(
        _ request: HTTPRequest, isKnown: (String) -> Void,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        guard let shown = try? request.bearerToken(),
            ConstantTime.equal(Array(shown.utf8), token)
        else {
            return respond(.refused(.unauthenticated, "the token is not good"))
        }
        isKnown(role.rawValue)
        // The token is for this process, and who asks is read from the socket.
        let method = request.method == .head ? .get : request.method
        var asked = HTTPRequest(method, request.target, body: request.body)
        asked.headers.append(SocketUsers.roleHeader, role.rawValue)
        forward(asked) { response in
            guard let response else {
                return respond(.refused(.unavailable, "the server does not answer at its socket"))
            }
            var headers: HTTPHeaders = [:]
            for name in ["Content-Type", "Allow", "Retry-After"] {
                if let value = response.headers[name] { headers.append(name, value) }
            }
            respond(HTTPResponse(response.status, headers: headers, body: response.body))
        }
    }
}
