// The WebSocket protocol as an AsyncAPI 3.1 document.

import CallModel
import JSON

extension ProtocolDocuments {
    /// The AsyncAPI 3.1 document.
    public var asyncAPI: [UInt8] {
        let messages = self.messages
        let document: JSONValue = [
            "asyncapi": "3.1.0", "info": info, "defaultContentType": "application/json",
            "channels": [
                "socket": [
                    "address": "/v1/ws",
                    "description": .string(Self.socketAbout),
                    "messages": .object(
                        JSONObject(
                            messages.members.map {
                                .init(
                                    key: $0.key,
                                    value: ["$ref": .string("#/components/messages/\($0.key)")])
                            })),
                    "bindings": ["ws": ["method": "GET"]],
                ]
            ],
            "operations": .object(operations),
            "components": ["messages": .object(messages), "schemas": .object(schemas)],
        ]
        return document.bytes
    }

    private static let socketAbout =
        "Subprotocol callagent.v1.json; text frames, one JSON object each. Closing: "
        + CloseCode.allCases.map { "\($0.rawValue) \($0)" }.joined(separator: ", ")
        + "; 4000-4099 reconnect and resume, 4100-4199 reconnect with a new token, "
        + "4200-4299 do not reconnect."

    private var messages: JSONObject {
        var messages = JSONObject()
        for name in OperationName.allCases {
            messages["request.\(name.rawValue)"] = Self.message(request(name), name.summary)
            messages["reply.\(name.rawValue)"] = Self.message(
                Schema.object([
                    SchemaMember("re", messageID.orNull),
                    SchemaMember("ok", Schema.ref("\(name.rawValue).ok")),
                ]), "The answer to \(name.rawValue).")
        }
        for event in EventDescriptor.all {
            let name = event.name.rawValue
            messages["event.\(name)"] = Self.message(
                Schema.object([
                    SchemaMember("seq", Schema.integer(1)),
                    SchemaMember("event", Schema.constant(name)),
                    SchemaMember("data", Schema.ref("event.\(name)")),
                ]), event.summary)
        }
        messages["error"] = Self.message(
            Schema.object([
                SchemaMember("re", messageID.orNull), SchemaMember("error", Schema.ref("Error")),
            ]), "A request was not carried out.")
        messages["ack"] = Self.message(
            Schema.object([SchemaMember("ack", Schema.integer())]),
            "The events up to this number arrived; no reply.")
        return messages
    }

    private var messageID: JSONValue {
        [
            "type": ["integer", "string"],
            "maxLength": .integer(Int64(rules.limits.idBytes)),
        ]
    }

    private func request(_ name: OperationName) -> JSONValue {
        let needsData = OperationDescriptor.of(name).required != []
        return Schema.object([
            SchemaMember("id", messageID, optional: name == .ping),
            SchemaMember("op", Schema.constant(name.rawValue)),
            SchemaMember(
                "key", Schema.text(1...rules.limits.keyBytes), "idempotency key", optional: true),
            SchemaMember(
                "trace", Schema.text(), "a W3C traceparent; a malformed one is ignored",
                optional: true),
            SchemaMember("data", Schema.ref("\(name.rawValue).data"), optional: !needsData),
        ])
    }

    private static func message(_ payload: JSONValue, _ summary: String) -> JSONValue {
        ["summary": .string(summary), "payload": payload]
    }

    private var operations: JSONObject {
        var operations = JSONObject()
        for name in OperationName.allCases {
            operations[name.rawValue] = [
                "action": "receive", "channel": ["$ref": "#/channels/socket"],
                "summary": .string(name.summary),
                "messages": [Self.onSocket("request.\(name.rawValue)")],
                "reply": [
                    "channel": ["$ref": "#/channels/socket"],
                    "messages": [
                        Self.onSocket("reply.\(name.rawValue)"), Self.onSocket("error"),
                    ],
                ],
            ]
        }
        for event in EventDescriptor.all {
            let name = event.name.rawValue
            operations["event.\(name)"] = [
                "action": "send", "channel": ["$ref": "#/channels/socket"],
                "summary": .string(event.summary),
                "messages": [Self.onSocket("event.\(name)")],
            ]
        }
        operations["ack"] = [
            "action": "receive", "channel": ["$ref": "#/channels/socket"],
            "messages": [Self.onSocket("ack")],
        ]
        return operations
    }

    private static func onSocket(_ message: String) -> JSONValue {
        ["$ref": .string("#/channels/socket/messages/\(message)")]
    }
}
