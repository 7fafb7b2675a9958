// Apple's push service over token authentication.

import JSON
import WebProtocols

/// What Apple gave the operator, and which app it is for.
public struct APNsIdentity: Sendable {
    /// The ES256 key of the developer account (`AuthKey_….p8`).
    public var key: SignatureKey
    /// The key's id, 10 characters.
    public var keyID: String
    /// The team's id, 10 characters.
    public var teamID: String
    /// The app's bundle id: the topic of notifications; VoIP pushes go to it with `.voip` added.
    public var bundleID: String
    /// Where production tokens go.
    public var production: HTTPURL
    /// Where sandbox tokens go.
    public var sandbox: HTTPURL

    /// An identity with Apple's own addresses.
    public init(
        key: SignatureKey, keyID: String, teamID: String, bundleID: String
    ) throws(URLError) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
        self.bundleID = bundleID
        production = try HTTPURL("https://api.push.apple.com")
        sandbox = try HTTPURL("https://api.sandbox.push.apple.com")
    }
}

/// Builds requests to Apple and understands the answers.
struct APNsService {
    /// Apple refuses tokens older than an hour, and too frequent new ones (at least 20 minutes).
    static let tokenLifetime: Int64 = 50 * 60_000
    /// A token that Apple calls expired is signed anew only when it is older than this: else each
    /// of many pushes at the same moment would sign one.
    static let leastTokenAge: Int64 = 60_000
    static let alertLimit = 4_096
    static let voipLimit = 5_120
    static let collapseLimit = 64

    let identity: APNsIdentity
    private var token: (text: String, signedAt: Int64)?

    init(_ identity: APNsIdentity) {
        self.identity = identity
    }

    /// The request for `notice`.
    mutating func request(
        for notice: PushNotice, at now: Int64
    ) throws(PushFailure) -> OutboundRequest {
        let body = try Self.body(of: notice, at: now)
        let token = notice.target.token
        guard (32...200).contains(token.utf8.count), token.utf8.allSatisfy(Self.isHexDigit) else {
            throw PushFailure(.deadToken, "the token is not hexadecimal")
        }
        let isSandbox = notice.target.environment == "sandbox"
        let base = isSandbox ? identity.sandbox : identity.production
        let path = "/3/device/" + token.lowercased()
        guard let url = try? HTTPURL(base.origin + path) else {
            throw PushFailure(.misconfigured, "the address of APNs is no URL")
        }
        var request = OutboundRequest("POST", url, body: body)
        request.headers = try headers(for: notice, at: now)
        request.addresses = .anywhere
        return request
    }

    private mutating func headers(
        for notice: PushNotice, at now: Int64
    ) throws(PushFailure) -> [HTTPHeader] {
        let isVoIP = notice.target.provider == .apnsVoIP
        let lifetime = notice.lifetime(at: now)
        var headers = [
            HTTPHeader("authorization", "bearer " + (try bearer(at: now))),
            HTTPHeader("apns-topic", topic(of: notice)),
            HTTPHeader("apns-push-type", isVoIP ? "voip" : "alert"),
            HTTPHeader("apns-priority", "10"),
            HTTPHeader(
                "apns-expiration", lifetime == 0 ? "0" : "\((now + lifetime + 999) / 1_000)"),
            HTTPHeader("apns-id", Self.identifier(notice.id)),
        ]
        if let collapseID = notice.content.collapseID {
            headers.append(HTTPHeader("apns-collapse-id", collapseID))
        }
        return headers
    }

    private func topic(of notice: PushNotice) -> String {
        let isVoIP = notice.target.provider == .apnsVoIP
        return notice.content.topic ?? identity.bundleID + (isVoIP ? ".voip" : "")
    }

    /// A plugin's topic must fit the kind of push.
    static func checkTopic(_ notice: PushNotice) throws(PushFailure) {
        let isVoIP = notice.target.provider == .apnsVoIP
        guard let topic = notice.content.topic, topic.hasSuffix(".voip") != isVoIP else { return }
        let rule = isVoIP ? "of a VoIP push ends" : "of a notification does not end"
        throw PushFailure(.invalid, "the topic \(rule) with .voip: '\(topic)'")
    }

    /// Signs the provider token anew when its time has come.
    private mutating func bearer(at now: Int64) throws(PushFailure) -> String {
        if let token, (0..<Self.tokenLifetime).contains(now - token.signedAt) { return token.text }
        let claims: JSONObject = [
            "iss": .string(identity.teamID), "iat": .integer(now / 1_000),
        ]
        do {
            let text = try TokenSigner.sign(
                claims, with: identity.key, keyID: identity.keyID, type: nil)
            token = (text, now)
            return text
        } catch {
            throw PushFailure(.misconfigured, "the key of APNs: \(error)")
        }
    }

