// The management API behind its doors: the operator's socket and the console's listener.

import AgentCore
import CallModel
import CallWire
import JSON
import WebProtocols

/// Carries out the operations of the management API for those whom a door has identified, and keeps
/// the audit of what was changed. Owner: the loop's thread.
final class ManagementDesk {
    /// Carries out an operation: answers now or later, once.
    typealias Handler = (ManagementRequest, @escaping (HTTPResponse) -> Void) -> Void

    /// Bytes of one answer, roughly: a list goes on at its cursor.
    static let answerBytes = 256 << 10

    private var handlers: [ManagementOperation.Name: Handler] = [:]
    /// Who changed what; nil: nobody notes it.
    var audit: AuditLog?
    /// The other nodes; nil: this process is alone.
    var nodes: OtherNodes?
    /// Requests that were refused before it was known who asks.
    private(set) var refusedStrangers: UInt64 = 0

    /// Carries out the operation `name` by `handler`.
    func serve(_ name: ManagementOperation.Name, _ handler: @escaping Handler) {
        handlers[name] = handler
    }

    /// Nobody knows who asks, or they may not: the request is only counted.
    func noteStranger() { refusedStrangers += 1 }

    /// Answers a request of `identity`, now or later, once.
    func answer(
        _ request: HTTPRequest, by identity: ManagementIdentity,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        var request = request
        // The link leaves the body out.
        if request.method == .head { request.method = .get }
        let isChange = request.method != .get
        let respond = isChange ? noting(request, identity, respond) : respond
        do throws(Refusal) {
            let asked = try ManagementRequest(request, by: identity)
            guard let handler = handlers[asked.operation.name] else {
                throw Refusal(.unavailable, "the server begins or ends")
            }
            guard let node = asked.text("node") else { return handler(asked, respond) }
            try answer(request, asked, of: node, handler, respond)
        } catch {
            respond(HTTPResponse(error, at: request.target.rawPath))
        }
    }

    /// `respond`, which also leaves a line in the audit.
    private func noting(
        _ request: HTTPRequest, _ identity: ManagementIdentity,
        _ respond: @escaping (HTTPResponse) -> Void
    ) -> (HTTPResponse) -> Void {
        { [weak self] response in
            self?.audit?.note(request, identity, status: Int(response.status.rawValue))
            respond(response)
        }
    }
}

extension HTTPResponse {
    /// The problem document of a refusal.
    static func refused(_ code: Refusal.Code, _ text: String) -> HTTPResponse {
        HTTPResponse(HTTPReply(Refusal(code, text)))
    }

    /// The problem document of a refusal of a management request at `path`.
    fileprivate init(_ refusal: Refusal, at path: String) {
        guard refusal.code == .unsupported else {
            self.init(HTTPReply(refusal))
            return
        }
        self.init(HTTPReply(refusal, status: 405))
        headers.append("Allow", ManagementOperation.methods(at: path).joined(separator: ", "))
    }

    /// A JSON value.
    static func json(_ status: HTTPStatus, _ value: JSONValue) -> HTTPResponse {
        json(status, value.bytes)
    }

    /// A JSON text.
    static func json(_ status: HTTPStatus, _ text: [UInt8]) -> HTTPResponse {
        HTTPResponse(status, headers: ["Content-Type": "application/json"], body: text)
    }
}
