// What plugins may do beyond their calls, by the word of the operator: reach hosts.

import Lua

/// What a plugin may need and the operator grants.
package enum Capability {
    private static let kinds = ["http", "internal"]

    /// Refuses what is neither `http:HOST` nor `internal:HOST`.
    package static func check(_ text: String) throws(LuaProblem) {
        let form = "(write \"http:crm.example.com\")"
        guard let colon = text.firstIndex(of: ":") else {
            throw LuaProblem("'\(text)' is no capability \(form)")
        }
        let (kind, host) = (String(text[..<colon]), text[text.index(after: colon)...])
        guard kinds.contains(kind) else {
            throw LuaProblem(
                "unknown capability '\(text)'" + Suggestion.text(for: kind, among: kinds))
        }
        guard !host.contains(":"), WebAddress.host(of: "http://\(host)/") == String(host) else {
            throw LuaProblem("'\(text)' names no host, in lower case and without port \(form)")
        }
    }
}

/// Addresses of the web, as far as grants need them.
package enum WebAddress {
    /// The host of an `http` or `https` address, in lower case, without port; nil for any other
    /// text and for addresses with a user.
    package static func host(of url: String) -> String? {
        let rest: Substring
        if url.hasPrefix("https://") {
            rest = url.dropFirst(8)
        } else if url.hasPrefix("http://") {
            rest = url.dropFirst(7)
        } else {
            return nil
        }
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard let host = parts.first, !host.isEmpty, parts.count <= 2,
            parts.count == 1 || UInt16(parts[1]) != nil,
            host.utf8.allSatisfy({
                $0 == 0x2D || $0 == 0x2E || (0x30...0x39).contains($0)
                    || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
            }),
            !url.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F })
        else { return nil }
        return host.lowercased()
    }
}
