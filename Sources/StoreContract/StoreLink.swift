// The one way to a store: orders go in, answers come later, under the ticket of their order.

import CallModel

/// Names one order to a store; what comes of it has the same.
public struct StoreTicket: Hashable, Sendable {
    /// Chosen by whoever orders.
    public let value: UInt64

    /// The ticket `value`.
    public init(_ value: UInt64) { self.value = value }
}

/// A store, wherever it is: on threads of this process, in place, or on another machine.
///
/// Only values go in and come out. Nothing waits: `StoreNews` tells what came of an order, of
/// commits in their order. Once a minute, with commits that come anyway, a store removes what is
/// too old by its limits.
public protocol StoreLink: AnyObject {
    /// Whether the batch submitted last is still under way. It may have come to its end before
    /// that is told.
    var isCommitting: Bool { get }
    /// Stores all of `batch` or nothing; one at a time is under way. The answer, `committed`,
    /// comes when it is durable; `lost` comes instead when it is not.
    func commit(_ batch: [StoreChange], at now: Moment, as ticket: StoreTicket)
    /// Reads. What was committed before is seen.
    func find(_ query: StoreQuery, as ticket: StoreTicket)
    /// To begin with, and after `lost`: opens the store, and takes it over from whoever has it in
    /// an earlier term. The answer is `opened`, or `lost` once more.
    func open(at now: Moment, in term: Term, as ticket: StoreTicket)
    /// Keeps as much as this from now on.
    func limit(to limits: StoreLimits)
    /// Ends in good order; nothing is under way.
    func close()
}

/// What a store tells.
public enum StoreNews: Sendable {
    /// What came of the order with this ticket.
    case answered(StoreTicket, StoreAnswer)
    /// The store failed, in a commit or by itself. What was not answered is not stored, and nothing
    /// is stored before the store is open again.
    case lost(StoreError)
}
