// Making signed tokens in the compact form of RFC 7515, and taking them apart.

import JSON
import WebProtocols

/// A signed token that is not checked yet.
struct JSONWebToken {
    let header: JSONObject
    let signature: [UInt8]
    /// What was signed: the first two parts with their dot.
    let signed: [UInt8]
    private let encodedPayload: ArraySlice<UInt8>

    /// Splits `token` and reads its header. The payload is not read before the signature was
    /// checked.
    init(_ token: String) throws(TokenRefusal) {
        let bytes = Array(token.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .notThreeParts(found: parts.count) }
        header = try Self.readObject(parts[0], .header)
        guard let signature = Base64.decode(parts[2], as: .url) else {
            throw .notBase64(.signature)
        }
        self.signature = signature
        signed = Array(bytes[..<parts[1].endIndex])
        encodedPayload = parts[1]
    }

    /// The claims. Ask only after the signature was checked.
    func payload() throws(TokenRefusal) -> JSONObject {
        try Self.readObject(encodedPayload, .payload)
    }

    private static func readObject(
        _ encoded: ArraySlice<UInt8>, _ part: TokenRefusal.Part
    ) throws(TokenRefusal) -> JSONObject {
        guard let bytes = Base64.decode(encoded, as: .url) else { throw .notBase64(part) }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: bytes, limits: JSONLimits(depth: 16))
        } catch {
            throw .notJSON(part, error)
        }
        guard let object = value.object else { throw .notAnObject(part) }
        return object
    }
}

/// Makes tokens: for development, for push providers and for the media side.
public enum TokenSigner {
    /// A compact token.
    ///
    /// - Parameters:
    ///   - claims: the payload, written as it is.
    ///   - key: a secret or a private key; it decides the algorithm.
    ///   - keyID: `kid` of the header.
    ///   - type: `typ` of the header; nil leaves it out.
    public static func sign(
        _ claims: JSONObject, with key: SignatureKey, keyID: String? = nil, type: String? = "JWT"
    ) throws(KeyError) -> String {
        var header = JSONWriter(capacity: 96)
        header.object {
            $0.field("alg", key.algorithm.rawValue)
            if let type { $0.field("typ", type) }
            if let keyID { $0.field("kid", keyID) }
        }
        let payload = JSONValue.object(claims).bytes
        let signed =
            Base64.encode(header.bytes, as: .url) + "." + Base64.encode(payload, as: .url)
        let signature = try key.sign(Array(signed.utf8))
        return signed + "." + Base64.encode(signature, as: .url)
    }
}
