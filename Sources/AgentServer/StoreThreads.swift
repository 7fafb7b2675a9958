// The threads of a store on this machine: the loop never waits for them.

import CallModel
import EventLoop
import Storage
import StoreContract
import Synchronization

/// A store on disk: one thread commits, one reads. Questions about calls that have just ended are
/// answered here, from memory.
final class StoreThreads: StoreLink {
    private enum Order: Sendable {
        /// `since`: when the loop ordered it, by `Clock.bootMilliseconds`.
        case commit([StoreChange], Moment, StoreTicket, since: Milliseconds)
        case open(Moment, Term, StoreTicket)
        case limit(StoreLimits)
        /// The reader cannot read any more: another one is needed.
        case renewReader
    }

    private enum Reading: Sendable {
        case find(StoreQuery, StoreTicket)
        /// The store was opened again: use this reader from now on.
        case reader(ReaderBox)
        /// The store is away, and no file of it may stay open.
        case noReader
    }

    private let orders = WorkerMailbox<Order>()
    private let readings = WorkerMailbox<Reading>()
    private let news: Mailbox<StoreNews>
    private let writer: StoreWriter
    private var threads: [WorkerThread] = []
    /// Late requests ask for a call that has just ended: that needs no reading.
    private var ended = EndedCalls()
    /// Bytes of those calls; beyond it the oldest are read from the store.
    private static let endedMemoryMax = 6 << 20
    private let settings: Settings

