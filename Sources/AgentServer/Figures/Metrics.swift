// Figures of the process. Owner: the loop's thread.

import CallModel

/// Counters of the process, written as Prometheus text.
final class Metrics {
    var refusedTokens: UInt64 = 0
    var slowReaders: UInt64 = 0
    var slowSenders: UInt64 = 0
    var refusedConnections: UInt64 = 0

    /// What plugins count and observe.
    var plugins = PluginMetrics()

    /// One metric with its present value.
    struct Sample {
        let name: String
        let help: String
        let isCounter: Bool
        let value: UInt64
        /// Thousandths beside it.
        var thousandths: UInt64 = 0
    }

    /// The counters, with those of others and what has labels.
    func text(with others: [Sample], _ families: [FigureFamily]) -> String {
        let counters = [
            Sample("refused_tokens_total", "Tokens that were not good.", refusedTokens),
            Sample("slow_readers_total", "Clients cut off for not reading.", slowReaders),
            Sample(
                "slow_senders_total", "Clients cut off in the middle of a message.", slowSenders),
            Sample(
                "refused_connections_total", "Connections over a limit.", refusedConnections),
            Sample(
                "policy_values_dropped_total", "Values of plugins with too many series.",
                UInt64(plugins.dropped)),
        ]
        return (counters + others).map(\.text).joined() + families.map(\.text).joined()
            + plugins.text
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

    /// A gauge of time, in seconds.
    static func seconds(_ name: String, _ help: String, _ milliseconds: Milliseconds) -> Self {
        let value = UInt64(max(0, milliseconds))
        return Self(
            name: "callagent_\(name)", help: help, isCounter: false, value: value / 1_000,
            thousandths: value % 1_000)
    }

    var text: String {
        """
        # HELP \(name) \(help)
        # TYPE \(name) \(isCounter ? "counter" : "gauge")
        \(name) \(value)\(fraction)

        """
    }

    private var fraction: String {
        thousandths == 0 ? "" : ".\(String(thousandths + 1_000).dropFirst())"
    }
}
