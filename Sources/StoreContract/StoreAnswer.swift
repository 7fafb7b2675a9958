// All answers of a store.

import CallModel

/// The answer to one order.
public enum StoreAnswer: Sendable {
    /// The batch is durable; the time since it was ordered.
    case committed(CommitResult, in: Milliseconds)
    /// The store is open again; this is its content.
    case opened(StoredState)
    /// The question could not be answered.
    case failed(StoreError)
    // To a `StoreQuery` of the same name:
    case call(Call?)
    case version(StoredVersion?)
    /// `damage`: records that were left out because they cannot be read.
    case liveCalls(LiveCalls, damage: [StoreError])
    case reply(KeptReply?)
    case page(CallPage)
    /// With where the next page begins, as in `HistoryQuery.before`.
    case history(CallPage)
    /// The newest ones, and how many there are in all.
    case missed([MissedCall], count: Int)
    case registrations([Registration], Call?)
    case openPushes([StoredPush])
    case pushOutcomes([PushOutcome])
    case webhooks([StoredWebhook])
    case webhookCallers([UserID])
    /// Of each caller asked for, in order.
    case openWebhooks([[StoredWebhook]])
    /// Of each key asked for, in order.
    case values([[UInt8]?])
    case keys([String])
    case generations([GenerationMark])
    case generation(StoredGeneration?)
    case names([StoredName])
    case met([UserID])
}

/// The result of a commit.
public struct CommitResult: Sendable, Equatable {
    /// The result of an increment.
    public enum Counter: Sendable, Equatable {
        /// The sum.
        case sum(Int64)
        /// The value is not an integer, or the sum does not fit; it is unchanged.
        case notCountable
    }

    /// One for each `ValueChange.increment` of the batch, in order.
    public var counters: [Counter] = []

    /// A commit without increments.
    public init() {}
}

/// What a start restores.
public struct StoredState: Sendable {
    /// Kept keys, oldest first, and the last live call: those up to it are asked for in pages.
    public var core = Restored()
    /// The term in which it was opened.
    public var term = Term.alone
    /// The newest moment ever committed: time never goes below it.
    public var newestMoment: Moment?
    /// The present time by the store's own clock; nil: it has none but the machine's. Processes on
    /// several machines begin with the same time, so that a wrong clock of one of them ends no
    /// call.
    public var storeClock: Moment?
    /// Whether the process before this one called `close`.
    public var endedCleanly = true
    /// Pending timers, by id.
    public var timers: [NamedTimer] = []
    /// Ids of new jobs and timers are higher than this one: the highest that was ever stored, or
    /// the last before those of the epoch.
    public var lastJob: JobID?

    /// A start from nothing.
    public init() {}
}

/// A call that a user missed and has not seen since.
public struct MissedCall: Sendable, Equatable {
    /// The call's id.
    public let callID: CallID
    /// When it was missed.
    public let at: Moment
    /// The call as it is now; nil: it is not kept any more.
    public let call: Call?

    /// `callID` was missed at `at`.
    public init(callID: CallID, at: Moment, call: Call?) {
        self.callID = callID
        self.at = at
        self.call = call
    }
}

/// A page of `call.list`.
public struct CallPage: Sendable, Equatable {
    /// Newest first.
    public var calls: [Call] = []
    /// Where the next page begins (`ListQuery.before`); nil: this is the last one. A page may be
    /// empty and not the last, because the search through calls that do not match has a limit.
    public var cursor: CallID?
    /// Records that were left out because they cannot be read: to be logged, since one damaged
    /// call must not hide all others.
    public var damage: [StoreError] = []

    /// An empty last page.
    public init() {}
}
