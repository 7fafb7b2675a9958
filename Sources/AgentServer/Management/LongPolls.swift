// Requests that wait for something to come.

import EventLoop
import WebProtocols

/// Requests of lists that go on, each until there is something new or its time is over. They are
/// looked at a few times a second, whatever happens meanwhile: somebody who watches everything
/// costs little. Owner: the loop's thread.
final class LongPolls {
    /// Milliseconds between two looks.
    static let lookEvery: Int64 = 200
    /// Requests that wait at once; as many again may have lost their place since the last look.
    static let most = 1_000
    /// Of those, of one person.
    static let mostOfOne = 100

    private struct Waiting {
        /// 0: another one has its place.
        var until: Int64
        let name: String
        /// The answer; nil: nothing has come. In the last look it always answers.
        let answer: (_ isLast: Bool) -> HTTPResponse?
        let respond: (HTTPResponse) -> Void
    }

    private let pieces: Pieces
    /// The oldest first.
    private var waiting: [Waiting] = []
    /// How many of them have a place, and of whom they are.
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
        let response = answer(patience <= 0) ?? (makesRoom(for: name) ? nil : answer(true))
        if let response { return respond(response) }
        waiting.append(
            Waiting(
                until: Clock.bootMilliseconds() + Int64(patience), name: name, answer: answer,
                respond: respond))
        note(1, of: name)
        if timer?.isArmed == false, !isLooking { timer?.arm(after: Self.lookEvery) }
    }

    /// Whether there is a place for one more. Nobody tells that a request was given up, so if all
    /// places are taken it gets the oldest one of the same person, else of who has most. The next
    /// look answers that one: if it came at once, pages that ask anew would never rest.
    private func makesRoom(for name: String) -> Bool {
        let isFull = counts[name, default: 0] >= Self.mostOfOne
        guard isFull || count >= Self.most else { return true }
        let loser = isFull ? name : counts.max { $0.value < $1.value }?.key
        guard waiting.count - count < Self.most,
            let oldest = waiting.firstIndex(where: { $0.until > 0 && $0.name == loser })
        else { return false }
        waiting[oldest].until = 0
        note(-1, of: waiting[oldest].name)
        return true
    }

    private func note(_ change: Int, of name: String) {
        count += change
        let left = counts[name, default: 0] + change
        counts[name] = left > 0 ? left : nil
    }

    private func look() {
        isLooking = true
        var (place, left) = (0, waiting.count)
        pieces.run { [weak self] in
            guard let self, left > 0 else {
                self?.looked()
                return false
            }
            left -= 1
            let next = waiting[place]
            if let response = next.answer(next.until <= Clock.bootMilliseconds()) {
                waiting.remove(at: place)
                if next.until > 0 { note(-1, of: next.name) }
                next.respond(response)
            } else {
                place += 1
            }
            return true
        }
    }

    private func looked() {
        isLooking = false
        if !waiting.isEmpty { timer?.arm(after: Self.lookEvery) }
    }
}
