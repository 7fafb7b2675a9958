// The switchboard at work: inputs go in, effects are performed in order.

import CallCore
import CallModel
import CallWire
import JSON
import StoreContract

/// What became of changes that others than the switchboard gave to the store.
public enum Stored: Equatable {
    case durable
    /// Durable, and with it an increment.
    case counted(CommitResult.Counter)
    /// The store is away, or lost them.
    case lost
}

/// Who waits for the store.
enum Waiting {
    case call(CallID)
    case key(UserID, String)
    case page(RequestID, UserID)
    case live(LiveCallQuery)
    case names
    case found((StoreAnswer) -> Void)
    case stored((Stored) -> Void)
}

/// Owns the switchboard and the queue of its effects: the way of every change to the store, and of
/// what waits for it to whoever is told. Owner: one thread.
public final class Exchange {
    typealias Effects = EffectQueue<StoreChange, StoreTicket>

    /// The calls. Changed by inputs only.
    public internal(set) var switchboard: Switchboard
    /// Whether the store is there, so that calls can be accepted.
    public internal(set) var isReady = true
    let encoder: WireEncoder
    /// Memory for the replies that are kept under keys.
    var keptReply = JSONWriter()
    var keptCall = CallText()
    /// What people are called.
    public let names: NameDirectory
    var limits: ServerLimits
    /// Holds this exchange where it is a loop's.
    public let shell: any Shell
    let seed: UInt64
    var queue = Effects()
    /// What is performed, and what the last turn left of it; kept for its memory.
    var leaving: [Effects.Item] = []
    /// So many of `leaving` are performed.
    var left = 0
    /// For so many effects and receivers this turn has room; the next turns perform the rest.
    var share = Exchange.performedMax
    /// So many effects it must perform anyway.
    var owed = 0
    /// So many it has performed.
    var performed = 0
    /// So many waited when it began; nil: none had to.
    var countBefore: Int?
    /// The memory of effects that were sorted, for the next ones.
    var spentEffects: [Effect] = []
    var isDraining = false
    /// Until all live calls are loaded.
    var loader: LiveCallLoader<Held>?
    /// Live calls of before the store failed, until it is known which of them are left.
    var callsBefore: [CallID] = []
    /// The moment of this turn, once somebody has asked for it.
    var turn: Moment?
    /// Live calls of before that the last start left out.
    public internal(set) var damagedCalls = DamagedCalls()
    /// When the shell will call `wake`.
    var wakesAt: Moment?
    /// Why the last commit failed, or the store is away; nil: a commit worked since.
    public internal(set) var storeTrouble: String?
    /// For changes of others whose owners go on as if they were stored: when the store is away, or
    /// loses them, they are stored when it is back.
    public internal(set) lazy var unconfirmed = UnconfirmedChanges(self)
    /// How often the store failed since it worked last.
    var storeFailures = 0
    /// When the store was open again; nil: it never failed.
    var openAgainAt: Moment?
    /// Whether the log says that the store failed, so that it has to say when it is back.
    var isFailureTold = false
    var lastJob: Int64
    /// Set once, before the loop runs.
    public var store: (any StoreLink)?
    /// Holds this exchange; set before the loop runs.
    public unowned var deliverer: (any Deliverer)?
    /// Asked what the core consults; nil: nobody decides.
    public var policies: (any PolicyLink)?
    /// Makes jobs of what the core tells; nil: nobody sends anything.
    public var outbox: (any Outbox)?
    var waiting: [StoreTicket: Waiting] = [:]
    var lastTicket: UInt64 = 0
    /// Calls and commits in numbers.
    public internal(set) var figures = CallFigures()
    /// Commits that took longer than `commitWithin`.
    public internal(set) var lateCommits: UInt64 = 0
    /// When the last of them ended; nil: there was none.
    public internal(set) var lastLateAt: Moment?
    var repeated = RepeatedLine()
    /// To which trace what happens belongs, for whoever looks at a whole system.
    var traces = RequestTraces()
    /// What happens to calls; nil: nobody keeps it.
    public var journal: Journal?
    /// A call has changed; nil: nobody watches.
    public var callChanged: ((Call) -> Void)?
    /// The batch with the store was written, or lost.
    public var batchEnded: () -> Void = {}
    /// A call has ended.
    public var callEnded: (CallID) -> Void = { _ in }
    /// Who counts in the batch that gathers, and in the one with the store.
    var counting: [StoreTicket] = []
    var submittedCounting: [StoreTicket] = []
    #if PLANTED_FAULTS
        var bug: PlantedBug?
        /// See `PlantedFault.lateEffect`.
        var heldBack: Effect?
    #endif

