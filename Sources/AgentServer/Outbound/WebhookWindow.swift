// The events on their way to one receiver, shared among the accounts whose calls they tell of.

import CallModel
import Outbound
import StoreContract

/// The events of one receiver that are in memory, and who has others in the store.
///
/// An account with many calls has only a part of the window (`CauseShares`): its other events wait
/// in the store, in order, and the account is *behind*. Events of other accounts are not delayed by
/// that.
struct WebhookWindow {
    /// Its bounds.
    struct Limits {
        /// Events in memory.
        var events = 500
        /// Of these, those of calls of one account.
        var eventsPerCaller = 125
        /// Bytes of events in memory.
        var bytes = 4 << 20
        /// Of these, those of calls of one account.
        var bytesPerCaller = 1 << 20
        /// Accounts that are known to be behind; further ones are searched for in the store.
        var behind = 10_000
        /// Accounts that are read from the store at once, and events of each.
        var callersAtOnce = 8
        var eventsAtOnce = 25
        /// Accounts that are looked for at once.
        var searchStep = 200
    }

    /// An event in memory.
    private struct Event {
        let caller: UserID
        let call: CallID
        let type: String
        let bytes: Int
        let at: Moment
        let trace: TraceParent?
    }

    /// The longest body: a longer one is never sent, and counts as this.
    private static let longestBody = 65_536

    var endpoint: WebhookEndpoint
    /// An account may be behind that is not known to be: the store is searched from the account
    /// `searched` on.
    private(set) var isSearching: Bool
    private(set) var searched: UserID?
    /// Another account fell behind, unknown, after the present step of the search began: its result
    /// is not complete.
    private var isSearchStale = false
    /// The number of the reading under way; nil: none.
    private var reading: Int?
    /// The receiver answered 410, or an operator disabled it.
    var isDisabled = false
    /// Why the last attempt failed; nil: it did not.
    var trouble: String?
    private let limits: Limits
    private var open: [JobID: Event] = [:]
    private var shares: CauseShares
    private var bytes: CauseShares
    /// The newest event of each account that was given to the thread, or seen in the store.
    private var cursors: [UserID: JobID] = [:]
    /// Accounts with events in the store beyond their cursor, in the order of their turns.
    private var behind: [UserID] = []
    private var isBehind: Set<UserID> = []
    /// Accounts for which an event was stored during the reading under way.
    private var overtaken: Set<UserID> = []

    /// An empty window.
    ///
    /// - Parameter isSearching: whether the store may have events for it.
    init(_ endpoint: WebhookEndpoint, isSearching: Bool, limits: Limits = Limits()) {
        self.endpoint = endpoint
        self.isSearching = isSearching
        self.limits = limits
        shares = CauseShares(limit: limits.events, each: limits.eventsPerCaller)
        bytes = CauseShares(limit: limits.bytes, each: limits.bytesPerCaller)
    }

    /// Events with the outbound thread.
    var count: Int { open.count }
    /// When the oldest of them happened; nil: there is none.
    var oldest: Moment? { open.values.lazy.map(\.at).min() }
    /// Whether the store has events that are not in memory, or may have.
    var isLate: Bool { isSearching || !behind.isEmpty }
    var isReading: Bool { reading != nil }
    /// Accounts of which anything is remembered: only those with events here or behind.
    var accounts: Int { overtaken.union(cursors.keys).union(isBehind).count }

    func has(_ id: JobID) -> Bool { open[id] != nil }

    /// The call and the type of an event in memory, when it was made, and the trace to which it
    /// belongs.
    func origin(of id: JobID) -> (call: CallID, type: String, at: Moment, trace: TraceParent?)? {
        open[id].map { ($0.call, $0.type, $0.at, $0.trace) }
    }

    // MARK: Events

    /// Takes a new event; false: it is read from the store in its turn.
    mutating func take(_ job: StoreContract.WebhookJob) -> Bool {
        let caller = job.caller
        let wasBehind = isBehind.contains(caller)
        if !isSearching, !wasBehind, hasRoom(for: job) {
            add(job)
            return true
        }
        // All older events were here, unless the store may have more: then reading begins here.
        let isFirst = !isSearching && !wasBehind && cursors[caller] == nil
        guard markBehind(caller) else { return false }
        if isFirst { cursors[caller] = JobID(job.id.value - 1) }
        overtaken.insert(caller)
        return false
    }

    /// Takes an event read from the store; false: it is here already.
    mutating func takeStored(_ job: StoreContract.WebhookJob) -> Bool {
        lookedAt(job)
        guard !has(job.id) else { return false }
        add(job)
        return true
    }

    func hasRoom(for job: StoreContract.WebhookJob) -> Bool {
        let cause = Self.cause(job.caller)
        return shares.admits(cause) && bytes.admits(cause, Self.size(job))
    }

