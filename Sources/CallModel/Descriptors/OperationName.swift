// What the rows say of operations, by their names.

extension OperationName {
    /// One line for people.
    public var summary: String { OperationDescriptor.of(self).summary }

    /// The path under which the operation is posted; nil for what only a session has.
    public var httpPath: String? {
        guard OperationDescriptor.of(self).isPosted else { return nil }
        return "/v1/" + rawValue.split(separator: ".").joined(separator: "/")
    }

    /// The operation that is posted to `path`.
    public init?(httpPath path: String) {
        guard let found = Self.byPath[path] else { return nil }
        self = found
    }

    private static let byPath: [String: OperationName] = Dictionary(
        uniqueKeysWithValues: allCases.compactMap { name in name.httpPath.map { ($0, name) } })

    /// The names of all members that the data of this operation may have, the required ones first.
    public var fields: [String] { OperationDescriptor.of(self).fields.map(\.name) }
}
