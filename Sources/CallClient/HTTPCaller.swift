// The operations of the protocol over HTTP: one request each, no session.

import CallModel
import CallWire
import EventLoop
import JSON
import WebProtocols

/// Asks for operations over HTTP in the name of a user. Thread-confined to its loop.
///
/// A phone that a push woke can act with one request, and a program that needs no events can do
/// without a WebSocket.
public struct HTTPCaller {
    /// Why an operation has no result.
    public enum Failure: Error, Sendable, Equatable {
        /// The server refused it; nothing was changed.
        case refused(Refusal)
        /// No response came: with the same key it may be asked again.
        case unanswered(HTTPFailure)
        /// The answer is not one of a callagent server; its status.
        case unreadable(HTTPStatus)
    }

    private let server: ServerAddress
    private let token: String
    private let device: DeviceID?
    private let loop: EventLoop
    private let encoder = RequestEncoder()
    /// The user for whom a server's token acts (`X-User`); nil: the user of the token.
    public var user: UserID?
    /// See `HTTPExchange.Options`.
    public var options = HTTPExchange.Options()

    /// Asks `server` in the name of the user of `token`.
    public init(
        _ server: ServerAddress, token: String, device: DeviceID? = nil, on loop: EventLoop
    ) {
        self.server = server
        self.token = token
        self.device = device
        self.loop = loop
    }

    /// Asks for an operation.
    ///
    /// - Parameters:
    ///   - key: the idempotency key; repeat an unanswered request with the same.
    ///   - completion: called once, on the loop's thread, never before this returns; gets the
    ///     members of `ok`.
    @discardableResult
    public func perform(
        _ operation: Operation, key: String? = nil,
        _ completion: @escaping (Result<JSONValue, Failure>) -> Void
    ) -> HTTPExchange {
        // Only the session's own messages have no path, and they are no operations.
        let target = server.target(operation.name.httpPath ?? "/")
        var request = HTTPRequest(.post, target, body: encoder.body(operation))
        request.headers = ["Authorization": "Bearer \(token)", "Content-Type": "application/json"]
        if let user { request.headers.append("X-User", user.text) }
        if let device { request.headers.append("X-Device", device.text) }
        if let key { request.headers.append("Idempotency-Key", key) }
        return HTTPExchange.send(request, to: server, on: loop, options: options) { result in
            completion(Self.read(result))
        }
    }

    private static func read(
        _ result: Result<HTTPResponse, HTTPFailure>
    ) -> Result<JSONValue, Failure> {
        switch result {
        case .failure(let failure): .failure(.unanswered(failure))
        case .success(let response): read(response)
        }
    }

    private static func read(_ response: HTTPResponse) -> Result<JSONValue, Failure> {
        let limits = JSONLimits(bytes: max(response.body.count, 1))
        guard let value = try? JSONValue(parsing: response.body, limits: limits),
            value.object != nil
        else { return .failure(.unreadable(response.status)) }
        if response.status == 200 { return .success(value) }
        // RFC 9457 has the words in `detail`; the protocol's own error object stands beside them.
        if let error = value["error"], error.object != nil {
            return .failure(.refused(Refusal(error)))
        }
        guard let code = value["code"] else { return .failure(.unreadable(response.status)) }
        var error = JSONObject()
        error["code"] = code
        error["message"] = value["detail"]
        return .failure(.refused(Refusal(.object(error))))
    }
}
