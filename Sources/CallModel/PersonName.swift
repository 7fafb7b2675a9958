// What people are called, which is shown and decides nothing.

/// How others see a user (K108): 1-64 bytes of text on one line. It is never an identity: two
/// people may have the same one.
public struct PersonName: Hashable, Sendable, CustomStringConvertible {
    /// The name in UTF-8.
    public let text: String

    /// The longest name in bytes.
    public static let bytesMax = 64
    /// The longest list of `user.get`.
    public static let askedAtOnce = 100

    /// The name `text`; nil when it is too long, when nothing of it would be seen, or when it has
    /// characters that break a line or turn the direction of the text that follows.
    public init?(checking text: String) {
        guard (1...Self.bytesMax).contains(text.utf8.count) else { return nil }
        guard !text.unicodeScalars.contains(where: Self.isForbidden) else { return nil }
        guard !text.unicodeScalars.allSatisfy(Self.isUnseen) else { return nil }
        self.text = text
    }

    /// The text.
    public var description: String { text }

    /// Controls, ends of lines and paragraphs, embeddings, overrides and isolates of direction.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false  // external: any character
        }
    }

    /// U+2800 is the braille sign without a dot: seen by nobody, and a sign like others to Unicode.
    /// Whoever wants to ring without a name knows it.
    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint
            || scalar.value == 0x2800
    }
}

/// A user and what they are called.
public struct NamedUser: Hashable, Sendable {
    /// The user.
    public let user: UserID
    /// Nil: they have no name.
    public let name: PersonName?

    /// `user` is called `name`.
    public init(_ user: UserID, _ name: PersonName?) {
        self.user = user
        self.name = name
    }
}

/// Whoever knows what people are called.
public protocol NameSource: AnyObject {
    /// What `user` is called; nil: they have no name.
    func name(of user: UserID) -> String?
    /// Another number after every change of what `name` answers.
    var version: UInt64 { get }
}
