// Signatures for plugins, by the cryptography that the process has.

import PolicyHost

extension Cryptography {
    /// Nothing signs yet: `hmac` and `jwt` tell plugins so.
    static let system = Cryptography.none
}
