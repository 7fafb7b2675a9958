// The rule for the years to come at the end of a zone file: a POSIX `TZ` text (RFC 8536, 3.3).

import Lua

/// `CET-1CEST,M3.5.0,M10.5.0/3` and its like.
struct PosixZone: Sendable, Equatable {
    private let standard: Int64
    private let summer: Int64?
    private let begin: Change?
    private let end: Change?

    /// A day of every year and a time on it.
    private struct Change: Sendable, Equatable {
        enum Day: Sendable, Equatable {
            case weekday(month: Int, week: Int, day: Int)
            case julian(Int)
            case zeroBased(Int)
        }
        let day: Day
        let seconds: Int64

        /// When the clocks show the change in `year`, counted as if they were never set.
        func shown(in year: Int) -> Int64 {
            let first = LocalTime(year: year, month: 1, day: 1).days
            let days: Int64 =
                switch day {
                case .julian(let number):
                    first + Int64(number - 1) + (number >= 60 && isLeap(year) ? 1 : 0)
                case .zeroBased(let number): first + Int64(number)
                case .weekday(let month, let week, let day):
                    weekdayDate(year, month, week, day)
                }
            return days * 86_400 + seconds
        }

        private func isLeap(_ year: Int) -> Bool {
            year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        }

        private func weekdayDate(_ year: Int, _ month: Int, _ week: Int, _ day: Int) -> Int64 {
            let first = LocalTime(year: year, month: month, day: 1)
            let next =
                month == 12
                ? LocalTime(year: year + 1, month: 1, day: 1)
                : LocalTime(year: year, month: month + 1, day: 1)
            let weekday = (first.weekday + 1) % 7
            var date = first.days + Int64((day - weekday + 7) % 7) + Int64(week - 1) * 7
            while date >= next.days { date -= 7 }
            return date
        }
    }

    /// The rule in `text`, or nil for any other text.
    init?(_ text: String) {
        var scanner = Scanner(Array(text.utf8))
        guard scanner.name(), let standard = scanner.offset() else { return nil }
        self.standard = -standard
        guard scanner.name() else {
            (summer, begin, end) = (nil, nil, nil)
            return
        }
        summer =
            scanner.peek == UInt8(ascii: ",") ? -standard + 3_600 : scanner.offset().map { -$0 }
        guard summer != nil, scanner.take(","), let begin = scanner.change(), scanner.take(","),
            let end = scanner.change()
        else { return nil }
        self.begin = begin
        self.end = end
    }

    /// Seconds that local time is ahead of UTC at `seconds` since 1970.
    func offset(at seconds: Int64) -> Int64 {
        guard let summer, let begin, let end else { return standard }
        let year = LocalTime(secondsSince1970: seconds + standard).year
        let start = begin.shown(in: year) - standard
        let stop = end.shown(in: year) - summer
        let isSummer =
            start < stop
            ? seconds >= start && seconds < stop : seconds >= start || seconds < stop
        return isSummer ? summer : standard
    }

    private struct Scanner {
        private let bytes: [UInt8]
        private var place = 0

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        var peek: UInt8? { place < bytes.count ? bytes[place] : nil }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard peek == UInt8(ascii: character) else { return false }
            place += 1
            return true
        }

        /// Passes over `CET` or `<+03>`.
        mutating func name() -> Bool {
            let start = place
            if take("<") {
                while let byte = peek, byte != UInt8(ascii: ">") { place += 1 }
                return take(">")
            }
            while let byte = peek, (0x41...0x5A).contains(byte & 0xDF) { place += 1 }
            return place > start
        }

        mutating func number() -> Int? {
            var value: Int?
            while let byte = peek, (0x30...0x39).contains(byte), value ?? 0 < 100_000 {
                value = (value ?? 0) * 10 + Int(byte - 0x30)
                place += 1
            }
            return value
        }

        /// `[+-]h[:mm[:ss]]` in seconds.
        mutating func offset() -> Int64? {
            let isNegative = take("-")
            if !isNegative { _ = take("+") }
            guard let hours = number() else { return nil }
            var seconds = hours * 3_600
            if take(":") { seconds += (number() ?? 0) * 60 }
            if take(":") { seconds += number() ?? 0 }
            return Int64(isNegative ? -seconds : seconds)
        }

        mutating func change() -> Change? {
            guard let day = day() else { return nil }
            guard take("/") else { return Change(day: day, seconds: 7_200) }
            return offset().map { Change(day: day, seconds: $0) }
        }

        private mutating func day() -> Change.Day? {
            if take("M") {
                guard let month = number(), take("."), let week = number(), take("."),
                    let day = number(), (1...12).contains(month), (1...5).contains(week), day <= 6
                else { return nil }
                return .weekday(month: month, week: week, day: day)
            }
            if take("J") { return number().map { .julian($0) } }
            return number().map { .zeroBased($0) }
        }
    }
}
