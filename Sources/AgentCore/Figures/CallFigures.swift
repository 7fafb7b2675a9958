// How many calls there are and what becomes of them.

import CallModel

/// Calls by their modes, counted as they are stored. Owner: that of the exchange.
public struct CallFigures {
    /// How long callers wait.
    public static let ringTimes: [Milliseconds] = [
        1_000, 2_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000,
    ]
    private static let rowsMax = Mode.all.count + Mode.ownModesMax + 1

    /// The modes that are counted, in the order of the rows: the built-in ones, an operator's own
    /// as they come, and `other` for those that there is no room for.
    public private(set) var modes = Mode.all.map(\.name)
    /// Calls that were made, by the place of their mode.
    public private(set) var started = [UInt64](repeating: 0, count: Self.rowsMax)
    private var ended = [UInt64](
        repeating: 0, count: Self.rowsMax * EndReason.allCases.count)
    /// From the invitation to the first answer, in rows by the place of the mode.
    public private(set) var answers = Durations(Self.ringTimes, rows: Self.rowsMax)
    /// From when a batch could go to the store until it is durable.
    public private(set) var commits = Durations()
    /// Calls that were answered in this very moment: their further changes are no answers.
    private var answeredNow: Set<CallID> = []
    private var moment: Moment?

    /// How many calls of the mode at `mode` ended for `reason`.
    public func ended(_ reason: EndReason, mode: Int) -> UInt64 { ended[place(mode, reason)] }

    private func place(_ mode: Int, _ reason: EndReason) -> Int {
        mode * EndReason.allCases.count + reason.casePlace
    }

    private mutating func row(of mode: ModeRow) -> Int {
        if let place = mode.place { return Int(place) }
        if let known = modes.firstIndex(of: mode.name) { return known }
        if modes.count == Self.rowsMax { return Self.rowsMax - 1 }
        modes.append(modes.count == Self.rowsMax - 1 ? "other" : mode.name)
        return modes.count - 1
    }

    /// A call was made.
    mutating func begins(_ mode: ModeRow) { started[row(of: mode)] &+= 1 }

    /// A change of a call that happened `now` is on its way to the store.
    mutating func changes(_ call: borrowing Call, at now: Moment) {
        if let answered = call.answeredAt, answered == now { noteAnswer(of: call, at: now) }
        guard let reason = call.endReason else { return }
        ended[place(row(of: call.row), reason)] &+= 1
    }

    private mutating func noteAnswer(of call: borrowing Call, at now: Moment) {
        if moment != now {
            moment = now
            answeredNow.removeAll(keepingCapacity: true)
        }
        guard answeredNow.insert(call.id).inserted else { return }
        answers.note(now - call.createdAt, row: row(of: call.row))
    }

    /// A batch is durable.
    mutating func committed(in duration: Milliseconds) { commits.note(duration) }
}
