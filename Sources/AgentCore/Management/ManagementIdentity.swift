// Who asks for an operation of the management API.

/// Who asks for an operation of the management API. Whoever takes the request in has checked it.
public struct ManagementIdentity: Sendable, Equatable {
    /// What an identity may do.
    public enum Role: String, Sendable, CaseIterable {
        /// Reads.
        case viewer
        /// Does everything.
        case `operator`
    }

    /// Who it is, for the audit: the user of a token, or `unix:` and the user of the socket's peer.
    public let name: String
    /// What it may do.
    public let role: Role
    /// Where it comes from: an address, or `socket`.
    public let from: String

    /// `name` with `role`, who comes from an address, or by the socket.
    public init(_ name: String, _ role: Role, from: String = "socket") {
        self.name = name
        self.role = role
        self.from = from
    }

    /// Whoever may open the operator's socket of the node `node`, which names them.
    public init(_ name: String, _ role: Role, ofNode node: String) {
        self.init(name, role, from: Self.nodeMark + node)
    }

    private static let nodeMark = "node "

    /// Whether they came to another node of the cluster. No address looks like that.
    public var isOfNode: Bool { from.hasPrefix(Self.nodeMark) }

    /// Whoever may open the socket of the operator.
    public static let socket = ManagementIdentity("socket", .operator)

    /// The same, with the lower one of its role and `role`.
    public func lowered(to role: Role) -> ManagementIdentity {
        ManagementIdentity(name, role == .viewer ? .viewer : self.role, from: from)
    }
}
