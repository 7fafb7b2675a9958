// The block of options of a plugin as the operator would write it (`callagent config NAME`).

import Configuration
import Lua

/// The options of a plugin for whoever sets them.
public enum OptionBlock {
    /// A documented block for callagent.lua with the defaults.
    public static func text(of source: PluginSource) throws(ScriptProblems) -> String {
        var setting = PluginSetting()
        setting.standsIn = true
        var plan = GenerationPlan()
        plan.plugins = [(source, setting)]
        plan.plugins[0].setting.grants = source.needs
        plan.isWhole = false
        let schema = try Generation(plan, seed: 0).plugins[0].schema ?? []
        guard !schema.isEmpty else { return "-- \(source.name) has no options\n" }
        var lines = ["options[\"\(source.name)\"] = {"]
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
        if let least { parts.append("at least \(shown(least))") }
        if let most { parts.append("at most \(shown(most))") }
        if !choices.isEmpty { parts.append("one of \(choices.joined(separator: ", "))") }
        if isRequired { parts.append("must be set") }
        let rule = parts.joined(separator: ", ")
        return [help.isEmpty ? rule : "\(help) (\(rule))"]
    }

    fileprivate var assignment: String {
        if kind == .secret { return "\(name) = secret \"env:NAME\"" }
        if standard.isNull { return "-- \(name) = …" }
        return "\(name) = \(standard.literal)"
    }
}
