// After a start the live calls come in pages, and nobody has to wait for more than his own.

import CallCore
import CallModel

/// Loads live calls while the switchboard works already. An operation, or a device that connects,
/// waits until all live calls of its user, and of every user whom it concerns, are there: so busy,
/// the calls that a client is shown and limits are exact from the first answer.
///
/// A call is handed over once. One that ended since would otherwise come back by an answer that
/// the store gave before.
public struct LiveCallLoader<Held> {
    /// What an input needs.
    public struct Need: Sendable {
        /// Who is behind it: his inputs stay in their order. nil: nobody.
        public var user: UserID?
        /// Whom it concerns besides.
        public var others: [UserID] = []
        /// What it is about.
        public var call: CallID?

        /// Nothing.
        public init() {}
    }

    private let last: CallID
    private let limit: Int
    /// All up to this one are handed over.
    private var done: CallID?
    private var isPageWanted = true
    private var isComplete = false
    /// Handed over behind `done`.
    private var handedOver: Set<CallID> = []
    /// Of these users, and of these calls, nothing is missing.
    private var knownUsers: Set<UserID> = []
    private var knownCalls: Set<CallID> = []
    private var wantedUsers: [UserID] = []
    private var wantedCalls: [CallID] = []
    private var isAsking = false
    /// What is left of a question about users, which goes on behind what was answered.
    private var rest: LiveCallQuery?
    private var held: [(need: Need, what: Held)] = []
    /// What was held and may go on.
    private var ready: [(need: Need, what: Held)] = []
    /// How much is held of each user, with what may go on.
    private var heldOf: [UserID: Int] = [:]

    /// Loads calls up to `last`, the last one that the store has, `limit` at a time.
    public init(upTo last: CallID, limit: Int) {
        self.last = last
        self.limit = max(1, limit)
    }

    /// Whether everything is loaded and nothing is held: this one is needed no more.
    public var isOver: Bool { isComplete && held.isEmpty && ready.isEmpty }

    /// How much is held.
    public var heldCount: Int { held.count + ready.count }

    /// Whether what needs `need` may go on now; else `what` is held until `takeReady`.
    public mutating func admits(_ need: Need, _ board: Switchboard, else what: Held) -> Bool {
        let isBehind = need.user.map { heldOf[$0] != nil } ?? false
        if isMet(need, board), !isBehind { return true }
        if let user = need.user { heldOf[user, default: 0] += 1 }
        held.append((need, what))
        return false
    }

    /// The next of what was held that may go on, until there is none: whatever has to stay in
    /// order with it is held as long as it is here.
    public mutating func takeReady(_ board: Switchboard) -> Held? {
        if ready.isEmpty { findReady(board) }
        guard let next = ready.popLast() else { return nil }
        if let user = next.need.user {
            let left = (heldOf[user] ?? 0) - 1
            heldOf[user] = left > 0 ? left : nil
        }
        return next.what
    }

    /// Forgets and returns what is held and `condition` holds of, in order.
    public mutating func removeHeld(where condition: (Held) -> Bool) -> [Held] {
        let all = ready.reversed() + held
        ready = []
        heldOf = [:]
        held = all.filter { !condition($0.what) }
        for case let user? in held.map(\.need.user) { heldOf[user, default: 0] += 1 }
        return all.map(\.what).filter(condition)
    }

    private mutating func findReady(_ board: Switchboard) {
        var waiting: Set<UserID> = []
        var left: [(need: Need, what: Held)] = []
        for one in held {
            let isBehind = one.need.user.map { waiting.contains($0) } ?? false
            if isMet(one.need, board), !isBehind {
                ready.append(one)
            } else {
                if let user = one.need.user { waiting.insert(user) }
                left.append(one)
            }
        }
        held = left
        ready.reverse()
    }

