// What becomes of calls, for whoever watches.

import AgentCore
import CallModel
import EventLoop

/// The newest changes of calls, numbered, while somebody watches: otherwise a change costs nothing.
/// Owner: the loop's thread.
final class CallChanges {
    /// Changes that are kept.
    static let most = 5_000
    /// How long they are kept when nobody asks, in milliseconds.
    static let patience: Int64 = 60_000

    private unowned let exchange: Exchange
    private var ring: [Call] = []
    /// How many there were since the start.
    private(set) var last = 0
    private var first = 1
    private var timer: Timer?
    private var askedAt: Int64 = 0
    private var isWatched = false

    init(_ exchange: Exchange, loop: EventLoop) {
        self.exchange = exchange
        timer = Timer(on: loop) { [unowned self] in rest() }
    }

    /// Somebody watches: changes are kept from now on.
    func watch() {
        askedAt = Clock.bootMilliseconds()
        guard !isWatched else { return }
        isWatched = true
        // What happened meanwhile is not known: a number from before does not count any more.
        last += 1
        first = last + 1
        exchange.callChanged = { [unowned self] in note($0) }
        timer?.arm(after: Self.patience)
    }

    private func note(_ call: Call) {
        last += 1
        if ring.count < Self.most {
            ring.append(call)
        } else {
            ring[(last - first) % Self.most] = call
        }
    }

    /// Calls that have ended name somebody no more.
    func forget(_ gone: Forgotten) {
        for place in ring.indices where !ring[place].isLive {
            guard ring[place].participant(gone.user) != nil else { continue }
            ring[place] = ring[place].forgetting(gone)
        }
    }

    private func rest() {
        let left = askedAt + Self.patience - Clock.bootMilliseconds()
        guard left <= 0 else {
            timer?.arm(after: left)
            return
        }
        exchange.callChanged = nil
        isWatched = false
        ring = []
        first = last + 1
    }

    /// What each call became that changed after number `after`, the one that changed first before
    /// the others; whether some are left out.
    func changes(after: Int) -> (calls: [Call], areMissing: Bool) {
        let oldest = max(first, last - ring.count + 1)
        let begin = max(after + 1, oldest)
        guard begin <= last else { return ([], after + 1 < oldest && after != 0) }
        var newest: [CallID: Int] = [:]
        for number in begin...last { newest[call(number).id] = number }
        let numbers = (begin...last).filter { newest[call($0).id] == $0 }
        return (numbers.map { call($0) }, after != 0 && after + 1 < oldest)
    }

    private func call(_ number: Int) -> Call { ring[(number - first) % Self.most] }
}
