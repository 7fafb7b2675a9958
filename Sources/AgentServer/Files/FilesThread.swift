// The thread that writes files for the loop.

import Configuration
import Decisions
import EventLoop

/// The thread `files`: it writes decisions, the audit and journals, within a bound of memory. Any
/// thread may use it, and none waits for the disk. What is looked for in all files takes a second
/// or more: a thread beside it does that, so that nothing is left out meanwhile.
final class FilesThread: Sendable {
    /// Searches of one kind that wait (`FileReads`).
    static let readsMax = 16

    private enum Order: Sendable {
        case write([DecisionEntry], bytes: Int)
        case configure(Configuration.DecisionLog)
        /// Anything else that is written or read.
        case run(@Sendable () -> Void, bytes: Int)
        /// A mark: its mailbox is told when the thread comes to it.
        case tell(WorkerMailbox<Void>)
    }

    private struct Waiting {
        /// Bytes that may wait, as estimated.
        var limit = 8 << 20
        /// Bytes, as estimated, that wait or are being written.
        var held = 0
        /// Decisions that were left out, of which neither the file nor the log tells yet.
        var gap: DecisionGap?
        var leftOutInAll: UInt64 = 0
        /// The last decisions could not be written.
        var isFailing = false

        mutating func leave(out entries: ArraySlice<DecisionEntry>) {
            guard let first = entries.first, let last = entries.last else { return }
            leftOutInAll += UInt64(entries.count)
            gap = DecisionGap(entries.count, since: first.at, until: last.at).joined(to: gap)
        }
    }

    /// What the thread shares with its users, and may outlive them.
    private final class Shared: Sendable {
        let orders = WorkerMailbox<Order>()
        let searches = WorkerMailbox<@Sendable () -> Void>()
        let waiting = Locked(Waiting())

        func carryOut(_ order: Order, _ writer: DecisionWriter) {
            switch order {
            case .write(let entries, let bytes):
                let lost = writer.write(entries)
                let gap = waiting.withLock { waiting -> DecisionGap? in
                    waiting.held -= bytes
                    waiting.leave(out: entries.suffix(lost))
                    waiting.isFailing = lost > 0
                    return lost == 0 ? waiting.gap : nil
                }
                guard let gap, writer.write(gap) else { return }
                waiting.withLock { $0.gap = $0.gap?.without(gap) }
            case .configure(let limits): writer.configure(limits)
            case .run(let work, let bytes):
                work()
                waiting.withLock { $0.held -= bytes }
            case .tell(let waiter): _ = waiter.post(())
            }
        }
    }

    private let shared = Shared()
    private let place: Place

    /// Where orders are carried out.
    private enum Place: Sendable {
        case thread
        /// On the calling thread, at once.
        case here(DecisionWriter)
    }

    /// Starts the thread; if that fails, nothing is written.
    init(_ writer: DecisionWriter) {
        place = .thread
        _ = try? WorkerThread(name: "files", yields: true) { [shared] in
            var batch: [Order] = []
            while case .elements = shared.orders.takeAll(into: &batch) {
                for order in batch { shared.carryOut(order, writer) }
            }
        }
        _ = try? WorkerThread(name: "searches", yields: true) { [shared] in
            var batch: [@Sendable () -> Void] = []
            while case .elements = shared.searches.takeAll(into: &batch) {
                for search in batch { search() }
            }
        }
    }

    /// Carries everything out at once, for tests.
    init(here writer: DecisionWriter) { place = .here(writer) }

    deinit {
        shared.orders.close()
        shared.searches.close()
    }

    /// Decisions that were left out since the process began.
    var leftOut: UInt64 { shared.waiting.withLock { $0.leftOutInAll } }

    /// Those of them of which the files do not tell yet; nil: there are none.
    var gap: DecisionGap? { shared.waiting.withLock { $0.gap } }

    /// Whether the last decisions could not be written.
    var isFailing: Bool { shared.waiting.withLock { $0.isFailing } }

    /// Puts other sizes into force; `backlog` is in bytes.
    func configure(_ limits: Configuration.DecisionLog, backlog: Int) {
        shared.waiting.withLock { $0.limit = backlog }
        give(.configure(limits))
    }

    /// Takes over `entries`; those without room are left out.
    func write(_ entries: inout [DecisionEntry]) {
        var bytes = 0
        var count = 0
        shared.waiting.withLock { waiting in
            for entry in entries {
                let more = entry.estimatedBytes
                guard waiting.held + bytes + more <= waiting.limit else { break }
                bytes += more
                count += 1
            }
            waiting.held += bytes
            waiting.leave(out: entries[count...])
        }
        if count < entries.count { entries.removeLast(entries.count - count) }
        if count > 0 { give(.write(entries, bytes: bytes)) }
        entries = []
    }

    /// Carries out `work`, which holds so many bytes, behind everything given before; false: there
    /// is no room.
    func run(bytes: Int, _ work: @escaping @Sendable () -> Void) -> Bool {
        let hasRoom = shared.waiting.withLock { waiting in
            guard waiting.held + bytes <= waiting.limit else { return false }
            waiting.held += bytes
            return true
        }
        if hasRoom { give(.run(work, bytes: bytes)) }
        return hasRoom
    }

    /// Carries out `work`, which only reads, behind everything given before.
    func search(_ work: @escaping @Sendable () -> Void) {
        guard case .thread = place else { return work() }
        give(.run({ [shared] in _ = shared.searches.post(work) }, bytes: 0))
    }

    /// Writes a file again (`LineFiles.rewrite`), in pieces between which the thread does whatever
    /// else it is given. `done` hears how many lines are other ones; nil: there is no such file.
    func rewrite(
        _ lines: LineFiles, _ number: Int, _ change: @escaping LineRewrite.Change,
        then done: @escaping @Sendable (Result<Int?, LineFilesError>) -> Void
    ) {
        give(
            .run(
                { [self] in
                    do throws(LineFilesError) {
                        guard let rewrite = try lines.rewrite(number, change) else {
                            return done(.success(nil))
                        }
                        goOn(rewrite, then: done)
                    } catch {
                        done(.failure(error))
                    }
                }, bytes: 0))
    }

    private func goOn(
        _ rewrite: LineRewrite,
        then done: @escaping @Sendable (Result<Int?, LineFilesError>) -> Void
    ) {
        do throws(LineFilesError) {
            switch try rewrite.step() {
            case .more: give(.run({ [self] in goOn(rewrite, then: done) }, bytes: 0))
            case .done(let changed): done(.success(changed))
            }
        } catch {
            done(.failure(error))
        }
    }

    private func give(_ order: Order) {
        switch place {
        case .thread: _ = shared.orders.post(order)
        case .here(let writer): shared.carryOut(order, writer)
        }
    }

    /// Waits until everything given so far is written, at most so many milliseconds.
    func settle(within patience: Int64) {
        guard case .thread = place else { return }
        let waiter = WorkerMailbox<Void>()
        guard shared.orders.post(.tell(waiter)) else { return }
        var batch: [Void] = []
        _ = waiter.takeAll(into: &batch, until: Clock.bootMilliseconds() + patience)
    }

    /// Writes what waits, for a second at most, and ends the thread.
    func close() {
        // With nothing else to write it may be told at last.
        if gap != nil { give(.write([], bytes: 0)) }
        settle(within: 1_000)
        shared.orders.close()
        shared.searches.close()
    }
}
