// The block of options of a plugin as the operator would write it (`callagent config NAME`).

import JSON

extension Generation {
    /// A documented block for callagent.lua, or nil when the plugin is not in this generation.
    public func optionBlock(of name: String) -> String? {
        guard let plugin = plugins.first(where: { $0.name == name }) else { return nil }
        guard let schema = plugin.schema, !schema.isEmpty else {
            return "-- \(name) has no options\n"
        }
        var lines = ["options[\"\(name)\"] = {"]
        for field in schema {
            for note in field.notes { lines.append("  -- \(note)") }
            lines.append("  \(field.assignment),")
        }
        return (lines + ["}"]).joined(separator: "\n") + "\n"
    }
}

extension OptionField {
    /// What a person should know of it.
    fileprivate var notes: [String] {
        var parts: [String] = [kind.rawValue]
        if let least { parts.append("at least \(least.formatted)") }
        if let most { parts.append("at most \(most.formatted)") }
        if !choices.isEmpty { parts.append("one of \(choices.joined(separator: ", "))") }
        if isRequired { parts.append("must be set") }
        let rule = parts.joined(separator: ", ")
        return [help.isEmpty ? rule : "\(help) (\(rule))"]
    }

    fileprivate var assignment: String {
        if kind == .secret { return "\(name) = secret \"env:NAME\"" }
        return "\(name) = \(standard.literal)"
    }
}

extension Double {
    fileprivate var formatted: String {
        self == rounded() && abs(self) < 1e15 ? "\(Int64(self))" : "\(self)"
    }
}

extension LuaValue {
    /// The value as Lua source.
    fileprivate var literal: String {
        switch self {
        case .text(let text): return JSONValue.string(text).description
        case .list(let values):
            return values.isEmpty
                ? "{}" : "{ \(values.map(\.literal).joined(separator: ", ")) }"
        case .table(let pairs):
            let members = pairs.map { "[\($0.key.literal)] = \($0.value.literal)" }
            return members.isEmpty ? "{}" : "{ \(members.joined(separator: ", ")) }"
        case .null, .bool, .integer, .number: return shown
        case .bytes, .function, .call, .user, .handle, .decision: return "nil"
        }
    }
}
