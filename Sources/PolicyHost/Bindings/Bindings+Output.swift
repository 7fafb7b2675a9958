// log, count, observe: what plugins say to the operator.

import CLua
import CallModel
import Configuration
import JSON
import Lua

extension Bindings {
    static let output: [Binding] =
        LogLevel.allCases.map(log) + [
            Binding(
                "print", CALLUA_SHOWS, type: "fun(...)",
                help: "Writes its arguments to the log (info)."
            ) { state, arguments throws(Refused) in
                guard state.mayLog() else { return .nothing }
                let text = arguments.values.map(\.shown).joined(separator: "\t")
                state.write(.info, text)
                return .nothing
            },
            Binding(
                "count", type: "fun(name: string, n?: number, labels?: table<string, string>)",
                help: "Adds to a counter of this plugin."
            ) { state, arguments throws(Refused) in
                state.services.emit(
                    .count(
                        plugin: state.name, name: try arguments.metric(0),
                        amount: try arguments.amount(1), labels: try arguments.labels(2)))
                return .nothing
            },
            Binding(
                "observe", type: "fun(name: string, value: number, labels?: table<string, string>)",
                help: "Notes a value of a summary of this plugin."
            ) { state, arguments throws(Refused) in
                guard let value = arguments[1].number, value.isFinite else {
                    throw arguments.wrong(1, "number")
                }
                state.services.emit(
                    .observe(
                        plugin: state.name, name: try arguments.metric(0), value: value,
                        labels: try arguments.labels(2)))
                return .nothing
            },
        ]

    private static func log(_ level: LogLevel) -> Binding {
        Binding(
            "log.\(level.rawValue)", CALLUA_SHOWS, type: "fun(message: any, fields?: table)",
            help: "Writes a line to the log."
        ) { state, arguments throws(Refused) in
            var fields = JSONObject()
            if !arguments[1].isNull { _ = try arguments.table(1) }
            guard state.mayLog() else { return .nothing }
            if !arguments[1].isNull { fields = try arguments.json(1).object ?? fields }
            state.write(level, arguments[0].shown, fields)
            return .nothing
        }
    }
}

extension PluginState {
    /// Whether the plugin may write one line more. A loop that logs must not fill the disk, nor
    /// somebody who makes it log: what is beyond the limits is left out before it costs anything,
    /// and that is said once.
    fileprivate func mayLog() -> Bool {
        let limits = setting.limits
        let number = services.countLine(of: name)
        guard number <= limits.logLines else {
            tally.leftLines += 1
            if number == limits.logLines + 1 {
                write(.warn, "more than \(limits.logLines) lines at once: the others are left out")
            }
            return false
        }
        switch memory.logLines.admit(origin.cause, limits, at: services.now) {
        case .write(let left):
            if left > 0 { write(.warn, "\(left) lines were left out") }
            return true
        case .leaveFirst:
            write(.warn, "too many lines in a minute\(culprit): the others are left out")
        case .leave: break
        }
        tally.leftLines += 1
        return false
    }

    private var culprit: String {
        origin.cause.isNobody ? "" : " because of \(origin.cause.text)"
    }

    /// A line of the log in the name of the plugin.
    fileprivate func write(
        _ level: LogLevel, _ text: String, _ fields: JSONObject = JSONObject()
    ) {
        services.emit(.log(PolicyLog(level, text, plugin: name, call: call, fields: fields)))
    }
}

extension Arguments {
    /// The name of a counter or summary.
    fileprivate func metric(_ index: Int) throws(Refused) -> String {
        let name = try text(index)
        let isFine = name.utf8.allSatisfy {
            $0 == 0x5F || (0x61...0x7A).contains($0) || (0x30...0x39).contains($0)
        }
        guard isFine, (1...48).contains(name.utf8.count), name.utf8.first.map({ $0 > 0x39 }) == true
        else { throw Refused("bad metric name '\(name)' (a-z, 0-9 and _, at most 48 bytes)") }
        return name
    }

    /// What is added to a counter, which never goes down; 1 when it is left out.
    fileprivate func amount(_ index: Int) throws(Refused) -> Double {
        if self[index].isNull { return 1 }
        guard let amount = self[index].number else { throw wrong(index, "number") }
        guard amount.isFinite, amount >= 0 else {
            throw Refused("\(name): a counter grows by 0 or more, not by \(self[index].shown)")
        }
        return amount
    }

    /// At most 4 labels of at most 64 bytes.
    fileprivate func labels(_ index: Int) throws(Refused) -> [String: String] {
        guard !self[index].isNull else { return [:] }
        var labels: [String: String] = [:]
        for pair in try table(index).table ?? [] {
            guard let name = pair.key.text, labels.count < 4 else {
                throw Refused("at most 4 labels, each with a name")
            }
            labels[name] = String(pair.value.shown.prefix(64))
        }
        return labels
    }
}
