// The management API as an OpenAPI document, made of the rows.

import AgentCore
import CallModel
import JSON
import WebProtocols

extension ManagementOperation {
    /// The OpenAPI document of all operations.
    static func document(version: String) -> JSONValue {
        var paths = JSONObject()
        for operation in all {
            let path = root + operation.path
            var item = paths[path]?.object ?? JSONObject()
            item[operation.method.rawValue.lowercased()] = operation.document
            paths[path] = .object(item)
        }
        return [
            "openapi": "3.1.0",
            "info": ["title": "callagent management", "version": .string(version)],
            "paths": .object(paths),
        ]
    }

    private static let anything = JSONValue.object(JSONObject())

    private var document: JSONValue {
        let isBody = method != .get
        let others = parameters.filter { !hasInPath($0.name) }
        var document: JSONObject = [
            "operationId": .string(name.rawValue), "summary": .string(summary),
            "x-role": .string(role.rawValue),
            "responses": [
                "200": ["description": "done", "content": ["application/json": Self.anything]],
                "default": [
                    "description": "a problem document (RFC 9457)",
                    "content": ["application/problem+json": Self.anything],
                ],
            ],
        ]
        let named = parameters.filter { hasInPath($0.name) || !isBody }
        if !named.isEmpty {
            document["parameters"] = .array(
                named.map { parameter in
                    [
                        "name": .string(parameter.name),
                        "in": .string(hasInPath(parameter.name) ? "path" : "query"),
                        "required": .bool(hasInPath(parameter.name)),
                        "description": .string(parameter.about), "schema": parameter.schema,
                    ]
                })
        }
        if isBody, !others.isEmpty {
            var members = JSONObject()
            for parameter in others { members[parameter.name] = parameter.schema }
            document["requestBody"] = [
                "content": [
                    "application/json": [
                        "schema": ["type": "object", "properties": .object(members)]
                    ]
                ]
            ]
        }
        return .object(document)
    }
}

extension ManagementParameter {
    fileprivate var schema: JSONValue {
        switch kind {
        case .callID: ["type": "string", "pattern": "^[0-9a-f]{32}$"]
        case .user, .device: ["type": "string", "minLength": 1, "maxLength": 64]
        case .count: ["type": "integer", "minimum": 1]
        case .number: ["type": "integer", "minimum": 0]
        case .object: ["type": "object"]
        case .word(let words): ["enum": .array(words.map { .string($0) })]
        case .text(let most):
            ["type": "string", "minLength": 1, "maxLength": .integer(Int64(most))]
        }
    }
}
