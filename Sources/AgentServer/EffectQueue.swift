// The order of effects: nothing behind a `persist` is performed before it is durable.

import CallCore
import Storage

/// Effects that wait for their turn, and the records that wait for the store.
///
/// A `persist` becomes a mark with the number of the batch that will hold its records; effects
/// behind it are taken when that batch is durable.
struct EffectQueue {
    private enum Entry {
        case effect(Effect)
        case durable(batch: UInt64)
        /// Somebody waits for what was stored before.
        case notice(StoreTicket)
    }

    /// Something that may leave now.
    enum Item {
        case effect(Effect)
        case notice(StoreTicket)
    }

    private var entries: [Entry?] = []
    private var first = 0
    /// Records of the batch that gathers.
    private(set) var gathered: [StoreRecord] = []
    /// Number of the batch that gathers.
    private var gathering: UInt64 = 1
    private var durable: UInt64 = 0
    /// When the oldest record that is not durable came.
    private(set) var openSince: Moment?
    private var openSinceGathering: Moment?

    /// Effects that wait.
    var count: Int { entries.count - first }
    /// Whether a batch is with the store.
    var isSubmitted: Bool { durable + 1 < gathering }

    /// Adds an effect behind all others.
    mutating func add(_ effect: Effect) { entries.append(.effect(effect)) }

    /// Adds a notice behind the records so far.
    mutating func add(_ ticket: StoreTicket) { entries.append(.notice(ticket)) }

    /// Adds records that must be durable before anything behind them.
    mutating func addRecords(_ records: [StoreRecord], at now: Moment) {
        gathered += records
        if openSince == nil { openSince = now }
        if openSinceGathering == nil { openSinceGathering = now }
        if case .durable(let batch)?? = entries.last, batch == gathering { return }
        entries.append(.durable(batch: gathering))
    }

    /// The batch to submit, or nil when there is none or one is with the store.
    mutating func takeBatch() -> [StoreRecord]? {
        guard !gathered.isEmpty, !isSubmitted else { return nil }
        let batch = gathered
        gathered = []
        gathering += 1
        openSince = openSinceGathering
        openSinceGathering = nil
        return batch
    }

    /// The batch with the store is durable.
    mutating func batchIsDurable() {
        durable += 1
        openSince = openSinceGathering
    }

    /// What may leave next.
    mutating func next() -> Item? {
        while first < entries.count {
            switch entries[first] {
            case .effect(let effect):
                pop()
                return .effect(effect)
            case .notice(let ticket):
                pop()
                return .notice(ticket)
            case .durable(let batch):
                guard batch <= durable else { return nil }
                pop()
            case nil: pop()
            }
        }
        return nil
    }

    /// Forgets everything; what was with the store is not stored.
    ///
    /// - Returns: who waited for something to be stored.
    mutating func removeAll() -> [StoreTicket] {
        let waiting = entries[first...].compactMap { entry -> StoreTicket? in
            if case .notice(let ticket) = entry { ticket } else { nil }
        }
        self = EffectQueue()
        return waiting
    }

    private mutating func pop() {
        entries[first] = nil
        first += 1
        if first == entries.count {
            entries.removeAll(keepingCapacity: true)
            first = 0
        } else if first > 4_096, first * 2 > entries.count {
            entries.removeFirst(first)
            first = 0
        }
    }
}
