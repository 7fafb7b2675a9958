// Accounts that an operator names by patterns.

/// A set of accounts given as names and patterns: `support`, `desk-*`, `*`.
public struct Accounts: Sendable, Equatable {
    private var everyone = false
    private var names: Set<String> = []
    /// The same in order, if they are few: to compare these takes less than to hash one.
    private var few: [String] = []
    private var prefixes: [String] = []

    /// The accounts that any of `patterns` names; a `*` stands only at the end.
    public init(_ patterns: [String] = []) {
        for pattern in patterns {
            if pattern == "*" {
                everyone = true
            } else if pattern.hasSuffix("*") {
                prefixes.append(String(pattern.dropLast()))
            } else {
                names.insert(pattern)
            }
        }
        if names.count <= 8 { few = names.sorted() }
    }

    /// Whether `user` is one of the accounts.
    public func contains(_ user: UserID) -> Bool {
        if everyone || few.contains(user.text) { return true }
        if few.isEmpty, names.contains(user.text) { return true }
        return prefixes.contains { user.text.hasPrefix($0) }
    }

    /// Whether any account is one of both.
    public func overlaps(_ other: Accounts) -> Bool {
        if isEmpty || other.isEmpty { return false }
        if everyone || other.everyone { return true }
        return names.contains { other.names.contains($0) || other.hasPrefix(of: $0) }
            || other.names.contains { hasPrefix(of: $0) }
            || prefixes.contains { one in
                other.prefixes.contains { one.hasPrefix($0) || $0.hasPrefix(one) }
            }
    }

    private func hasPrefix(of name: String) -> Bool {
        prefixes.contains { name.hasPrefix($0) }
    }

    /// Whether there is no account at all.
    public var isEmpty: Bool { !everyone && names.isEmpty && prefixes.isEmpty }
}
