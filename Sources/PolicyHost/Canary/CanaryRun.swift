// A generation that decides for some accounts, beside the one in force.

import CallModel

/// A canary at work.
final class CanaryRun {
    let generation: Generation
    /// See `PolicyHost.generationNumber`.
    let number: Int
    var order: CanaryOrder {
        didSet { lastChoice = nil }
    }
    let comparison: Comparison?
    /// Decisions after which it is looked at again.
    var judgeAt = 1
    var hasQuarantined = false
    /// Whether somebody was told that it fails, and that it stays.
    var hasAlarmed = false
    /// Failures of its plugins, but for those that the generation beside it has too.
    private(set) var failures = 0
    /// Why it has to go once the input at hand is done.
    var mustEnd: GenerationFault?
    /// The last question, and whether it decides: it is looked at before it is asked.
    private var lastChoice: (question: QuestionID, decides: Bool)?
    /// What each of the two decided.
    private(set) var own = CanaryFigures()
    private(set) var beside = CanaryFigures()

    init(
        _ generation: Generation, _ number: Int, _ order: CanaryOrder, comparison: Comparison?
    ) {
        (self.generation, self.number, self.order) = (generation, number, order)
        self.comparison = comparison
    }

    /// Whether it decides for `user` in `call`, nil: in none. An account keeps the generation that
    /// was asked first in a call, also when it leaves and comes back: what counts is when it came
    /// in first, and whom the canary was for then.
    @inline(__always)
    func decides(for user: UserID, in call: Call?) -> Bool {
        guard let call, call.createdAt < order.newest.since else {
            return order.newest.extent.contains(user)
        }
        let came = call.firstCame(user) ?? call.createdAt
        return order.decides(for: user, comingAt: came)
    }

    /// Whether it answers `question`, which is about `user`.
    func answers(_ question: QuestionID, about user: UserID, in call: Call) -> Bool {
        if let lastChoice, lastChoice.question == question { return lastChoice.decides }
        let decides = decides(for: user, in: call)
        lastChoice = (question, decides)
        return decides
    }

    /// Notes what one of the two has decided.
    func note(_ chain: Chain, _ verdict: Verdict, at now: Moment) {
        if chain.generation === generation {
            own.note(chain, verdict, at: now)
        } else {
            beside.note(chain, verdict, at: now)
        }
    }

    /// Its plugins failed `count` times.
    func noteFailures(_ count: Int) {
        failures += count
        if let most = order.abortOnFailure, failures >= most {
            mustEnd = .failures(failures)
        }
    }
}
