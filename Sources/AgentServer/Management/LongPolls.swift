// Requests that wait for something to come.

import EventLoop
import WebProtocols

/// Requests of lists that go on, each until there is something new or its time is over. They are
/// looked at a few times a second, whatever happens meanwhile: somebody who watches everything
/// costs little. Owner: the loop's thread.
final class LongPolls {
    /// Milliseconds between two looks.
    static let lookEvery: Int64 = 200
    /// Requests that wait at once; one more is answered at once.
    static let most = 1_000
    /// Of those, of one person.
    static let mostOfOne = 100

    private struct Waiting {
        let until: Int64
        let name: String
        /// The answer; nil: nothing has come. In the last look it always answers.
        let answer: (_ isLast: Bool) -> HTTPResponse?
        let respond: (HTTPResponse) -> Void
    }

    private let pieces: Pieces
    private var waiting: [Waiting] = []
    /// How many wait, those that are being looked at too, and of whom.
    private var count = 0
    private var counts: [String: Int] = [:]
    private var timer: Timer?
    private var isLooking = false

    init(on loop: EventLoop, _ pieces: Pieces) {
        self.pieces = pieces
        timer = Timer(on: loop) { [unowned self] in look() }
    }

    /// Answers by `answer` as soon as it gives something, or after `patience` milliseconds; `name`
    /// is who asks.
    func wait(
        _ patience: Int, by name: String, for answer: @escaping (_ isLast: Bool) -> HTTPResponse?,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        let mayWait =
            patience > 0 && count < Self.most && counts[name, default: 0] < Self.mostOfOne
        if let response = answer(!mayWait) { return respond(response) }
        waiting.append(
            Waiting(
                until: Clock.bootMilliseconds() + Int64(patience), name: name, answer: answer,
                respond: respond))
        note(1, of: name)
        if timer?.isArmed == false, !isLooking { timer?.arm(after: Self.lookEvery) }
    }

    private func note(_ change: Int, of name: String) {
        count += change
        let left = counts[name, default: 0] + change
        counts[name] = left > 0 ? left : nil
    }

    private func look() {
        isLooking = true
        var rest = waiting[...]
        waiting = []
        pieces.run { [weak self] in
            guard let self, let next = rest.popFirst() else {
                self?.looked()
                return false
            }
            if let response = next.answer(next.until <= Clock.bootMilliseconds()) {
                note(-1, of: next.name)
                next.respond(response)
            } else {
                waiting.append(next)
            }
            return true
        }
    }

    private func looked() {
        isLooking = false
        if !waiting.isEmpty { timer?.arm(after: Self.lookEvery) }
    }
}
