// Recorded decisions as text for a person.

import CallModel
import Glibc
import JSON

/// Shows lines of the decision log.
enum DecisionText {
    /// `push invite for bob/phone by fcm: sent`.
    static func push(_ push: JSONValue) -> String {
        Screen.plain(
            "push \(text(push, "kind")) for \(text(push, "user"))/\(text(push, "device")) by "
                + "\(text(push, "provider")): \(text(push, "result"))")
    }

    /// One decision in full: who was asked, what each said and saw, and what was committed.
    static func lines(_ entry: JSONValue) -> [String] {
        if entry["shadow"] != nil { return [shadow(entry)] }
        let head = "\(time(entry))  on.\(text(entry, "event")) for \(text(entry, "user"))"
        var lines = [
            "\(head)  \(people(entry))  generation \(text(entry, "generation"))\(trace(entry))"
        ]
        let asked = entry["asked"]?.array ?? []
        let width = asked.map { text($0, "plugin").count }.max() ?? 0
        for plugin in asked {
            lines.append("  \(said(plugin, width: width))")
            if let message = plugin["message"]?.string { lines.append("    \(message)") }
            let name = plugin["plugin"]?.string
            for seen in entry["input"]?["seen"]?.array ?? [] where seen["plugin"]?.string == name {
                lines.append("    \(wait(seen))")
            }
        }
        if asked.isEmpty { lines.append("  no plugin was concerned") }
        let took = entry["took_ms"]?.integer.map { " after \($0) ms" } ?? ""
        lines.append("  → \(decision(entry["decision"] ?? .null))\(took)")
        return lines.map(Screen.plain)
    }

    /// One decision on one line.
    static func line(_ entry: JSONValue) -> String {
        if entry["shadow"] != nil { return Screen.plain(shadow(entry)) }
        let asked = (entry["asked"]?.array ?? []).map { plugin in
            let failure = plugin["failure"]?.string.map { " (\($0))" } ?? ""
            return "\(text(plugin, "plugin")): \(text(plugin, "said"))\(failure)"
        }
        let spent = (entry["asked"]?.array ?? []).compactMap { $0["cpu_us"]?.integer }
        return Screen.plain(
            "\(time(entry))  \(text(entry, "call"))  on.\(text(entry, "event"))"
                + " \(people(entry))  [\(asked.joined(separator: ", "))]"
                + " → \(decision(entry["decision"] ?? .null))"
                + ", \(entry["took_ms"]?.integer ?? 0) ms, \(spent.reduce(0, &+)) µs of CPU"
                + trace(entry))
    }

    /// The trace of the request that led to it, behind the rest of the line.
    static func trace(_ entry: JSONValue) -> String {
        entry["traceparent"]?.string.map { "  trace \($0)" } ?? ""
    }

    /// The result of a replay or a shadow; `nothing` where nothing was asked.
    static func report(
        _ report: JSONValue, nothing: String = "no decisions are recorded"
    ) -> [String] {
        func number(_ key: String) -> Int64 { report[key]?.integer ?? 0 }
        guard number("asked") + number("left") + number("unknown") > 0 else { return [nothing] }
        let noun = number("asked") == 1 ? "decision" : "decisions"
        var head = "\(number("asked")) recorded \(noun) asked again: "
        head += "\(number("changed") == 0 ? "none" : "\(number("changed"))") would change"
        if number("failing") > 0 { head += ", \(number("failing")) would fail" }
        var lines = [head]
        if number("unsure") > 0 {
            lines.append(
                "\(number("unsure")) of them waited for something that nobody was asked for then")
        }
        if number("left") > 0 {
            lines.append("\(number("left")) were not asked again: there was no time for more")
        }
        if number("unknown") > 0 {
            lines.append("\(number("unknown")) could not be asked again: too little is recorded")
        }
        let changes = report["changes"]?.array ?? []
        let isMixed = Set(changes.compactMap { $0["generation"]?.string }).count > 1
        lines += changes.flatMap { change($0, saysWho: isMixed) }
        let rest = number("changed") - Int64(changes.count)
        if rest > 0 { lines.append("… and \(rest) more") }
        return lines.map(Screen.plain)
    }

