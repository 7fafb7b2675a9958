// Local time by the system's zone files (TZif, RFC 8536), without Foundation.

import Glibc
import Lua

/// The rules of one time zone.
public struct TimeZoneRules: Sendable, Equatable {
    /// `Europe/Berlin`.
    public let name: String
    /// Moments, in seconds since 1970 UTC, at which the offset changes.
    private let transitions: [Int64]
    /// Offset in seconds from each transition on; the first is for the time before all.
    private let offsets: [Int32]
    /// The rule for the time after the last transition.
    private let footer: PosixZone?

    /// Coordinated Universal Time.
    public static let utc = TimeZoneRules(name: "UTC", transitions: [], offsets: [0], footer: nil)

    private init(name: String, transitions: [Int64], offsets: [Int32], footer: PosixZone?) {
        self.name = name
        self.transitions = transitions
        self.offsets = offsets
        self.footer = footer
    }

    /// The zone called `name`, or nil when the system does not know it.
    public init?(named name: String, directory: String = "/usr/share/zoneinfo") {
        if name == "UTC" {
            self = .utc
            return
        }
        let isSafe = name.utf8.allSatisfy {
            $0 == 0x2F || $0 == 0x5F || $0 == 0x2D || $0 == 0x2B
                || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                || (0x61...0x7A).contains($0)
        }
        guard isSafe, !name.isEmpty, let bytes = Files.read(directory + "/" + name, limit: 1 << 20)
        else { return nil }
        self.init(name: name, file: bytes)
    }

    /// ` (did you mean 'Europe/Berlin'?)` for a name that is nearly one, or only its city.
    package static func hint(for name: String, directory: String = "/usr/share/zoneinfo") -> String
    {
        let table = Files.read(directory + "/zone.tab", limit: 1 << 20) ?? []
        let names = String(decoding: table, as: UTF8.self).split(separator: "\n")
            .filter { !$0.hasPrefix("#") }
            .compactMap { $0.split(separator: "\t").dropFirst(2).first.map(String.init) }
        let city = names.first { $0.hasSuffix("/" + name) }
        return city.map { " (did you mean '\($0)'?)" }
            ?? Suggestion.text(for: name, among: names + ["UTC"])
    }

    /// The zone in the bytes of a TZif file of version 2 or later.
    init?(name: String, file: [UInt8]) {
        var reader = ZoneFile(file)
        guard let head = reader.header(), head.version >= 2 else { return nil }
        reader.skip(head.size(timeSize: 4))
        guard let body = reader.header(), reader.remaining >= body.size(timeSize: 8) else {
            return nil
        }
        let moments = (0..<body.times).map { _ in Int64(bitPattern: reader.integer(8)) }
        let kinds = (0..<body.times).map { _ in Int(reader.integer(1)) }
        let types = (0..<body.types).map { _ in
            let offset = Int32(truncatingIfNeeded: reader.integer(4))
            reader.skip(2)
            return offset
        }
        guard !types.isEmpty, kinds.allSatisfy({ $0 < types.count }) else { return nil }
        reader.skip(body.characters + body.leaps * 12 + body.standards + body.universals)
        self.init(
            name: name, transitions: moments, offsets: [types[0]] + kinds.map { types[$0] },
            footer: PosixZone(reader.footer()))
    }

    /// Seconds that local time is ahead of UTC at `seconds` since 1970.
    public func offset(at seconds: Int64) -> Int64 {
        if let last = transitions.last, seconds >= last, let footer {
            return footer.offset(at: seconds)
        }
        if transitions.isEmpty, let footer { return footer.offset(at: seconds) }
        var low = 0
        var high = transitions.count
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] <= seconds { low = middle + 1 } else { high = middle }
        }
        return Int64(offsets[low])
    }

    /// The local time at `seconds` since 1970.
    public func local(at seconds: Int64) -> LocalTime {
        LocalTime(secondsSince1970: seconds + offset(at: seconds))
    }

    /// The moment, in seconds since 1970, at which the clocks show `local`; where they are set
    /// forward over it, the moment just after; where they show it twice, the first.
    public func moment(of local: LocalTime) -> Int64 {
        let shown = local.secondsSince1970
        let early = shown - offset(at: shown - 86_400)
        let late = shown - offset(at: shown + 86_400)
        if early + offset(at: early) == shown { return early }
        if late + offset(at: late) == shown { return late }
        return max(early, late)
    }
}

