// Operations that change nothing.

import CallModel
import JSON

extension OperationDescriptor {
    static let asking: [OperationDescriptor] = [
        OperationDescriptor(
            onCall: .get, "call.get", "Shows a call.", reply: [.call], read: { _ in .get }),
        OperationDescriptor(
            .list, "call.list", "Lists the user's calls.",
            (
                [],
                [.limit, .cursor, .state, .role, .endReasons, .kind, .peer, .since, .until]
            ),
            reply: [
                SchemaMember("calls", Schema.list(of: Schema.ref("Call")), "newest first"),
                SchemaMember("cursor", Schema.text().orNull, "null with the last page"),
            ],
            read: { .list($0.query) },
            write: { operation, writer, _ in
                if case .list(let query) = operation { writer.members(of: query) }
            }),
        OperationDescriptor(
            onCall: .token, "call.token", "Asks for credentials of the media side.",
            reply: [SchemaMember("token", ["type": "object"], "made by a plugin")],
            read: { _ in .token }),
    ]
}

extension JSONWriter {
    fileprivate mutating func members(of query: ListQuery) {
        field("limit", query.limit)
        given("cursor", query.before?.description)
        given("state", query.state?.rawValue)
        given("role", query.role?.rawValue)
        if !query.endReasons.isEmpty { field("end_reasons", query.endReasons.map(\.rawValue)) }
        given("kind", query.kind)
        given("peer", query.peer?.text)
        if let since = query.since { field("since_at", since) }
        if let until = query.until { field("until_at", until) }
    }
}
