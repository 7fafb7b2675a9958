// The store of one process, on disk or in memory. With a thread for it, it becomes a `StoreLink`;
// `StoreInPlace` needs no thread.

import CallModel
import StoreContract

/// The writing side of a store. Used by one thread at a time.
public protocol CallStore: AnyObject {
    /// How much is kept; a change applies from the next call on.
    var limits: StoreLimits { get set }

    /// What a start in `term` needs. Comes before the first `commit`.
    ///
    /// - Throws: `notOwner`, if the store is in a later term or in another one of this epoch.
    func restore(at now: Moment, in term: Term) throws(StoreError) -> StoredState

    /// Stores all of `batch` or nothing; when it returns, the batch is durable.
    ///
    /// - Parameter now: the core's time; the newest one is restored.
    /// - Throws: after a failure nothing of the batch is stored and the store must be opened again;
    ///   `notOwner`: somebody has, in a later term.
    @discardableResult
    func commit(_ batch: [StoreChange], at now: Moment) throws(StoreError) -> CommitResult

    /// Removes some of what is too old: ended calls, keys, values, finished webhooks.
    ///
    /// - Returns: whether there is more to remove: call again soon.
    func sweep(at now: Moment) throws(StoreError) -> Bool

    /// A reading side. One for another thread is better opened there, as a `StoreReader`.
    func makeReader() throws(StoreError) -> any CallReader

    /// Whether what it writes is still found under its name; `commit` looks too.
    ///
    /// - Throws: `replaced`: what was acknowledged until now must be saved, see `rescue`.
    func checkFiles() throws(StoreError)

    /// After `replaced`: copies what was acknowledged to where the next opening finds it. May be
    /// tried again as long as the store exists, and the store must exist until it succeeds: the
    /// content of a file without a name is lost when the last one who has it open closes it.
    func rescue() throws(StoreError)

    /// Notes that the process ends on purpose. The store cannot be used any more.
    func close() throws(StoreError)
}

extension CallStore {
    /// The state that a server needs at its start when it runs alone.
    public func restore(at now: Moment) throws(StoreError) -> StoredState {
        try restore(at: now, in: .alone)
    }

    /// Nothing: it has no files.
    public func checkFiles() throws(StoreError) {}
    /// Nothing: it has no files.
    public func rescue() throws(StoreError) {}
}

/// The reading side of a store. Used by one thread at a time; sees what was committed when it is
/// asked.
public protocol CallReader: AnyObject {
    /// The answer to `query`.
    func answer(_ query: StoreQuery) throws(StoreError) -> StoreAnswer
}
