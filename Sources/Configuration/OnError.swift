// What becomes of a question to a plugin that fails.

/// What the host does in the place of a plugin that failed.
public enum OnError: String, Sendable, CaseIterable {
    /// As if the plugin were not there.
    case skip
    /// The operator's default, without asking further plugins.
    case `default`
    case reject, accept
    /// What is shaped stays as it was.
    case unchanged
}
