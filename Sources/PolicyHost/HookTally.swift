// How one plugin does at one hook: counts, and how long it takes.

import CallModel

/// Counts of one plugin at one hook.
public struct HookTally: Sendable, Equatable {
    /// Times it was asked or told, or would have been without its quarantine.
    public private(set) var asked = 0
    /// Answers given; of a shaping hook: changes made.
    public private(set) var answered = 0
    /// Times it was passed over in quarantine.
    public private(set) var quarantined = 0
    /// Failures of each kind; `late` among them.
    public private(set) var failures: [Failure: Int] = [:]
    /// Processor time of one question, in seconds.
    public private(set) var processor = Histogram(
        bounds: [0.000_01, 0.000_03, 0.000_1, 0.000_3, 0.001, 0.003, 0.01, 0.1])
    /// From the question to the answer, waits included, in seconds.
    public private(set) var wall = Histogram(
        bounds: [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3])

    /// Nothing was asked.
    public init() {}

    mutating func note(
        _ verdict: DecisionRecord.Verdict, processor spent: UInt64, wall time: Milliseconds
    ) {
        asked += 1
        switch verdict {
        case .noOpinion, .unfit, .cutShort: break
        case .decided: answered += 1
        case .failed(let failure): failures[failure, default: 0] += 1
        case .quarantined:
            quarantined += 1
            return
        }
        processor.note(Double(spent) / 1e9)
        wall.note(Double(time) / 1e3)
    }

    mutating func add(_ other: HookTally) {
        asked += other.asked
        answered += other.answered
        quarantined += other.quarantined
        failures.merge(other.failures, uniquingKeysWith: +)
        processor.add(other.processor)
        wall.add(other.wall)
    }
}

/// How many values lie below each of some bounds.
public struct Histogram: Sendable, Equatable {
    /// Upper bounds, rising.
    public let bounds: [Double]
    /// Values up to each bound and above the one before; the last: above all bounds.
    public private(set) var counts: [Int]
    /// Of all values.
    public private(set) var sum = 0.0

    /// No values yet.
    public init(bounds: [Double]) {
        self.bounds = bounds
        counts = [Int](repeating: 0, count: bounds.count + 1)
    }

    /// How many values.
    public var count: Int { counts.reduce(0, +) }

    /// Adds a value.
    public mutating func note(_ value: Double) {
        var place = 0
        while place < bounds.count, value > bounds[place] { place += 1 }
        counts[place] += 1
        sum += value
    }

    /// Adds the values of another one with the same bounds.
    mutating func add(_ other: Histogram) {
        for place in counts.indices { counts[place] += other.counts[place] }
        sum += other.sum
    }

    /// The bound below which this share of the values lies; nil: above all bounds, or no values.
    public func bound(of share: Double) -> Double? {
        let wanted = share * Double(count)
        var below = 0
        for (place, bound) in bounds.enumerated() {
            below += counts[place]
            if below > 0, Double(below) >= wanted { return bound }
        }
        return nil
    }
}
