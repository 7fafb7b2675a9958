// Operations that change nothing.

extension OperationDescriptor {
    static let asking: [OperationDescriptor] = [
        OperationDescriptor(
            onCall: .get, "call.get", "Shows a call.", reply: [.call], traits: .reads,
            phrases: ["gets {call_id}"],
            rule: "Participants, in whatever state. Others get `not_found`.",
            make: { _ in .get }),
        OperationDescriptor(
            .list, "call.list", "Lists the user's calls.",
            (
                [],
                [.limit, .cursor, .state, .role, .endReasons, .kind, .peer, .since, .until]
            ),
            reply: [
                DataMember("calls", .list(.call), "newest first"),
                DataMember("cursor", .orNull(.text), "null with the last page"),
            ], traits: .reads,
            phrases: ["lists {limit} {cursor} {state} {role} {kind} {peer} {end_reasons}"],
            rule: "The user's calls, newest first: `since_at` ≤ created < `until_at`; of one "
                + "`kind`, with one `peer`. `cursor` of the answer asks for the next page; null "
                + "with the last one. Kept for 90 days.",
            make: { .list($0.query) },
            give: { operation, values in
                if case .list(let query) = operation { values.give(query) }
            }),
        OperationDescriptor(
            onCall: .token, "call.token", "Asks for credentials of the media side.",
            reply: [DataMember("token", .object, "made by a plugin")], traits: .reads,
            phrases: ["wants a token for {call_id}"],
            rule: "Joined participants get what the hook `on.token` of a plugin makes; without "
                + "one `unsupported`.",
            make: { _ in .token }),
    ]
}

extension FieldValues {
    fileprivate mutating func give(_ query: ListQuery) {
        self.query = query
        note(.limit)
        if query.before != nil { note(.cursor) }
        if query.state != nil { note(.state) }
        if query.role != nil { note(.role) }
        if !query.endReasons.isEmpty { note(.endReasons) }
        if query.kind != nil { note(.kind) }
        if query.peer != nil { note(.peer) }
        if query.since != nil { note(.since) }
        if query.until != nil { note(.until) }
    }
}
