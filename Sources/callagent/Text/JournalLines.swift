// The journal of a call as a ladder.

import CallModel
import JSON

/// Shows the entries of a journal, a line for each, with the time since the first.
enum JournalLines {
    /// The lines of `entries`, objects as the management API has them.
    static func ladder(_ entries: [JSONValue]) -> [String] {
        let start = entries.lazy.compactMap { $0["at"]?.integer }.first ?? 0
        return entries.map { entry in
            let time = entry["at"]?.integer.map { Span.seconds(max(0, $0 - start)) } ?? "     "
            return Screen.plain("\(time) \(words(entry))")
        }
    }

    private static func words(_ entry: JSONValue) -> String {
        func text(_ name: String) -> String { entry[name]?.string ?? "" }
        func number(_ name: String) -> Int64 { entry[name]?.integer ?? 0 }
        let device = entry["device"]?.string.map { "/\($0)" } ?? ""
        let who = "\(text("user"))\(device)"
        switch text("kind") {
        case "request":
            let code = entry["code"]?.string.map { ": refused, \($0)" } ?? ""
            return "→ \(who) \(text("op"))\(code)\(DecisionText.trace(entry))"
        case "told": return "← \(text("event")) to \(who)"
        case "acknowledged": return "✓ \(who) has it"
        case "connected": return "+ \(who) is connected"
        case "disconnected":
            return "- \(who) is gone" + (entry["why"]?.string.map { " (\($0))" } ?? "")
        case "asked": return "? the plugins are asked: \(text("hook")) of \(text("user"))"
        case "answered":
            let detail = entry["detail"]?.string.map { " \($0)" } ?? ""
            let failure = entry["failure"]?.string.map { " (\($0))" } ?? ""
            return "! \(text("plugin")): \(text("decision"))\(detail)\(failure), "
                + "\(number("cpu_us")) µs of CPU, \(number("wall_us") / 1_000) ms"
        case "timer": return "⏱ \(text("name"))"
        case "push" where text("state") == "unreached":
            return "↗ no push to \(who): neither a device nor a registration is there"
        case "push": return "↗ push to \(who) by \(sent(entry))"
        case "webhook":
            let event = entry["event"]?.string.map { "\($0) " } ?? ""
            return "↗ event \(event)to \(sent(entry))"
        case "media": return "· media \(text("media"))"
        case "change": return change(entry)
        default: return "… \(text("text"))"
        }
    }

    private static func sent(_ entry: JSONValue) -> String {
        let status = entry["status"]?.string.map { ": \($0)" } ?? ""
        let state = entry["state"]?.string ?? "?"
        let word = state == "open" ? "not taken yet" : state
        return "\(entry["target"]?.string ?? "?") \(word)\(status)"
            + " after \(entry["ms"]?.integer ?? 0) ms"
    }

    private static func change(_ entry: JSONValue) -> String {
        let changes = (entry["changes"]?.array ?? []).map { change in
            let reason = change["reason"]?.string.map { " (\($0))" } ?? ""
            return "\(change["user"]?.string ?? "?") \(change["state"]?.string ?? "?")\(reason)"
        }
        var line = "= \(entry["state"]?.string ?? "?")"
        if let end = entry["end"], let reason = end["reason"]?.string {
            let detail = end["detail"]?.string.map { " (\($0))" } ?? ""
            line += " \(reason)\(detail)" + (end["by"]?.string.map { " by \($0)" } ?? "")
        }
        if !changes.isEmpty { line += ": \(changes.joined(separator: ", "))" }
        let device = entry["device"]?.string.map { "/\($0)" } ?? ""
        return line + "  [\(entry["actor"]?.string ?? "?")\(device)]"
    }

    /// Why a phone of somebody rang, or did not.
    static func why(_ answer: JSONValue) -> [String] {
        let user = answer["user"]?.string ?? "?"
        let calls = (answer["items"]?.array ?? []).map { item in
            line(
                item["at"],
                "\(item["caller"]?.string ?? "?") called: \(item["text"]?.string ?? "?")"
                    + "  \(item["call_id"]?.string ?? "")")
        }
        let refused = (answer["refused"]?.array ?? []).map { one in
            line(
                one["at"],
                "\(one["caller"]?.string ?? "?") was refused, \(one["code"]?.string ?? ""): "
                    + (one["text"]?.string ?? ""))
        }
        let tried = (answer["tried"]?.array ?? []).map { one in
            let others = (one["invitees"]?.array ?? []).compactMap(\.string)
            return line(
                one["at"],
                "\(user) could not call \(others.joined(separator: ", ")), "
                    + "\(one["code"]?.string ?? ""): \(one["text"]?.string ?? "")")
        }
        let connections = (answer["connections"]?.array ?? []).map { one in
            let why = one["why"]?.string.map { " (\($0))" } ?? ""
            return line(
                one["at"], "\(one["device"]?.string ?? "?") \(one["state"]?.string ?? "")\(why)")
        }
        let rest = refused + tried + outages(answer) + connections + horizon(answer)
        guard calls.isEmpty, refused.isEmpty else { return calls + rest }
        let since = answer["since_at"]?.integer.map { DecisionText.day(Moment($0)) } ?? "?"
        return [Screen.plain("nobody called \(user) since \(since)")] + rest
    }

    /// Times in which nobody could call, so that nothing is known of those who wanted to.
    private static func outages(_ answer: JSONValue) -> [String] {
        (answer["outages"]?.array ?? []).map { one in
            let until = one["until_at"]?.integer.map { DecisionText.day(Moment($0)) } ?? "now"
            return line(
                one["at"], "nobody could call, until \(until): \(one["text"]?.string ?? "?")")
        }
    }

    /// What is in memory only, an earlier process has taken along.
    private static func horizon(_ answer: JSONValue) -> [String] {
        guard let kept = answer["kept_since_at"]?.integer,
            kept > answer["since_at"]?.integer ?? 0
        else { return [] }
        let day = DecisionText.day(Moment(kept))
        return ["refusals and devices before \(day) are not known: the server began then"]
    }

    private static func line(_ at: JSONValue?, _ text: String) -> String {
        let day = at?.integer.map { DecisionText.day(Moment($0)) } ?? "?"
        return Screen.plain("\(day)  \(text)")
    }
}
