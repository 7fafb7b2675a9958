// A request to another server and its result, as values.

import WebProtocols

/// A request.
public struct OutboundRequest: Sendable, Equatable {
    /// The method, in capitals.
    public var method: String
    /// Where it goes. Redirects are never followed: they are responses like others.
    public var url: HTTPURL
    /// Header fields beyond those that follow from the rest.
    public var headers: [HTTPHeader]
    /// The body.
    public var body: [UInt8]
    /// From the submission to the end of the response, in milliseconds; waiting for a free place
    /// counts.
    public var timeout: Int64 = 10_000
    /// For name, connection and TLS together, in milliseconds.
    public var connectTimeout: Int64 = 5_000
    /// The longest body of a response in bytes; a longer one is a failure.
    public var responseLimit = 65_536
    /// Whether it may be sent again, once and at once, when a connection that had given answers
    /// before was closed before it gave one to this request, or its stream was ended without one:
    /// the server may or may not have read it. For receivers that recognise repetitions. (Over
    /// HTTP/1.1 libcurl does that for every request.) A new connection that is closed is a failure,
    /// and whoever sent the request decides when it is worth another attempt.
    public var mayRepeat = false
    /// Which addresses it may reach.
    public var addresses = AddressGuard.publicOnly
    /// The cause; nil: the sender itself shares out fairly.
    public var cause: SendingCause?
    /// The receiver, if one origin has several; nil: the origin.
    public var receiver: String?

    /// A request with the default limits.
    public init(
        _ method: String, _ url: HTTPURL, headers: [HTTPHeader] = [], body: [UInt8] = []
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }

    /// About how much memory it takes while it waits.
    var byteCount: Int {
        headers.reduce(url.text.utf8.count + body.count + 256) {
            $0 + $1.name.utf8.count + $1.value.utf8.count + 32
        }
    }
}

/// A response, whatever its status.
public struct OutboundResponse: Sendable, Equatable {
    /// The status code.
    public var status: Int
    /// Header fields in order, names in lower case.
    public var headers: [HTTPHeader]
    /// The body as it came: nothing is decompressed.
    public var body: [UInt8]
    /// 1 or 2.
    public var version: Int

    /// A response of these parts.
    public init(status: Int, headers: [HTTPHeader] = [], body: [UInt8] = [], version: Int = 2) {
        self.status = status
        self.headers = headers
        self.body = body
        self.version = version
    }

    /// The first value of the field `name`, given in lower case.
    public func header(_ name: String) -> String? {
        headers.first { $0.name == name }?.value
    }
}

/// Why there is no response.
public struct OutboundFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// The closed list of causes.
    public enum Kind: String, Sendable {
        /// Too much waits already; nothing was sent.
        case overloaded
        /// Not sent: a header or the method cannot be written.
        case malformed
        /// The time was over.
        case timedOut = "timed_out"
        /// The name has no address.
        case unresolved
        /// The name has only addresses that the guard refuses.
        case refusedAddress = "refused_address"
        /// No connection.
        case unreachable
        /// No trust: certificate, name or handshake.
        case tls
        /// The response is longer than its limit.
        case tooLarge = "too_large"
        /// The connection or stream ended before the response did.
        case connectionLost = "connection_lost"
        /// The engine was closed.
        case closed
    }

    /// What happened.
    public var kind: Kind
    /// More about it, for the log.
    public var detail: String
    /// Whether the request was under way, so that the other side may have acted on it.
    public var mayHaveArrived: Bool

    /// A failure.
    public init(_ kind: Kind, _ detail: String = "", mayHaveArrived: Bool = false) {
        self.kind = kind
        self.detail = detail
        self.mayHaveArrived = mayHaveArrived
    }

    /// One line for the log.
    public var description: String {
        detail.isEmpty ? kind.rawValue : "\(kind.rawValue): \(detail)"
    }
}

/// The number of a submitted request, unique within its engine.
public struct HTTPTicket: Sendable, Hashable {
    let number: UInt64
}

/// The end of a request.
public struct HTTPCompletion: Sendable {
    /// Which request.
    public let ticket: HTTPTicket
    /// Its result.
    public let result: Result<OutboundResponse, OutboundFailure>
    /// From submission to end, in milliseconds.
    public let elapsed: Int64
}
