// The console that the operator's file asks for, with tokens of operators and viewers.

import AgentCore
import CallModel
import CallWire
import EventLoop
import WebProtocols

/// Serves what the operator's file calls `console`. Owner: the loop's thread.
final class ConsoleServer {
    /// What is prepared but not yet in force.
    enum Change {
        /// Another door, or none.
        case door(ConsoleDoor?)
        /// The same one with other options.
        case options(ConsoleOptions, TLSContext?)
    }

    private let gateway: Gateway
    private let desk: ManagementDesk
    private let loop: EventLoop
    private let trouble: AcceptTrouble
    private var door: ConsoleDoor?

    init(_ gateway: Gateway, _ desk: ManagementDesk, loop: EventLoop, log: Log) {
        self.gateway = gateway
        self.desk = desk
        self.loop = loop
        trouble = AcceptTrouble(log)
    }

    /// Where it listens, with the port that the system chose; nil: nowhere.
    var endpoint: NetworkAddress? { door?.endpoint }

    /// Prepares what `options` ask for.
    func prepare(_ options: ConsoleOptions?) throws(EventLoopError) -> Change {
        guard let options else { return .door(nil) }
        if options.listen == door?.options.listen {
            return .options(options, try options.tls?.load())
        }
        return .door(
            try ConsoleDoor(
                options, gateway.limits, on: loop,
                now: { [unowned gateway] in gateway.exchange.now() }, trouble: trouble,
                ask: { [unowned self] in answer($0, from: $1, isKnown: $2, $3) }))
    }

    /// Puts what is prepared into force.
    func carryOut(_ change: Change) {
        switch change {
        case .options(let options, let tls): door?.configure(options, gateway.limits, tls)
        case .door(let new):
            close()
            door = new
        }
    }

    /// Takes back what does not come into force.
    func dismiss(_ change: Change) {
        if case .door(let door?) = change { door.close() }
    }

    /// Stops listening, and closes all connections.
    func close() {
        door?.close()
        door = nil
    }

    private func answer(
        _ request: HTTPRequest, from peer: PeerAddress, isKnown: (String) -> Void,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        do throws(Refusal) {
            let identity = try gateway.manager(asking: request, from: peer.host)
            isKnown(identity.name)
            desk.answer(request, by: identity, respond)
        } catch {
            desk.noteStranger()
            respond(HTTPResponse(HTTPReply(error)))
        }
    }
}

extension Gateway {
    /// Who asks with the token of `request`.
    ///
    /// - Throws: `unauthenticated`, or `forbidden` for a token without such a role.
    func manager(
        asking request: HTTPRequest, from host: String
    ) throws(Refusal) -> ManagementIdentity {
        let token = try request.bearerToken()
        let (identity, role) = try tokens.manager(in: token, at: Clock.wallMilliseconds())
        guard !revocations.cover(identity, on: Self.consoleDevice) else {
            throw Refusal(.unauthenticated, "the token is not good")
        }
        let manager = ManagementIdentity(identity.user.text, role, from: host)
        guard let text = try request.only(SocketUsers.roleHeader) else { return manager }
        guard let lower = ManagementIdentity.Role(rawValue: text) else {
            throw .bad(SocketUsers.roleHeader, "must be operator or viewer")
        }
        return manager.lowered(to: lower)
    }

    /// The device as which a token of the console counts where it is revoked.
    private static let consoleDevice = DeviceID("console")
}
