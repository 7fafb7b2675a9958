// A store without a thread of its own: everything happens where it is ordered.

import CallModel
import StoreContract

/// The way to a store that answers at once, such as one in memory.
public final class StoreInPlace: StoreLink {
    /// Never: a batch is durable when `commit` returns.
    public let isCommitting = false
    private let store: any CallStore
    private let reader: any CallReader
    private var pace = SweepPace()
    private let told: (StoreNews) -> Void

    /// Takes over a store that was restored; `told` hears the news before an order returns.
    public init(
        _ store: any CallStore, told: @escaping (StoreNews) -> Void
    ) throws(StoreError) {
        self.store = store
        reader = try store.makeReader()
        self.told = told
    }

    /// Commits, and tells before it returns.
    public func commit(_ batch: [StoreChange], at now: Moment, as ticket: StoreTicket) {
        do throws(StoreError) {
            told(.answered(ticket, .committed(try store.commit(batch, at: now), in: 0)))
            try pace.sweep(store, at: now)
        } catch {
            told(.lost(error))
        }
    }

    /// Looks up, and tells before it returns.
    public func find(_ query: StoreQuery, as ticket: StoreTicket) {
        told(.answered(ticket, StoreAnswer(query, from: reader)))
    }

    /// Restores, and tells before it returns.
    public func open(at now: Moment, in term: Term, as ticket: StoreTicket) {
        do throws(StoreError) {
            told(.answered(ticket, .opened(try store.restore(at: now, in: term))))
        } catch {
            told(.lost(error))
        }
    }

    /// Keeps as much as this from now on.
    public func limit(to limits: StoreLimits) { store.limits = limits }
    /// Closes the store.
    public func close() { try? store.close() }
}

extension StoreAnswer {
    /// The answer of `reader`, or why it cannot answer; nil: the store is away.
    public init(_ query: StoreQuery, from reader: (any CallReader)?) {
        do throws(StoreError) {
            guard let reader else {
                throw StoreError(
                    .notOpen, path: "", operation: "reading", detail: "the store is away")
            }
            self = try reader.answer(query)
        } catch {
            self = .failed(error)
        }
    }
}

/// Deletes what is too old, once a minute and a little at a time, each time behind the answer to a
/// commit.
public struct SweepPace {
    private var last = Moment(0)

    /// Begins with the first commit.
    public init() {}

    /// Sweeps `store` if it is time to; `now` is the moment of its last commit.
    public mutating func sweep(_ store: any CallStore, at now: Moment) throws(StoreError) {
        guard now - last >= 60_000 else { return }
        let hasMore = try store.sweep(at: now)
        if !hasMore { last = now }
    }
}
