// What outlives a connection: the numbering of events, and those that may be asked for again.

import CallModel

/// The session of one device of one user. Its events are numbered from 1 without gaps; those that
/// the client has not acknowledged are kept, within limits, so that a new connection may go on
/// where the old one broke off (B30).
///
///     welcoming ──welcomed──▶ open ──detach──▶ detached ──time, bye──▶ gone
///         ▲                    │                  │
///         └──── reconnect ─────┴──────────────────┘
///
/// The shell keeps one value for each address (user and device). In front of the tails that the
/// session returns it puts only their head (`WireEncoder.eventHead`).
public struct ClientSession: Sendable, Equatable {
    /// Where a session stands.
    public enum State: Sendable, Equatable {
        /// A connection said `hello`, and the answer has not left yet. A new session takes no
        /// events until then: the answer shows their outcome. Then: `open`, `detached`, `gone`.
        case welcoming(resumed: Bool)
        /// A connection takes the events. Then: `welcoming`, `detached`, `gone`.
        case open
        /// No connection; events are kept. Then: `welcoming`, `gone`.
        case detached(until: Moment)
        /// Can no longer be resumed. Then: `welcoming`, as a new session.
        case gone
    }

    /// The name that the client resumes it by.
    public private(set) var id: SessionID
    /// See `State`.
    public private(set) var state = State.welcoming(resumed: false)
    /// The last event that was handed to a connection.
    public private(set) var lastSent: UInt64 = 0
    /// The events up to this one are not kept: acknowledged, or too many.
    private var forgotten: UInt64 = 0
    private var held = HeldEvents()
    private var signals = KeptSignals()

    /// A new session, whose `hello` is being answered.
    ///
    /// - Parameter seq: the number of the last event that the client has of it; what follows is
    ///   numbered from there.
    public init(id: SessionID, after seq: UInt64 = 0) {
        (self.id, lastSent, forgotten) = (id, seq, seq)
    }

    /// The number of the last event that the client has, or that is kept no more.
    public var acknowledged: UInt64 { forgotten }
    /// The number of the newest event.
    public var lastNumbered: UInt64 { forgotten + UInt64(held.count) }

    /// When `expire` is due; nil: never.
    public var nextDeadline: Moment? {
        if case .detached(let until) = state { until } else { nil }
    }

    // MARK: Events

    /// Numbers an event and keeps it.
    ///
    /// - Parameters:
    ///   - tail: the event as `WireEncoder` wrote it, shared with other sessions.
    ///   - mark: of a signal.
    /// - Returns: the number to send it with now; nil when no connection takes it.
    public mutating func number(
        _ tail: [UInt8], _ mark: SignalMark? = nil, limits: SessionLimits
    ) -> UInt64? {
        switch state {
        case .gone: return nil
        case .welcoming(resumed: false):
            // The answer to `hello` shows the outcome of everything else.
            guard let mark else { return nil }
            signals.save(.init(mark: mark, seq: KeptSignals.untold, tail: tail))
            signals.bound(limits)
            return nil
        case .welcoming(resumed: true):
            // Whoever was told `resumed` gets everything, so nothing is forgotten meanwhile.
            hold(tail, mark)
            return nil
        case .detached:
            hold(tail, mark)
            trim(limits)
            return nil
        case .open:
            hold(tail, mark)
            lastSent = lastNumbered
            trim(limits)
            return lastSent
        }
    }

    private mutating func hold(_ tail: [UInt8], _ mark: SignalMark?) {
        held.append(tail)
        if let mark { signals.note(mark, at: lastNumbered) }
    }

    /// Takes note that the client has the events up to `seq`. Numbers not sent yet are clamped,
    /// older ones change nothing (B26).
    public mutating func acknowledge(_ seq: Int64) {
        let seq = seq < 0 ? 0 : min(UInt64(seq), lastSent)
        if seq > forgotten { forget(Int(seq - forgotten)) }
        signals.forget(upTo: seq)
    }

    private mutating func trim(_ limits: SessionLimits) {
        guard held.count > limits.heldEvents || held.bytes > limits.heldBytes else { return }
        repeat {
            signals.save(held.tails.first, at: forgotten + 1)
            forget(1)
        } while held.count > limits.heldEvents || held.bytes > limits.heldBytes
        signals.bound(limits)
    }

    private mutating func forget(_ count: Int) {
        held.removeFirst(count)
        forgotten += UInt64(count)
    }

    // MARK: Connections

