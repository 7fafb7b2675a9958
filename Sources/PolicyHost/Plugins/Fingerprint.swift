// Names of contents, such as those of generations.

import COpenSSL

/// A name that equal contents share and others do not.
enum Fingerprint {
    /// The first 12 hex digits of the SHA-256 of `bytes`.
    static func of(_ bytes: [UInt8]) -> String {
        var digest = [UInt8](repeating: 0, count: 32)
        let done = EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        precondition(done == 1, "OpenSSL has no SHA-256")
        return digest.prefix(6).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
