// The operations by name.

/// What a client may ask for, by its name on the wire.
public enum OperationName: String, CaseIterable, Sendable {
    case hello, ping, bye
    case invite = "call.invite"
    case add = "call.add"
    case ringing = "call.ringing"
    case accept = "call.accept"
    case acceptAck = "call.accept_ack"
    case reject = "call.reject"
    case cancel = "call.cancel"
    case join = "call.join"
    case leave = "call.leave"
    case end = "call.end"
    case report = "call.report"
    case media = "call.media"
    case hold = "call.hold"
    case items = "call.items"
    case signal = "call.signal"
    case get = "call.get"
    case list = "call.list"
    case token = "call.token"
    case pushRegister = "device.push_register"
    case pushUnregister = "device.push_unregister"
}

extension Operation {
    /// The name on the wire.
    public var name: OperationName {
        switch self {
        case .invite: .invite
        case .call(_, let action, _): action.name
        case .list: .list
        case .pushRegister: .pushRegister
        case .pushUnregister: .pushUnregister
        }
    }
}

extension CallAction {
    /// The name on the wire.
    public var name: OperationName {
        switch self {
        case .add: .add
        case .ringing: .ringing
        case .accept: .accept
        case .acceptAck: .acceptAck
        case .reject: .reject
        case .cancel: .cancel
        case .join: .join
        case .leave: .leave
        case .end: .end
        case .report: .report
        case .media: .media
        case .hold: .hold
        case .items: .items
        case .signal: .signal
        case .get: .get
        case .token: .token
        case .forward, .finish: preconditionFailure("a policy's decision is not on the wire")
        }
    }
}

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
