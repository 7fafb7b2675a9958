// How the loop reaches the store: a thread for commits and one for reading, or, for a store in
// memory, neither.

import CallModel
import EventLoop
import Storage
import Synchronization

/// Something to read from the store.
enum Lookup: Sendable {
    case call(CallID)
    case key(UserID, String)
    case page(RequestID, UserID, ListQuery, bytes: Int)
    case value(StoreTicket, plugin: String, key: String, at: Moment)
    case keys(StoreTicket, plugin: String, prefix: String, limit: Int, at: Moment)
    /// A kept generation; nil: the one in force before the active one.
    case generation(named: String?)
    /// Anything else; `StoreNews.found` answers with the number.
    case ask(UInt64, Question)

    /// What to read.
    typealias Question = @Sendable (any CallReader) throws(StoreError) -> any Sendable
}

/// Names a question to the store that the switchboard did not ask.
struct StoreTicket: Hashable, Sendable {
    let value: UInt64
}

/// What the store tells the loop.
enum StoreNews: Sendable {
    /// The batch submitted last is durable, so long after it was submitted.
    case committed(CommitResult, in: Milliseconds)
    /// The batch submitted last is not stored; the store has to be opened again.
    case failed(StoreError)
    /// The store is open again.
    case reopened(StoredState)
    case call(CallID, Call?)
    case key(UserID, String, KeptReply?)
    case page(RequestID, UserID, CallPage)
    case value(StoreTicket, [UInt8]?)
    case keys(StoreTicket, [String])
    case generation(StoredGeneration?)
    case found(UInt64, any Sendable)
    /// A look-up failed; the request behind it is `unavailable`.
    case lookupFailed(Lookup, StoreError)
}

extension StoreNews {
    /// Whether another reader may do better: one damaged record is damaged for all of them.
    fileprivate var needsReader: Bool {
        guard case .lookupFailed(_, let error) = self else { return false }
        return error.kind != .damagedRecord
    }
}

/// The loop's side of a store. Everything is answered by `StoreNews`, commits in their order.
protocol StoreLink: AnyObject {
    /// Whether the batch submitted last is still under way. It may have come to its end before the
    /// loop is told.
    var isCommitting: Bool { get }
    /// Commits a batch; one at a time is under way.
    func submit(_ batch: [StoreRecord], at now: Moment)
    /// Reads.
    func fetch(_ lookup: Lookup)
    /// After a failure: opens the store again, now.
    func reopen(at now: Moment)
    /// Keeps as much as this from now on.
    func limit(to limits: StoreLimits)
    /// Ends in good order; nothing is under way.
    func close()
}

/// Answers look-ups from a reader.
private func answer(_ lookup: Lookup, from reader: (any CallReader)?) -> StoreNews {
    do throws(StoreError) {
        guard let reader else {
            throw StoreError(.notOpen, path: "", operation: "reading", detail: "the store is away")
        }
        switch lookup {
        case .call(let id): return .call(id, try reader.call(id))
        case .key(let user, let key):
            return .key(user, key, try reader.reply(of: user, under: key))
        case .page(let request, let user, let query, let bytes):
            let budget = PageBudget(bytes: bytes) { CallSize.estimate($0) }
            return .page(request, user, try reader.page(of: user, matching: query, within: budget))
        case .value(let ticket, let plugin, let key, let now):
            return .value(ticket, try reader.value(of: plugin, key: key, at: now))
        case .keys(let ticket, let plugin, let prefix, let limit, let now):
            return .keys(
                ticket, try reader.keys(of: plugin, prefix: prefix, limit: limit, at: now))
        case .generation(let name): return .generation(try kept(name, in: reader))
        case .ask(let number, let question): return .found(number, try question(reader))
        }
    } catch {
        return .lookupFailed(lookup, error)
    }
}

/// The generation `name`, or the last one in force that is neither active nor was taken back.
private func kept(_ name: String?, in reader: any CallReader) throws(StoreError)
    -> StoredGeneration?
{
    if let name { return try reader.generation(named: name) }
    let marks = try reader.generations()
    guard let before = marks.first(where: { !$0.isActive && $0.rolledBackAt == nil }) else {
        return nil
    }
    return try reader.generation(named: before.name)
}

/// An upper bound of a call's size on the wire.
enum CallSize {
    /// Bytes of the JSON of `call`, at most: texts may be escaped.
    static func estimate(_ call: Call) -> Int {
        var texts = (call.extendedData?.utf8.count ?? 0) + (call.end?.extendedData?.utf8.count ?? 0)
        for participant in call.participants { texts += participant.extendedData?.utf8.count ?? 0 }
        for item in call.items { texts += item.key.utf8.count + item.value.utf8.count + 8 }
        return 600 + call.participants.count * 420 + texts * 2
    }
}

