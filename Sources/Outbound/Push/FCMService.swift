// Google's push service, HTTP v1, with a service account.

import JSON
import WebProtocols

/// Why a text is no service account.
public struct ServiceAccountError: Error, Equatable, CustomStringConvertible {
    /// What is wrong with it.
    public let description: String
}

/// A service account as Google's JSON file holds it.
public struct FCMIdentity: Sendable {
    /// The project.
    public var projectID: String
    /// The account's name.
    public var email: String
    /// Its RS256 key and that key's id.
    public var key: SignatureKey
    /// The id of the key; nil: it has none.
    public var keyID: String?
    /// Where access tokens come from.
    public var tokenURL: HTTPURL
    /// Where pushes go.
    public var service: HTTPURL

    /// Reads the file's text.
    public init(serviceAccount text: String) throws(ServiceAccountError) {
        guard let account = try? JSONValue(parsing: text) else {
            throw ServiceAccountError(description: "the service account is not JSON")
        }
        projectID = try Self.text("project_id", account)
        email = try Self.text("client_email", account)
        keyID = account["private_key_id"]?.string
        do {
            key = try SignatureKey(.rs256, Self.text("private_key", account))
        } catch let error as KeyError {
            throw ServiceAccountError(description: "'private_key': \(error)")
        } catch {
            throw ServiceAccountError(description: "\(error)")
        }
        guard key.canSign else {
            throw ServiceAccountError(description: "'private_key': \(KeyError.publicOnly)")
        }
        do {
            tokenURL = try HTTPURL(Self.text("token_uri", account))
            service = try HTTPURL("https://fcm.googleapis.com")
        } catch let error as URLError {
            throw ServiceAccountError(description: "'token_uri' \(error)")
        } catch {
            throw ServiceAccountError(description: "\(error)")
        }
    }

    private static func text(
        _ name: String, _ account: JSONValue
    ) throws(ServiceAccountError) -> String {
        guard let text = account[name]?.string, !text.isEmpty else {
            throw ServiceAccountError(description: "the service account has no '\(name)'")
        }
        return text
    }
}

/// Builds requests to Google and understands the answers.
struct FCMService {
    static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    static let dataLimit = 4_096
    /// Four weeks, the longest that Google takes.
    static let longestLifetime: Int64 = 2_419_200_000

    let identity: FCMIdentity

    init(_ identity: FCMIdentity) {
        self.identity = identity
    }

    // MARK: Access

    /// Seconds that a token is taken for, whatever the answer says: tokens that ran out as they
    /// came would be asked for again and again.
    private static let shortestAccess: Int64 = 60
    private static let longestAccess: Int64 = 86_400
    /// Google's tokens have up to 2,048 bytes.
    private static let accessTokenMax = 8_192

    /// The request for an access token (RFC 7523).
    func grant(at now: Int64) throws(PushFailure) -> OutboundRequest {
        let seconds = now / 1_000
        let claims: JSONObject = [
            "iss": .string(identity.email), "scope": .string(Self.scope),
            "aud": .string(identity.tokenURL.text), "iat": .integer(seconds),
            "exp": .integer(seconds + 3_600),
        ]
        let assertion: String
        do {
            assertion = try TokenSigner.sign(claims, with: identity.key, keyID: identity.keyID)
        } catch {
            throw PushFailure(.misconfigured, "the key of FCM: \(error)")
        }
        let type = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        var request = OutboundRequest("POST", identity.tokenURL)
        request.headers = [HTTPHeader("content-type", "application/x-www-form-urlencoded")]
        request.addresses = .anywhere
        request.body = Array("grant_type=\(type)&assertion=\(assertion)".utf8)
        return request
    }

    /// The answer to `grant`.
    static func access(
        _ response: OutboundResponse, at now: Int64
    ) -> Result<FCMAccess, AccessFailure> {
        let body = try? JSONValue(parsing: response.body)
        if response.status == 200, let token = body?["access_token"]?.string, isToken(token) {
            let asked = body?["expires_in"]?.integer ?? 3_600
            let seconds = min(max(asked, shortestAccess), longestAccess)
            return .success(FCMAccess(token: token, lifetime: seconds * 1_000, at: now))
        }
        // Whoever answers so is in trouble, or is not Google: a refusal has another status.
        guard response.status != 200 else {
            let reason = response.reason("without a usable access_token")
            return .failure(AccessFailure(reason: reason, isTemporary: true))
        }
        let words = [body?["error"]?.string, body?["error_description"]?.string]
            .compactMap { $0 }.joined(separator: ": ")
        let isTemporary = response.status == 429 || response.status >= 500
        return .failure(
            AccessFailure(
                reason: response.reason(words.isEmpty ? nil : words),
                isTemporary: isTemporary || response.status == 408))
    }

