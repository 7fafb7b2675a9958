// What of the decision log was never written.

import CallModel
import JSON

/// Decisions that the disk did not take: a line in their place says so when the disk takes lines
/// again. Else whoever asks about a call would be told that no plugin was asked.
public struct DecisionGap: Sendable, Equatable {
    /// When the first of them was made.
    public private(set) var since: Moment
    /// When the last of them was made.
    public private(set) var until: Moment
    /// How many they are.
    public private(set) var count: Int

    /// So many decisions of this time.
    public init(_ count: Int, since: Moment, until: Moment) {
        (self.count, self.since, self.until) = (count, since, until)
    }

    /// Those of `earlier` and of this.
    public func joined(to earlier: DecisionGap?) -> DecisionGap {
        guard let earlier else { return self }
        return DecisionGap(
            count + earlier.count, since: min(since, earlier.since),
            until: max(until, earlier.until))
    }

    /// What is left of it when `told` is written; nil: nothing.
    public func without(_ told: DecisionGap) -> DecisionGap? {
        count > told.count
            ? DecisionGap(count - told.count, since: told.until, until: until) : nil
    }

    // MARK: As a line

    private static let key = "left_out"
    private static let mark = Array(",\"\(key)\":".utf8)
    /// Bytes of its longest line; those of decisions are longer.
    private static let lineBytes = 128

    /// As one JSON object, which begins as all lines of the log do.
    public var json: JSONValue {
        [
            "at": .integer(until.milliseconds), Self.key: .integer(Int64(count)),
            "since_at": .integer(since.milliseconds),
        ]
    }

    /// What `json` tells of; nil: it is something else.
    public init?(_ json: JSONValue) {
        guard let until = json["at"]?.integer, let count = json[Self.key]?.integer,
            let since = json["since_at"]?.integer
        else { return nil }
        // What stands in a file is added up.
        let clamped = Int(min(max(count, 0), Int64(UInt32.max)))
        self.init(clamped, since: Moment(since), until: Moment(until))
    }

    /// What a line of the log tells of; nil: a decision, mostly.
    init?(line: UnsafeRawBufferPointer) {
        guard line.count <= Self.lineBytes, line.contains(Self.mark),
            let json = try? JSONValue(parsing: Array(line))
        else { return nil }
        self.init(json)
    }
}
