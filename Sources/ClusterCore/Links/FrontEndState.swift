// What a front end does when a link breaks: which clients it keeps, which it sends away, and when.

import CallModel
import StoreContract

/// The times of a front end without a link.
public struct LinkTimes: Sendable, Equatable {
    /// A link over which nothing came for so long is broken; a link that is broken for so long
    /// counts as lost.
    public var silence: Milliseconds = 2_000
    /// How long clients in no call are kept while nobody owns.
    public var patience: Milliseconds = 10_000

    /// The defaults.
    public init() {}

    /// How often each side shows that it lives.
    public var pulse: Milliseconds { max(50, silence / 4) }
}

/// What a front end does with its clients.
public enum FrontEndOrder: Sendable, Equatable {
    /// Those with something under way are closed.
    case closeAsking
    /// Those in a call are closed too.
    case closeBusy
    /// All are closed.
    case closeAll
    /// Those that are left are presented to the owner; `isSame`: it is the one of before, which has
    /// their sessions.
    case present(isSame: Bool)
}

/// Whether a front end has an owner, and since when not. Values in, orders out.
public struct FrontEndState: Sendable {
    private let times: LinkTimes
    /// The takeover whose owner has the link; nil: there is none.
    public private(set) var linked: UInt32?
    /// The takeover whose owner has, or had, the clients' sessions; nil: none has.
    private var served: UInt32?
    private var brokeAt: Milliseconds?
    private var hasClosedBusy = false
    private var hasClosedAll = false
    private var beat: (term: Term, count: Int64)?
    private var beatMovedAt: Milliseconds?

    /// What it does wrong, so that the checks show that they find it.
    public var faults = PlantedLinkFaults()

    /// A front end that has not seen an owner.
    public init(_ times: LinkTimes) { self.times = times }

    /// The link to the owner of `epoch` is there.
    public mutating func links(_ epoch: UInt32) -> FrontEndOrder {
        let isSame = served == epoch || faults.shows(.everyOwnerIsTheSame)
        (linked, served, brokeAt) = (epoch, epoch, nil)
        (hasClosedBusy, hasClosedAll) = (false, false)
        return .present(isSame: isSame)
    }

    /// The link broke at `now`.
    public mutating func breaks(at now: Milliseconds) -> FrontEndOrder? {
        guard linked != nil else { return nil }
        (linked, brokeAt) = (nil, now)
        return faults.shows(.requestsForgotten) ? nil : .closeAsking
    }

    /// The row of the space was read at `now`.
    public mutating func sees(_ term: Term, beat count: Int64, at now: Milliseconds) {
        if beat?.term != term {
            beatMovedAt = nil
        } else if beat?.count != count {
            beatMovedAt = now
        }
        beat = (term, count)
    }

    /// Whether the owner that had the link beat long after that broke. One that has just taken over
    /// loads before it listens.
    private func ownerLives(since brokeAt: Milliseconds) -> Bool {
        guard beat?.term.epoch == served, let beatMovedAt, !faults.shows(.beatOverlooked) else {
            return false
        }
        return beatMovedAt - brokeAt > times.silence / 2
    }

    /// What is due at `now`; nil: nothing.
    public mutating func due(at now: Milliseconds) -> FrontEndOrder? {
        guard let brokeAt, now - brokeAt >= times.silence, !hasClosedAll else { return nil }
        let isTooLong = now - brokeAt >= times.patience && !faults.shows(.patienceWithoutEnd)
        if ownerLives(since: brokeAt) || isTooLong {
            hasClosedAll = true
            return .closeAll
        }
        guard !hasClosedBusy, !faults.shows(.busyKept) else { return nil }
        hasClosedBusy = true
        return .closeBusy
    }

    /// Whether clients should come here.
    public func isReady(at now: Milliseconds) -> Bool {
        if linked != nil { return true }
        guard let brokeAt else { return false }
        return now - brokeAt < times.silence || faults.shows(.alwaysReady)
    }
}

/// A client of a front end, as far as its front end knows it.
public struct FrontClientState: Sendable, Equatable {
    /// What it said to begin with; nil: nothing, or it has a session no more.
    public private(set) var hello: [UInt8]?
    /// Its session; nil: it has none.
    public private(set) var session: StreamSession?
    /// The last event that it was sent.
    public private(set) var seq: UInt64 = 0
    /// Whether it may be in a call.
    public private(set) var isBusy = false
    private var said: UInt64 = 0
    private var settled: UInt64 = 0

    /// What it does wrong, so that the checks show that they find it.
    public var faults = PlantedLinkFaults()

    /// Somebody who has said nothing.
    public init() {}

    /// How many of its messages are not read and answered.
    public var unsettled: Int { Int(said - settled) }

    /// It says something.
    public mutating func says(_ message: UnsafeRawBufferPointer) {
        said += 1
        if session == nil { hello = Array(message) }
    }

    /// It has a session.
    public mutating func begins(_ new: StreamSession) { session = new }

    /// It is told something; an event begins with its number.
    public mutating func hears(_ message: [UInt8]) {
        guard message.starts(with: Self.eventHead) else { return }
        var seq: UInt64 = 0
        for byte in message.dropFirst(Self.eventHead.count) {
            guard (48...57).contains(byte) else { break }
            seq = seq &* 10 &+ UInt64(byte - 48)
        }
        (self.seq, isBusy) = (seq, !faults.shows(.busyOverlooked))
    }

    private static let eventHead = Array(#"{"seq":"#.utf8)

    /// What the owner says of it.
    ///
    /// - Returns: how many messages more are settled.
    public mutating func settles(_ mark: StreamMark) -> Int {
        let count = min(mark.settled, said)
        defer { settled = max(settled, count) }
        // What was said since is under way.
        isBusy = !mark.isIdle && !faults.shows(.busyOverlooked)
        return count > settled ? Int(count - settled) : 0
    }

    /// It gets another stream, over which it is presented again.
    ///
    /// - Returns: with what; nil: it has no session.
    public mutating func returns() -> StreamReturn? {
        (said, settled) = (0, 0)
        guard let hello, let session else { return nil }
        return StreamReturn(
            hello: hello, session: session, seq: faults.shows(.eventsForgotten) ? 0 : seq)
    }
}
