// The order of effects: nothing behind a `persist` is performed before it is durable.

import CallModel
import Collections

/// Effects that wait for their turn, and the changes that wait for the store. Only the store knows
/// what a change is, and only who waits for a ticket knows what a ticket is.
///
///     gathering ──takeBatch──▶ with the store ──batchIsDurable──▶ durable
///
/// Each of the three has the effects that stand behind its changes and before the next ones; those
/// behind durable changes may leave. They move on together with their changes, so order is kept
/// without a mark at any of them.
public struct EffectQueue<Change, Ticket> {
    /// Something that may leave when what stands before it is durable.
    public enum Item {
        case effect(Effect)
        /// Somebody waits for what was stored before.
        case notice(Ticket)
    }

    /// Behind durable changes.
    @usableFromInline var ready: [Item] = []
    /// Behind the batch with the store.
    @usableFromInline var held: [Item] = []
    /// Behind the changes that gather.
    @usableFromInline var gathering: [Item] = []
    /// The batch that gathers.
    @usableFromInline var changes: [Change] = []
    /// Whether a batch is with the store.
    @usableFromInline package internal(set) var isSubmitted = false
    /// When the oldest change that is not durable could go to the store. The turn in which it came
    /// does not count: a loop that is slow is no store that is late.
    @usableFromInline package internal(set) var openSince: Moment?
    /// The same of the batch that gathers.
    @usableFromInline package internal(set) var gatheringSince: Moment?

    /// An empty queue.
    @inlinable public init() {}

    /// Whether a change is not durable yet.
    @inlinable public var isOpen: Bool { isSubmitted || !changes.isEmpty }

    /// Effects that wait.
    @inlinable public var count: Int { ready.count + held.count + gathering.count }

    /// Adds something behind all others.
    @inlinable public mutating func add(_ item: Item) {
        if !changes.isEmpty {
            gathering.append(item)
        } else if isSubmitted {
            held.append(item)
        } else {
            ready.append(item)
        }
    }

    /// Adds a change that must be durable before anything behind it.
    @inlinable public mutating func add(_ change: Change) { changes.add(change) }

    /// The turn is over: what came in it could go to the store `now`.
    @inlinable public mutating func turnEnded(at now: @autoclosure () -> Moment) {
        guard !changes.isEmpty, gatheringSince == nil else { return }
        let now = now()
        gatheringSince = now
        openSince = openSince ?? now
    }

    /// The batch to submit, or nil when there is none or one is with the store.
    @inlinable public mutating func takeBatch(at now: Moment) -> [Change]? {
        guard !changes.isEmpty, !isSubmitted else { return nil }
        let batch = changes
        changes = []
        isSubmitted = true
        swap(&held, &gathering)
        openSince = gatheringSince ?? now
        gatheringSince = nil
        return batch
    }

    /// The batch with the store is durable.
    @inlinable public mutating func batchIsDurable() {
        isSubmitted = false
        openSince = gatheringSince
        if ready.isEmpty {
            swap(&ready, &held)
        } else {
            ready += held
            held.removeAll(keepingCapacity: true)
        }
    }

    /// Whether something may leave now.
    @inlinable public var hasReady: Bool { !ready.isEmpty }

    /// Moves what may leave now into `items`, which is empty; returns whether there is any.
    @inlinable public mutating func takeReady(into items: inout [Item]) -> Bool {
        swap(&ready, &items)
        return !items.isEmpty
    }

    /// Forgets everything; what was with the store is not stored.
    ///
    /// - Returns: who waited for something to be stored.
    @inlinable public mutating func removeAll() -> [Ticket] {
        let waiting = (ready + held + gathering).compactMap { item -> Ticket? in
            if case .notice(let ticket) = item { ticket } else { nil }
        }
        self = EffectQueue()
        return waiting
    }
}
