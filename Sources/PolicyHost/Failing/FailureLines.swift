// A line about a failure is written a few times a minute, and then counted.

import CallModel

/// Lines of one plugin about failures, by the place in its files (G87).
struct FailureLines {
    /// Of one place in a minute.
    static let linesMax = 10
    static let window: Milliseconds = 60_000
    /// Places at once; a file has only so many.
    static let placesMax = 256

    private struct Place {
        var since: Moment
        var written = 0
        /// Not written since the last line.
        var left = 0
    }
    private var places: [Substring: Place] = [:]

    /// Whether to write `message`, with how many of its place were left out before it; nil: not.
    mutating func admit(_ message: String, at now: Moment) -> Int? {
        let key = Self.place(of: message)
        if places[key] == nil, places.count >= Self.placesMax { places = [:] }
        var place = places[key] ?? Place(since: now)
        defer { places[key] = place }
        if now - place.since >= Self.window { (place.since, place.written) = (now, 0) }
        guard place.written < Self.linesMax else {
            place.left += 1
            return nil
        }
        place.written += 1
        defer { place.left = 0 }
        return place.left
    }

    /// `busy.lua:2` of `busy.lua:2: …`; texts without a line stand for themselves up to a colon.
    private static func place(of message: String) -> Substring {
        guard let first = message.firstIndex(of: ":") else { return message.prefix(64) }
        let rest = message[message.index(after: first)...]
        let line = rest.prefix { $0.isASCII && $0.isNumber }
        return message[..<(line.isEmpty ? first : line.endIndex)].prefix(128)
    }
}
