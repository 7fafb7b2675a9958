// Opening hours: "mon-fri 09:00-18:00, sat 10:00-14:00".

import CallModel
import Configuration
import Lua

/// Times of the week.
package struct Hours: Sendable, Equatable {
    /// Minutes of the week, Monday 00:00 being 0; from, to (exclusive).
    private var spans: [Range<Int>] = []

    private static let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    private static let week = 7 * 1_440

    /// The hours in `text`, or what is wrong with it.
    init(_ text: String) throws(LuaProblem) {
        for part in text.split(separator: ",") {
            let words = part.split(separator: " ")
            guard let last = words.last, let times = Self.times(last) else {
                throw LuaProblem(
                    "bad hours '\(text)' (write \"mon-fri 09:00-18:00, sat 10:00-14:00\")")
            }
            var chosen = Set<Int>()
            for word in words.dropLast() {
                chosen.formUnion(try Self.dayRange(word))
            }
            for day in (chosen.isEmpty ? Set(0..<7) : chosen).sorted() { add(times, on: day) }
        }
    }

    private mutating func add(_ times: (from: Int, to: Int), on day: Int) {
        let start = day * 1_440 + times.from
        let length = times.to > times.from ? times.to - times.from : 1_440 - times.from + times.to
        let end = start + length
        spans.append(start..<min(end, Self.week))
        if end > Self.week { spans.append(0..<end - Self.week) }
    }

    private static func dayRange(_ word: Substring) throws(LuaProblem) -> [Int] {
        var ends: [Int] = []
        for name in word.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false) {
            guard let day = days.firstIndex(of: String(name)) else {
                throw LuaProblem(
                    "unknown day '\(name)'" + Suggestion.text(for: String(name), among: days))
            }
            ends.append(day)
        }
        guard ends.count == 2 else { return ends }
        let (first, last) = (ends[0], ends[1])
        return last >= first ? Array(first...last) : Array(first..<7) + Array(0...last)
    }

    private static func times(_ word: Substring) -> (from: Int, to: Int)? {
        let ends = word.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let from = minute(ends[0]), let to = minute(ends[1]), from < 1_440
        else { return nil }
        return (from, to)
    }

    /// `HH:MM`, up to 24:00.
    package static func minute(_ word: some StringProtocol) -> Int? {
        let parts = word.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].utf8.count == 2, let hour = Int(parts[0]),
            let minute = Int(parts[1]), (0...24).contains(hour), (0...59).contains(minute),
            hour < 24 || minute == 0
        else { return nil }
        return hour * 60 + minute
    }

    /// Whether it is open at `seconds` since 1970.
    func isOpen(at seconds: Int64, in zone: TimeZoneRules) -> Bool {
        let minute = Self.minuteOfWeek(zone.local(at: seconds))
        return spans.contains { $0.contains(minute) }
    }

    /// The next moment, in seconds since 1970, at which it opens; nil when it never does.
    func nextOpening(after seconds: Int64, in zone: TimeZoneRules) -> Int64? {
        let local = zone.local(at: seconds)
        let minute = Self.minuteOfWeek(local)
        let starts = spans.map(\.lowerBound).filter { start in
            !spans.contains { $0.upperBound == (start == 0 ? Self.week : start) }
        }
        let waits = starts.map { ($0 - minute + Self.week) % Self.week }.map {
            $0 == 0 ? Self.week : $0
        }
        guard let wait = waits.min() else { return nil }
        let shown = local.secondsSince1970 - Int64(local.second) + Int64(wait) * 60
        return zone.moment(of: LocalTime(secondsSince1970: shown))
    }

    private static func minuteOfWeek(_ local: LocalTime) -> Int {
        local.weekday * 1_440 + local.minuteOfDay
    }
}
