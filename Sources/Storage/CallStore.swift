// What a store does, whether it keeps things on disk or in memory.

import CallModel
import JSON

/// The writing side of a store. Used by one thread at a time.
public protocol CallStore: AnyObject {
    /// How much is kept; a change counts from the next call on.
    var limits: StoreLimits { get set }

    /// What a start needs. Comes before the first `commit`.
    func restore(at now: Moment) throws(StoreError) -> StoredState

    /// Stores all of `batch` or nothing; when it returns, the batch is durable.
    ///
    /// - Parameter now: the core's time; the newest one is restored.
    /// - Throws: after a failure nothing of the batch is stored and the store must be opened again.
    @discardableResult
    func commit(_ batch: [StoreRecord], at now: Moment) throws(StoreError) -> CommitResult

    /// Removes some of what is too old: ended calls, keys, values, finished webhooks.
    ///
    /// - Returns: whether there is more to remove: call again soon.
    func sweep(at now: Moment) throws(StoreError) -> Bool

    /// A reading side. One for another thread is better opened there, as a `StoreReader`.
    func makeReader() throws(StoreError) -> any CallReader

    /// Whether what it writes is still found under its name; `commit` looks too.
    ///
    /// - Throws: `replaced`: what was acknowledged until now must be saved, see `rescue`.
    func checkFiles() throws(StoreError)

    /// After `replaced`: brings what was acknowledged to where the next opening finds it. May be
    /// tried again for as long as the store exists, and the store must exist until it succeeds:
    /// what is in a file without a name ends with whoever has it open.
    func rescue() throws(StoreError)

    /// Notes that the process ends on purpose. The store cannot be used any more.
    func close() throws(StoreError)
}

extension CallStore {
    public func checkFiles() throws(StoreError) {}
    public func rescue() throws(StoreError) {}
}

/// The reading side of a store. Used by one thread at a time; sees what was committed when a
/// method is called.
public protocol CallReader: AnyObject {
    /// A call, live or ended.
    func call(_ id: CallID) throws(StoreError) -> Call?

    /// What is kept under an idempotency key.
    func reply(of user: UserID, under key: String) throws(StoreError) -> KeptReply?

    /// A page of a user's calls, newest first.
    func page(
        of user: UserID, matching query: ListQuery, within budget: PageBudget
    ) throws(StoreError) -> CallPage

    /// Missed calls that the user has not seen.
    func missedCount(of user: UserID) throws(StoreError) -> Int

    /// Missed calls that the user has not seen, newest first, at most `limit`.
    func missedCalls(of user: UserID, limit: Int) throws(StoreError) -> [MissedCall]

    /// A user's push registrations, by device and provider.
    func registrations(of user: UserID) throws(StoreError) -> [Registration]

    /// Open push jobs after `job`, in order, at most `limit`.
    func openPushes(after job: JobID?, limit: Int) throws(StoreError) -> [StoredPush]

    /// What became of the pushes of a call, by job, user and device.
    func pushOutcomes(of call: CallID) throws(StoreError) -> [PushOutcome]

    /// Webhooks in `state` after `job`, in order, at most `limit`.
    func webhooks(
        _ state: WebhookProgress.State, after job: JobID?, limit: Int
    ) throws(StoreError) -> [StoredWebhook]

    /// Who made the calls of open webhooks to `endpoint`, in order, after `caller`: `limit` at
    /// most, `Cause.noCaller` for those of nobody.
    func webhookCallers(
        of endpoint: String, after caller: UserID?, limit: Int
    ) throws(StoreError) -> [UserID]

    /// Open webhooks to `endpoint` of the calls of `caller` after `job`, in order, at most `limit`.
    func openWebhooks(
        of endpoint: String, caller: UserID, after job: JobID?, limit: Int
    ) throws(StoreError) -> [StoredWebhook]

    /// A plugin's value, unless it expired before `now`.
    func value(of plugin: String, key: String, at now: Moment) throws(StoreError) -> [UInt8]?

    /// A plugin's keys that begin with `prefix`, in byte order, at most `limit`.
    func keys(
        of plugin: String, prefix: String, limit: Int, at now: Moment
    ) throws(StoreError) -> [String]

    /// The kept generations, last activated first.
    func generations() throws(StoreError) -> [GenerationMark]

    /// A kept generation with its sources.
    func generation(named name: String) throws(StoreError) -> StoredGeneration?
}

/// What a commit tells.
public struct CommitResult: Sendable, Equatable {
    /// What became of an increment.
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
    /// Live calls by id; kept keys, oldest first.
    public var core = Restored()
    /// The newest moment ever committed: time never goes below it.
    public var newestMoment: Moment?
    /// Whether the process before this one called `close`.
    public var endedCleanly = true
    /// Pending timers, by id.
    public var timers: [NamedTimer] = []
    /// The highest id ever given to a job or timer.
    public var lastJob: JobID?

    /// A start from nothing.
    public init() {}
}

/// A call that a user missed and has not seen since.
public struct MissedCall: Sendable, Equatable {
    /// The call.
    public let callID: CallID
    /// When it was missed.
    public let at: Moment
}

/// A stored push registration.
public struct Registration: Sendable, Equatable {
    /// Whose.
    public let address: Address
    /// What was registered.
    public let registration: PushRegistration
    /// When; 0 if that was before the store kept it.
    public let at: Moment

    /// The registration of `address`, made at `at`.
    public init(_ address: Address, _ registration: PushRegistration, at: Moment) {
        self.address = address
        self.registration = registration
        self.at = at
    }
}

extension PushRegistration {
    /// The same with the token in one form, so that it is found whoever writes it: of Apple in
    /// lower case, of a browser only what pushes go by.
    var inOneForm: PushRegistration {
        var same = self
        switch provider {
        case "apns", "apns_voip": same.token = token.lowercased()
        case "web":
            guard let given = try? JSONValue(parsing: token), let endpoint = given["endpoint"],
                let key = given["keys"]?["p256dh"], let secret = given["keys"]?["auth"]
            else { break }
            let keys: JSONObject = ["p256dh": key, "auth": secret]
            same.token =
                JSONValue.object(["endpoint": endpoint, "keys": .object(keys)]).description
        default: break  // external: a provider's name
        }
        return same
    }
}

/// A stored push job.
public struct StoredPush: Sendable, Equatable {
    /// The job.
    public let id: JobID
    /// Whom to wake, and why.
    public let job: PushJob
}

/// A page of `call.list`.
public struct CallPage: Sendable, Equatable {
    /// Newest first.
    public var calls: [Call] = []
    /// Where the next page begins (`ListQuery.before`); nil: this is the last one. A page may be
    /// empty and not the last: looking through very many calls that do not match is cut short.
    public var cursor: CallID?
    /// Records that were left out because they cannot be read: to be logged, since one damaged
    /// call must not hide all others.
    public var damage: [StoreError] = []

    /// An empty last page.
    public init() {}
}

/// How large a page may become.
public struct PageBudget {
    /// Bytes of all calls of the page. The first call is always part of it.
    public let bytes: Int
    /// The bytes of one call as the caller will send it.
    public let size: (Call) -> Int

    /// At most `bytes`, measured by `size`.
    public init(bytes: Int, size: @escaping (Call) -> Int) {
        self.bytes = bytes
        self.size = size
    }
}
