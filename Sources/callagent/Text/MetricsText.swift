// The figures of a server, read from its Prometheus text.

import CallClient
import JSON

/// The samples of one answer to `GET /metrics`.
struct MetricsText {
    private let answer: AdminAnswer

    init(_ answer: AdminAnswer) { self.answer = answer }

    /// Prints that the server runs, with its figures; returns the exit code.
    func show(isJSON: Bool, of server: ServerAddress) -> Int32 {
        answer.show(isJSON: false) { value in
            let samples = Self.samples(in: value.string ?? "")
            if isJSON {
                let members = samples.map { JSONObject.Member(key: $0.name, value: $0.value) }
                return Screen.say(.object(JSONObject(members)))
            }
            Screen.say("running at \(server)")
            Screen.say(Self.summary(of: samples))
            for sample in samples where !Self.isDetail(sample.name, sample.value) {
                Screen.say(Screen.plain("\(sample.name)  \(sample.value)"))
            }
        }
    }

    /// What a person wants to know first.
    static func summary(of samples: [(name: String, value: JSONValue)]) -> String {
        func figure(_ name: String) -> String {
            samples.first { $0.name == name }.map { "\($0.value)" } ?? "?"
        }
        let takesCalls = figure("callagent_ready") == "1"
        return (takesCalls ? "takes calls" : "takes no calls (callagent doctor says why)")
            + "; live calls: \(figure("callagent_live_calls"))"
            + ", connections: \(figure("callagent_connections"))"
    }

    /// Whether a person can do without it: columns of histograms, and what has not happened yet.
    static func isDetail(_ name: String, _ value: JSONValue) -> Bool {
        guard let labels = name.firstIndex(of: "{") else { return false }
        return name[..<labels].hasSuffix("_bucket") || value == .integer(0) || value == .number(0)
    }

    /// Names with labels, and values; comments left out.
    static func samples(in text: String) -> [(name: String, value: JSONValue)] {
        text.split(separator: "\n").compactMap { line in
            guard !line.hasPrefix("#"), let space = line.lastIndex(of: " ") else { return nil }
            let number = line[line.index(after: space)...]
            let value =
                Int64(number).map { JSONValue.integer($0) }
                ?? Double(number).map { .number($0) }
            return value.map { (String(line[..<space]), $0) }
        }
    }
}
