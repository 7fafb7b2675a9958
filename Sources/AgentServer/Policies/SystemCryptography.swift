// Signatures for plugins, by the cryptography that the process has.

import Outbound
import PolicyHost

extension Cryptography {
    /// HMAC by name, and the signatures of JSON Web Tokens.
    static let system = Cryptography(
        hmac: { algorithm, key, text in
            HashFunction(rawValue: algorithm.lowercased())?.authenticate(text, key: key)
        },
        sign: { algorithm, key, text in
            guard let algorithm = SignatureAlgorithm(rawValue: algorithm) else { return nil }
            let name = String(decoding: key, as: UTF8.self)
            return try? SignatureKey(algorithm, name).sign(text)
        })
}
