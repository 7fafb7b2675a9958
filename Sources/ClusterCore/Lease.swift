// Who owns the switchboard, as one node sees it: values in, orders out, no clock and no database.

import CallModel
import StoreContract

/// What the row of the space says: the only judge.
public struct LeaseRow: Sendable, Equatable {
    /// Who owns, since which takeover.
    public var term: Term
    /// What only this owner knows.
    public var token: [UInt8]
    /// Grows as long as the owner lives.
    public var beat: Int64
    /// Whether the owner has given it up: nobody needs to wait.
    public var isReleased: Bool
    /// Whom the owner gave it to; empty: anybody.
    public var successor: String
    /// Whether an import is under way or did not end: what is there is half of something.
    public var isImporting: Bool
    /// Whether the owner was asked to give up, and nobody has taken over since.
    public var isWished = false

    /// A row of these parts.
    public init(
        term: Term, token: [UInt8], beat: Int64, isReleased: Bool = false,
        successor: String = "", isImporting: Bool = false
    ) {
        self.term = term
        self.token = token
        self.beat = beat
        self.isReleased = isReleased
        self.successor = successor
        self.isImporting = isImporting
    }
}

/// What an owner shows.
public struct Grant: Sendable, Equatable {
    /// Its term.
    public let term: Term
    /// What only it knows.
    public let token: [UInt8]

    /// The grant of `term`.
    public init(_ term: Term, token: [UInt8]) { (self.term, self.token) = (term, token) }
}

/// What a node asks its database, one at a time.
public enum LeaseOrder: Sendable, Equatable {
    /// Read the row.
    case look
    /// Count up the beat, if the row still has this grant.
    case beat(Grant)
    /// Take over in the next epoch and with this token, if the row still is as it was seen.
    case take(LeaseRow, token: [UInt8])
    /// Give up, to this node; empty: to anybody.
    case release(Grant, to: String)
}

/// The database is at an earlier moment than before, as after a restore while nodes run: nothing
/// else leads back to an earlier epoch.
public struct SetBack: Sendable, Hashable, CustomStringConvertible {
    /// The epoch that was seen before.
    public let from: UInt32
    /// The one that was there then.
    public let to: UInt32

    /// From one epoch to an earlier one.
    public init(from: UInt32, to: UInt32) { (self.from, self.to) = (from, to) }

    /// What the operator is told.
    public var description: String {
        "acknowledged calls may be lost: the database went back from epoch \(from) to \(to), as "
            + "one that is restored or a standby that was not in step"
    }
}

/// What came of an order.
public enum LeaseResult: Sendable, Equatable {
    /// The row, to `look`, or where `beat`, `take` or `release` found another one.
    case row(LeaseRow)
    /// The beat is counted. `wish`: somebody wants this node to give up to the node of that name;
    /// empty: to anybody.
    case beaten(wish: String?)
    /// Taken over.
    case taken(Grant)
    /// Given up.
    case released
    /// Nothing came: the database did not answer. A takeover may have happened or not.
    case failed
}

/// What a node must do because of it.
public enum LeaseNews: Sendable, Equatable {
    /// It owns from now on: open the store, load, serve.
    case owns(Grant)
    /// It does not own any more: drop everything. `to` is the term of the node that does.
    case lost(to: Term)
    /// Another process of the same name owns: this one ends.
    case replaced(by: Term)
    /// Somebody wants it to give up to this node; empty: to anybody. Told once.
    case asked(to: String)
    /// For long enough more nodes have seen that node than this one: this node has to give up to
    /// it. Told once.
    case outnumbered(by: String)
    /// It gave up.
    case gaveUp
}

/// One node's side of the lease.
///
/// The owner counts up a beat in the database; others look. A node takes over when the beat did not
/// change during `reads` of its own reads and during `lease` of its own time; at once, when the
/// owner gave up, or when the owner is an earlier process of this node. An owner is silent when its
/// last successful beat began too long ago.
public struct Lease: Sendable {
    /// The node's name.
    public let node: String
    /// See `LeaseTimes`.
    public let times: LeaseTimes
    /// Whether it may own at all; false: it only looks.
    public private(set) var isEligible: Bool
    /// What it owns; nil: it does not.
    public private(set) var grant: Grant?
    /// The row as it was read last; nil: never.
    public private(set) var seen: LeaseRow?
    /// Whether an order is under way.
    public private(set) var isWaiting = false
    /// Whom it shall give up to; nil: it shall not.
    private var givesUpTo: String?
    /// Whether it needs a new epoch: its last commit failed, or may have.
    private var wantsEpoch = false
    /// Whether it has owned and was not told yet that another one does.
    private var serves = false
    /// Whether it was told that somebody wants it to give up.
    private var isAsked = false
    /// A takeover that may have happened or not: what it would have brought, and when it began.
    private var tried: (token: [UInt8], at: Milliseconds)?
    private var nextAt: Milliseconds?
    private var begun: (order: LeaseOrder, at: Milliseconds)?
    /// When the last beat that worked began.
    private var beatenAt: Milliseconds?
    private var still = Still()
    /// The node that should take over instead, because nobody sees this one; nil: this one may.
    public private(set) var heir: String?
    /// Where the database was found at an earlier moment than before; nil: never.
    public private(set) var setBack: SetBack?
    /// The epoch that was read or taken last.
    private var lastEpoch: UInt32 = 0
    /// Since when more nodes see another one than see this owner, and how often that was read.
    private var outnumbered: (since: Milliseconds, reads: Int)?

