// A canary beside the generation in force, as text for a person.

import JSON

/// Shows the member `canary` of the answer to the operation `plugins`.
enum CanaryText {
    /// For whom it decides, and what each of the two generations decided since it began, side by
    /// side.
    static func lines(_ canary: JSONValue, beside generation: String) -> [String] {
        let name = canary["generation"]?.string ?? "?"
        let accounts = canary["for"]?.string ?? "?"
        var head = "canary \(name) for \(accounts)"
        if accounts.hasSuffix("%") { head += " (salt \(canary["salt"]?.string ?? "?"))" }
        let (met, failing) = (number(canary, "accounts"), number(canary, "failing"))
        head += ", \(met) account\(met == 1 ? "" : "s") met it, it fails for \(failing)"
        if let most = canary["abort_on_failure"]?.integer {
            head += ", \(number(canary, "failures")) of \(most) failures"
        }
        let sides = [canary["beside"] ?? .null, canary["own"] ?? .null]
        var rows = [["", generation, name]]
        rows.append(["asked"] + sides.map { "\(number($0, "asked"))" })
        for action in actions(sides) {
            rows.append([action] + sides.map { "\(number($0["decided"] ?? .null, action))" })
        }
        rows.append(["failed"] + sides.map { "\(number($0, "failed"))" })
        rows.append(["99 % of CPU below"] + sides.map { bound($0["cpu_seconds"]) })
        rows.append(["99 % answered in"] + sides.map { bound($0["wall_seconds"]) })
        return [head] + table(rows)
    }

    /// All that one of them has decided, in the order of the answer.
    private static func actions(_ sides: [JSONValue]) -> [String] {
        var found: [String] = []
        for member in sides.flatMap({ $0["decided"]?.object?.members ?? [] })
        where !found.contains(member.key) {
            found.append(member.key)
        }
        return found
    }

    private static func table(_ rows: [[String]]) -> [String] {
        let widths = (0..<3).map { column in rows.map { $0[column].count }.max() ?? 0 }
        return rows.map { row in
            let name = row[0] + String(repeating: " ", count: widths[0] - row[0].count)
            let cells = (1..<3).map { column in
                String(repeating: " ", count: widths[column] - row[column].count) + row[column]
            }
            return "  \(name)  \(cells.joined(separator: "  "))"
        }
    }

    private static func number(_ value: JSONValue, _ key: String) -> Int64 {
        value[key]?.integer ?? 0
    }

    private static func bound(_ histogram: JSONValue?) -> String {
        histogram?["p99_below"]?.double.map { PluginText.span($0) } ?? "–"
    }
}
