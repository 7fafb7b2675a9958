// Hashes, message authentication codes, and a comparison in constant time.

import COpenSSL
import Glibc

/// The hash functions that are used here.
public enum HashFunction: String, Sendable, CaseIterable {
    /// SHA-1, for TURN credentials only (RFC 8489 section 9.2).
    case sha1
    /// SHA-256.
    case sha256
    /// SHA-512.
    case sha512

    var evp: OpaquePointer? {
        switch self {
        case .sha1: EVP_sha1()
        case .sha256: EVP_sha256()
        case .sha512: EVP_sha512()
        }
    }

    /// The length of its values in bytes.
    public var byteCount: Int {
        switch self {
        case .sha1: 20
        case .sha256: 32
        case .sha512: 64
        }
    }
}

extension HashFunction {
    /// The hash of `message`.
    public func hash(_ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { target, count in
            var length: UInt32 = 0
            let done = EVP_Digest(
                message, message.count, target.baseAddress, &length, evp, nil)
            precondition(done == 1, "OpenSSL has no \(rawValue)")
            count = Int(length)
        }
    }

    /// HMAC (RFC 2104) of `message` under `key`, which may have any length.
    public func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { target, count in
            var length: UInt32 = 0
            let done = HMAC(
                evp, key, Int32(key.count), message, message.count, target.baseAddress, &length)
            precondition(done != nil, "OpenSSL has no HMAC with \(rawValue)")
            count = Int(length)
        }
    }
}

extension Sequence<UInt8> {
    /// Two lower-case hex digits for each byte.
    public var hexDigits: String {
        map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

/// Comparison of secrets.
public enum ConstantTime {
    /// Whether both are the same bytes. The time depends on the lengths only.
    public static func equal(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        guard a.count == b.count else { return false }
        return CRYPTO_memcmp(a, b, a.count) == 0
    }
}

/// Bytes that nobody can guess.
public enum RandomBytes {
    /// `count` bytes of the kernel's generator (getrandom, which cannot fail for few bytes).
    public static func make(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}

extension [UInt8] {
    /// The bytes in lower-case hexadecimal digits.
    public var hex: String {
        let digits = Array<UInt8>("0123456789abcdef".utf8)
        return String(
            decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