    /// - Parameter saysWho: whether it names the generation that decided.
    private static func change(_ change: JSONValue, saysWho: Bool) -> [String] {
        let who = saysWho ? "  generation \(text(change, "generation"))" : ""
        let problem = change["problem"]?.string.map { ["      \($0)"] } ?? []
        return [
            "  \(time(change))  \(text(change, "call"))  on.\(text(change, "event"))"
                + " for \(text(change, "user"))\(who)",
            "    - \(text(change, "before"))", "    + \(text(change, "after"))",
        ] + problem
    }

    private static func shadow(_ entry: JSONValue) -> String {
        let problem = entry["problem"]?.string.map { " (\($0))" } ?? ""
        return "\(time(entry))  \(text(entry, "call"))  on.\(text(entry, "event"))"
            + " for \(text(entry, "user"))  shadow \(text(entry, "shadow")):"
            + " \(text(entry, "after")) instead of \(text(entry, "before"))\(problem)"
    }

    // MARK: Parts

    private static func said(_ plugin: JSONValue, width: Int) -> String {
        let name = text(plugin, "plugin")
        let failure = plugin["failure"]?.string.map { " (\($0))" } ?? ""
        return name + String(repeating: " ", count: width - name.count)
            + "  \(text(plugin, "said"))\(failure)  \(plugin["cpu_us"]?.integer ?? 0) µs of CPU,"
            + " \(plugin["wall_ms"]?.integer ?? 0) ms"
    }

    private static func wait(_ seen: JSONValue) -> String {
        let after = seen["after_ms"]?.integer ?? 0
        return "\(text(seen, "request")) → \(reply(seen)) after \(after) ms"
    }

    private static func reply(_ seen: JSONValue) -> String {
        if let value = seen["value"] { return "\(value)" }
        if let user = seen["user"] {
            return "\(user["calls"]?.integer ?? 0) calls, \(user["devices"]?.integer ?? 0) devices"
        }
        if let refused = seen["refused"] { return refused.string ?? "done" }
        if let trouble = seen["trouble"]?.string { return "trouble: \(trouble)" }
        if let status = seen["status"]?.integer { return "status \(status)" }
        return "no reply in time"
    }

    /// `ann → bob, carol`.
    private static func people(_ entry: JSONValue) -> String {
        let people = (entry["input"]?["call"]?["participants"]?.array ?? []).map {
            text($0, "user")
        }
        guard let caller = people.first else { return text(entry, "user") }
        let others = people.dropFirst().joined(separator: ", ")
        return others.isEmpty ? caller : "\(caller) → \(others)"
    }

    /// The members of a decision, the action first.
    private static func decision(_ decision: JSONValue) -> String {
        var words = [text(decision, "action")]
        for member in decision.object?.members ?? [] {
            switch member.key {
            case "action", "next", "by": continue
            default:
                if !member.value.isNull { words.append("\(member.key)=\(member.value.shown)") }
            }
        }
        if let plugin = decision["by"]?.string { words.append("by \(plugin)") }
        return words.joined(separator: " ")
    }

    private static func text(_ value: JSONValue, _ key: String) -> String {
        value[key]?.string ?? "?"
    }

    /// The day and the second, UTC.
    static func day(_ moment: Moment) -> String {
        var seconds = time_t(moment.milliseconds / 1_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let length = strftime(&text, text.count, "%Y-%m-%d %H:%M:%S UTC", &parts)
        return String(decoding: text[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The time of day, UTC.
    private static func time(_ entry: JSONValue) -> String {
        let at = entry["at"]?.integer ?? 0
        let day = ((at % 86_400_000) + 86_400_000) % 86_400_000
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let millis = String(day % 1_000 + 1_000).dropFirst()
        return
            "\(two(day / 3_600_000)):\(two(day / 60_000 % 60)):\(two(day / 1_000 % 60)).\(millis)"
    }
}
