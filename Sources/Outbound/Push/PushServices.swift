// The push services that an operator has configured.

import JSON
import WebProtocols

/// The operator's own service that pushes.
public struct WebhookPushIdentity: Sendable {
    /// Where pushes are posted.
    public var url: HTTPURL
    /// What they are signed with; several while one is being changed.
    public var secrets: [WebhookSecret]
    /// Which addresses the host may have.
    public var addresses = AddressGuard.anywhere

    /// A service.
    public init(_ url: HTTPURL, secrets: [WebhookSecret]) {
        self.url = url
        self.secrets = secrets
    }
}

/// All that is configured; nil means that a provider is not.
public struct PushServices: Sendable {
    /// Apple, for `apns` and `apns_voip`.
    public var apns: APNsIdentity?
    /// Google.
    public var fcm: FCMIdentity?
    /// Browsers.
    public var web: WebPushIdentity?
    /// The operator's own.
    public var webhook: WebhookPushIdentity?

    /// Nothing is configured.
    public init() {}

    /// Whether registrations of `provider` can be served.
    public func serves(_ provider: PushCarrier) -> Bool {
        switch provider {
        case .apns, .apnsVoIP: apns != nil
        case .fcm: fcm != nil
        case .web: web != nil
        case .webhook: webhook != nil
        }
    }

    /// Whether `notice` could be sent as it is. Ask after every plugin that shaped it, and drop the
    /// step that broke it.
    ///
    /// - Throws: `invalid` with the rule that is broken, `misconfigured` if the provider is not
    ///   configured, `deadToken` for a subscription that is not valid.
    public func check(_ notice: PushNotice, at now: Int64) throws(PushFailure) {
        let content = notice.content
        guard notice.reason.announcesCall || !content.kind.announcesCall else {
            throw PushFailure(
                .invalid, "a push for '\(notice.reason.rawValue)' cannot announce a call")
        }
        guard serves(notice.target.provider) else { throw Self.notConfigured(notice) }
        if let topic = content.topic, !topic.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) {
            throw PushFailure(.invalid, "the topic is not printable ASCII")
        }
        if let id = content.collapseID, !id.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) {
            throw PushFailure(.invalid, "the collapse id is not printable ASCII")
        }
        if let lifetime = content.expiresIn, lifetime < 0 {
            throw PushFailure(.invalid, "expires_in is negative")
        }
        switch notice.target.provider {
        case .apns, .apnsVoIP:
            _ = try APNsService.body(of: notice, at: now)
            try APNsService.checkTopic(notice)
        case .fcm: if let fcm { _ = try FCMService(fcm).body(of: notice, at: now) }
        case .web: _ = try WebPushService.message(of: notice, at: now)
        case .webhook: _ = try WebhookPushService.body(of: notice, at: now)
        }
    }

    /// What is wrong with a browser's subscription, as far as that can be seen before a push; nil:
    /// nothing.
    public func defect(ofSubscription text: String) -> SubscriptionError? {
        do throws(SubscriptionError) {
            let subscription = try WebPushSubscription(parsing: text)
            try web?.check(subscription.endpoint)
            return nil
        } catch {
            return error
        }
    }

    static func notConfigured(_ notice: PushNotice) -> PushFailure {
        PushFailure(.misconfigured, "'\(notice.target.provider.rawValue)' is not configured")
    }
}

/// Posts pushes to the operator's own service, signed like webhooks.
struct WebhookPushService {
    static let bodyLimit = 20_000

    let identity: WebhookPushIdentity

    /// The request for `notice`; the id is the job's, for every attempt.
    func request(for notice: PushNotice, at now: Int64) throws(PushFailure) -> OutboundRequest {
        let body = try Self.body(of: notice, at: now)
        var request = OutboundRequest("POST", identity.url, body: body)
        request.addresses = identity.addresses
        request.headers =
            WebhookSecret.headers(
                id: "push_" + APNsService.identifier(notice.id), body: body, at: now,
                signedWith: identity.secrets)
            + [HTTPHeader("content-type", "application/json")]
        if let trace = notice.trace { request.headers.append(HTTPHeader("traceparent", trace)) }
        return request
    }

    static func body(of notice: PushNotice, at now: Int64) throws(PushFailure) -> [UInt8] {
        let data = notice.dataWithLines(at: now)
        let body = JSONValue.object([
            "type": .string("push." + notice.content.kind.rawValue), "timestamp_at": .integer(now),
            "token": .string(notice.target.token), "data": .object(data),
        ]).bytes
        guard body.count <= bodyLimit else {
            throw PushFailure(.invalid, "the body has \(body.count) bytes, more than \(bodyLimit)")
        }
        return body
    }

    static func verdict(_ response: OutboundResponse, at now: Int64) -> PushVerdict {
        let reason = response.reason(nil)
        switch response.status {
        case 200...299: return .delivered(nil)
        case 410: return .failed(PushFailure(.deadToken, reason))
        case 413: return .failed(PushFailure(.invalid, reason))
        case 408, 429, 500...: return .temporary(response, reason, at: now)
        default: return .failed(PushFailure(.misconfigured, reason))  // external: a status
        }
    }
}