    /// Another connection of the device said `hello`: resumes if that is possible, else starts the
    /// new session `newID`, with the signals that the client has not received.
    ///
    /// - Returns: whether the session goes on.
    public mutating func reconnect(
        _ resume: Hello.Resume?, newID: SessionID, at now: Moment
    ) -> Bool {
        guard let resume, isKnown(resume, at: now) else {
            self = ClientSession(id: newID)
            return false
        }
        // Unsent events may have been forgotten, so `forgotten` may lie beyond `lastSent`.
        guard resume.seq >= forgotten else {
            let signals = signals.unseen(
                after: resume.seq, kept: held.tails, from: forgotten + 1)
            self = ClientSession(id: newID)
            self.signals = signals
            return false
        }
        forget(Int(resume.seq - forgotten))
        signals.forget(upTo: resume.seq)
        state = .welcoming(resumed: true)
        return true
    }

    /// Whether the client means this session, and it may be resumed if enough of it is kept.
    private func isKnown(_ resume: Hello.Resume, at now: Moment) -> Bool {
        guard resume.session == id, resume.seq <= lastSent else { return false }
        switch state {
        case .open, .welcoming(resumed: true): return true
        case .detached(let until): return now < until
        case .gone, .welcoming(resumed: false): return false
        }
    }

    /// The answer to `hello` is leaving: the events that follow it at once, in order. From here on
    /// `number` returns what to send.
    public mutating func welcomed(limits: SessionLimits) -> [NumberedEvent] {
        guard case .welcoming = state else { return [] }
        state = .open
        var events: [NumberedEvent] = []
        for (place, tail) in held.tails.enumerated() {
            events.append(NumberedEvent(seq: forgotten + UInt64(place) + 1, tail: tail))
        }
        lastSent = lastNumbered
        trim(limits)
        return events
    }

    /// The marks of the signals that the session before could not tell; they are told in this one
    /// as far as their calls are there, after `call.incoming`.
    public var untoldSignals: [SignalMark] { signals.untoldMarks }

    /// Takes the signals of `call` that the session before could not tell, oldest first. They are
    /// to be numbered like events that come now.
    public mutating func takeUntold(
        of call: CallID
    ) -> [(mark: SignalMark, tail: [UInt8])] {
        guard !signals.isEmpty else { return [] }
        return signals.takeUntold(of: call).map { ($0.mark, $0.tail) }
    }

    /// The connection is lost. The session can be resumed for a while.
    public mutating func detach(at now: Moment, limits: SessionLimits) {
        switch state {
        case .open, .welcoming(resumed: true):
            state = .detached(until: now + limits.resumeWindow)
            trim(limits)
        case .welcoming(resumed: false):
            // Its client never learned its name.
            end()
        case .detached, .gone: break
        }
    }

    /// Ends a session whose time to resume is over.
    ///
    /// - Returns: whether it ended now.
    public mutating func expire(at now: Moment) -> Bool {
        guard case .detached(let until) = state, now >= until else { return false }
        end()
        return true
    }

    /// The device said `bye`.
    public mutating func logOut() { end() }

    private mutating func end() {
        state = .gone
        forgotten = lastNumbered
        held = HeldEvents()
        signals = KeptSignals()
    }
}

/// An event with its number in one session.
public struct NumberedEvent: Sendable, Equatable {
    /// Its number.
    public let seq: UInt64
    /// Its text without the head.
    public let tail: [UInt8]
}

/// The events that a session keeps, oldest first. Empty, it owns little memory or none.
struct HeldEvents: Sendable, Equatable {
    private var slots: [[UInt8]] = []
    /// Slots at the front that are free.
    private var free = 0
    /// Bytes of all tails.
    private(set) var bytes = 0

    /// How many there are.
    var count: Int { slots.count - free }

    /// The events in order.
    var tails: ArraySlice<[UInt8]> { slots[free...] }

    /// Adds the newest.
    mutating func append(_ tail: [UInt8]) {
        slots.append(tail)
        bytes += tail.count
    }

    /// Takes the `count` oldest away.
    mutating func removeFirst(_ count: Int) {
        guard count < self.count else { return removeAll() }
        for place in free..<free + count {
            bytes -= slots[place].count
            slots[place] = []
        }
        free += count
        // Moving the rest only when half is free makes removing one constant on average.
        if free > slots.count / 2 {
            slots.removeFirst(free)
            free = 0
        }
    }

    /// Forgets all; most clients acknowledge every event at once, and go on with as few.
    private mutating func removeAll() {
        slots.removeAll(keepingCapacity: slots.capacity <= Self.keptCapacity)
        free = 0
        bytes = 0
    }

    /// How many events have room while there are none.
    private static let keptCapacity = 8

    static func == (left: HeldEvents, right: HeldEvents) -> Bool {
        left.tails == right.tails
    }
}