    /// Over which reads, and since when, nothing moved.
    private struct Still: Sendable {
        var row: LeaseRow?
        var since: Milliseconds = 0
        var reads = 0
    }

    #if PLANTED_FAULTS
        /// What it does wrong, so that the checks show that they find it.
        private var fault: LeaseFault?
    #endif

    /// A node that has just started.
    public init(node: String, times: LeaseTimes = LeaseTimes(), isEligible: Bool = true) {
        self.node = node
        self.times = times
        self.isEligible = isEligible
    }

    // MARK: Orders

    /// What to do at `now`; nil: nothing before `nextDeadline`, or an order is under way.
    ///
    /// - Parameter token: 16 random bytes, for a takeover.
    public mutating func next(
        at now: Milliseconds, token: @autoclosure () -> [UInt8]
    ) -> LeaseOrder? {
        guard !isWaiting, now >= nextAt ?? now else { return nil }
        let order = order(at: now, token)
        begun = (order, now)
        isWaiting = true
        return order
    }

    private mutating func order(
        at now: Milliseconds, _ token: () -> [UInt8]
    ) -> LeaseOrder {
        if let grant {
            if let target = givesUpTo { return .release(grant, to: target) }
            guard wantsEpoch, let seen else { return .beat(grant) }
            return take(seen, token(), now)
        }
        guard let seen, mayTake(seen, at: now) else { return .look }
        return take(seen, token(), now)
    }

    private mutating func take(
        _ row: LeaseRow, _ token: [UInt8], _ now: Milliseconds
    ) -> LeaseOrder {
        tried = (token, now)
        return .take(row, token: token)
    }

    /// When `next` has something again, if nothing comes before; nil: as soon as it is asked.
    public var nextDeadline: Milliseconds? { isWaiting ? nil : nextAt }

    /// The contender's rule.
    private func mayTake(_ row: LeaseRow, at now: Milliseconds) -> Bool {
        if row.isImporting || !isEligible { return false }
        let isForUs = row.successor.isEmpty || row.successor == node
        // An earlier process of this node: the newer one goes on.
        if !row.isReleased, row.term.owner == node { return true }
        if heir != nil, !shows(.lonelinessOverlooked) { return false }
        if row.isReleased, isForUs || shows(.successorOverlooked) { return true }
        let hasRead = still.reads >= times.reads || shows(.readsNotCounted)
        return hasRead && (now - still.since >= times.lease || shows(.leaseOverlooked))
    }

    // MARK: Results

    /// What comes of the result of the last order.
    public mutating func came(_ result: LeaseResult, at now: Milliseconds) -> LeaseNews? {
        guard let (order, at) = begun else { return nil }
        (begun, isWaiting) = (nil, false)
        nextAt = at + times.beat
        switch result {
        case .beaten(let wish):
            beatenAt = shows(.beatCountsFromItsEnd) ? now : at
            guard let wish, !isAsked, wish != node else { return nil }
            isAsked = true
            return .asked(to: wish)
        case .taken(let grant): return took(grant, at)
        case .released:
            (grant, seen, givesUpTo, beatenAt, serves) = (nil, nil, nil, nil, false)
            still = Still()
            return .gaveUp
        case .row(let row): return saw(row, at, now)
        case .failed:
            if case .take = order { return missed(order, at) }
            // When the database comes back, its owner needs time to beat.
            if !shows(.failuresOverlooked) { still = Still() }
            return nil
        }
    }

    /// A takeover failed, or its answer was lost: the row will tell.
    private mutating func missed(_ order: LeaseOrder, _ at: Milliseconds) -> LeaseNews? {
        if shows(.unknownTakeoverBelieved), case .take(let row, let token) = order {
            return took(Grant(Term(owner: node, epoch: row.term.epoch + 1), token: token), at)
        }
        (seen, grant, beatenAt, still) = (nil, nil, nil, Still())
        return nil
    }

    private mutating func took(_ new: Grant, _ at: Milliseconds) -> LeaseNews {
        (grant, beatenAt, wantsEpoch, tried, serves) = (new, at, false, nil, true)
        (isAsked, outnumbered, heir) = (false, nil, nil)
        lastEpoch = new.term.epoch
        seen = LeaseRow(term: new.term, token: new.token, beat: 0)
        return .owns(new)
    }

