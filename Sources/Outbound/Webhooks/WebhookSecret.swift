// Signatures of Standard Webhooks 1.0.0, over the body and not beside it.

import WebProtocols

/// Why a text is no secret.
public enum WebhookSecretError: Error, Equatable, CustomStringConvertible {
    /// It does not begin with `whsec_`.
    case noPrefix
    /// What follows is not base64.
    case notBase64
    /// It has not 24 to 64 bytes.
    case length(Int)

    /// One line, to follow the name of the secret's place.
    public var description: String {
        switch self {
        case .noPrefix: "must begin with 'whsec_'"
        case .notBase64: "must be base64 after 'whsec_'"
        case .length(let bytes): "has \(bytes) bytes, 24 to 64 are needed"
        }
    }
}

/// What we and a receiver of webhooks both know.
public struct WebhookSecret: Sendable, Equatable {
    private static let prefix = "whsec_"
    private let key: [UInt8]

    /// Reads `whsec_` and base64 of 24 to 64 bytes.
    public init(_ text: String) throws(WebhookSecretError) {
        guard text.hasPrefix(Self.prefix) else { throw .noPrefix }
        guard let key = Base64.decodeEither(String(text.dropFirst(Self.prefix.count))) else {
            throw .notBase64
        }
        guard (24...64).contains(key.count) else { throw .length(key.count) }
        self.key = key
    }

    /// A fresh secret as text, to be shown to the operator once.
    public static func make() -> String { prefix + Base64.encode(RandomBytes.make(32)) }

    /// The fields that let a receiver believe `body`.
    ///
    /// - Parameters:
    ///   - id: the same for every attempt, so that the receiver notices repetitions.
    ///   - now: milliseconds since 1970; receivers refuse old ones.
    ///   - secrets: each gives a signature, so that a secret can be changed without a gap.
    public static func headers(
        id: String, body: [UInt8], at now: Int64, signedWith secrets: [WebhookSecret]
    ) -> [HTTPHeader] {
        let seconds = "\(now / 1_000)"
        let message = Array("\(id).\(seconds).".utf8) + body
        let signatures = secrets.map { secret in
            "v1," + Base64.encode(HashFunction.sha256.authenticate(message, key: secret.key))
        }
        return [
            HTTPHeader("webhook-id", id), HTTPHeader("webhook-timestamp", seconds),
            HTTPHeader("webhook-signature", signatures.joined(separator: " ")),
        ]
    }
}
