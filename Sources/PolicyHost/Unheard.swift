// Who was let in by decisions that the core does not know of yet.

import Collections
import CallModel

/// The decisions about held invitations (H89) that the core has not heard of.
///
/// Two people call an account in the same moment: the question about the second is asked before
/// the core knows what was decided about the first. The first makes the account busy only if it is
/// let in, so the second stands behind it in the queue of this thread, and its facts are brought
/// up to date when its turn comes.
struct Unheard {
    private struct Entry {
        let number: UInt64
        let user: UserID
        let call: CallID
        let until: Moment
    }

    /// Answers and waits that the core was told of.
    private var told: UInt64 = 0
    private var entries = Queue<Entry>()
    private var counts: [UserID: Int] = [:]

    /// The core is told of an answer, or that a handler waits.
    ///
    /// - Parameters:
    ///   - users: who is in the call because of it.
    ///   - hold: nil: the core counts them already.
    mutating func tell(_ users: [UserID], in call: CallID, _ hold: Question.Hold?) {
        told += 1
        guard let hold else { return }
        for user in users {
            entries.append(
                Entry(number: told, user: user, call: call, until: hold.until))
            counts[user, default: 0] += 1
        }
    }

    /// The core is told of something that lets nobody in.
    mutating func tell() { told += 1 }

    /// What is known of the users of `question` now.
    mutating func facts(of question: Question) -> [UserFacts] {
        guard let heard = question.heard, let hold = question.hold else { return question.facts }
        while let first = entries.first, first.number <= heard || first.until <= hold.since {
            forgetFirst()
        }
        guard !counts.isEmpty else { return question.facts }
        return question.facts.map { facts in
            guard counts[facts.user] != nil else { return facts }
            let more = calls(of: facts.user, besides: question.subject.call.id, at: hold.since)
            return UserFacts(
                facts.user, calls: facts.calls + more, devices: facts.devices, name: facts.name)
        }
    }

    /// The calls that the user is in and that the core did not count `at` a moment: those that it
    /// held then, or did not know.
    private func calls(of user: UserID, besides own: CallID, at moment: Moment) -> Int {
        var calls: [CallID] = []
        for entry in entries.values where entry.user == user && entry.call != own {
            let wasHeld = entry.until > moment
            if wasHeld, !calls.contains(entry.call) { calls.append(entry.call) }
        }
        return calls.count
    }

    private mutating func forgetFirst() {
        guard let first = entries.removeFirst() else { return }
        let count = counts[first.user, default: 0] - 1
        counts[first.user] = count > 0 ? count : nil
    }
}
