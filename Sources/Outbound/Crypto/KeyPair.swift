// One asymmetric key of OpenSSL, shared and freed once.

import COpenSSL

/// A public key, or a pair with the private half. Immutable, so every thread may use it.
final class KeyPair: @unchecked Sendable {
    let handle: OpaquePointer
    let isPrivate: Bool

    /// Takes over `handle`.
    init(_ handle: OpaquePointer, isPrivate: Bool) {
        self.handle = handle
        self.isPrivate = isPrivate
    }

    deinit { EVP_PKEY_free(handle) }

    /// A P-256 pair nobody has used before.
    static func generateP256() -> KeyPair {
        guard let handle = ossl_p256_generate() else {
            preconditionFailure("OpenSSL makes no P-256 key")
        }
        return KeyPair(handle, isPrivate: true)
    }

    /// The P-256 public key of a 65-byte point, or nil if that is none.
    convenience init?(p256Point point: [UInt8]) {
        defer { ossl_forget_errors() }
        guard point.count == 65, point[0] == 4, let handle = ossl_p256_from_point(point)
        else { return nil }
        self.init(handle, isPrivate: false)
    }

    /// The P-256 pair of a 32-byte private number, or nil if that is none.
    convenience init?(p256Scalar scalar: [UInt8]) {
        defer { ossl_forget_errors() }
        guard scalar.count == 32, let handle = ossl_p256_from_scalar(scalar) else { return nil }
        self.init(handle, isPrivate: true)
    }

    var isP256: Bool { ossl_is_p256(handle) == 1 }

    /// The size of an RSA key, 0 for another one.
    var rsaBits: Int { Int(ossl_rsa_bits(handle)) }

    /// The uncompressed point of a P-256 key; nil for another one.
    var p256Point: [UInt8]? {
        defer { ossl_forget_errors() }
        var point = [UInt8](repeating: 0, count: 65)
        return ossl_p256_point(handle, &point) == 1 ? point : nil
    }

    /// The shared secret of a P-256 pair and the public key `other` (ECDH).
    func agree(with other: KeyPair) -> [UInt8]? {
        defer { ossl_forget_errors() }
        var secret = [UInt8](repeating: 0, count: 32)
        return ossl_p256_agree(handle, other.handle, &secret) == 1 ? secret : nil
    }

    /// A signature over SHA-256 of `message`; ECDSA ones are in DER.
    func sign(_ message: [UInt8]) -> [UInt8]? {
        defer { ossl_forget_errors() }
        var count = 1_024
        var signature = [UInt8](repeating: 0, count: count)
        guard ossl_sign(handle, message, message.count, &signature, &count) == 1 else { return nil }
        return Array(signature.prefix(count))
    }

    /// Whether `signature` is one of this key over SHA-256 of `message`; ECDSA ones are in DER.
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        defer { ossl_forget_errors() }
        return ossl_verify(handle, message, message.count, signature, signature.count) == 1
    }
}

/// ECDSA signatures as JOSE writes them: r and s, 32 bytes each (RFC 7518 section 3.4).
enum ECDSASignature {
    static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        defer { ossl_forget_errors() }
        var raw = [UInt8](repeating: 0, count: 64)
        return ossl_ecdsa_to_raw(der, der.count, &raw) == 1 ? raw : nil
    }

    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard raw.count == 64 else { return nil }
        var der = [UInt8](repeating: 0, count: 72)
        let count = ossl_ecdsa_to_der(raw, &der)
        return count > 0 ? Array(der.prefix(count)) : nil
    }
}

/// The cipher of Web Push.
enum AES128GCM {
    /// `plain` encrypted, with the tag of 16 bytes at its end. A key must never meet a nonce twice.
    static func seal(_ plain: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        defer { ossl_forget_errors() }
        guard key.count == 16, nonce.count == 12 else { return nil }
        var out = [UInt8](repeating: 0, count: plain.count + 16)
        return ossl_aes128gcm_seal(key, nonce, plain, plain.count, &out) == 1 ? out : nil
    }
}
