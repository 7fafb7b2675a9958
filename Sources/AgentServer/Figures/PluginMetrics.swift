// Figures that plugins count and observe, within limits. Owner: the loop's thread.

/// Series of plugins, written as Prometheus text.
struct PluginMetrics {
    /// Series that one plugin may have.
    static let seriesMax = 1_000

    private struct Series {
        let plugin: String
        let labels: String
        var sum = 0.0
        var count = 0
    }

    /// Sets of labels of one counter of one plugin; the rest is counted as `other`.
    static let setsMax = 100

    /// The sets of labels that one plugin has used, and the one that stands for the rest.
    private struct Sets {
        var count = 0
        let other: String
    }

    private struct Family {
        var isCounter = true
        var series: [String: Series] = [:]
        var sets: [String: Sets] = [:]
    }

    private var families: [String: Family] = [:]
    private var seriesOf: [String: Int] = [:]
    /// Values that were dropped because their plugin has too many series.
    private(set) var dropped = 0

    /// Adds to a plugin's counter.
    mutating func count(
        _ plugin: String, _ name: String, _ amount: Double, _ labels: [String: String]
    ) {
        note("callagent_plugin_\(name)_total", isCounter: true, plugin, amount, labels)
    }

    /// Notes a value of a plugin's summary.
    mutating func observe(
        _ plugin: String, _ name: String, _ value: Double, _ labels: [String: String]
    ) {
        note("callagent_plugin_\(name)", isCounter: false, plugin, value, labels)
    }

    private mutating func note(
        _ name: String, isCounter: Bool, _ plugin: String, _ value: Double,
        _ labels: [String: String]
    ) {
        var labels = labels
        labels["plugin"] = plugin
        var text = Self.text(of: labels)
        if families[name]?.series[text] == nil, let sets = families[name]?.sets[plugin],
            sets.count >= Self.setsMax
        {
            text = sets.other
        }
        if families[name]?.series[text] == nil {
            guard seriesOf[plugin, default: 0] < Self.seriesMax else {
                dropped += 1
                return
            }
            seriesOf[plugin, default: 0] += 1
            families[name, default: Family(isCounter: isCounter)].series[text] =
                Series(plugin: plugin, labels: text)
            var other = labels.mapValues { _ in "other" }
            other["plugin"] = plugin
            families[name]?.sets[plugin, default: Sets(other: Self.text(of: other))].count += 1
        }
        families[name]?.series[text]?.sum += value
        families[name]?.series[text]?.count += 1
    }

    /// `{kind="vip",plugin="busy"}`: names as Prometheus has them, values escaped.
    static func text(of labels: [String: String]) -> String {
        let pairs = labels.map { (name: name(from: $0.key), value: $0.value) }
            .sorted { ($0.name, $0.value) < ($1.name, $1.value) }
        return "{" + pairs.map { "\($0.name)=\"\(escaped($0.value))\"" }.joined(separator: ",")
            + "}"
    }

    private static func name(from text: String) -> String {
        let name = String(
            text.unicodeScalars.map { scalar in
                let isFine = scalar.isASCII && (scalar.properties.isAlphabetic || isDigit(scalar))
                return isFine ? Character(scalar) : "_"
            })
        return name.unicodeScalars.first.map { isDigit($0) } ?? true ? "_" + name : name
    }

    private static func isDigit(_ scalar: Unicode.Scalar) -> Bool { "0"..."9" ~= scalar }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// Every series, with the type of its name.
    var text: String {
        families.sorted { $0.key < $1.key }.map { name, family in
            let series = family.series.values.sorted { $0.labels < $1.labels }
            let lines = series.map { one in
                guard !family.isCounter else { return "\(name)\(one.labels) \(one.sum)\n" }
                return "\(name)_sum\(one.labels) \(one.sum)\n"
                    + "\(name)_count\(one.labels) \(one.count)\n"
            }
            let kind = family.isCounter ? "counter" : "summary"
            return "# HELP \(name) Noted by plugins.\n# TYPE \(name) \(kind)\n" + lines.joined()
        }.joined()
    }
}