    /// Whether nothing that `need` names is missing; what is missing is asked for next.
    private mutating func isMet(_ need: Need, _ board: Switchboard) -> Bool {
        guard !isComplete else { return true }
        var isMet = true
        for user in need.others + (need.user.map { [$0] } ?? []) where !isKnown(user) {
            isMet = false
        }
        guard let id = need.call, id <= last else { return isMet }
        guard let call = board.call(id) else {
            if knownCalls.contains(id) || done.map({ id <= $0 }) ?? false { return isMet }
            if !wantedCalls.contains(id) { wantedCalls.append(id) }
            return false
        }
        for participant in call.participants where !isKnown(participant.user) { isMet = false }
        return isMet
    }

    private mutating func isKnown(_ user: UserID) -> Bool {
        if knownUsers.contains(user) { return true }
        if !wantedUsers.contains(user) { wantedUsers.append(user) }
        return false
    }

    /// What the store is to be asked now: at most one page, and one question about users, are
    /// under way.
    ///
    /// - Parameter withPage: whether there may be a page among them. With pages come deadlines that
    ///   have passed, and what they change has to be stored: nobody is to wait for all of that.
    public mutating func takeQueries(withPage: Bool = true) -> [LiveCallQuery] {
        var queries: [LiveCallQuery] = []
        guard !isComplete else { return queries }
        var query = LiveCallQuery(upTo: last, limit: limit)
        query.after = done
        if let rest {
            queries.append(rest)
            self.rest = nil
        } else if !isAsking, !wantedUsers.isEmpty || !wantedCalls.isEmpty {
            isAsking = true
            // After a takeover all come at once: a question about all of them would take too long.
            query.users = Array(wantedUsers.prefix(limit))
            query.calls = Array(wantedCalls.prefix(limit))
            queries.append(query)
            (query.users, query.calls) = ([], [])
        }
        if isPageWanted, withPage {
            isPageWanted = false
            queries.append(query)
        }
        return queries
    }

    /// Takes an answer.
    ///
    /// - Returns: the calls that the switchboard has not had yet, and whether there are more.
    public mutating func take(
        _ found: LiveCalls, to query: LiveCallQuery
    ) -> (calls: [Call], more: Bool) {
        let new = found.calls.filter { call in
            (done.map { call.id > $0 } ?? true) && handedOver.insert(call.id).inserted
        }
        if query.users.isEmpty, query.calls.isEmpty {
            finishPage(found)
        } else if let place = found.lookedUpTo, !isComplete {
            rest = query
            rest?.after = place
        } else {
            isAsking = false
            knownUsers.formUnion(query.users)
            knownCalls.formUnion(query.calls)
            wantedUsers.removeAll { knownUsers.contains($0) }
            wantedCalls.removeAll { knownCalls.contains($0) }
        }
        return (new, !isComplete)
    }

    /// The store could not answer. Whoever waits for the calls of some users waits until all are
    /// loaded: nothing more is asked about users.
    ///
    /// - Returns: whether loading goes on; false: it was a page.
    mutating func goesOn(without query: LiveCallQuery) -> Bool {
        rest = nil
        return !query.users.isEmpty || !query.calls.isEmpty
    }

    private mutating func finishPage(_ found: LiveCalls) {
        guard let place = found.lookedUpTo else {
            isComplete = true
            return
        }
        done = place
        isPageWanted = true
        handedOver = handedOver.filter { $0 > place }
    }
}

extension LiveCallLoader.Need {
    /// What `input` needs; nil: it may always go on.
    public init?(_ input: Input) {
        self.init()
        switch input {
        case .request(let request): self = Self(request.operation, by: request.user)
        case .policyRequest(_, let user, _, let operation, _): self = Self(operation, by: user)
        case .deviceConnected(_, let user, _, _), .deviceDisconnected(let user, _, _, _),
            .deviceGone(let user, _, _):
            self.user = user
        case .answered(_, .invite(.forward(let users, _), _, _)): others = users
        case .answered, .thinking, .deadlineReached, .recalled, .recalledKey, .recallFailed,
            .recallKeyFailed, .configured, .loaded:
            return nil
        }
    }

    private init(_ operation: Operation, by user: UserID) {
        self.init()
        self.user = user
        others = operation.invitees ?? []
        call = operation.callID
        if case .call(_, .forward(let targets, _), _) = operation { others += targets }
    }
}
