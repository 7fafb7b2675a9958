// The protocol described for machines: AsyncAPI for the WebSocket, OpenAPI for HTTP.

import CallModel
import JSON

/// `GET /v1/asyncapi.json` and `GET /v1/openapi.json`, made of the tables by which messages are
/// decoded. They depend on the limits only, so a server makes them once.
public struct ProtocolDocuments: Sendable {
    let rules: FieldRules
    private let version: String

    /// The documents of a server of `version` with `limits`.
    public init(
        limits: WireLimits = WireLimits(), modes: [ModeRow] = ModeRow.all, version: String
    ) {
        rules = FieldRules(limits: limits, modes: modes)
        self.version = version
    }

    /// What both documents say of themselves.
    var info: JSONValue {
        [
            "title": "callagent", "version": .string(version),
            "description": """
            Invitations to calls: who rings, who answers, how it ends. Unknown fields are \
            ignored. Moments are milliseconds since 1970 and end in _at, durations are \
            milliseconds and end in _ms. Lengths of texts are counted in UTF-8 bytes.
            """,
        ]
    }

    /// The objects of both documents.
    var schemas: JSONObject { ProtocolSchemas(rules: rules).all }
}
