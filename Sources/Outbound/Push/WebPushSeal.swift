// Encrypts a message so that only one browser can read it: RFC 8291 over RFC 8188.

/// One record of `aes128gcm`.
enum WebPushSeal {
    private static let recordSize: UInt32 = 4_096

    /// The body of the request for `message`; nil if the browser's key is no key.
    ///
    /// - Parameters:
    ///   - own: a pair that is used for this message only.
    ///   - salt: 16 bytes that are used for this message only.
    static func seal(
        _ message: [UInt8], for subscription: WebPushSubscription,
        own: KeyPair = .generateP256(), salt: [UInt8] = RandomBytes.make(16)
    ) -> [UInt8]? {
        guard let browser = KeyPair(p256Point: subscription.publicKey),
            let secret = own.agree(with: browser), let ownPoint = own.p256Point
        else { return nil }
        let combined = derive(
            secret: secret, salt: subscription.secret,
            info: Array("WebPush: info\0".utf8) + subscription.publicKey + ownPoint, count: 32)
        let key = derive(
            secret: combined, salt: salt, info: Array("Content-Encoding: aes128gcm\0".utf8),
            count: 16)
        let nonce = derive(
            secret: combined, salt: salt, info: Array("Content-Encoding: nonce\0".utf8), count: 12)
        // The delimiter of the last record (RFC 8188 section 2).
        guard let sealed = AES128GCM.seal(message + [2], key: key, nonce: nonce) else { return nil }
        let size = withUnsafeBytes(of: recordSize.bigEndian) { Array($0) }
        return salt + size + [UInt8(ownPoint.count)] + ownPoint + sealed
    }

    /// HKDF with SHA-256 (RFC 5869) for at most one block.
    static func derive(secret: [UInt8], salt: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
        let extracted = HashFunction.sha256.authenticate(secret, key: salt)
        return Array(HashFunction.sha256.authenticate(info + [1], key: extracted).prefix(count))
    }
}
