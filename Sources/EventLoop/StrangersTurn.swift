// The part of each turn that those have whom nobody knows yet.
import CUV

/// Counts the time that strangers have had of the turn under way. Thread-confined to its loop.
///
/// A stranger is a connection that is not `isKnown`. When the time is over, strangers have to wait
/// for later turns, in the order in which they came; everybody else is served as usual.
struct StrangersTurn {
    /// Nanoseconds of each turn; nil: as many as they take.
    var limit: Int64?
    /// How many have been put off.
    var waiting = 0
    /// Replaced by tests.
    var stopwatch: () -> Int64 = Clock.monotonicNanoseconds
    private var spent: Int64 = 0
    private var since: Int64 = 0

    /// Whether one more may be served in this turn.
    var hasTime: Bool { limit.map { spent < $0 } ?? true }

    /// One is served from now on.
    mutating func begin() {
        guard limit != nil else { return }
        since = stopwatch()
    }

    /// It is done.
    mutating func end() {
        guard limit != nil else { return }
        spent += stopwatch() - since
    }

    /// The turn is over.
    mutating func reset() { spent = 0 }
}

extension Connection {
    /// Does what `work` says for a connection that is known; for a stranger in its turn.
    func inTurn(_ work: () -> Void) {
        guard !isKnown else { return work() }
        guard loop.strangers.hasTime else { return putOff() }
        loop.strangers.begin()
        work()
        loop.strangers.end()
    }

    /// Has the loop come back to it in a later turn. Until then its socket is not watched: it would
    /// be announced again and again.
    func putOff() {
        if !isPutOff {
            isPutOff = true
            loop.strangers.waiting += 1
        }
        if interest != 0, let handle = handle(uv_poll_t.self) {
            interest = 0
            uv_poll_stop(handle)
        }
        awaitTurn()
    }

    /// Its turn has come: it is put off no longer.
    func endPuttingOff() {
        guard isPutOff else { return }
        isPutOff = false
        loop.strangers.waiting -= 1
    }
}