/// Removes what is too old, once a minute and a little at a time, each behind the answer to a
/// commit.
private struct SweepPace {
    private var last = Moment(0)

    /// Sweeps `store` if it is time to; `now` is the moment of its last commit.
    mutating func sweep(_ store: any CallStore, at now: Moment) throws(StoreError) {
        guard now - last >= 60_000 else { return }
        let hasMore = try store.sweep(at: now)
        if !hasMore { last = now }
    }
}

/// A store in memory: everything happens at once, on the loop's thread.
final class MemoryLink: StoreLink {
    let isCommitting = false
    private let store: any CallStore
    private let reader: any CallReader
    private var pace = SweepPace()
    private let told: (StoreNews) -> Void

    init(_ store: any CallStore, told: @escaping (StoreNews) -> Void) throws(StoreError) {
        self.store = store
        reader = try store.makeReader()
        self.told = told
    }

    func submit(_ batch: [StoreRecord], at now: Moment) {
        do throws(StoreError) {
            told(.committed(try store.commit(batch, at: now), in: 0))
            try pace.sweep(store, at: now)
        } catch {
            told(.failed(error))
        }
    }

    func fetch(_ lookup: Lookup) { told(answer(lookup, from: reader)) }

    func reopen(at now: Moment) {
        do throws(StoreError) {
            told(.reopened(try store.restore(at: now)))
        } catch {
            told(.failed(error))
        }
    }

    func limit(to limits: StoreLimits) { store.limits = limits }
    func close() { try? store.close() }
}

/// A store on disk: one thread commits, one reads. The calls that ended last are answered here.
final class ThreadedLink: StoreLink {
    private enum Order: Sendable {
        /// The second moment is that of submitting, by `Clock.bootMilliseconds`.
        case commit([StoreRecord], Moment, since: Milliseconds)
        case reopen(Moment)
        case limit(StoreLimits)
        /// The reader cannot read any more.
        case renewReader
    }

    private enum Reading: Sendable {
        case lookup(Lookup)
        /// The store was opened again: this one reads from now on.
        case reader(ReaderBox)
        /// The store is away, and nothing may hold its files.
        case noReader
    }

    private let orders = WorkerMailbox<Order>()
    private let lookups = WorkerMailbox<Reading>()
    private let news: Mailbox<StoreNews>
    private let writer: StoreWriter
    private var threads: [WorkerThread] = []
    /// Who comes too late asks for one of these: that takes no reading.
    private var ended = EndedCalls()
    /// Bytes of those: beyond it the first to have ended is read from the store.
    private static let endedMemoryMax = 6 << 20
    private let settings: Settings

    /// Takes over an open store.
    ///
    /// - Parameters:
    ///   - settings: how many ended calls are held, and for how long.
    ///   - open: opens the store again after a failure.
    ///   - news: where the answers go.
    init(
        _ store: any CallStore, _ settings: Settings,
        open: @escaping @Sendable () throws(StoreError) -> any CallStore,
        news: Mailbox<StoreNews>
    ) throws(AgentError) {
        self.settings = settings
        self.news = news
        let reader: any CallReader
        do throws(StoreError) {
            reader = try store.makeReader()
        } catch {
            throw .store(error)
        }
        let (orders, lookups) = (orders, lookups)
        let writer = StoreWriter(
            store: store, open: open,
            readBy: { _ = lookups.post($0.map { .reader($0) } ?? .noReader) })
        self.writer = writer
        do throws(EventLoopError) {
            threads.append(
                try WorkerThread(name: "store") {
                    var batch: [Order] = []
                    while orders.isOpen(after: StoreWriter.lookEvery, into: &batch) {
                        for order in batch {
                            if let told = writer.carryOut(order) { _ = news.post(told) }
                            if let trouble = writer.sweep() { _ = news.post(trouble) }
                        }
                        if batch.isEmpty, let trouble = writer.look() { _ = news.post(trouble) }
                    }
                    writer.close()
                })
            _ = lookups.post(.reader(ReaderBox(reader: reader)))
            threads.append(
                try WorkerThread(name: "reader") {
                    var box: ReaderBox?
                    var batch: [Reading] = []
                    while case .elements = lookups.takeAll(into: &batch) {
                        for reading in batch {
                            switch reading {
                            case .lookup(let lookup):
                                let found = answer(lookup, from: box?.reader)
                                _ = news.post(found)
                                _ = found.needsReader && orders.post(.renewReader)
                            case .reader(let next): box = next
                            case .noReader: box = nil
                            }
                        }
                    }
                })
        } catch {
            throw .system(error)
        }
    }

    var isCommitting: Bool { writer.isCommitting.load(ordering: .relaxed) }

