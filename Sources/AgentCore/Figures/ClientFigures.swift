// What clients ask and are told, in numbers.

import CallModel

/// Requests, refusals and events of clients. Owner: that of the desk.
public struct ClientFigures {
    /// Requests that were understood, those that are refused among them.
    public internal(set) var requests = Tally<OperationName>()
    /// Refusals that clients were told.
    public internal(set) var refusals = Tally<Refusal.Code>()
    /// Events sent.
    public internal(set) var events = Tally<EventName>()
    /// Messages that could not be understood.
    public internal(set) var malformed: UInt64 = 0
    /// From when a request was let in to its answer, in rows by the place of its operation.
    public private(set) var durations = Durations(rows: OperationName.allCases.count)

    /// A request that was let in at `since` is answered `now`.
    mutating func answered(_ operation: OperationName, since: Moment, at now: Moment) {
        durations.note(now - since, row: operation.casePlace)
    }
}
