// The HTTP interface as an OpenAPI 3.1 document.

import CallModel
import JSON

extension ProtocolDocuments {
    /// The OpenAPI 3.1 document.
    public var openAPI: [UInt8] {
        var schemas = self.schemas
        schemas["Problem"] = Schema.object([
            SchemaMember("type", Schema.text()), SchemaMember("title", Schema.text()),
            SchemaMember("status", Schema.integer(400, 599)),
            SchemaMember("detail", Schema.text(), "for a person"),
            SchemaMember("code", Schema.ref("ErrorCode")),
            SchemaMember("error", Schema.ref("Error")),
        ])
        let document: JSONValue = [
            "openapi": "3.1.0", "info": info, "security": [["bearer": []]],
            "paths": .object(paths),
            "components": [
                "securitySchemes": ["bearer": ["type": "http", "scheme": "bearer"]],
                "parameters": Self.parameters(rules.limits),
                "responses": [
                    "Problem": [
                        "description": .string(Self.problemAbout),
                        "content": [
                            "application/problem+json": ["schema": Schema.ref("Problem")]
                        ],
                    ]
                ],
                "schemas": .object(schemas),
            ],
        ]
        return document.bytes
    }

    private static let problemAbout =
        "Not carried out (RFC 9457). "
        + Refusal.Code.allCases.map { "\($0.rawValue): \($0.httpStatus)" }.joined(separator: ", ")

    private static func parameters(_ limits: WireLimits) -> JSONValue {
        func header(_ name: String, _ schema: JSONValue, _ about: String) -> JSONValue {
            [
                "name": .string(name), "in": "header", "schema": schema,
                "description": .string(about),
            ]
        }
        return [
            "device": header("X-Device", Schema.ref("Name"), "absent: http"),
            "user": header(
                "X-User", Schema.ref("Name"), "for whom a token with role server acts"),
            "key": header(
                "Idempotency-Key", Schema.text(1...limits.keyBytes), "see the requests' key"),
            "trace": header(
                "traceparent", Schema.text(), "W3C; a malformed one is ignored"),
        ]
    }

    private var paths: JSONObject {
        var paths = JSONObject()
        for descriptor in OperationDescriptor.all {
            guard let path = descriptor.name.httpPath else { continue }
            paths[path] = ["post": operation(descriptor)]
        }
        paths["/v1/call/{call_id}"] = [
            "get": [
                "operationId": "read_call", "summary": .string(OperationName.get.summary),
                "parameters": [
                    [
                        "name": "call_id", "in": "path", "required": true,
                        "schema": Schema.ref("CallID"),
                    ],
                    ["$ref": "#/components/parameters/device"],
                    ["$ref": "#/components/parameters/user"],
                ],
                "responses": Self.responses(Schema.ref("call.get.ok")),
            ]
        ]
        for (path, about, type, otherwise) in Self.documents {
            let content = JSONValue.object([type: ["schema": Schema.anything]])
            var responses: JSONObject = [
                "200": ["description": .string(about), "content": content]
            ]
            switch otherwise {
            case 404?: responses["404"] = ["$ref": "#/components/responses/Problem"]
            case let status?:
                responses["\(status)"] = ["description": "It is not so.", "content": content]
            case nil: break
            }
            paths[path] = [
                "get": [
                    "summary": .string(about), "security": [], "responses": .object(responses),
                ]
            ]
        }
        return paths
    }

    /// Where each is, what it is, its type, and the other status that it may have.
    private static let documents: [(String, String, String, Int?)] = [
        ("/healthz", "The process lives.", "text/plain", nil),
        ("/readyz", "Calls are accepted.", "text/plain", 503),
        ("/metrics", "Figures for Prometheus, where the operator opened them.", "text/plain", 404),
        ("/v1/push/web-key", "The public key of Web Push.", "application/json", 404),
        ("/v1/openapi.json", "This document.", "application/json", nil),
        ("/v1/asyncapi.json", "The WebSocket protocol.", "application/json", nil),
    ]

    private func operation(_ descriptor: OperationDescriptor) -> JSONValue {
        let name = descriptor.name.rawValue
        return [
            "operationId": .string(name.split(separator: ".").joined(separator: "_")),
            "summary": .string(descriptor.summary),
            "parameters": .array(
                ["device", "user", "key", "trace"].map {
                    ["$ref": .string("#/components/parameters/\($0)")]
                }),
            "requestBody": [
                "required": .bool(descriptor.required != []),
                "content": ["application/json": ["schema": Schema.ref("\(name).data")]],
            ],
            "responses": Self.responses(Schema.ref("\(name).ok")),
        ]
    }

    private static func responses(_ ok: JSONValue) -> JSONValue {
        [
            "200": [
                "description": "Carried out.",
                "content": ["application/json": ["schema": ok]],
            ],
            "default": ["$ref": "#/components/responses/Problem"],
        ]
    }
}
