// The objects of the protocol as schemas: calls, errors, answers, events.

import CallModel
import JSON

/// Everything that stands under `components/schemas` of both protocol documents.
struct ProtocolSchemas {
    let rules: FieldRules

    /// The schemas by name.
    var all: JSONObject {
        var all = JSONObject(small)
        for (name, members) in objects { all[name] = Schema.object(members) }
        for operation in OperationDescriptor.all {
            all["\(operation.name.rawValue).data"] = operation.schema(rules)
            all["\(operation.name.rawValue).ok"] = Schema.object(of: operation.reply)
        }
        for event in EventDescriptor.all {
            all["event.\(event.name.rawValue)"] = Schema.object(
                of: EventDescriptor.inEvery + event.members)
        }
        return all
    }

    private var small: [JSONObject.Member] {
        let itemText = Schema.text(0...rules.limits.itemBytes)
        return [
            .init(key: "CallID", value: Schema.text(pattern: "^[0-9a-f]{32}$")),
            .init(key: "Name", value: Schema.text(1...64, pattern: "^[!-~]+$")),
            .init(
                key: "Items",
                value: [
                    "type": "object", "additionalProperties": itemText,
                    "maxProperties": .integer(Int64(rules.limits.items)),
                    "propertyNames": Schema.text(1...rules.limits.itemBytes, pattern: "^[^,]+$"),
                ]),
            .init(key: "Media", value: Schema.word(Call.Media.self)),
            .init(key: "ParticipantState", value: Schema.word(Participant.State.self)),
            .init(key: "ParticipantReason", value: Schema.word(Participant.Reason.self)),
            .init(key: "ErrorCode", value: Schema.word(Refusal.Code.self)),
            .init(
                key: "Actor",
                value: [
                    "oneOf": [
                        Schema.object([name("user"), name("device")]),
                        Schema.object([SchemaMember("policy", Schema.text())]),
                        Schema.object([SchemaMember("timer", Schema.word(TimerName.self))]),
                    ]
                ]),
        ]
    }

    private func name(_ key: String) -> SchemaMember { SchemaMember(key, Schema.ref("Name")) }

    private var objects: [(String, [SchemaMember])] {
        let pushText = Schema.text(0...rules.limits.pushTextBytes)
        return [
            (
                "Push",
                ["title", "body", "payload"].map { SchemaMember($0, pushText, optional: true) }
            ),
            (
                "Resume",
                [
                    SchemaMember("session", Schema.text()),
                    SchemaMember("seq", Schema.integer(0), "the last event that arrived"),
                ]
            ),
            ("Call", Self.call), ("Participant", Self.participant), ("End", Self.end),
            ("Change", Self.change),
            (
                "Transfer",
                [
                    SchemaMember("by", Schema.ref("Name"), "whose place to take"),
                    SchemaMember("extended_data", Self.text),
                ]
            ),
            (
                "InviteeError",
                [name("user"), SchemaMember("code", Schema.word(InviteeError.Code.self))]
            ),
            ("NamedUser", [name("user"), SchemaMember("name", Self.text)]),
            ("Error", Self.error), ("Limits", Self.limits), ("Mode", Mode.announcedMembers),
        ]
    }
}

// MARK: The call

extension ProtocolSchemas {
    private static let moment = Schema.integer(0)
    private static let text = Schema.text().orNull
    private static let userOrNull = Schema.ref("Name").orNull

    static let call: [SchemaMember] = [
        SchemaMember("call_id", Schema.ref("CallID")),
        SchemaMember("mode", Schema.text()),
        SchemaMember("kind", Schema.text()),
        SchemaMember("state", Schema.word(Call.State.self)),
        SchemaMember("caller", Schema.ref("Name")),
        SchemaMember("receiver", userOrNull, "the group that was called"),
        SchemaMember("extended_data", text),
        SchemaMember("items", Schema.map(of: Schema.text())),
        SchemaMember("created_at", moment),
        SchemaMember("answered_at", moment.orNull, "first accept or join"),
        SchemaMember("connected_at", moment.orNull, "first moment with all media"),
        SchemaMember("ended_at", moment.orNull),
        SchemaMember(
            "duration_ms", moment.orNull,
            "from the first accept to the end, 0: never answered; null: not ended"),
        SchemaMember("timeout_ms", moment, "ring time"),
        SchemaMember("revision", Schema.integer(1), "grows with every change"),
        SchemaMember("media", Schema.ref("Media")),
        SchemaMember("end", Schema.ref("End").orNull),
        SchemaMember("participants", Schema.list(of: Schema.ref("Participant"))),
    ]

