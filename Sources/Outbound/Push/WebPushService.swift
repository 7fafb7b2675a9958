// Pushes to browsers: RFC 8030, with the message encrypted for one of them (RFC 8291).

import JSON
import WebProtocols

/// Who we are to push services (RFC 8292), and where we are ready to push.
public struct WebPushIdentity: Sendable {
    /// The ES256 key whose public half the web app subscribes with.
    public var key: SignatureKey
    /// How to reach the operator: `mailto:…` or `https:…`.
    public var subject: String
    /// Hosts that subscriptions may name; `*.example.com` means everything below. Nil: all hosts
    /// with public addresses.
    public var hosts: [String]?
    /// Which addresses those hosts may have.
    public var addresses = AddressGuard.publicOnly

    /// An identity.
    ///
    /// - Parameter key: PEM, or the 32 bytes of the private number in base64url, as tools for Web
    ///   Push print it.
    public init(key text: String, subject: String) throws(KeyError) {
        if let scalar = Base64.decode(text, as: .url), scalar.count == 32 {
            guard let pair = KeyPair(p256Scalar: scalar) else { throw .unreadablePEM }
            key = SignatureKey(p256: pair)
        } else {
            key = try SignatureKey(.es256, text)
        }
        guard key.canSign else { throw .publicOnly }
        self.subject = subject
    }

    /// What the web app passes to `subscribe` as `applicationServerKey`, in base64url.
    public var publicKey: String { Base64.encode(key.p256Point ?? [], as: .url) }

    func admits(_ host: String) -> Bool {
        guard let hosts else { return true }
        return hosts.contains { pattern in
            pattern.hasPrefix("*.") ? host.hasSuffix(pattern.dropFirst()) : host == pattern
        }
    }

    /// Refuses an endpoint that no push would go to. Where a name leads shows at each push.
    func check(_ endpoint: HTTPURL) throws(SubscriptionError) {
        guard admits(endpoint.host) else {
            throw SubscriptionError(
                "endpoint", "leads to \(endpoint.host), where pushes do not go")
        }
        let literal = endpoint.host.filter { $0 != "[" && $0 != "]" }
        if let address = IPAddress(literal), !addresses.admits(address) {
            throw SubscriptionError("endpoint", "leads to \(literal), which is no public address")
        }
    }
}

/// What is wrong with a browser's subscription.
public struct SubscriptionError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The path of the field: `endpoint`, `keys.p256dh`, `keys.auth`.
    public let field: String
    /// The rule that it breaks, to follow the field's name.
    public let reason: String

    init(_ field: String, _ reason: String) {
        self.field = field
        self.reason = reason
    }

    /// One line.
    public var description: String { "the subscription's '\(field)' \(reason)" }
}

/// A browser's subscription, as `PushSubscription.toJSON()` gives it.
public struct WebPushSubscription: Sendable, Equatable {
    /// Where pushes go.
    public let endpoint: HTTPURL
    /// The browser's public key, a point on P-256, as bytes and read.
    let publicKey: [UInt8]
    let browser: KeyPair
    /// The browser's secret, 16 bytes.
    let secret: [UInt8]

    /// Reads a subscription.
    public init(parsing text: String) throws(SubscriptionError) {
        guard let json = try? JSONValue(parsing: text, limits: JSONLimits(bytes: 8_192)),
            let endpoint = json["endpoint"]?.string
        else { throw SubscriptionError("endpoint", "is missing") }
        do {
            self.endpoint = try HTTPURL(endpoint)
        } catch {
            throw SubscriptionError("endpoint", "\(error)")
        }
        guard self.endpoint.isSecure else {
            throw SubscriptionError("endpoint", "is not https")
        }
        publicKey = Self.bytes("p256dh", json)
        guard let browser = KeyPair(p256Point: publicKey) else {
            throw SubscriptionError("keys.p256dh", "is no point on P-256")
        }
        self.browser = browser
        secret = Self.bytes("auth", json)
        guard secret.count == 16 else {
            throw SubscriptionError("keys.auth", "is not 16 bytes")
        }
    }

    /// Whether both are the same subscription.
    public static func == (a: WebPushSubscription, b: WebPushSubscription) -> Bool {
        a.endpoint == b.endpoint && a.publicKey == b.publicKey && a.secret == b.secret
    }

    private static func bytes(_ name: String, _ json: JSONValue) -> [UInt8] {
        json["keys"]?[name]?.string.flatMap(Base64.decodeEither) ?? []
    }
}

