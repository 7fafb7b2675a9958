// A candidate generation that is asked beside the active one, without any effect.

import CallModel
import Decisions
import EventLoop
import PolicyHost

/// Asks a candidate everything that the active generation has just decided, with the same facts and
/// the same answers of `kv` and `http`, on a thread of its own. Nothing waits for it, and only the
/// comparison is kept. Owner: the loop's thread.
final class Shadow {
    /// Decisions that may wait; more are not asked.
    static let waitingMax = 1_000

    let generation: String
    /// The comparison so far.
    private(set) var report = ReplayReport()
    /// Decisions that were not asked because too many waited.
    private(set) var skipped = 0
    private let jobs = WorkerMailbox<DecisionRecord>()
    private let results: Mailbox<(DecisionRecord, Replay.Answered?)>
    private let thread: WorkerThread

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - candidate: used for nothing else.
    ///   - changed: told of every decision that would be another one.
    init(
        _ candidate: Generation, loop: EventLoop,
        changed: @escaping (ReplayReport.Change) -> Void
    ) throws(EventLoopError) {
        generation = candidate.name
        let jobs = jobs
        let weakly = Reference()
        results = try Mailbox<(DecisionRecord, Replay.Answered?)>(on: loop) { batch in
            for (record, answered) in batch { weakly.shadow?.note(record, answered, changed) }
        }
        let results = results
        let replay = Confined(Replay(candidate, cryptography: .system))
        thread = try WorkerThread(name: "shadow", stackSize: 4 << 20, yields: true) {
            var batch: [DecisionRecord] = []
            while case .elements = jobs.takeAll(into: &batch) {
                for record in batch {
                    guard results.post((record, replay.value.ask(record))) else { return }
                }
            }
        }
        weakly.shadow = self
    }

    /// Asks the candidate what `record` was about.
    func ask(_ record: DecisionRecord) {
        guard jobs.count < Self.waitingMax else {
            skipped += 1
            return
        }
        _ = jobs.post(record)
    }

    /// Ends the thread after its present question, without waiting for that.
    func close() {
        jobs.close()
        results.close()
    }

    private func note(
        _ record: DecisionRecord, _ answered: Replay.Answered?,
        _ changed: (ReplayReport.Change) -> Void
    ) {
        var single = ReplayReport()
        single.note(record, answered)
        report.note(record, answered)
        single.changes.forEach(changed)
    }

    private final class Reference {
        weak var shadow: Shadow?
    }

    /// A value that only one thread uses after it was handed over.
    private struct Confined<Value>: @unchecked Sendable {
        let value: Value
        init(_ value: Value) { self.value = value }
    }
}
