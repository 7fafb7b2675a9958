// The few forms of JSON Schema that the protocol documents are made of.

import JSON

/// Builds JSON Schemas (draft 2020-12, of which AsyncAPI 3.1 and OpenAPI 3.1 understand this part).
enum Schema {
    /// A schema that stands under `components` of the same document.
    static func ref(_ name: String) -> JSONValue {
        ["$ref": .string("#/components/schemas/\(name)")]
    }

    /// A text of `lengths` characters.
    static func text(_ lengths: ClosedRange<Int>? = nil, pattern: String? = nil) -> JSONValue {
        var schema: JSONObject = ["type": "string"]
        if let lengths {
            if lengths.lowerBound > 0 { schema["minLength"] = .integer(Int64(lengths.lowerBound)) }
            schema["maxLength"] = .integer(Int64(lengths.upperBound))
        }
        if let pattern { schema["pattern"] = .string(pattern) }
        return .object(schema)
    }

    /// An integer.
    static func integer(_ minimum: Int64? = nil, _ maximum: Int64? = nil) -> JSONValue {
        var schema: JSONObject = ["type": "integer"]
        if let minimum { schema["minimum"] = .integer(minimum) }
        if let maximum { schema["maximum"] = .integer(maximum) }
        return .object(schema)
    }

    /// An integer of `range`, or 0.
    static func zero(or range: ClosedRange<Int64>) -> JSONValue {
        [
            "oneOf": [
                ["type": "integer", "const": 0], integer(range.lowerBound, range.upperBound),
            ]
        ]
    }

    /// `true` or `false`.
    static let flag: JSONValue = ["type": "boolean"]

    /// Any JSON value.
    static let anything: JSONValue = [:]

    /// One word of a closed list.
    static func word<Word: RawRepresentable<String> & CaseIterable>(_: Word.Type) -> JSONValue {
        .words(Word.allCases.map(\.rawValue))
    }

    /// One value only.
    static func constant(_ text: String) -> JSONValue { ["const": .string(text)] }

    /// A list.
    static func list(of element: JSONValue, _ counts: ClosedRange<Int>? = nil) -> JSONValue {
        var schema: JSONObject = ["type": "array", "items": element]
        if let counts {
            if counts.lowerBound > 0 { schema["minItems"] = .integer(Int64(counts.lowerBound)) }
            schema["maxItems"] = .integer(Int64(counts.upperBound))
        }
        return .object(schema)
    }

    /// An object whose names are not known beforehand.
    static func map(of element: JSONValue) -> JSONValue {
        ["type": "object", "additionalProperties": element]
    }

    /// An object with these members.
    static func object(_ members: [SchemaMember]) -> JSONValue {
        let required = members.filter(\.isRequired).map { JSONValue.string($0.name) }
        var schema: JSONObject = ["type": "object"]
        if !required.isEmpty { schema["required"] = .array(required) }
        schema["properties"] = .object(
            JSONObject(members.map { .init(key: $0.name, value: $0.documented) }))
        return .object(schema)
    }
}

/// One member of an object and what it is for.
struct SchemaMember {
    let name: String
    let schema: JSONValue
    let isRequired: Bool
    let about: String

    init(_ name: String, _ schema: JSONValue, _ about: String = "", optional: Bool = false) {
        self.name = name
        self.schema = schema
        self.about = about
        isRequired = !optional
    }

    fileprivate var documented: JSONValue {
        guard !about.isEmpty, case .object(var object) = schema else { return schema }
        object["description"] = .string(about)
        return .object(object)
    }
}

extension JSONValue {
    /// The schema of one of `words`.
    static func words(_ words: [String]) -> JSONValue {
        ["type": "string", "enum": .array(words.map { .string($0) })]
    }

    /// The schema of the same, or null.
    var orNull: JSONValue {
        guard case .object(var schema) = self, let type = schema["type"] else {
            return ["oneOf": [self, ["type": "null"]]]
        }
        schema["type"] = .array((type.array ?? [type]) + ["null"])
        if let words = schema["enum"]?.array { schema["enum"] = .array(words + [.null]) }
        return .object(schema)
    }
}