    /// An exchange of what a store had at the start; `shell` gives it clock, timers and log.
    public init(
        _ settings: Settings, restored: StoredState, seed: UInt64, limits: ServerLimits,
        shell: any Shell
    ) {
        self.shell = shell
        switchboard = Switchboard(settings: settings, seed: seed, at: shell.now())
        names = NameDirectory(limit: limits.names, seed: seed)
        names.fix(settings.names)
        encoder = WireEncoder(names: names)
        lastJob = restored.lastJob?.value ?? 0
        self.limits = limits
        self.seed = seed
    }

    /// The present moment of the core's clock, the same during one turn.
    public func now() -> Moment {
        if let turn { return turn }
        let now = shell.now()
        turn = now
        return now
    }

    /// How far the wall clock is ahead of the core's, in milliseconds.
    public var wallGap: Milliseconds { shell.wallGap }

    /// A deadline has come.
    public func wake() {
        wakesAt = nil
        // The turn may have begun before it.
        turn = nil
        // Mostly what it was set for is over, as a call that was held is decided.
        if isReady, loader == nil, (switchboard.nextDeadline ?? Moment(.max)) > now() {
            return arm()
        }
        feed(.deadlineReached)
    }

    /// To begin with, and after it failed: asks for the store.
    public func openStore() { store?.open(at: now(), in: .alone, as: newTicket()) }

    /// Takes over what the store kept. Call once, when everything is connected.
    public func restore(_ state: StoredState) {
        load(state)
    }

    /// Goes on with other settings and limits.
    public func configure(_ settings: Settings, _ limits: ServerLimits) {
        let readsAlike =
            limits.wire == self.limits.wire && settings.modes == switchboard.settings.modes
        if !readsAlike { refuseHeld() }
        self.limits = limits
        names.limit = limits.names
        names.fix(settings.names)
        feed(.configured(settings, readsAlike: readsAlike))
    }

    /// Goes on with other settings that change nothing of how requests are read.
    public func configure(_ settings: Settings) { feed(.configured(settings)) }

    /// Lets inputs that wait for others go on: what comes after them follows another operator's
    /// file.
    public func settle() { configure(switchboard.settings) }

    /// Late requests for calls that have ended ask the store from now on, which may have others.
    public func forgetEndedCalls() { switchboard.forgetEndedCalls() }

    /// Whether `user` has made this very request under `key` before.
    public func isRepetition(by user: UserID, _ key: IdempotencyKey) -> Bool {
        switchboard.isRepetition(by: user, key)
    }

    /// How many of the live calls `user` made.
    public func liveCalls(madeBy user: UserID) -> Int { switchboard.liveCalls(madeBy: user) }

    /// How many signals of one sender, and bytes of them, may wait for somebody who is called and
    /// has not answered (G80).
    public var signalsHeld: (count: Int, bytes: Int) {
        (switchboard.settings.heldSignalsMax, switchboard.settings.heldSignalBytesMax)
    }

    /// Something happened.
    public func feed(_ input: Input) {
        guard isReady else { return }
        if loader != nil, !shows(.answerUnloaded), holds(input) { return }
        // Whoever hands an input on copies it, so that nothing is called where nothing is spoiled.
        #if PLANTED_FAULTS
            carryOut(spoiled(input))
        #else
            carryOut(input)
        #endif
    }

    /// Has the switchboard handle an input that nothing holds back.
    func carryOut(_ input: Input) {
        var memory: [Effect] = []
        swap(&memory, &spentEffects)
        let refused = journal == nil ? nil : switchboard.refused(by: input)
        let effects = switchboard.handle(input, at: now(), reusing: consume memory)
        if let journal { enter(input, effects, refused, into: journal) }
        let turn = traces.isUsed ? traces.begin(input, effects) : nil
        sort(effects, by: input.actor, in: turn)
    }

