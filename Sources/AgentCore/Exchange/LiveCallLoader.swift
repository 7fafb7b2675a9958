// After a start the live calls come in pages, and nobody has to wait for more than their own.

import CallCore
import CallModel
import Collections
import StoreContract

/// Loads live calls while the switchboard works already. An operation, or a device that connects,
/// waits until all live calls of its user, and of every user whom it concerns, are there. So
/// limits, who is busy and the calls that a client is shown are exact from the first answer.
///
/// A call is handed over once. One that ended since would otherwise come back by an answer that
/// the store gave before.
public struct LiveCallLoader<Held> {
    /// What an input needs.
    public struct Need: Sendable {
        /// Who is behind it: inputs of one user stay in their order. nil: nobody.
        public var user: UserID?
        /// Whom it concerns besides.
        public var others: [UserID] = []
        /// What it is about.
        public var call: CallID?

        /// Nothing.
        public init() {}
    }

    /// What is not loaded yet: all live calls of a user, or one call.
    private enum Missing: Hashable {
        case user(UserID)
        case call(CallID)
    }

    /// What is held, with its number in the order in which all came.
    private struct Entry {
        let number: Int
        let need: Need
        let what: Held
    }

    /// Of so many users, and so many calls, one question is.
    private static var askedAtOnce: Int { 64 }

    private let last: CallID
    private let limit: Int
    /// All up to this one are handed over.
    private var done: CallID?
    private var isPageWanted = true
    private var isComplete = false
    /// Handed over behind `done`.
    private var handedOver: Set<CallID> = []
    /// Of these nothing is missing.
    private var known: Set<Missing> = []
    /// The store was asked about these, or will be.
    private var wanted: Set<Missing> = []
    private var usersToAsk = Queue<UserID>()
    private var callsToAsk = Queue<CallID>()
    private var isAsking = false
    /// The rest of a question about users, which goes on after the last answer.
    private var rest: LiveCallQuery?
    /// What is held, each behind the first that it misses: an answer of the store concerns only
    /// what waits for it, however much is held.
    private var waiting: [Missing: [Entry]] = [:]
    /// What may go on, or is to be looked at again.
    private var awake = Queue<Entry>()
    /// Of each user of whom something is held: what came after the first of it.
    private var behind: [UserID: Queue<Entry>] = [:]
    private var lastNumber = 0
    /// How much is held.
    public private(set) var heldCount = 0
    /// How often it was asked of something whether it may go on.
    private(set) var looks = 0

    /// Loads calls up to `last`, the last one that the store has, `limit` at a time.
    public init(upTo last: CallID, limit: Int) {
        self.last = last
        self.limit = max(1, limit)
    }

    /// Whether everything is loaded and nothing is held: this one is needed no more.
    public var isOver: Bool { isComplete && heldCount == 0 }

    /// Whether what needs `need` may go on now; else `what` is held until `takeReady`.
    public mutating func admits(_ need: Need, _ board: Switchboard, else what: Held) -> Bool {
        let missing = firstMissing(of: need, board)
        let isBehind = need.user.map { behind[$0] != nil } ?? false
        if missing == nil, !isBehind { return true }
        lastNumber += 1
        heldCount += 1
        let entry = Entry(number: lastNumber, need: need, what: what)
        if !isBehind, let missing {
            if let user = need.user { behind[user] = Queue() }
            waiting[missing, default: []].append(entry)
        } else if let user = need.user {
            behind[user]?.append(entry)
        }
        return false
    }

    /// The next held input that may go on, until there is none: whatever has to stay in order with
    /// it is held as long as it is here.
    public mutating func takeReady(_ board: Switchboard) -> Held? {
        while let next = awake.removeFirst() {
            if let missing = firstMissing(of: next.need, board) {
                waiting[missing, default: []].append(next)
                continue
            }
            heldCount -= 1
            if let user = next.need.user {
                if let following = behind[user]?.removeFirst() {
                    awake.append(following)
                } else {
                    behind[user] = nil
                }
            }
            return next.what
        }
        return nil
    }

    /// Forgets and returns what is held and `condition` holds of, in order.
    public mutating func removeHeld(where condition: (Held) -> Bool) -> [Held] {
        var all = awake.values + waiting.values.joined()
        for line in behind.values { all += line.values }
        all.sort { $0.number < $1.number }
        (waiting, awake, behind) = ([:], Queue(), [:])
        let left = all.filter { !condition($0.what) }
        heldCount = left.count
        for entry in left {
            if let user = entry.need.user {
                if behind[user]?.append(entry) != nil { continue }
                behind[user] = Queue()
            }
            awake.append(entry)
        }
        return all.map(\.what).filter(condition)
    }

    /// The first that `need` names and that is not loaded; all of it is asked for next. Nil: there
    /// is none.
    private mutating func firstMissing(of need: Need, _ board: Switchboard) -> Missing? {
        looks += 1
        guard !isComplete else { return nil }
        var first: Missing?
        for user in need.others { require(.user(user), &first) }
        if let user = need.user { require(.user(user), &first) }
        guard let id = need.call, id <= last else { return first }
        if let call = board.call(id) {
            for participant in call.participants { require(.user(participant.user), &first) }
        } else if !(done.map { id <= $0 } ?? false) {
            require(.call(id), &first)
        }
        return first
    }

    private mutating func require(_ one: Missing, _ first: inout Missing?) {
        guard !known.contains(one) else { return }
        first = first ?? one
        guard wanted.insert(one).inserted else { return }
        switch one {
        case .user(let user): usersToAsk.append(user)
        case .call(let call): callsToAsk.append(call)
        }
    }

    /// What the store is to be asked now: at most one page, and one question about users, are
    /// under way.
    ///
    /// - Parameter withPage: whether there may be a page among them. With pages come deadlines that
    ///   have passed, and what they change has to be stored: nobody may have to wait for all of
    ///   that.
    public mutating func takeQueries(withPage: Bool = true) -> [LiveCallQuery] {
        var queries: [LiveCallQuery] = []
        guard !isComplete else { return queries }
        var query = LiveCallQuery(upTo: last, limit: limit)
        query.after = done
        if let rest {
            queries.append(rest)
            self.rest = nil
        } else if !isAsking, usersToAsk.count + callsToAsk.count > 0 {
            isAsking = true
            // After a takeover all come at once: a question about all of them would take too long.
            query.users = usersToAsk.removeFirst(Self.askedAtOnce)
            query.calls = callsToAsk.removeFirst(Self.askedAtOnce)
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
            let answered = query.users.map(Missing.user) + query.calls.map(Missing.call)
            known.formUnion(answered)
            wanted.subtract(answered)
            wake(answered)
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
            wake(Array(waiting.keys))
            return
        }
        done = place
        isPageWanted = true
        for call in found.calls { handedOver.remove(call.id) }
    }

    /// What waits behind these is looked at again, in the order in which it came.
    private mutating func wake(_ found: [Missing]) {
        let woken = found.flatMap { waiting.removeValue(forKey: $0) ?? [] }
        for entry in woken.sorted(by: { $0.number < $1.number }) { awake.append(entry) }
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
