// The protocol as TypeScript, for the JavaScript client.

import CallModel
import JSON

extension ProtocolDocuments {
    /// The lines of `protocol.d.ts`: `Operations` and `Events` by name, and the objects in them.
    var typeScript: [String] {
        let schemas = self.schemas
        let isPart = { (name: String) in !name.contains(".") }
        var lines: [String] = []
        for member in schemas.members where isPart(member.key) {
            let isSent = ["Push", "Resume", "Items"].contains(member.key)
            let script = TypeScript(isOpen: !isSent)
            let type = script.type(member.value, indent: "")
            lines += ["export type \(TypeScript.name(of: member.key)) = \(type);", ""]
        }
        lines.append("/** What may be asked, and what is answered. */")
        lines.append("export interface Operations {")
        for operation in OperationDescriptor.all {
            let name = operation.name.rawValue
            let data = schemas["\(name).data"] ?? [:]
            let ok = schemas["\(name).ok"] ?? [:]
            lines += [
                "  /** \(operation.summary) */", "  \"\(name)\": {",
                "    data: \(TypeScript(isOpen: false).type(data, indent: "    "));",
                "    ok: \(TypeScript(isOpen: true).type(ok, indent: "    "));", "  };",
            ]
        }
        lines += ["}", "", "/** What is told, by the name of the event. */"]
        lines.append("export interface Events {")
        for event in EventDescriptor.all {
            let name = event.name.rawValue
            let data = schemas["event.\(name)"] ?? [:]
            let type = TypeScript(isOpen: true).type(data, indent: "  ")
            lines += ["  /** \(event.summary) */", "  \"\(name)\": \(type);"]
        }
        return (lines + ["}"]).flatMap {
            $0.split(separator: "\n", omittingEmptySubsequences: false).map { line in
                String(line.reversed().drop { $0 == " " }.reversed())
            }
        }
    }
}

/// Writes a schema as a type.
private struct TypeScript {
    /// Whether words that this version does not know are let through: a newer server may say them.
    let isOpen: Bool

    private static let width = 100
    /// Names that mean something else in a browser, or in the client.
    private static let own = [
        "Call": "CallObject", "Participant": "ParticipantObject", "End": "EndObject",
        "Error": "ErrorObject", "Name": "UserName",
    ]

    static func name(of schema: String) -> String { own[schema] ?? schema }

    func type(_ schema: JSONValue, indent: String) -> String {
        if let reference = schema["$ref"]?.string {
            return Self.name(of: String(reference.split(separator: "/").last ?? ""))
        }
        if let choices = schema["oneOf"]?.array {
            return union(choices.map { type($0, indent: indent) }, indent)
        }
        if let words = schema["enum"]?.array { return union(of: words, indent) }
        let types = schema["type"]?.array ?? [schema["type"] ?? .null]
        return union(types.map { plain($0.string, schema, indent) }, indent)
    }

    private func plain(_ name: String?, _ schema: JSONValue, _ indent: String) -> String {
        switch name {
        case "string", "boolean", "null": return name ?? ""
        case "integer": return schema["const"] == nil ? "number" : "0"
        case "array":
            let item = type(schema["items"] ?? [:], indent: indent)
            return item.contains("|") ? "Array<\(item)>" : "\(item)[]"
        case "object": return object(schema, indent)
        default: return "unknown"
        }
    }

    private func object(_ schema: JSONValue, _ indent: String) -> String {
        if let values = schema["additionalProperties"] {
            return "{ [name: string]: \(type(values, indent: indent)) }"
        }
        guard case .object(let members)? = schema["properties"] else { return "object" }
        if members.members.isEmpty { return "Record<string, never>" }
        let required = schema["required"]?.array?.compactMap(\.string) ?? []
        let lines = members.members.flatMap { member in
            let mark = required.contains(member.key) ? "" : "?"
            let about = member.value["description"]?.string.map { "\(indent)  /** \($0) */" }
            // Operators write modes of their own.
            let script = member.key == "mode" ? TypeScript(isOpen: true) : self
            let value = script.type(member.value, indent: indent + "  ")
            return [about, "\(indent)  \(member.key)\(mark): \(value);"].compactMap { $0 }
        }
        return "{\n\(lines.joined(separator: "\n"))\n\(indent)}"
    }

    private func union(of words: [JSONValue], _ indent: String) -> String {
        let texts = words.map { $0.string.map { "\"\($0)\"" } ?? "null" }
        return union(texts + (isOpen ? ["(string & {})"] : []), indent)
    }

    private func union(_ types: [String], _ indent: String) -> String {
        let line = types.joined(separator: " | ")
        guard types.count > 1, line.count + indent.count > Self.width / 2, !line.contains("{\n")
        else { return line }
        return types.map { "\n\(indent)  | \($0)" }.joined()
    }
}