    /// The devices of a user that are connected or may resume.
    public func devices(of user: UserID) -> [Address] { switchboard.addresses(of: user) }

    /// Stores changes that do not come from the switchboard, such as a plugin's values; `done`
    /// hears once what became of them. An increment whose result is waited for comes alone.
    public func store(_ changes: [StoreChange], then done: ((Stored) -> Void)? = nil) {
        guard isReady else {
            done?(.lost)
            return
        }
        for change in changes { queue.add(change) }
        guard let done else { return }
        let ticket = ticket(for: .stored(done))
        if changes.count == 1, case .value(.increment) = changes[0] {
            counting.append(ticket)
        } else {
            queue.add(.notice(ticket))
        }
    }

    /// Reads for others than the switchboard; `done` hears once what was found, `failed` when the
    /// store is away.
    public func find(_ query: StoreQuery, _ done: @escaping (StoreAnswer) -> Void) {
        find(query, for: .found(done))
    }

    func find(_ query: StoreQuery, for who: Waiting) {
        store?.find(query, as: ticket(for: who))
    }

    /// The ticket under which `who` is answered.
    func ticket(for who: Waiting) -> StoreTicket {
        let ticket = newTicket()
        waiting[ticket] = who
        return ticket
    }

    func newTicket() -> StoreTicket {
        lastTicket += 1
        return StoreTicket(lastTicket)
    }

    /// A job number never used before.
    public func newJob() -> JobID {
        if !shows(.jobNumberTwice) { lastJob += 1 }
        return JobID(lastJob)
    }

    /// Why a change cannot be taken at this moment, or nil.
    public var overload: Refusal? {
        guard isReady else { return .notReady }
        let isLate = commitAge > limits.commitWithin && store?.isCommitting == true
        guard isLate || effectCount * Self.effectBytes > limits.heldBytes else { return nil }
        return Refusal(
            .unavailable, "the store is behind: repeat with the same key", retryAfter: 1_000)
    }

    /// Why no call can begin or grow at this moment: the plugins have too much to hear already.
    /// Calls that are there go on, and what happens to them is told late, never left out.
    public var policyOverload: Refusal? {
        guard let backlog = policies?.backlog, backlog >= limits.policyBacklog else { return nil }
        if let left = repeated.admit("plugins", at: now()) {
            shell.log(
                .warn, "plugins are behind", ("events", "\(backlog)"), ("left_out", "\(left)"))
        }
        return Refusal(
            .unavailable, "the plugins are behind: repeat with the same key", retryAfter: 1_000)
    }

    /// Why `user` may cause no more reports to the plugins (G76): existing calls go on, and what
    /// happens to them is told late.
    public func reportOverload(of user: UserID) -> Refusal? {
        guard let policies, policies.reportsWaiting(for: user) >= limits.reportsPerCause else {
            return nil
        }
        return Refusal(
            .rateLimited, "too many events of yours wait for the plugins", retryAfter: 1_000)
    }

    /// Whether so many effects wait for the store that its next batch will take long.
    public var isBehind: Bool { effectCount >= Self.effectsOfABatch }

    static let effectsOfABatch = 128

    /// What one waiting effect takes, roughly: most hold a call.
    static let effectBytes = 1_024

    /// Effects that wait.
    var effectCount: Int { queue.count + leaving.count - left }

    /// Whether effects wait for nothing but their turn.
    var mustPerform: Bool { left < leaving.count || queue.hasReady }

    /// Whether something waits for the store, or for a turn behind it.
    public var hasOpenCommits: Bool { queue.isOpen || mustPerform }

    /// For how long the oldest of it has waited for the store; 0 where nothing does.
    public var commitAge: Milliseconds { queue.openSince.map { now() - $0 } ?? 0 }
}

extension Refusal {
    /// The store is away.
    public static let notReady = Refusal(
        .unavailable, "the store is away: repeat with the same key", retryAfter: 1_000)
}