/// A date and a time of day as clocks show them.
public struct LocalTime: Sendable, Equatable {
    /// The seconds since 1970 of the years 0 to 9999, in every zone.
    package static let known: ClosedRange<Int64> = -62_167_132_800...253_402_214_399

    /// 0 to 9999.
    public var year: Int
    /// 1 to 12.
    public var month: Int
    /// 1 to 31.
    public var day: Int
    /// 0 to 23.
    public var hour: Int
    /// 0 to 59.
    public var minute: Int
    /// 0 to 59.
    public var second: Int

    /// The time shown `seconds` after 1970-01-01 00:00.
    public init(secondsSince1970 seconds: Int64) {
        var days = seconds / 86_400
        var rest = seconds % 86_400
        if rest < 0 {
            rest += 86_400
            days -= 1
        }
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
        month = Int(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
        year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
        hour = Int(rest / 3_600)
        minute = Int(rest % 3_600 / 60)
        second = Int(rest % 60)
    }

    /// Midnight of a day.
    public init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
        (hour, minute, second) = (0, 0, 0)
    }

    /// Days since 1970-01-01.
    public var days: Int64 {
        let year = Int64(month <= 2 ? year - 1 : year)
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let shiftedMonth = Int64(month > 2 ? month - 3 : month + 9)
        let dayOfYear = (153 * shiftedMonth + 2) / 5 + Int64(day) - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// What the clocks show, counted as if they were never set.
    public var secondsSince1970: Int64 {
        days * 86_400 + Int64(hour) * 3_600 + Int64(minute) * 60 + Int64(second)
    }

    /// 0 for Monday to 6 for Sunday.
    public var weekday: Int { Int((days % 7 + 7 + 3) % 7) }
    /// Minutes since midnight.
    public var minuteOfDay: Int { hour * 60 + minute }
}

/// The parts of a TZif file.
private struct ZoneFile {
    private let bytes: [UInt8]
    private var place = 0

    struct Header {
        let version: Int
        let universals, standards, leaps, times, types, characters: Int

        func size(timeSize: Int) -> Int {
            times * (timeSize + 1) + types * 6 + characters + leaps * (timeSize + 4) + standards
                + universals
        }
    }

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var remaining: Int { bytes.count - place }

    mutating func skip(_ count: Int) { place += count }

    mutating func integer(_ size: Int) -> UInt64 {
        var value: UInt64 = 0
        for _ in 0..<size {
            value = value << 8 | UInt64(place < bytes.count ? bytes[place] : 0)
            place += 1
        }
        return size == 4 ? UInt64(bitPattern: Int64(Int32(truncatingIfNeeded: value))) : value
    }

    mutating func header() -> Header? {
        guard remaining >= 44, bytes[place..<place + 4].elementsEqual("TZif".utf8) else {
            return nil
        }
        let version = bytes[place + 4] == 0 ? 1 : Int(bytes[place + 4]) - 0x30
        place += 20
        let counts = (0..<6).map { _ in Int(truncatingIfNeeded: integer(4)) }
        guard counts.allSatisfy({ (0...100_000).contains($0) }) else { return nil }
        return Header(
            version: version, universals: counts[0], standards: counts[1], leaps: counts[2],
            times: counts[3], types: counts[4], characters: counts[5])
    }

    mutating func footer() -> String {
        guard remaining > 2, bytes[place] == 0x0A else { return "" }
        return String(decoding: bytes[(place + 1)...].prefix { $0 != 0x0A }, as: UTF8.self)
    }
}