    /// Takes over an open store.
    ///
    /// - Parameters:
    ///   - settings: how many ended calls are held, and for how long.
    ///   - directory: where the store is; nil: how much is free there is not asked.
    ///   - open: opens the store again after a failure.
    ///   - news: where the answers go.
    init(
        _ opened: (store: any CallStore, reader: any CallReader), _ settings: Settings,
        in directory: String? = nil,
        open: @escaping @Sendable () throws(StoreError) -> any CallStore,
        news: Mailbox<StoreNews>
    ) throws(AgentError) {
        self.settings = settings
        self.news = news
        let (orders, readings) = (orders, readings)
        let writer = StoreWriter(
            store: opened.store, open: open,
            readBy: { _ = readings.post($0.map { .reader($0) } ?? .noReader) })
        self.writer = writer
        writer.measureFree(in: directory)
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
                        writer.measureFree(in: directory)
                    }
                    writer.close()
                })
            _ = readings.post(.reader(ReaderBox(reader: opened.reader)))
            threads.append(
                try WorkerThread(name: "reader") {
                    var box: ReaderBox?
                    var batch: [Reading] = []
                    while case .elements = readings.takeAll(into: &batch) {
                        for reading in batch {
                            switch reading {
                            case .find(let query, let ticket):
                                let found = StoreAnswer(query, from: box?.reader)
                                _ = news.post(.answered(ticket, found))
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

    /// Bytes that are free where the store is, as of the last second; nil: not known. The loop does
    /// not ask for them itself: a disk that hangs would hold it up.
    var freeBytes: Int? {
        let bytes = writer.freeBytes.load(ordering: .relaxed)
        return bytes < 0 ? nil : bytes
    }

    func commit(_ batch: [StoreChange], at now: Moment, as ticket: StoreTicket) {
        writer.isCommitting.store(true, ordering: .relaxed)
        _ = orders.post(.commit(batch, now, ticket, since: Clock.bootMilliseconds()))
        for case .call(let call) in batch where call.endedAt != nil { ended.put(call) }
        for case .forgotten(_, let call) in batch where ended[call.id] != nil { ended.put(call) }
        let past = now + -settings.endedCallsFor
        while let end = ended.firstEnd,
            end <= past || ended.count > settings.endedCallsMax
                || ended.memory > Self.endedMemoryMax
        {
            ended.removeFirst()
        }
    }

    func find(_ query: StoreQuery, as ticket: StoreTicket) {
        if case .call(let id) = query, let call = ended[id] {
            _ = news.post(.answered(ticket, .call(call)))
        } else {
            _ = readings.post(.find(query, ticket))
        }
    }

    func open(at now: Moment, in term: Term, as ticket: StoreTicket) {
        // Some of these calls may not be stored.
        ended = EndedCalls()
        _ = orders.post(.open(now, term, ticket))
    }

    func limit(to limits: StoreLimits) { _ = orders.post(.limit(limits)) }

    func close() {
        readings.close()
        orders.close()
        for thread in threads { thread.join() }
    }

    /// Owner: the store thread, except for `isCommitting` and `freeBytes`.
    private final class StoreWriter: @unchecked Sendable {
        /// Set by the loop, cleared by the store thread.
        let isCommitting = Atomic<Bool>(false)
        /// Set by the store thread; below 0: not known.
        let freeBytes = Atomic<Int>(-1)
        private var measuredAt: Milliseconds?
        private var store: (any CallStore)?
        private let open: @Sendable () throws(StoreError) -> any CallStore
        private let readBy: @Sendable (ReaderBox?) -> Void
        /// A store whose files were removed or renamed: only this process still has what was
        /// acknowledged.
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
                case .commit(let batch, let now, let ticket, let since):
                    defer { isCommitting.store(false, ordering: .relaxed) }
                    guard let store else {
                        throw StoreError(.notOpen, path: "", operation: "commit", detail: "closed")
                    }
                    lastCommit = now
                    let result = try store.commit(batch, at: now)
                    let duration = Clock.bootMilliseconds() - since
                    return .answered(ticket, .committed(result, in: duration))
                case .limit(let limits):
                    self.limits = limits
                    store?.limits = limits
                    return nil
                case .renewReader:
                    // If this fails, the next reading fails too and asks again.
                    if let reader = try? store?.makeReader() { readBy(ReaderBox(reader: reader)) }
                    return nil
                case .open(let now, let term, let ticket):
                    store = nil
                    try lost?.rescue()
                    lost = nil
                    let fresh = try open()
                    if let limits { fresh.limits = limits }
                    let state = try fresh.restore(at: now, in: term)
                    try Self.tryWriting(fresh, now)
                    readBy(ReaderBox(reader: try fresh.makeReader()))
                    store = fresh
                    return .answered(ticket, .opened(state))
                }
            } catch {
                return failed(error)
            }
        }

        /// After a failure nothing more is committed before the store is open again.
        private func failed(_ error: StoreError) -> StoreNews {
            if error.kind == .replaced, let store {
                readBy(nil)
                // At once: what only this process can still read is lost when the process ends.
                try? store.rescue()
                lost = store
            }
            store = nil
            return .lost(error)
        }

        /// Reading works on a full disk too, so the store writes something (the newest moment)
        /// before anybody is told that it is back.
        private static func tryWriting(
            _ store: any CallStore, _ now: Moment
        ) throws(StoreError) {
            try store.commit([.value(.remove(plugin: "", key: ""))], at: now)
        }

        /// How often an idle store checks its files, in milliseconds.
        static let lookEvery: Milliseconds = 1_000

        /// Checks whether the files are still there.
        func look() -> StoreNews? {
            guard let store else { return nil }
            do throws(StoreError) {
                try store.checkFiles()
                return nil
            } catch {
                return failed(error)
            }
        }

        /// Notes how much is free in `directory`, once a second.
        func measureFree(in directory: String?) {
            guard let directory else { return }
            let now = Clock.bootMilliseconds()
            if let measuredAt, now - measuredAt < Self.lookEvery { return }
            measuredAt = now
            let bytes = ProcessFigures.freeBytes(at: directory) ?? -1
            freeBytes.store(bytes, ordering: .relaxed)
        }

        /// Deletes what is too old. If that fails, the store has to be opened again.
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

extension StoreAnswer {
    /// Whether another reader may succeed: a damaged record is damaged for every reader.
    fileprivate var needsReader: Bool {
        guard case .failed(let error) = self else { return false }
        return error.kind != .damagedRecord
    }
}
