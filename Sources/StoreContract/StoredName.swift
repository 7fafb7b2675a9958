// The names of people, as they are kept.

import CallModel

/// Who said what a user is called. The higher one counts.
public enum NameOrigin: Int64, Sendable, Comparable {
    /// A token of the user.
    case token = 0
    /// A server, by `user.set`.
    case server = 1

    /// Who counts less first.
    public static func < (left: NameOrigin, right: NameOrigin) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A kept name.
public struct StoredName: Sendable, Equatable {
    /// Whose name it is.
    public let user: UserID
    /// What the user is called.
    public let name: PersonName
    /// Who said so.
    public let origin: NameOrigin

    /// `user` is called `name`.
    public init(_ user: UserID, _ name: PersonName, from origin: NameOrigin) {
        self.user = user
        self.name = name
        self.origin = origin
    }
}
