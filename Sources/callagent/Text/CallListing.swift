// A call as text for a person.

import CallModel
import EventLoop
import JSON

/// Shows the call objects of the protocol.
enum CallListing {
    /// One line: id, state, mode, people, age, end.
    static func line(_ call: JSONValue, now: Int64 = Clock.wallMilliseconds()) -> String {
        let id = text(call, "call_id")
        let state = text(call, "state").padded(to: 8)
        let mode = text(call, "mode").padded(to: 9)
        let age = call["created_at"]?.integer.map { Span.words(max(now - $0, 0)) + " ago" } ?? ""
        return Screen.plain("\(id)  \(state)\(mode)\(people(call))  \(age)\(end(call))")
    }

    /// One call in full.
    static func lines(_ call: JSONValue) -> [String] {
        let rows = [
            ("call", text(call, "call_id")),
            ("state", "\(text(call, "state"))\(end(call))"),
            ("mode", "\(text(call, "mode")), \(text(call, "kind"))"),
            ("data", call["extended_data"]?.string ?? ""),
        ]
        let people = (call["participants"]?.array ?? []).map { ("", participant($0)) }
        return (rows.filter { !$0.1.isEmpty } + people).map { name, value in
            Screen.plain("\(name.padded(to: 7))\(value)")
        }
    }

    private static func participant(_ value: JSONValue) -> String {
        let reason = value["reason"]?.string.map { " (\($0))" } ?? ""
        let device = value["device"]?.string.map { " on \($0)" } ?? ""
        let data = value["extended_data"]?.string.map { ": \($0)" } ?? ""
        return "\(text(value, "user")) (\(text(value, "role"))) \(text(value, "state"))"
            + "\(reason)\(device)\(data)"
    }

    private static func people(_ call: JSONValue) -> String {
        let others = (call["participants"]?.array ?? []).dropFirst().map {
            "\(text($0, "user")) \(text($0, "state"))"
        }
        return "\(text(call, "caller")) → \(others.joined(separator: ", "))"
    }

    private static func end(_ call: JSONValue) -> String {
        guard let reason = call["end"]?["reason"]?.string else { return "" }
        let detail = call["end"]?["detail"]?.string.map { " (\($0))" } ?? ""
        return "  \(reason)\(detail)"
    }

    private static func text(_ value: JSONValue, _ key: String) -> String {
        value[key]?.string ?? "?"
    }
}

extension String {
    /// The text with spaces behind it.
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(width - count, 1))
    }
}
