// The opening handshake of WebSocket (RFC 6455 sections 4.1 and 4.2), both sides.

/// The answer of a server to a request for a WebSocket.
public struct WebSocketAcceptance: Sendable, Equatable {
    /// The response 101 to send; frames follow.
    public let response: HTTPResponse
    /// The subprotocol chosen, nil when the client offered none that is served.
    public let subprotocol: String?

    /// Checks a request and accepts it.
    ///
    /// - Parameter subprotocols: those served. The client's first one that is among them is chosen.
    /// - Throws: `upgradeRequired`, `webSocketVersion` or `badWebSocketRequest`, whose `response`
    ///   is the answer.
    public init(of request: HTTPRequest, subprotocols: [String]) throws(HTTPError) {
        let headers = request.headers
        guard headers.list("Upgrade", contains: "websocket"), request.minorVersion >= 1 else {
            throw .upgradeRequired
        }
        guard request.method == .get else { throw .badWebSocketRequest("the method is not GET") }
        guard headers.list("Connection", contains: "upgrade") else {
            throw .badWebSocketRequest("Connection does not name Upgrade")
        }
        guard headers.all("Sec-WebSocket-Version") == ["13"] else { throw .webSocketVersion }
        let keys = headers.all("Sec-WebSocket-Key")
        guard keys.count == 1, Base64.decode(keys[0])?.count == 16 else {
            throw .badWebSocketRequest("Sec-WebSocket-Key is not 16 bytes in base64")
        }
        // Also an empty one in chunks: who reads its bytes as frames must not stand before us.
        guard request.body.isEmpty, headers["Transfer-Encoding"] == nil else {
            throw .badWebSocketRequest("it has a body")
        }
        let offered = headers.elements("Sec-WebSocket-Protocol")
        subprotocol = offered.first { subprotocols.contains($0) }
        var answer: HTTPHeaders = [
            "Upgrade": "websocket", "Connection": "Upgrade",
            "Sec-WebSocket-Accept": WebSocketKey.accept(keys[0]),
        ]
        if let subprotocol { answer.append("Sec-WebSocket-Protocol", subprotocol) }
        response = HTTPResponse(101, headers: answer)
    }
}

/// Why a client does not take a server's answer for a WebSocket.
public enum WebSocketRefusal: Error, Equatable, Sendable {
    /// Another status than 101.
    case status(HTTPStatus)
    /// `Upgrade` or `Connection` do not say that the protocol changes.
    case noUpgrade
    /// `Sec-WebSocket-Accept` does not belong to the key.
    case wrongAccept
    /// A subprotocol or an extension that was not offered.
    case notOffered(String)
}

/// A client's request for a WebSocket.
public struct WebSocketOffer: Sendable {
    /// The request to send; the response goes to `verify`.
    public let request: HTTPRequest
    private let key: String
    private let subprotocols: [String]

    /// An offer to the server at `host`.
    ///
    /// - Parameters:
    ///   - host: the name, with `:port` unless it is the default one.
    ///   - nonce: 16 bytes of randomness, new for each connection.
    ///   - headers: further fields, such as `Origin`.
    public init(
        host: String, target: HTTPTarget, nonce: (UInt64, UInt64), subprotocols: [String] = [],
        headers: HTTPHeaders = [:]
    ) {
        key = WebSocketKey.key(nonce)
        self.subprotocols = subprotocols
        var fields: HTTPHeaders = [
            "Host": host, "Upgrade": "websocket", "Connection": "Upgrade",
            "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13",
        ]
        if !subprotocols.isEmpty {
            fields.append("Sec-WebSocket-Protocol", subprotocols.joined(separator: ", "))
        }
        fields.append(headers)
        request = HTTPRequest(.get, target, headers: fields)
    }

    /// Checks the server's answer and returns the subprotocol it chose.
    public func verify(_ response: HTTPResponse) throws(WebSocketRefusal) -> String? {
        guard response.status == 101 else { throw .status(response.status) }
        let headers = response.headers
        guard headers.list("Upgrade", contains: "websocket"),
            headers.list("Connection", contains: "upgrade")
        else { throw .noUpgrade }
        guard headers.all("Sec-WebSocket-Accept") == [WebSocketKey.accept(key)] else {
            throw .wrongAccept
        }
        if let name = headers["Sec-WebSocket-Extensions"] { throw .notOffered(name) }
        let chosen = headers.all("Sec-WebSocket-Protocol")
        if let name = chosen.first(where: { !subprotocols.contains($0) }) {
            throw .notOffered(name)
        }
        return chosen.first
    }
}

enum WebSocketKey {
    static func key(_ nonce: (UInt64, UInt64)) -> String {
        let bytes = withUnsafeBytes(of: nonce.0.bigEndian) { Array($0) }
        return Base64.encode(bytes + withUnsafeBytes(of: nonce.1.bigEndian) { Array($0) })
    }

    /// The proof that the server has read the key (RFC 6455 section 4.2.2).
    static func accept(_ key: String) -> String {
        Base64.encode(SHA1.digest(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }
}
