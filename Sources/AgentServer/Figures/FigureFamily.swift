// One name with its series, as Prometheus text.

import AgentCore
import CallModel

/// A metric whose series are told apart by labels. Values come with it when it is read: nothing is
/// kept here.
struct FigureFamily {
    /// What the values mean.
    enum Kind: String {
        case counter, gauge, histogram
    }

    let name: String
    let help: String
    let kind: Kind
    private var lines: [String] = []

    init(_ name: String, _ help: String, _ kind: Kind) {
        (self.name, self.help, self.kind) = (name, help, kind)
    }

    /// A counter of each case of an enum.
    init<Key: RawRepresentable & CaseIterable>(
        _ name: String, _ help: String, _ label: String, _ counts: Tally<Key>
    ) where Key.RawValue == String {
        self.init(name, help, .counter)
        for key in Key.allCases { add([label: key.rawValue], counts[key]) }
    }

    /// A histogram in rows.
    init(
        _ name: String, _ help: String, _ durations: Durations, rows: [[String: String]] = [[:]]
    ) {
        self.init(name, help, .histogram)
        for (row, labels) in rows.enumerated() { add(labels, durations, row: row) }
    }

    /// A single value that does not change while the process does not.
    static func info(_ name: String, _ help: String, _ labels: [String: String]?) -> Self {
        var family = Self(name, help, .gauge)
        if let labels { family.add(labels, UInt64(1)) }
        return family
    }

    /// When the certificates end that clients are shown and that other nodes are, in seconds since
    /// 1970 UTC; nil: there is none.
    static func certificates(tls: Int64?, link: Int64?) -> [Self] {
        var shown = Self(
            "callagent_tls_not_after_timestamp_seconds",
            "When the certificate runs out, since 1970 UTC.", .gauge)
        if let tls { shown.add([:], UInt64(max(0, tls))) }
        var nodes = Self(
            "callagent_link_not_after_timestamp_seconds",
            "When the certificate for other nodes runs out, since 1970 UTC.", .gauge)
        if let link { nodes.add([:], UInt64(max(0, link))) }
        return [shown, nodes]
    }

    /// Which node of a cluster it is.
    static func node(_ name: String, owns: Bool) -> Self {
        .info(
            "callagent_cluster_node_info", "Which node this is, and whether it owns.",
            ["node": name, "role": owns ? "owner" : "standby"])
    }

    /// Adds a series.
    mutating func add(_ labels: [String: String], _ value: UInt64) {
        lines.append("\(name)\(Self.text(labels)) \(value)\n")
    }

    private mutating func add(
        _ labels: [String: String], _ durations: Durations, row: Int
    ) {
        var below: UInt64 = 0
        for (place, count) in durations.counts(row: row).enumerated() {
            below += count
            let bounds = durations.bounds
            var all = labels
            all["le"] = place < bounds.count ? "\(Double(bounds[place]) / 1_000)" : "+Inf"
            lines.append("\(name)_bucket\(Self.text(all)) \(below)\n")
        }
        let sum = Double(durations.sum(row: row)) / 1_000
        lines.append("\(name)_sum\(Self.text(labels)) \(sum)\n")
        lines.append("\(name)_count\(Self.text(labels)) \(below)\n")
    }

    private static func text(_ labels: [String: String]) -> String {
        labels.isEmpty ? "" : PluginMetrics.text(of: labels)
    }

    /// Help, type and series.
    var text: String {
        "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n" + lines.joined()
    }
}