    private mutating func add(_ job: StoreContract.WebhookJob) {
        lookedAt(job)
        let event = Event(
            caller: job.caller, call: job.callID, type: job.type, bytes: Self.size(job),
            at: job.at, trace: job.trace)
        open[job.id] = event
        shares.take(Self.cause(event.caller))
        bytes.take(Self.cause(event.caller), event.bytes)
    }

    /// An event has ended.
    mutating func remove(_ id: JobID) {
        guard let event = open.removeValue(forKey: id) else { return }
        shares.giveBack(Self.cause(event.caller))
        bytes.giveBack(Self.cause(event.caller), event.bytes)
        forgetCursor(event.caller)
    }

    private mutating func lookedAt(_ job: StoreContract.WebhookJob) {
        cursors[job.caller] = cursors[job.caller].map { max($0, job.id) } ?? job.id
    }

    /// Drops the cursor of an account that has no events here and is not behind.
    private mutating func forgetCursor(_ caller: UserID) {
        guard shares[Self.cause(caller)] == 0, !isBehind.contains(caller) else { return }
        cursors[caller] = nil
    }

    private static func cause(_ caller: UserID) -> SendingCause {
        SendingCause(nil, caller: caller.text)
    }

    private static func size(_ job: StoreContract.WebhookJob) -> Int {
        min(job.body.count, longestBody)
    }

    // MARK: Behind

    /// Moves the cursor back, so that the event is read again.
    mutating func rewind(before job: (id: JobID, caller: UserID)) {
        if let cursor = cursors[job.caller], cursor >= job.id {
            cursors[job.caller] = JobID(job.id.value - 1)
        }
        if markBehind(job.caller) { overtaken.insert(job.caller) }
    }

    /// The caller of an event here.
    func caller(of id: JobID) -> UserID? { open[id]?.caller }

    /// False: too many are behind, so nothing is remembered of this account and the search has to
    /// find it.
    private mutating func markBehind(_ caller: UserID) -> Bool {
        guard !isBehind.contains(caller) else { return true }
        guard behind.count < limits.behind else {
            searchAnew()
            return false
        }
        isBehind.insert(caller)
        behind.append(caller)
        return true
    }

    // MARK: Reading

    /// Any account may be behind: searches for all.
    mutating func searchAnew() { (isSearching, searched, isSearchStale) = (true, nil, true) }

    /// Begins to read the store: an earlier reading counts no more.
    ///
    /// - Parameter number: never used before, not even for another window of this receiver.
    mutating func beginReading(_ number: Int) { reading = number }

    /// A reading has ended; false: it does not count any more.
    mutating func endReading(_ number: Int) -> Bool {
        guard reading == number else { return false }
        reading = nil
        return true
    }

    /// Begins a step of the search; returns the account behind which it looks.
    mutating func beginSearch() -> UserID? {
        isSearchStale = false
        return searched
    }

    /// What to read next: events of the accounts in turn, each behind its cursor; empty: there is
    /// no room, or no account is known to be behind.
    mutating func turns() -> [WebhookTurn] {
        var chosen: [WebhookTurn] = []
        guard shares.total < limits.events, bytes.total + Self.longestBody <= limits.bytes
        else { return [] }
        for caller in behind where chosen.count < limits.callersAtOnce {
            let held = shares[Self.cause(caller)]
            let most = min(limits.eventsPerCaller, limits.events - shares.total)
            guard held < max(most / 2, 1), shares.admits(Self.cause(caller)),
                bytes.admits(Self.cause(caller), Self.longestBody)
            else { continue }
            chosen.append(WebhookTurn(caller, after: cursors[caller]))
            overtaken.remove(caller)
        }
        return chosen
    }

    /// Whether to search for other accounts now.
    var mayFind: Bool { isSearching && behind.count < limits.behind / 2 }

    /// The search found these accounts, in order; fewer than were asked for means that there are no
    /// others.
    mutating func found(_ callers: [UserID]) {
        for caller in callers {
            guard behind.count < limits.behind, markBehind(caller) else { return }
            if !isSearchStale { searched = caller }
        }
        guard callers.count < limits.searchStep, !isSearchStale else { return }
        (isSearching, searched) = (false, nil)
    }

    /// The events read of an account are here; `isAll`: the store has no more.
    mutating func noteRead(_ caller: UserID, isAll: Bool) {
        guard isBehind.contains(caller) else { return }
        behind.removeAll { $0 == caller }
        if isAll, !overtaken.contains(caller) {
            isBehind.remove(caller)
            forgetCursor(caller)
        } else {
            behind.append(caller)
        }
    }

    /// An operator enables the receiver again.
    func enabled() -> WebhookWindow { WebhookWindow(endpoint, isSearching: true, limits: limits) }

    /// Drops the events that are here.
    mutating func disable() {
        self = WebhookWindow(endpoint, isSearching: true, limits: limits)
        isDisabled = true
    }
}
