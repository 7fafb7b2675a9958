// Everything that can be read from a store.

import CallModel

/// One question to a store. `StoreAnswer` has the case of the same name.
public enum StoreQuery: Sendable, Equatable {
    /// A call, live or ended.
    case call(CallID)
    /// Which version of a call is stored.
    case version(CallID)
    /// Live calls of before the start.
    case liveCalls(LiveCallQuery)
    /// What is kept under an idempotency key.
    case reply(UserID, key: String)
    /// A page of a user's calls, newest first, of at most so many bytes on the wire by
    /// `CallSize`; the first call is always part of it.
    case page(UserID, ListQuery, bytes: Int)
    /// Ended calls of everybody, the one that ended last first.
    case history(HistoryQuery)
    /// The calls that a user missed and has not seen, newest first.
    case missed(UserID, limit: Int)
    /// A user's push registrations, by device and provider; with them a call, if one is named.
    case registrations(UserID, with: CallID?)
    /// Open push jobs after one, in order.
    case openPushes(after: JobID?, limit: Int)
    /// What became of the pushes of a call, by job, user and device.
    case pushOutcomes(CallID)
    /// Webhooks, in order.
    case webhooks(WebhookFilter)
    /// Who made the calls of open webhooks to an endpoint, in order; `Cause.noCaller` for those of
    /// nobody.
    case webhookCallers(endpoint: String, after: UserID?, limit: Int)
    /// Open webhooks to an endpoint: of each of these callers at most so many, in order.
    case openWebhooks(endpoint: String, of: [WebhookTurn], limit: Int)
    /// A plugin's values under these keys, unless they expired before that moment.
    case values(plugin: String, keys: [String], at: Moment)
    /// A plugin's keys that begin with `prefix`, in byte order.
    case keys(plugin: String, prefix: String, limit: Int, at: Moment)
    /// The kept generations, last activated first.
    case generations
    /// A kept generation with its sources; nil: the last one in force that is neither active nor
    /// was taken back.
    case generation(named: String?)
    /// The kept names of users behind one, in the order of their ids.
    case names(after: UserID?, limit: Int)
    /// Which of these users were in one of the newest calls of a user, at most `pageScanMax`.
    case met(UserID, among: [UserID])
}

/// Which ended calls are meant.
public struct HistoryQuery: Sendable, Equatable {
    /// At most so many.
    public var limit: Int
    /// Only those that ended before this one did.
    public var before: CallID?
    /// Only those that ended for this.
    public var reason: EndReason?
    /// Only those of the mode of this name.
    public var mode: String?
    /// Only those created at this moment or later.
    public var since: Moment?
    /// Only those created before this moment.
    public var until: Moment?
    /// Only those that lasted at least so long from their answer to their end.
    public var longer: Milliseconds?
    /// Only those that lasted less than that.
    public var shorter: Milliseconds?

    /// The last `limit` calls.
    public init(limit: Int) { self.limit = limit }

    /// Whether `call`, which has ended, is one of them, wherever it stands among them.
    public func admits(_ call: Call) -> Bool {
        if let reason, call.end?.reason != reason { return false }
        if let mode, call.mode.name != mode { return false }
        if let since, call.createdAt < since { return false }
        if let until, call.createdAt >= until { return false }
        if let longer, call.duration < longer { return false }
        return shorter.map { call.duration < $0 } ?? true
    }
}

/// Which webhooks are meant.
public struct WebhookFilter: Sendable, Equatable {
    /// Those that stand here.
    public var state: WebhookProgress.State
    /// Of this receiver; nil: of all.
    public var endpoint: String?
    /// Of this call; nil: of all.
    public var call: CallID?
    /// This one; nil: all.
    public var id: JobID?
    /// Those behind this one; nil: all.
    public var after: JobID?
    /// At most so many, the oldest first.
    public var limit: Int

    /// All that stand at `state`, the first `limit`.
    public init(_ state: WebhookProgress.State, limit: Int) {
        self.state = state
        self.limit = limit
    }
}

/// One caller's open webhooks behind `after`.
public struct WebhookTurn: Sendable, Equatable {
    /// Who made the calls; `Cause.noCaller`: nobody.
    public let caller: UserID
    /// nil: from the first on.
    public let after: JobID?

    /// Those of the calls of `caller` behind `after`.
    public init(_ caller: UserID, after: JobID?) {
        self.caller = caller
        self.after = after
    }
}
