// Keys that sign and check tokens, each for one algorithm only.

import COpenSSL
import WebProtocols

/// The algorithms of tokens (RFC 7518 section 3.1).
public enum SignatureAlgorithm: String, Sendable, CaseIterable {
    /// HMAC with SHA-256 and a shared secret.
    case hs256 = "HS256"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
}

/// Why a text is no key.
public enum KeyError: Error, Equatable, CustomStringConvertible {
    /// There is nothing.
    case empty
    /// A shared secret is needed and this is PEM, probably a public key: whoever knows it could
    /// mint tokens.
    case pemAsSecret
    /// `base64:` is followed by something else.
    case notBase64
    /// A secret of fewer bytes than `least`.
    case tooShort(bytes: Int, least: Int)
    /// PEM is wanted and this does not begin with it.
    case notPEM
    /// PEM that OpenSSL cannot read.
    case unreadablePEM
    /// The private key is protected by a passphrase.
    case encryptedPEM
    /// A key of another kind than the algorithm needs.
    case wrongKind(SignatureAlgorithm)
    /// An RSA key of fewer bits than `least`.
    case tooFewBits(Int, least: Int)
    /// Signing needs a private key and this is a public one.
    case publicOnly

    /// One line for the operator, to follow the name of the key.
    public var description: String {
        switch self {
        case .empty: "the key is empty"
        case .pemAsSecret: "HS256 takes a shared secret, but this is PEM"
        case .notBase64: "what follows 'base64:' is not base64"
        case .tooShort(let bytes, let least):
            "the secret has \(bytes) bytes, at least \(least) are needed"
        case .notPEM: "the key must be PEM, beginning with '-----BEGIN'"
        case .unreadablePEM: "the PEM cannot be read as a key or certificate"
        case .encryptedPEM: "the private key is encrypted; store it without a passphrase"
        case .wrongKind(.es256): "ES256 needs an elliptic key on P-256"
        case .wrongKind(.rs256): "RS256 needs an RSA key"
        case .wrongKind(.hs256): "HS256 needs a shared secret"
        case .tooFewBits(let bits, let least):
            "the RSA key has \(bits) bits, at least \(least) are needed"
        case .publicOnly: "signing needs the private key, but this is a public one"
        }
    }
}

/// A key for one algorithm. A key cannot be used with another one than it was made for.
public struct SignatureKey: Sendable {
    private enum Material: Sendable {
        case secret([UInt8])
        case pair(KeyPair)
    }

    /// Fewer bits of RSA are refused (RFC 7518 section 3.3).
    public static let leastRSABits = 2_048

    /// The only algorithm that it is used with.
    public let algorithm: SignatureAlgorithm
    private let material: Material

    /// Reads a key as an operator writes it.
    ///
    /// - Parameters:
    ///   - text: for HS256 the secret itself, or `base64:` and its bytes in either alphabet; for
    ///     the others PEM: a private key, a public key or a certificate.
    ///   - leastSecretBytes: shorter secrets are refused. Tokens that let clients in need 32
    ///     (RFC 7518 section 3.2).
    public init(
        _ algorithm: SignatureAlgorithm, _ text: String, leastSecretBytes: Int = 1
    ) throws(KeyError) {
        self.algorithm = algorithm
        switch algorithm {
        case .hs256:
            material = .secret(try Self.secret(text, least: max(leastSecretBytes, 1)))
        case .es256, .rs256:
            let pair = try Self.readPEM(text)
            try Self.check(pair, for: algorithm)
            material = .pair(pair)
        }
    }

    /// A shared secret as bytes.
    public init(secret: [UInt8]) throws(KeyError) {
        guard !secret.isEmpty else { throw .empty }
        algorithm = .hs256
        material = .secret(secret)
    }

    /// An ES256 key from a P-256 pair.
    init(p256 pair: KeyPair) {
        algorithm = .es256
        material = .pair(pair)
    }

    /// Whether `sign` can work: the key is a secret or has its private half.
    public var canSign: Bool {
        switch material {
        case .secret: true
        case .pair(let pair): pair.isPrivate
        }
    }

    /// The uncompressed point of an ES256 key: 65 bytes; nil for another one.
    var p256Point: [UInt8]? {
        switch material {
        case .secret: nil
        case .pair(let pair): pair.p256Point
        }
    }

    /// The signature of `message` in the form of JOSE.
    public func sign(_ message: [UInt8]) throws(KeyError) -> [UInt8] {
        switch material {
        case .secret(let secret): return HashFunction.sha256.authenticate(message, key: secret)
        case .pair(let pair):
            guard pair.isPrivate, let signature = pair.sign(message) else { throw .publicOnly }
            guard algorithm == .es256 else { return signature }
            guard let raw = ECDSASignature.raw(fromDER: signature) else { throw .unreadablePEM }
            return raw
        }
    }

    /// Whether `signature`, in the form of JOSE, is one of this key over `message`.
    public func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        switch material {
        case .secret(let secret):
            let wanted = HashFunction.sha256.authenticate(message, key: secret)
            return ConstantTime.equal(signature, wanted)
        case .pair(let pair):
            guard algorithm == .es256 else { return pair.verifies(signature, of: message) }
            guard let der = ECDSASignature.der(fromRaw: signature) else { return false }
            return pair.verifies(der, of: message)
        }
    }
}

extension SignatureKey {
    private static let base64Prefix = "base64:"
    private static let pemPrefix = "-----BEGIN "

    private static func secret(_ text: String, least: Int) throws(KeyError) -> [UInt8] {
        guard !trimmed(text).hasPrefix(pemPrefix) else { throw .pemAsSecret }
        var secret = Array(text.utf8)
        if text.hasPrefix(base64Prefix) {
            guard let bytes = Base64.decodeEither(String(text.dropFirst(base64Prefix.count)))
            else { throw .notBase64 }
            secret = bytes
        }
        guard !secret.isEmpty else { throw .empty }
        guard secret.count >= least else { throw .tooShort(bytes: secret.count, least: least) }
        return secret
    }

    /// Tells the kinds of PEM apart by their first line, so that errors can be exact.
    static func readPEM(_ text: String) throws(KeyError) -> KeyPair {
        defer { ossl_forget_errors() }
        let pem = Array(text.utf8)
        guard !pem.isEmpty else { throw .empty }
        let start = trimmed(text)
        guard start.hasPrefix(pemPrefix) else { throw .notPEM }
        let label = start.dropFirst(pemPrefix.count).prefix { $0 != "-" }
        var isEncrypted: Int32 = 0
        let isPrivate = label.hasSuffix("PRIVATE KEY") || label == "EC PARAMETERS"
        let handle =
            isPrivate
            ? ossl_read_private_pem(pem, pem.count, &isEncrypted)
            : label.hasSuffix("CERTIFICATE")
                ? ossl_read_certificate_pem(pem, pem.count)
                : ossl_read_public_pem(pem, pem.count)
        guard let handle else { throw isEncrypted == 1 ? .encryptedPEM : .unreadablePEM }
        return KeyPair(handle, isPrivate: isPrivate)
    }

    private static func check(
        _ pair: KeyPair, for algorithm: SignatureAlgorithm
    ) throws(KeyError) {
        if algorithm == .es256 {
            guard pair.isP256 else { throw .wrongKind(.es256) }
            return
        }
        guard pair.rsaBits > 0 else { throw .wrongKind(.rs256) }
        guard pair.rsaBits >= leastRSABits else {
            throw .tooFewBits(pair.rsaBits, least: leastRSABits)
        }
    }

    private static func trimmed(_ text: String) -> Substring { text.drop { $0.isWhitespace } }
}