/// Builds requests to push services and understands the answers.
struct WebPushService {
    /// What a service must take at least is 4,096 bytes of body (RFC 8030 section 7.2), which
    /// leaves so much for the message (RFC 8291 section 4).
    static let messageLimit = 3_993
    /// A signed token serves one service for so long; a day is the limit (RFC 8292 section 2).
    static let tokenLifetime: Int64 = 12 * 3_600_000
    /// So many services are remembered.
    static let tokenLimit = 256

    let identity: WebPushIdentity
    private var tokens: [String: (text: String, renewAt: Int64)] = [:]

    init(_ identity: WebPushIdentity) {
        self.identity = identity
    }

    /// The request for `notice`.
    mutating func request(
        for notice: PushNotice, at now: Int64
    ) throws(PushFailure) -> OutboundRequest {
        let subscription = try subscription(of: notice)
        let message = try Self.message(of: notice, at: now)
        guard let sealed = WebPushSeal.seal(message, for: subscription) else {
            throw PushFailure(.misconfigured, "the message cannot be encrypted")
        }
        var request = OutboundRequest("POST", subscription.endpoint, body: sealed)
        request.addresses = identity.addresses
        request.headers = [
            HTTPHeader("authorization", try authorization(subscription.endpoint.origin, now)),
            HTTPHeader("content-encoding", "aes128gcm"),
            HTTPHeader("content-type", "application/octet-stream"),
            HTTPHeader("ttl", "\((notice.lifetime(at: now) + 999) / 1_000)"),
            HTTPHeader("urgency", "high"),
        ]
        if let collapseID = notice.content.collapseID {
            request.headers.append(HTTPHeader("topic", Self.topic(collapseID)))
        }
        return request
    }

    private func subscription(
        of notice: PushNotice
    ) throws(PushFailure) -> WebPushSubscription {
        let subscription: WebPushSubscription
        do throws(SubscriptionError) {
            subscription = try WebPushSubscription(parsing: notice.target.token)
        } catch {
            throw PushFailure(.deadToken, error.description)
        }
        // The operator may allow it later.
        guard identity.admits(subscription.endpoint.host) else {
            throw PushFailure(.invalid, "pushes to \(subscription.endpoint.host) are not allowed")
        }
        return subscription
    }

    /// The message that the service worker gets.
    static func message(of notice: PushNotice, at now: Int64) throws(PushFailure) -> [UInt8] {
        let data = notice.dataWithLines(at: now)
        let message = JSONValue.object(data).bytes
        guard message.count <= messageLimit else {
            throw PushFailure(
                .invalid, "the message has \(message.count) bytes, more than \(messageLimit)")
        }
        return message
    }

    /// At most 32 characters of base64url (RFC 8030 section 5.4), whatever the collapse id.
    static func topic(_ collapseID: String) -> String {
        String(Base64.encode(HashFunction.sha256.hash(Array(collapseID.utf8)), as: .url).prefix(32))
    }

    private mutating func authorization(
        _ origin: String, _ now: Int64
    ) throws(PushFailure) -> String {
        let suffix = ", k=" + identity.publicKey
        if let token = tokens[origin], now < token.renewAt {
            return "vapid t=\(token.text)" + suffix
        }
        let claims: JSONObject = [
            "aud": .string(origin), "exp": .integer((now + Self.tokenLifetime) / 1_000),
            "sub": .string(identity.subject),
        ]
        guard let token = try? TokenSigner.sign(claims, with: identity.key) else {
            throw PushFailure(.misconfigured, "the key of Web Push cannot sign")
        }
        if tokens.count >= Self.tokenLimit { tokens = [:] }
        tokens[origin] = (token, now + Self.tokenLifetime / 2)
        return "vapid t=\(token)" + suffix
    }

    /// What a push service's answer means for the push (RFC 8030 section 5 and 7).
    static func verdict(_ response: OutboundResponse, at now: Int64) -> PushVerdict {
        let reason = response.reason(nil)
        switch response.status {
        case 200...299: return .delivered(response.header("location"))
        case 404, 410: return .failed(PushFailure(.deadToken, reason))
        case 413: return .failed(PushFailure(.invalid, reason))
        case 408, 429, 500...: return .temporary(response, reason, at: now)
        default: return .failed(PushFailure(.misconfigured, reason))  // external: a status
        }
    }
}
