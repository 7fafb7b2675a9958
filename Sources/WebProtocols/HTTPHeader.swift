// One header field of a message.

/// A name and its value.
public struct HTTPHeader: Sendable, Equatable {
    /// The name as it was written.
    public let name: String
    /// The value without white space around it.
    public let value: String

    /// The field `name: value`.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

extension HTTPHeader: CustomStringConvertible {
    private static let secretNames: Set<String> = [
        "authorization", "cookie", "set-cookie", "webhook-signature",
    ]

    /// The field, without the value if that opens doors.
    public var description: String {
        "\(name): \(Self.secretNames.contains(name.lowercased()) ? "…" : value)"
    }
}