    /// Apple called the token expired; false if a new one would be no better.
    mutating func renewAccess(at now: Int64) -> Bool {
        guard let signedAt = token?.signedAt, now - signedAt >= Self.leastTokenAge
        else { return false }
        token = nil
        return true
    }

    /// The payload, within Apple's limit.
    static func body(of notice: PushNotice, at now: Int64) throws(PushFailure) -> [UInt8] {
        let isVoIP = notice.target.provider == .apnsVoIP
        guard !isVoIP || (notice.reason.announcesCall && notice.content.kind.announcesCall) else {
            throw PushFailure(.invalid, "a VoIP push is for an incoming call only")
        }
        if let collapseID = notice.content.collapseID, collapseID.utf8.count > collapseLimit {
            throw PushFailure(.invalid, "the collapse id has more than \(collapseLimit) bytes")
        }
        // Of a notification the system shows the lines, of a call the app does.
        var payload = isVoIP ? notice.dataWithLines(at: now) : notice.data(at: now)
        payload["aps"] = .object(aps(of: notice, payload["aps"]?.object ?? [:]))
        let body = JSONValue.object(payload).bytes
        let limit = isVoIP ? voipLimit : alertLimit
        guard body.count <= limit else {
            throw PushFailure(.invalid, "the payload has \(body.count) bytes, more than \(limit)")
        }
        return body
    }

    /// A plugin's own `aps` is kept, and gets what it does not say.
    private static func aps(of notice: PushNotice, _ given: JSONObject) -> JSONObject {
        guard notice.target.provider == .apns else { return given }
        var aps = given
        if aps["alert"] == nil {
            var alert: JSONObject = [:]
            if let title = notice.content.title { alert["title"] = .string(title) }
            if let body = notice.content.body { alert["body"] = .string(body) }
            aps["alert"] = .object(alert)
        }
        if aps["sound"] == nil, notice.content.kind.announcesCall { aps["sound"] = "default" }
        return aps
    }

    /// The same UUID for each attempt of a job, in the form that Apple wants.
    static func identifier(_ job: String) -> String {
        let digits = Array(HashFunction.sha256.hash(Array(job.utf8)).prefix(16)).hex
        let ends = [8, 12, 16, 20, 32]
        let starts = [0] + ends.dropLast()
        return zip(starts, ends).map { start, end in
            String(digits.dropFirst(start).prefix(end - start))
        }.joined(separator: "-")
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false  // external: a byte
        }
    }
}

extension APNsService {
    /// What Apple's answer means for the push.
    static func verdict(
        _ response: OutboundResponse, _ target: PushTarget, at now: Int64
    ) -> PushVerdict {
        guard response.status != 200 else { return .delivered(response.header("apns-id")) }
        let body = try? JSONValue(parsing: response.body)
        let word = body?["reason"]?.string
        let reason = response.reason(word)
        switch word {
        case "BadDeviceToken": return .failed(PushFailure(.wrongEnvironment, reason))
        case "DeviceTokenNotForTopic", "TopicDisallowed", "BadTopic":
            return .failed(PushFailure(.wrongApp, reason))
        case "Unregistered", "ExpiredToken":
            return dead(reason, since: body?["timestamp"]?.integer, target)
        case "ExpiredProviderToken": return .accessExpired(reason)
        case "TooManyRequests", "TooManyProviderTokenUpdates", "IdleTimeout":
            return .temporary(response, reason, at: now)
        case "PayloadTooLarge", "PayloadEmpty", "BadCollapseId", "BadExpirationDate",
            "BadMessageId", "BadPriority", "InvalidPushType":
            return .failed(PushFailure(.invalid, reason))
        default: return byStatus(response, reason, at: now)  // external: Apple's words
        }
    }

    /// Words that this program does not know, and answers that are not Apple's.
    private static func byStatus(
        _ response: OutboundResponse, _ reason: String, at now: Int64
    ) -> PushVerdict {
        // A 410 without Apple's word is none of Apple, and says nothing of the token.
        switch response.status {
        case 413: .failed(PushFailure(.invalid, reason))
        case 408, 429, 500...: .temporary(response, reason, at: now)
        default: .failed(PushFailure(.misconfigured, reason))  // external: a status
        }
    }

    /// Apple says since when, and tells to keep a token that was registered after that.
    private static func dead(_ reason: String, since: Int64?, _ target: PushTarget) -> PushVerdict {
        if let since, since < target.registeredAt {
            return .failed(PushFailure(.outdated, reason + " before it was registered"))
        }
        return .failed(PushFailure(.deadToken, reason))
    }
}
