// Clients that other nodes bring: the same checks as for those that are connected here.

import AgentCore
import CallModel
import CallWire
import ClusterCore
import WebProtocols

extension Gateway {
    /// A client of another node shows its token.
    func check(_ hello: Hello, _ id: MessageID, of client: RemoteClient) {
        guard exchange.isReady else { return desk.turnAway(id, of: client.line) }
        do throws(Refusal) {
            let identity = try identity(of: hello)
            let address = Address(identity.user, hello.device)
            // A newer connection of the device is not replaced by one that came before it.
            if let kept = client.kept, let live = desk.sessions[address],
                live.session.id != kept.session
            {
                throw Refusal(.unavailable, "a newer connection of this device")
            }
            desk.admit(identity, hello, id, over: client.line, kept: client.kept)
        } catch {
            refuse(client, from: client.source, error, hello.token) { [unowned self] in
                desk.handle(.refused(error), of: client.line)
            }
        }
    }

    /// A client of another node asks over HTTP.
    func answer(_ request: HTTPRequest, of client: RemoteClient) {
        let path = request.target.rawPath
        do throws(HTTPRoute.Failure) {
            switch try HTTPRoute(method: request.method.rawValue, path: path) {
            case .call(let id): get(id, request, client)
            case .operation(let name): operation(name, request, client)
            case .webPushKey: client.respond(webPushKey ?? HTTPResponse(HTTPReply(Self.notServed)))
            case .openAPI, .asyncAPI:
                client.respond(document(path) ?? HTTPResponse(HTTPReply(Self.notServed)))
            case .socket, .health, .readiness, .metrics, .clientFile, .phoneFile, .options:
                client.respond(HTTPResponse(HTTPReply(Self.notServed)))
            }
        } catch {
            client.respond(HTTPResponse(error))
        }
    }
}