    func submit(_ batch: [StoreRecord], at now: Moment) {
        writer.isCommitting.store(true, ordering: .relaxed)
        _ = orders.post(.commit(batch, now, since: Clock.bootMilliseconds()))
        for case .call(let call) in batch where call.endedAt != nil { ended.put(call) }
        let past = now + -settings.endedCallsFor
        while let end = ended.firstEnd,
            end <= past || ended.count > settings.endedCallsMax
                || ended.memory > Self.endedMemoryMax
        {
            ended.removeFirst()
        }
    }

    func fetch(_ lookup: Lookup) {
        if case .call(let id) = lookup, let call = ended[id] {
            _ = news.post(.call(id, call))
        } else {
            _ = lookups.post(.lookup(lookup))
        }
    }

    func reopen(at now: Moment) {
        // Some of them may not be stored.
        ended = EndedCalls()
        _ = orders.post(.reopen(now))
    }

    func limit(to limits: StoreLimits) { _ = orders.post(.limit(limits)) }

    func close() {
        lookups.close()
        orders.close()
        for thread in threads { thread.join() }
    }

    /// Owner: the store thread, but for `isCommitting`.
    private final class StoreWriter: @unchecked Sendable {
        /// Set by the loop, unset by the store thread.
        let isCommitting = Atomic<Bool>(false)
        private var store: (any CallStore)?
        private let open: @Sendable () throws(StoreError) -> any CallStore
        private let readBy: @Sendable (ReaderBox?) -> Void
        /// A store whose files lost their names: nothing else has what was acknowledged.
        private var lost: (any CallStore)?
        private var limits: StoreLimits?
        private var lastCommit = Moment(0)
        private var pace = SweepPace()

        init(
            store: any CallStore,
            open: @escaping @Sendable () throws(StoreError) -> any CallStore,
            readBy: @escaping @Sendable (ReaderBox?) -> Void
        ) {
            self.store = store
            self.open = open
            self.readBy = readBy
        }

        func carryOut(_ order: Order) -> StoreNews? {
            do throws(StoreError) {
                switch order {
                case .commit(let batch, let now, let since):
                    defer { isCommitting.store(false, ordering: .relaxed) }
                    guard let store else {
                        throw StoreError(.notOpen, path: "", operation: "commit", detail: "closed")
                    }
                    lastCommit = now
                    let result = try store.commit(batch, at: now)
                    return .committed(result, in: Clock.bootMilliseconds() - since)
                case .limit(let limits):
                    self.limits = limits
                    store?.limits = limits
                    return nil
                case .renewReader:
                    // Without success the next look-up fails too, and asks again.
                    if let reader = try? store?.makeReader() { readBy(ReaderBox(reader: reader)) }
                    return nil
                case .reopen(let now):
                    store = nil
                    try lost?.rescue()
                    lost = nil
                    let fresh = try open()
                    if let limits { fresh.limits = limits }
                    let state = try fresh.restore(at: now)
                    try Self.tryWriting(fresh, now)
                    readBy(ReaderBox(reader: try fresh.makeReader()))
                    store = fresh
                    return .reopened(state)
                }
            } catch {
                return failed(error)
            }
        }

        /// After a failure nothing more is committed before the store is open again.
        private func failed(_ error: StoreError) -> StoreNews {
            if error.kind == .replaced, let store {
                readBy(nil)
                // At once: what only this process can still read ends with it.
                try? store.rescue()
                lost = store
            }
            store = nil
            return .failed(error)
        }

        /// Reading succeeds on a full disk too: nobody is told that the store is back before it
        /// has taken something, here the newest moment.
        private static func tryWriting(
            _ store: any CallStore, _ now: Moment
        ) throws(StoreError) {
            try store.commit([.value(.remove(plugin: "", key: ""))], at: now)
        }

        /// How often a store that has nothing to do looks after its files, in milliseconds.
        static let lookEvery: Milliseconds = 1_000

        /// Looks whether the files are still there.
        func look() -> StoreNews? {
            guard let store else { return nil }
            do throws(StoreError) {
                try store.checkFiles()
                return nil
            } catch {
                return failed(error)
            }
        }

        /// Removes what is too old. A store that cannot even do that is to be opened again.
        func sweep() -> StoreNews? {
            guard let store else { return nil }
            do throws(StoreError) {
                try pace.sweep(store, at: lastCommit)
                return nil
            } catch {
                return failed(error)
            }
        }

        func close() { try? store?.close() }
    }

    /// Owner: the reader thread, to which it is handed over.
    private final class ReaderBox: @unchecked Sendable {
        let reader: any CallReader
        init(reader: any CallReader) { self.reader = reader }
    }
}

extension WorkerMailbox {
    /// Waits for elements, or for so many milliseconds; false: it is closed and empty.
    fileprivate func isOpen(after pause: Milliseconds, into batch: inout [Element]) -> Bool {
        switch takeAll(into: &batch, until: Clock.bootMilliseconds() + pause) {
        case .elements, .deadline: true
        case .closed: false
        }
    }
}