    private mutating func saw(
        _ row: LeaseRow, _ at: Milliseconds, _ now: Milliseconds
    ) -> LeaseNews? {
        let isSame = still.row == row
        if isSame { still.reads += 1 } else { still = Still(row: row, since: now, reads: 1) }
        seen = row
        if row.term.epoch < lastEpoch { setBack = SetBack(from: lastEpoch, to: row.term.epoch) }
        lastEpoch = row.term.epoch
        if let tried, tried.token == row.token {
            return took(Grant(row.term, token: row.token), tried.at)
        }
        // What may be taken is taken without waiting for the next beat.
        if grant == nil, mayTake(row, at: at) {
            nextAt = at
        } else if grant == nil, row.isWished {
            nextAt = at + times.look
        }
        if let grant, row.term == grant.term, row.token == grant.token { return nil }
        guard serves, row.term.epoch > 0, !shows(.otherOwnerOverlooked) else { return nil }
        if row.term.owner == node, grant == nil { return nil }
        (grant, beatenAt, wantsEpoch, givesUpTo, serves) = (nil, nil, false, nil, false)
        return row.term.owner == node ? .replaced(by: row.term) : .lost(to: row.term)
    }

    // MARK: Other nodes

    /// What the node table says at `now` of who sees whom, before the row that was read with it.
    /// Nil: this node has no links, so nothing of it counts.
    public mutating func sees(_ view: ClusterView?, at now: Milliseconds) -> LeaseNews? {
        guard grant != nil else {
            (heir, outnumbered) = (view?.betterHeir(than: node), nil)
            return nil
        }
        heir = nil
        guard let other = view?.betterOwner(), !shows(.outnumberedOverlooked) else {
            outnumbered = nil
            return nil
        }
        let (since, reads) = outnumbered ?? (now, 0)
        outnumbered = (since, reads + 1)
        let isLong = reads + 1 >= times.reads && now - since >= times.outnumbered
        guard !isAsked, isLong || shows(.outnumberedAtOnce) else { return nil }
        isAsked = true
        return .outnumbered(by: other)
    }

    // MARK: Wishes

    /// The owner's last commit failed, or nobody knows: it takes a new epoch before it goes on.
    public mutating func takeNewEpoch() {
        guard grant != nil, !shows(.epochKept) else { return }
        wantsEpoch = true
        nextAt = nil
    }

    /// The owner shall give up to `target`; empty: to anybody.
    public mutating func giveUp(to target: String) {
        guard grant != nil else { return }
        givesUpTo = target
        nextAt = nil
    }

    /// It may own from now on, or not; whoever owns goes on.
    public mutating func setEligible(_ isEligible: Bool) {
        // What is free is not left alone until the next look.
        if isEligible, !self.isEligible { nextAt = nil }
        self.isEligible = isEligible
    }

    /// Whether this node may tell anybody anything as the owner at `now`.
    public func maySpeak(at now: Milliseconds) -> Bool {
        guard grant != nil, let beatenAt, !wantsEpoch else { return false }
        // From the moment on at which it gives up: another one may own before the answer is here.
        if givesUpTo != nil, !shows(.speaksWhileGivingUp) { return false }
        return now - beatenAt <= times.voice || shows(.neverSilent)
    }

    /// When it must fall silent, if no beat works before; nil: it is silent.
    public var silentAt: Milliseconds? { grant == nil ? nil : beatenAt.map { $0 + times.voice } }
}

/// What a lease may do wrong. Every one of them is found by the checks of the tests.
public enum LeaseFault: String, Sendable, CaseIterable {
    /// A beat that stood still at one read is enough.
    case readsNotCounted
    /// How long it stood still does not count.
    case leaseOverlooked
    /// Time in which the database did not answer counts against the owner.
    case failuresOverlooked
    /// The owner counts its own time from the answer to its beat on.
    case beatCountsFromItsEnd
    /// The owner speaks without having beaten.
    case neverSilent
    /// A takeover without an answer counts as one that happened.
    case unknownTakeoverBelieved
    /// Another owner in the row is overlooked.
    case otherOwnerOverlooked
    /// It speaks until it is told that it gave up.
    case speaksWhileGivingUp
    /// It takes what was given to another node.
    case successorOverlooked
    /// After a commit that failed it goes on in its epoch.
    case epochKept
    /// It takes over though no node sees it and some see another one.
    case lonelinessOverlooked
    /// It goes on to own though more nodes see another one.
    case outnumberedOverlooked
    /// It gives up as soon as more nodes see another one.
    case outnumberedAtOnce
}

extension Lease {
    /// Whether `fault` was planted. Never in release builds.
    @inline(__always)
    private func shows(_ fault: LeaseFault) -> Bool {
        #if PLANTED_FAULTS
            self.fault == fault
        #else
            false
        #endif
    }

    /// Plants a fault, where they are compiled in.
    public mutating func plant(_ fault: LeaseFault) {
        #if PLANTED_FAULTS
            self.fault = fault
        #endif
    }
}
