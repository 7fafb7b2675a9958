// The order of effects: nothing behind a `persist` is performed before it is durable.

import CallModel
import Storage

/// Effects that wait for their turn, and the records that wait for the store.
///
///     gathering ──takeBatch──▶ with the store ──batchIsDurable──▶ durable
///
/// Each of the three has the effects that stand behind its records and before the next ones; those
/// behind durable records may leave. They move on together with their records, so order is kept
/// without a mark at any of them.
struct EffectQueue {
    /// Something that may leave when what stands before it is durable.
    enum Item {
        case effect(Effect)
        /// Somebody waits for what was stored before.
        case notice(StoreTicket)
    }

    /// Behind durable records.
    private var ready: [Item] = []
    /// Behind the batch with the store.
    private var held: [Item] = []
    /// Behind the records that gather.
    private var gathering: [Item] = []
    /// Records of the batch that gathers.
    private var records: [StoreChange] = []
    /// Whether a batch is with the store.
    private(set) var isSubmitted = false
    /// When the oldest record that is not durable could go to the store. The turn in which it came
    /// does not count: a loop that is slow is no store that is late.
    private(set) var openSince: Moment?
    /// The same of the batch that gathers.
    private(set) var gatheringSince: Moment?

    /// Whether a record is not durable yet.
    var isOpen: Bool { isSubmitted || !records.isEmpty }

    /// Effects that wait.
    var count: Int { ready.count + held.count + gathering.count }

    /// Adds something behind all others.
    mutating func add(_ item: Item) {
        if !records.isEmpty {
            gathering.append(item)
        } else if isSubmitted {
            held.append(item)
        } else {
            ready.append(item)
        }
    }

    /// Adds a record that must be durable before anything behind it.
    mutating func add(_ record: StoreChange) { records.append(record) }

    /// The turn is over: what came in it could go to the store `now`.
    mutating func turnEnded(at now: @autoclosure () -> Moment) {
        guard !records.isEmpty, gatheringSince == nil else { return }
        let now = now()
        gatheringSince = now
        openSince = openSince ?? now
    }

    /// The batch to submit, or nil when there is none or one is with the store.
    mutating func takeBatch(at now: Moment) -> [StoreChange]? {
        guard !records.isEmpty, !isSubmitted else { return nil }
        let batch = records
        records = []
        isSubmitted = true
        swap(&held, &gathering)
        openSince = gatheringSince ?? now
        gatheringSince = nil
        return batch
    }

    /// The batch with the store is durable.
    mutating func batchIsDurable() {
        isSubmitted = false
        openSince = gatheringSince
        if ready.isEmpty {
            swap(&ready, &held)
        } else {
            ready += held
            held.removeAll(keepingCapacity: true)
        }
    }

    /// Moves what may leave now into `items`, which is empty; returns whether there is any.
    mutating func takeReady(into items: inout [Item]) -> Bool {
        swap(&ready, &items)
        return !items.isEmpty
    }

    /// Forgets everything; what was with the store is not stored.
    ///
    /// - Returns: who waited for something to be stored.
    mutating func removeAll() -> [StoreTicket] {
        let waiting = (ready + held + gathering).compactMap { item -> StoreTicket? in
            if case .notice(let ticket) = item { ticket } else { nil }
        }
        self = EffectQueue()
        return waiting
    }
}
