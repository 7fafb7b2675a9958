// Why a token is refused, in words for the operator's log.

import JSON

/// What was wrong with a token. Clients learn `unauthenticated`, and for a token that one of our
/// keys has signed whether time is the reason; the rest is for the log. Text from the token appears
/// shortened and printable, never the token itself.
public enum TokenRefusal: Error, Equatable, Sendable {
    /// The parts of a token.
    public enum Part: String, Sendable {
        /// Before the first dot.
        case header
        /// Between the dots.
        case payload
        /// After the last dot.
        case signature
    }

    /// More bytes than the verifier looks at.
    case tooLong(bytes: Int, limit: Int)
    /// A compact token has three parts with dots between them (RFC 7515 section 7.1).
    case notThreeParts(found: Int)
    /// A part is not base64url without padding.
    case notBase64(Part)
    /// A part is not JSON.
    case notJSON(Part, JSONError)
    /// A part is JSON but not an object.
    case notAnObject(Part)
    /// The header asks for an extension that must be understood (RFC 7515 section 4.1.11).
    case criticalExtension
    /// No configured key has this `kid`.
    case unknownKey(String)
    /// No key that the token may be checked with has this `alg`.
    case wrongAlgorithm(String, pinned: [SignatureAlgorithm])
    /// No key that the token may be checked with made this signature.
    case wrongSignature
    /// A needed header member or claim is absent.
    case missing(String)
    /// A header member or claim has another type or form than it should.
    case malformed(String)
    /// `exp` has passed; both moments are milliseconds since 1970.
    case expired(at: Int64, now: Int64)
    /// `exp` is further ahead than a token may live; both are milliseconds.
    case livesTooLong(Int64, longest: Int64)
    /// `nbf` has not come; both moments are milliseconds since 1970.
    case notYetValid(until: Int64, now: Int64)
    /// `iss` is not the issuer of the key.
    case wrongIssuer(found: String?, wanted: String)
    /// `aud` does not name us.
    case wrongAudience(found: [String], wanted: String)
    /// The key that signed it gives no such `role`.
    case wrongRole(String)
}

extension TokenRefusal {
    /// What who shows the token may know: a text for people, and a word for programs that then ask
    /// for a new token. It does not help to forge tokens: times are checked only after the
    /// signature.
    public var reasonForClients: (message: String, code: String?)? {
        switch self {
        case .expired: ("the token has run out", "expired")
        case .notYetValid: ("the token is not valid yet (nbf): are the clocks right?", nil)
        default: nil
        }
    }
}

extension TokenRefusal: CustomStringConvertible {
    /// One line for the log.
    public var description: String {
        switch self {
        case .tooLong(let bytes, let limit):
            "the token has \(bytes) bytes, more than \(limit)"
        case .notThreeParts(let found): "the token has \(found) parts instead of 3"
        case .notBase64(let part): "the \(part.rawValue) is not base64url"
        case .notJSON(let part, let error): "the \(part.rawValue) is not JSON: \(error)"
        case .notAnObject(let part): "the \(part.rawValue) is not a JSON object"
        case .criticalExtension: "the header has 'crit', which is not supported"
        case .unknownKey(let id): "no key with the kid \(Self.quoted(id)) is configured"
        case .wrongAlgorithm(let found, let pinned):
            "the alg is \(Self.quoted(found)), the key is for \(Self.listed(pinned))"
        case .wrongSignature: "the signature is not one of the configured key"
        case .missing(let name): "'\(name)' is missing"
        case .malformed(let name): "'\(name)' has a wrong type or form"
        case .expired(let at, let now): "the token expired \((now - at) / 1_000) s ago"
        case .livesTooLong(let life, let longest):
            "the token lives another \(life / 1_000) s, more than \(longest / 1_000) s"
        case .notYetValid(let until, let now):
            "the token is not valid for another \((until - now) / 1_000) s"
        case .wrongIssuer(let found, let wanted):
            "the iss is \(found.map(Self.quoted) ?? "missing"), wanted \(Self.quoted(wanted))"
        case .wrongAudience(let found, let wanted):
            "the aud \(Self.quoted(found.joined(separator: " "))) lacks \(Self.quoted(wanted))"
        case .wrongRole(let role): "the key does not give the role \(Self.quoted(role))"
        }
    }

    private static func listed(_ algorithms: [SignatureAlgorithm]) -> String {
        algorithms.map(\.rawValue).joined(separator: ", ")
    }

    /// Text of a client must neither fill the log nor break its lines.
    private static func quoted(_ text: String) -> String {
        let visible = text.unicodeScalars.prefix(48).map { scalar in
            (0x20..<0x7F).contains(scalar.value) && scalar != "'" ? Character(scalar) : "?"
        }
        return "'" + String(visible) + (text.unicodeScalars.count > 48 ? "…'" : "'")
    }
}
