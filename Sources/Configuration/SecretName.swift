// Names of fields whose values are never shown, however the names are written.

/// Names of fields whose values are never shown, however the names are written.
public enum SecretName {
    private static let all: Set<String> = [
        "account", "apikey", "authorization", "credential", "key", "passphrase", "password", "pin",
        "secret", "token",
    ]

    /// Whether a field of this name holds a secret: `key` does, and so do `Key` and `api_key`.
    public static func isOne(_ name: String) -> Bool {
        let name = name.lowercased()
        return all.contains(name) || all.contains { name.hasSuffix("_\($0)") }
    }
}