    static let participant: [SchemaMember] = [
        SchemaMember("user", Schema.ref("Name")),
        SchemaMember("role", Schema.word(Participant.Role.self)),
        SchemaMember("invited_by", userOrNull),
        SchemaMember("state", Schema.ref("ParticipantState")),
        SchemaMember("reason", Schema.ref("ParticipantReason").orNull),
        SchemaMember("extended_data", text),
        SchemaMember("invited_at", moment),
        SchemaMember("deadline_at", moment.orNull, "end of the ring time"),
        SchemaMember("answered_at", moment.orNull),
        SchemaMember("device", userOrNull, "the device in the call"),
        SchemaMember("audio", Schema.flag),
        SchemaMember("video", Schema.flag),
        SchemaMember("held", Schema.flag),
        SchemaMember("name", text, "what the user is called"),
    ]

    private static let endDetail: JSONValue = [
        "type": ["string", "null"],
        "examples": .array(EndDetail.allCases.map { .string($0.rawValue) }),
    ]

    static let end: [SchemaMember] = [
        SchemaMember("reason", Schema.word(EndReason.self)),
        SchemaMember("detail", endDetail, "one of the examples; with policy any code"),
        SchemaMember("by", userOrNull),
        SchemaMember("extended_data", text),
    ]

    static let change: [SchemaMember] = [
        SchemaMember("user", Schema.ref("Name")),
        SchemaMember("state", Schema.ref("ParticipantState")),
        SchemaMember("reason", Schema.ref("ParticipantReason").orNull),
        SchemaMember("extended_data", text),
    ]
}

// MARK: Answers

extension ProtocolSchemas {
    static let error: [SchemaMember] = [
        SchemaMember("code", Schema.ref("ErrorCode")),
        SchemaMember("message", Schema.text(), "for a person"),
        SchemaMember("retryable", Schema.flag),
        SchemaMember("retry_after_ms", Schema.integer(0), "with retryable", optional: true),
        SchemaMember(
            "detail",
            Schema.object([
                SchemaMember("field", Schema.text(), "path of the bad field", optional: true),
                SchemaMember("code", Schema.text(), "a plugin's or a rule's word", optional: true),
                SchemaMember(
                    "call_id", Schema.ref("CallID"), "the call with which the user is busy",
                    optional: true),
                SchemaMember(
                    "errors", Schema.list(of: Schema.ref("InviteeError")), optional: true),
            ])),
    ]

    static let limits: [SchemaMember] = [
        SchemaMember("message_bytes", Schema.integer(0)),
        SchemaMember("extended_data_bytes", Schema.integer(0)),
        SchemaMember("invitees", Schema.integer(0), "of one operation"),
        SchemaMember("participants", Schema.integer(0), "of one call"),
        SchemaMember("keys", Schema.integer(0), "idempotency keys kept for a user"),
        SchemaMember(
            "group",
            Schema.object([
                SchemaMember("invitees", Schema.integer(0)),
                SchemaMember("participants", Schema.integer(0)),
            ]), "the same for the mode of this name", optional: true),
    ]
}

extension Schema {
    /// An object with the members that a descriptor names.
    static func object(of members: [DataMember]) -> JSONValue {
        object(
            members.map {
                SchemaMember($0.name, $0.type.schema, $0.about, optional: $0.isOptional)
            })
    }
}

extension ValueType {
    /// The schema of such values.
    var schema: JSONValue {
        switch self {
        case .callID: Schema.ref("CallID")
        case .name: Schema.ref("Name")
        case .text: Schema.text()
        case .flag: Schema.flag
        case .json: Schema.anything
        case .object: ["type": "object"]
        case .integer(let least): Schema.integer(least)
        case .words(let words): .words(words)
        case .named(let name): Schema.ref(name)
        case .list(let type): Schema.list(of: type.schema)
        case .map(let type): Schema.map(of: type.schema)
        case .orNull(let type): type.schema.orNull
        }
    }
}
