// Inputs of the policy thread that wait: in fair turns, those of one call in their order.

import Collections
import CallModel
import PolicyHost

/// Inputs of a policy host that wait for their turn. Owner: the policy thread.
///
/// Reports of one call are told in the order in which they came, whatever their causes: only the
/// first of them is in the queue of its cause.
struct PolicyQueue {
    /// An input that waits for its turn.
    struct Job {
        let input: PolicyInput
        /// The generation that answers it, by what was in force when it came.
        let generation: Generation
        /// The call whose reports must keep their order.
        var call: CallID?
        /// Whether it is an input of its own, not one that the host added or found due.
        var isCounted = true
        /// Whether it was withdrawn while it waited.
        var isWithdrawn = false
    }

    private var turns = FairTurns<Job>()
    /// Reports that wait behind an earlier one of their call.
    private var rows: [CallID: Queue<Job>] = [:]
    /// Questions that wait, and those of them that were withdrawn.
    private var questions: Set<QuestionID> = []
    private var withdrawn: Set<QuestionID> = []

    var isEmpty: Bool { turns.isEmpty }

    /// Adds an input. Returns false if it is to be carried out at once.
    mutating func add(_ job: Job, _ host: PolicyHost) -> Bool {
        switch job.input {
        case .asked(let question):
            questions.insert(question.id)
            turns.add(job, question.cause, .decision)
        case .withdrawn(let id):
            guard questions.contains(id) else { return false }
            withdrawn.insert(id)
        case .pushing(_, _, _, _, let cause): turns.add(job, cause, .decision)
        case .told(let report, _):
            addReport(job, of: report.call?.id, report.cause)
        case .pushFailed(_, let call, _, _, let cause): addReport(job, of: call.id, cause)
        case .callEnded(let call):
            guard rows[call] != nil else { return false }
            rows[call]?.append(job)
        case .replied(let wait, _):
            guard let turn = host.turn(of: wait) else { return false }
            turns.add(job, turn.cause, turn.decides ? .decision : .report)
        case .due(let due):
            guard let turn = host.turn(of: due) else { return false }
            turns.add(job, turn.cause, turn.decides ? .decision : .report)
        case .deadlineReached: return false
        }
        return true
    }

    /// Whether what is next is likely to take long.
    mutating func takesLong() -> Bool { turns.takesLong() }

    /// Takes the next input; `done` must follow.
    mutating func next() -> Job? {
        guard var job = turns.next() else { return nil }
        if case .asked(let question) = job.input {
            questions.remove(question.id)
            job.isWithdrawn = withdrawn.remove(question.id) != nil
        }
        return job
    }

    /// An input is done, or done except for `rest`. Returns what has to be carried out right behind
    /// it.
    mutating func done(_ job: Job, rest: PolicyInput?, nanoseconds: UInt64) -> [Job] {
        turns.took(nanoseconds)
        if let rest {
            let left = Job(
                input: rest, generation: job.generation, call: job.call, isCounted: false)
            turns.add(left, rest.cause, .report)
            return []
        }
        guard let call = job.call else { return [] }
        var ends: [Job] = []
        while let next = rows[call]?.removeFirst() {
            guard case .callEnded = next.input else {
                turns.add(next, next.input.cause, .report)
                return ends
            }
            ends.append(next)
        }
        rows[call] = nil
        return ends
    }

    private mutating func addReport(_ report: Job, of call: CallID?, _ cause: Cause) {
        guard let call else { return turns.add(report, cause, .report) }
        var job = report
        job.call = call
        if rows[call] == nil {
            rows[call] = Queue()
            turns.add(job, cause, .report)
        } else {
            rows[call]?.append(job)
        }
    }
}

/// Counts the questions of a batch that were not looked at yet.
final class QuestionCount {
    private(set) var left: Int

    init(_ count: Int) { left = count }

    func lookedAt() { left -= 1 }
}

extension PolicyInput {
    /// The cause of a report.
    fileprivate var cause: Cause {
        switch self {
        case .told(let report, _): report.cause
        case .pushFailed(_, _, _, _, let cause): cause
        case .asked, .withdrawn, .pushing, .callEnded, .replied, .due, .deadlineReached: .nobody
        }
    }
}
