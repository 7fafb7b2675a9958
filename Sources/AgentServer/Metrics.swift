// Numbers for whoever is on call. Owner: the loop's thread.

/// Counters of the process, written as Prometheus text.
final class Metrics {
    var requests: UInt64 = 0
    var events: UInt64 = 0
    var malformed: UInt64 = 0
    var refusedTokens: UInt64 = 0
    var slowReaders: UInt64 = 0
    var refusedConnections: UInt64 = 0

    /// What plugins count and observe: name with labels → sum and count.
    private var plugins: [String: (sum: Double, count: UInt64)] = [:]
    /// Names with labels that plugins may bring.
    static let pluginSeriesMax = 10_000

    /// Adds to a plugin's counter.
    func count(_ plugin: String, _ name: String, _ amount: Double, _ labels: [String: String]) {
        note("callagent_plugin_\(name)_total", plugin, amount, labels)
    }

    /// Notes a value of a plugin's summary.
    func observe(_ plugin: String, _ name: String, _ value: Double, _ labels: [String: String]) {
        note("callagent_plugin_\(name)", plugin, value, labels)
    }

    private func note(
        _ name: String, _ plugin: String, _ value: Double, _ labels: [String: String]
    ) {
        var all = labels
        all["plugin"] = plugin
        let text = all.sorted { $0.key < $1.key }
            .map { "\($0.key)=\"\($0.value.filter { $0 != "\"" && $0 != "\n" && $0 != "\\" })\"" }
        let series = "\(name){\(text.joined(separator: ","))}"
        guard plugins[series] != nil || plugins.count < Self.pluginSeriesMax else { return }
        plugins[series, default: (0, 0)].sum += value
        plugins[series, default: (0, 0)].count += 1
    }

    private var pluginText: String {
        plugins.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.sum)\n" }.joined()
    }

    /// One metric with its present value.
    struct Sample {
        let name: String
        let help: String
        let isCounter: Bool
        let value: UInt64
    }

    /// The counters, with `gauges` of others.
    func text(with gauges: [Sample]) -> String {
        let counters = [
            Sample("requests_total", "Requests of clients.", requests),
            Sample("events_total", "Events sent to clients.", events),
            Sample("malformed_total", "Messages that could not be understood.", malformed),
            Sample("refused_tokens_total", "Tokens that were not good.", refusedTokens),
            Sample("slow_readers_total", "Clients cut off for not reading.", slowReaders),
            Sample(
                "refused_connections_total", "Connections over a limit.", refusedConnections),
        ]
        return (counters + gauges).map(\.text).joined() + pluginText
    }
}

extension Metrics.Sample {
    /// A counter.
    init(_ name: String, _ help: String, _ value: UInt64) {
        self.init(name: "callagent_\(name)", help: help, isCounter: true, value: value)
    }

    /// A gauge.
    static func gauge(_ name: String, _ help: String, _ value: Int) -> Self {
        Self(
            name: "callagent_\(name)", help: help, isCounter: false,
            value: UInt64(max(0, value)))
    }

    fileprivate var text: String {
        """
        # HELP \(name) \(help)
        # TYPE \(name) \(isCounter ? "counter" : "gauge")
        \(name) \(value)

        """
    }
}
