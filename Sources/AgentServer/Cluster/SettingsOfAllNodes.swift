// What should be the same at all nodes of a cluster, as hashes by which nodes compare it.

import Configuration

extension Configuration {
    /// What each node has for itself.
    private static let ownNames: Set<String> = [
        "listen", "state_dir", "metrics", "console", "tls", "cluster", "log", "decision_log",
    ]

    /// A hash (FNV-1a) of each setting of the server's part, by its name: it shows that two nodes
    /// differ, and hides nothing from whoever guesses. Secrets are not in it, only where they come
    /// from.
    var settingsOfAllNodes: [String: String] {
        var found: [String: String] = [:]
        for (name, value) in server.values.shown where !Self.ownNames.contains(name) {
            var hash: UInt64 = 0xCBF2_9CE4_8422_2325
            for byte in value.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
            found[name] = String(hash, radix: 16)
        }
        return found
    }
}
