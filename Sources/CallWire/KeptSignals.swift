// The signals of a session. Nothing but the event itself ever tells of a signal.

import CallModel

/// Where a signal belongs, and who sent it.
public struct SignalMark: Sendable, Equatable {
    /// The call that it is about.
    public let call: CallID
    /// Who sent it.
    public let sender: UserID

    /// A signal of `sender` in `call`.
    public init(_ call: CallID, from sender: UserID) {
        self.call = call
        self.sender = sender
    }

    /// The mark of `event`, or nil when it is no signal.
    public init?(_ event: CallEvent) {
        guard case .signal(let sender, _) = event.kind else { return nil }
        self.init(event.callID, from: sender)
    }
}

/// The signals that a session keeps beyond its other events. Whatever else a client misses is in
/// `calls` of its next `hello`; a signal that was taken from its sender would be lost (B30).
struct KeptSignals: Sendable, Equatable {
    /// A signal with its number; `untold` for one that a session takes over from the one before.
    struct Signal: Sendable, Equatable {
        let mark: SignalMark
        var seq: UInt64
        let tail: [UInt8]
    }

    private struct Place: Sendable, Equatable {
        let mark: SignalMark
        let seq: UInt64
    }

    static let untold = UInt64.max

    /// The signals among the events that the session keeps anyway, oldest first.
    private var places: [Place] = []
    /// Those that it keeps no more, oldest first.
    private var saved: [Signal] = []
    /// Bytes of all those.
    private var bytes = 0

    /// Whether there is none.
    var isEmpty: Bool { places.isEmpty && saved.isEmpty }

    /// Event `seq`, which the session keeps, is a signal.
    mutating func note(_ mark: SignalMark, at seq: UInt64) {
        places.append(Place(mark: mark, seq: seq))
    }

    /// Event `seq`, the oldest one, is too much for the session: a signal is saved.
    mutating func save(_ tail: [UInt8]?, at seq: UInt64) {
        guard let tail, let oldest = places.first, oldest.seq == seq else { return }
        places.removeFirst()
        save(Signal(mark: oldest.mark, seq: seq, tail: tail))
    }

    mutating func save(_ signal: Signal) {
        saved.append(signal)
        bytes += signal.tail.count
    }

    /// The client has the events up to `seq`.
    mutating func forget(upTo seq: UInt64) {
        guard !isEmpty else { return }
        places.removeFirst(places.firstIndex { $0.seq > seq } ?? places.count)
        remove { $0.seq <= seq }
    }

    /// Keeps no more of the saved ones than of all events: the sender of most loses first, so that
    /// the signals of one sender never push out those of others.
    mutating func bound(_ limits: SessionLimits) {
        guard saved.count > limits.heldEvents || bytes > limits.heldBytes else { return }
        // Room for some more at once: finding who sent most looks at all of them.
        let countMax = limits.heldEvents - limits.heldEvents / 8
        let bytesMax = limits.heldBytes - limits.heldBytes / 8
        let each = limits.heldBytes / max(1, limits.heldEvents)
        var weights: [UserID: Int] = [:]
        for signal in saved { weights[signal.mark.sender, default: 0] += signal.tail.count + each }
        while saved.count > countMax || bytes > bytesMax {
            let most = weights.max { ($0.value, $0.key) < ($1.value, $1.key) }
            guard let sender = most?.key,
                let oldest = saved.firstIndex(where: { $0.mark.sender == sender })
            else { return }
            let signal = saved.remove(at: oldest)
            bytes -= signal.tail.count
            weights[sender, default: 0] -= signal.tail.count + each
        }
    }

    /// The signals that a client lacks which has the events up to `seq`; `kept` are the events that
    /// the session still has, the first one with the number `first`.
    func unseen(after seq: UInt64, kept: ArraySlice<[UInt8]>, from first: UInt64) -> KeptSignals {
        var unseen = KeptSignals()
        for signal in saved where signal.seq > seq { unseen.take(signal) }
        for place in places where place.seq > seq {
            let tail = kept[kept.startIndex + Int(place.seq - first)]
            unseen.take(Signal(mark: place.mark, seq: place.seq, tail: tail))
        }
        return unseen
    }

    private mutating func take(_ signal: Signal) {
        save(Signal(mark: signal.mark, seq: Self.untold, tail: signal.tail))
    }

    // MARK: What the session before could not tell

    /// The marks of those that are still to be told in this session.
    var untoldMarks: [SignalMark] {
        saved.isEmpty ? [] : saved.filter { $0.seq == Self.untold }.map(\.mark)
    }

    /// Takes out those of `call` that are still to be told.
    mutating func takeUntold(of call: CallID) -> [Signal] {
        guard !saved.isEmpty else { return [] }
        let found = saved.filter { $0.seq == Self.untold && $0.mark.call == call }
        if !found.isEmpty { remove { $0.seq == Self.untold && $0.mark.call == call } }
        return found
    }

    private mutating func remove(where isGone: (Signal) -> Bool) {
        saved.removeAll { signal in
            guard isGone(signal) else { return false }
            bytes -= signal.tail.count
            return true
        }
    }
}