    /// Whether it can stand in a header field: one that cannot would fail every push until its end.
    private static func isToken(_ text: String) -> Bool {
        (1...accessTokenMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21..<0x7F).contains($0) }
    }

    // MARK: Push

    /// The request for `notice`.
    func request(
        for notice: PushNotice, _ access: FCMAccess, at now: Int64
    ) throws(PushFailure) -> OutboundRequest {
        let body = try body(of: notice, at: now)
        let path = "/v1/projects/\(identity.projectID)/messages:send"
        guard let url = try? HTTPURL(identity.service.origin + path) else {
            throw PushFailure(.misconfigured, "the project id of FCM does not fit into a URL")
        }
        var request = OutboundRequest("POST", url, body: body)
        request.addresses = .anywhere
        request.headers = [
            HTTPHeader("authorization", "Bearer " + access.token),
            HTTPHeader("content-type", "application/json"),
        ]
        return request
    }

    /// A message of data only: the app decides what is shown, and rings by itself.
    func body(of notice: PushNotice, at now: Int64) throws(PushFailure) -> [UInt8] {
        let data = try Self.data(of: notice, at: now)
        let lifetime = min(notice.lifetime(at: now), Self.longestLifetime)
        var android: JSONObject = [
            "priority": "HIGH", "ttl": .string("\((lifetime + 999) / 1_000)s"),
        ]
        if let collapseID = notice.content.collapseID {
            android["collapse_key"] = .string(collapseID)
        }
        let message: JSONObject = [
            "token": .string(notice.target.token), "data": .object(data),
            "android": .object(android),
        ]
        return JSONValue.object(["message": .object(message)]).bytes
    }

    /// Values are strings; what is none becomes its JSON text.
    private static func data(
        of notice: PushNotice, at now: Int64
    ) throws(PushFailure) -> JSONObject {
        let all = notice.dataWithLines(at: now)
        var data: JSONObject = [:]
        var size = 0
        for member in all.members {
            guard !isReserved(member.key) else {
                throw PushFailure(.invalid, "FCM keeps '\(member.key)' for itself")
            }
            let text = member.value.string ?? member.value.description
            data[member.key] = .string(text)
            size += member.key.utf8.count + text.utf8.count
        }
        guard size <= dataLimit else {
            throw PushFailure(.invalid, "the data has \(size) bytes, more than \(dataLimit)")
        }
        return data
    }

    private static func isReserved(_ key: String) -> Bool {
        ["from", "message_type"].contains(key) || key.hasPrefix("google.") || key.hasPrefix("gcm.")
    }

    /// What Google's answer means for the push.
    static func verdict(_ response: OutboundResponse, at now: Int64) -> PushVerdict {
        let body = try? JSONValue(parsing: response.body)
        guard response.status != 200 else { return .delivered(body?["name"]?.string) }
        let error = body?["error"]
        let details = error?["details"]?.array ?? []
        let code = details.lazy.compactMap { $0["errorCode"]?.string }.first
        let word = code ?? error?["status"]?.string
        let reason = response.reason(word)
        switch word {
        case "UNREGISTERED": return .failed(PushFailure(.deadToken, reason))
        case "SENDER_ID_MISMATCH": return .failed(PushFailure(.wrongApp, reason))
        case "INVALID_ARGUMENT":
            return .failed(PushFailure(isTokenFault(details) ? .deadToken : .invalid, reason))
        case "UNAUTHENTICATED": return .accessExpired(reason)
        case "QUOTA_EXCEEDED", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL":
            return .temporary(response, reason, at: now)
        default:  // external: Google's words
            let isTemporary = [408, 429].contains(response.status) || response.status >= 500
            return isTemporary
                ? .temporary(response, reason, at: now)
                : .failed(PushFailure(.misconfigured, reason))
        }
    }

    /// A text that never was a token gets the same answer as a wrong message, except for the field.
    private static func isTokenFault(_ details: [JSONValue]) -> Bool {
        details.contains { detail in
            (detail["fieldViolations"]?.array ?? []).contains { $0["field"] == "message.token" }
        }
    }
}

/// An access token and when to get the next one.
struct FCMAccess: Equatable {
    let token: String
    /// Pushes with it are in time until then.
    let renewAt: Int64
    private let grantedAt: Int64

    /// Renewed five minutes before its end, or half-way if it is short-lived.
    init(token: String, lifetime: Int64, at now: Int64) {
        self.token = token
        grantedAt = now
        renewAt = now + max(lifetime - 300_000, lifetime / 2)
    }

    /// Whether it is so old that a refusal of it is worth a new one: of many pushes that were
    /// refused together, the first renews it for all.
    func isOlder(than now: Int64) -> Bool { now - grantedAt >= 1_000 }
}

/// Why there is no access token.
struct AccessFailure: Error, Equatable {
    let reason: String
    let isTemporary: Bool
}
