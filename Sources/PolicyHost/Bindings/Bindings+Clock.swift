// time.now, time.format, time.seconds.

import Configuration
import Lua

extension Bindings {
    static let clock: [Binding] = [
        Binding(
            "time.seconds", type: "fun(span: Duration): number",
            help: "The seconds of a duration (\"90m\")."
        ) { _, arguments throws(Refused) in
            let span = try arguments.duration(0)
            let isWhole = span % 1_000 == 0
            return .value(isWhole ? .integer(span / 1_000) : .number(Double(span) / 1_000))
        },
        Binding("time.now", type: "fun(): integer", help: "Seconds since 1970 UTC.") {
            state, _ throws(Refused) in
            .value(.integer(state.services.wallTime / 1_000))
        },
        Binding(
            "time.format", type: "fun(pattern?: string, seconds?: integer, zone?: string): string",
            help: "Local time, or that of a zone, by a pattern of %Y %m %d %H %M %S %a %b %j %z %%."
        ) { state, arguments throws(Refused) in
            let pattern = try arguments[0].isNull ? "%Y-%m-%d %H:%M:%S" : arguments.text(0)
            let seconds =
                try arguments[1].isNull
                ? state.services.wallTime / 1_000 : arguments.integer(1)
            guard LocalTime.known.contains(seconds) else {
                throw Refused("time.format: \(seconds) s is not in the years 0 to 9999")
            }
            let zone = try state.zone(arguments, 2, else: state.setting.zone)
            guard let text = zone.format(seconds, pattern) else {
                throw Refused("bad pattern '\(pattern)' of time.format")
            }
            return .value(.text(text))
        },
    ]
}

extension PluginState {
    /// The zone that an argument names, such as the value of an `option.timezone`.
    func zone(
        _ arguments: Arguments, _ index: Int, else own: TimeZoneRules
    ) throws(Refused) -> TimeZoneRules {
        guard !arguments[index].isNull else { return own }
        let name = try arguments.text(index)
        if let zone = zones[name] { return zone }
        guard let zone = TimeZoneRules(named: name) else {
            throw Refused("\(arguments.name): unknown time zone '\(name)'")
        }
        // A script may make up names, so that all are forgotten before they are many.
        if zones.count >= Self.zonesMax { zones.removeAll() }
        zones[name] = zone
        return zone
    }
}

extension TimeZoneRules {
    private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The local time at `seconds` since 1970 by `pattern`; nil when the pattern is wrong.
    func format(_ seconds: Int64, _ pattern: String) -> String? {
        let time = local(at: seconds)
        var text = ""
        var isEscape = false
        for character in pattern {
            if isEscape {
                guard let part = part(character, of: time, at: seconds) else { return nil }
                text += part
                isEscape = false
            } else if character == "%" {
                isEscape = true
            } else {
                text.append(character)
            }
        }
        return isEscape ? nil : text
    }

    private func part(_ letter: Character, of time: LocalTime, at seconds: Int64) -> String? {
        switch letter {
        case "Y": return "\(time.year)"
        case "m": return Self.padded(time.month)
        case "d": return Self.padded(time.day)
        case "H": return Self.padded(time.hour)
        case "M": return Self.padded(time.minute)
        case "S": return Self.padded(time.second)
        case "a": return Self.weekdays[time.weekday]
        case "b": return Self.months[time.month - 1]
        case "j":
            let first = LocalTime(year: time.year, month: 1, day: 1).days
            return Self.padded(Int(time.days - first) + 1, to: 3)
        case "z":
            let minutes = offset(at: seconds) / 60
            let sign = minutes < 0 ? "-" : "+"
            return sign + Self.padded(Int(abs(minutes) / 60)) + Self.padded(Int(abs(minutes) % 60))
        case "%": return "%"
        default: return nil
        }
    }

    private static func padded(_ number: Int, to width: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
