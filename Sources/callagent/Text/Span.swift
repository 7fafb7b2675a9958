// Durations as people write them, and as the tool shows them.

import CallModel

/// Lengths of time as text.
enum Span {
    private static let units: [(name: String, milliseconds: Milliseconds)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000),
    ]

    /// The milliseconds in `250ms`, `3s`, `1.5s`, `10m` or `2h`; nil for anything else, and for
    /// more than a day.
    static func parse(_ text: String) -> Milliseconds? {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        guard let unit = units.first(where: { $0.name == text.dropFirst(digits.count) }),
            let first = digits.first, first != ".", digits.last != ".",
            let number = Double(digits)
        else { return nil }
        let milliseconds = number * Double(unit.milliseconds)
        return milliseconds <= 86_400_000 ? Milliseconds(milliseconds.rounded()) : nil
    }

    /// Seconds with three places, such as `3.012`.
    static func seconds(_ milliseconds: Milliseconds) -> String {
        let rest = String(milliseconds % 1_000 + 1_000).dropFirst()
        return "\(milliseconds / 1_000).\(rest)"
    }

    /// A length for a person: `16 ms`, `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`.
    static func words(_ milliseconds: Milliseconds) -> String {
        switch milliseconds {
        case ..<100: return "\(milliseconds) ms"
        case ..<10_000:
            let tenths = (milliseconds + 50) / 100
            return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
        case ..<60_000: return "\((milliseconds + 500) / 1_000) s"
        case ..<3_600_000:
            let seconds = milliseconds / 1_000
            return "\(seconds / 60) min \(seconds % 60) s"
        default:
            let minutes = milliseconds / 60_000
            return "\(minutes / 60) h \(minutes % 60) min"
        }
    }
}
