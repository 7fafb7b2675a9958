// What the exchange asks of whoever sends things out.

import CallModel
import StoreContract

/// Makes jobs of what the core tells, to be stored with the change that made them. Called on the
/// loop's thread.
public protocol Outbox: AnyObject {
    /// What becomes of a wish to wake somebody; `records` are those of the same commit.
    func entry(for job: PushJob, of records: [Record]) -> OutboxEntry
    /// These records are on their way to the store.
    func kept(_ records: [Record])
    /// Somebody may want to hear of this, which belongs to `trace`.
    func note(_ report: Report, _ trace: TraceParent?)
    /// What becomes of the reports noted since the last time; nil: nothing.
    func takeEvents() -> OutboxEntry?
    /// The store was away, and is open again with what it kept.
    func storeIsBack()
}

/// Something to be sent.
public struct OutboxEntry {
    /// Stored with the change that made it.
    public var changes: [StoreChange] = []
    /// Hears once what became of that.
    public var then: ((Stored) -> Void)?

    /// What stores `changes`.
    public init(
        changes: [StoreChange] = [], then: ((Stored) -> Void)? = nil
    ) {
        self.changes = changes
        self.then = then
    }
}
