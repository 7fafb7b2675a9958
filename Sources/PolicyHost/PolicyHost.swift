// The policy host: runs the plugins of one generation, decides nothing itself.

import Collections
import CallModel
import Configuration
import JSON
import Lua

/// Runs plugins. A moment goes in with every input; effects come out. It waits for nothing, and
/// reads a clock only to bound scripts. It has a thread of its own; the fast lane uses it on the
/// loop's thread, but only while its own thread sleeps.
public final class PolicyHost {
    /// The generation that answers from now on.
    public internal(set) var generation: Generation
    /// Whether every question leaves a record in the decision log.
    public var recordsDecisions = true
    /// Whether a record holds what is needed to ask again.
    public var recordsInputs = true
    /// Whether plugins that fail again and again are passed over: not where they are asked about
    /// failures only.
    public var passesOver = true

    let services: Services
    let arguments = PlainWriter()
    /// What plugins own beyond their generations, by name.
    var memories: [String: PluginMemory] = [:]
    /// That of the active generation, and the newest one.
    var generationNumber = 0
    var lastGenerationNumber = 0
    /// The generation that decides for some accounts beside the active one.
    var canary: CanaryRun?

    /// Questions whose plugins wait for something.
    var chains: [ChainID: Chain] = [:]
    /// Handlers that wait for something, and three ways to find them.
    var running: [UInt64: Running] = [:]
    var waits: [WaitID: UInt64] = [:]
    var tasks: [HandlerTask: UInt64] = [:]
    var handlersOfCalls: [CallID: [UInt64]] = [:]
    /// Notices that stand behind a waiting handler of the same plugin and call.
    var queues: [ReportKey: NoticeQueue] = [:]
    /// Those that are being gone through.
    var reporting: Set<ReportKey> = []
    /// How many handlers and queues of notices may still want the vars of a call.
    var varsNeeded: [CallID: Int] = [:]
    /// Calls that are being looked up because vars are kept for them.
    var sought: [WaitID: CallID] = [:]
    var detached: [Detached] = []
    /// Those that run when their time has come.
    var detachedLater: [UInt64: Detached] = [:]
    /// Functions of `all` that others went before.
    var laterParts: [UInt64: LaterPart] = [:]

    var unheard = Unheard()
    var deadlines = DeadlineHeap<Deadline>()
    var timers: [UInt64: PolicyTimer] = [:]
    var timersOfCalls: [CallID: [UInt64]] = [:]
    /// Timers whose call is being looked up.
    var firing: [WaitID: PolicyTimer] = [:]
    /// Plugins whose `state` was changed and not copied yet.
    var unsaved: [PluginState] = []
    var stateCopies = StateCopies()
    var ended = RecentCalls()
    var isTellingFailure = false
    /// Processor time of all runs, and of what they made others do, in nanoseconds. Whoever carries
    /// out effects on the same thread adds the time of that: it is a part of the account's turn.
    public var spent: UInt64 = 0
    /// After so much of it an input leaves the rest of its work for later (`takeDue`); nil: never.
    /// Who waits for the thread waits for no more than this time and the present run.
    public var patience: UInt64?
    var spentBefore: UInt64 = 0
    /// What is left of the input at hand.
    var rest: PolicyInput?
    /// The generation that answers the input at hand, if it is not the active one.
    var earlier: Generation?
    var probation: Probation?
    /// Why the active generation has to go, once the input at hand is done.
    var isRollbackDue: GenerationFault?
    /// The generation that takes over at the next cut.
    var handover: Handover?
    /// Whether somebody else makes the cut, also when probation fails: what does not belong to the
    /// plugins changes with it (G84).
    public var cutsForOthers = false
    /// Whether the rate of a user lets a plugin forward one of the user's invitations to one more
    /// user (H95), who counts then. Called on the host's thread.
    public var mayForward: (UserID, Moment) -> Bool = { _, _ in true }
    var lastID: UInt64 = 0
    /// Whether the input at hand is handled in the fast lane, on the loop's thread.
    var isInLane = false
    /// What the lane left for the host's own thread.
    var leftInLane: [() -> Void] = []

    /// A host that runs `generation`. `seed` decides all of its dice.
    public init(_ generation: Generation, seed: UInt64, cryptography: Cryptography = .none) {
        self.generation = generation
        services = Services(seed: seed)
        services.cryptography = cryptography
        services.isAlive = { [unowned self] in !ended.contains($0) }
        adopt(generation)
    }

    /// How far the wall clock is ahead of the core's clock.
    public var wallOffset: Milliseconds {
        get { services.wallOffset }
        set { services.wallOffset = newValue }
    }

    /// Called once in the middle of a run that has taken a millisecond: what was told before need
    /// not wait for its end. It must not use the host.
    public var runIsLong: () -> Void {
        get { services.runIsLong }
        set { services.runIsLong = newValue }
    }

    /// When `PolicyInput.deadlineReached` is due.
    public var nextDeadline: Moment? { deadlines.first }

    /// What `input` leads to, to be done in this order. `generation` answers: the one that
    /// `generation(for:)` gave when the input came; nil: it comes now.
    public func handle(
        _ input: PolicyInput, at now: Moment, in generation: Generation? = nil
    ) -> [PolicyEffect] {
        services.now = now
        spentBefore = spent
        let chosen = generation ?? self.generation(for: input)
        earlier = chosen === self.generation || chosen.isTakenBack ? nil : chosen
        defer { earlier = nil }
        switch input {
        case .asked(let question): ask(question)
        case .withdrawn(let id): withdraw(id)
        case .told(let report, let place): tell(report, from: place)
        case .pushing(let id, let draft, let call, let facts, let cause):
            shape(draft, id, call, facts, cause)
        case .pushFailed(let draft, let call, let facts, let reason, let cause):
            let view = CallView(call: call, facts: facts, now: now, receiver: draft.user)
            tellPushFailed(draft, view, reason, cause)
        case .callEnded(let id): endCall(id)
        case .replied(let id, let reply): replied(id, reply)
        case .deadlineReached: deadlineReached()
        case .due(let due): carryOut(due.deadline)
        }
        if !detached.isEmpty { runDetached() }
        if isReturnDue, !isInLane { goBackIfDue() }
        return services.takeEffects()
    }

    /// Gives back the memory of effects that were taken out of it one by one.
    public func reuse(_ carriedOut: consuming [PolicyEffect]) {
        services.reuse(carriedOut)
    }

    /// The generation that answers the input at hand.
    var answering: Generation { earlier ?? generation }

    /// Whether the input at hand has had its share of time: what it has begun is left for later.
    var isTired: Bool { isInLane || hasHadItsTime }

    var hasHadItsTime: Bool { patience.map { spent - spentBefore >= $0 } ?? false }

    /// Takes the rest of the present input, to be handled when it is its turn again.
    public func takeRest() -> PolicyInput? {
        defer { rest = nil }
        return rest
    }

    func newID() -> UInt64 {
        lastID += 1
        return lastID
    }

    func memory(of plugin: String) -> PluginMemory {
        if let memory = memories[plugin] { return memory }
        let memory = PluginMemory()
        memories[plugin] = memory
        return memory
    }

    private func tellPushFailed(
        _ draft: PushDraft, _ view: CallView, _ reason: String, _ cause: Cause
    ) {
        for plugin in answering.plugins
        where plugin.setting.users?.contains(draft.user) ?? true {
            tell(.pushFailed(draft, view, reason: reason, cause), plugin)
        }
    }
}

/// What is due at a moment.
enum Deadline: Equatable {
    /// A handler's sleep is over.
    case wake(UInt64, WaitID)
    /// A question must be answered.
    case decide(ChainID)
    /// A handler takes too long.
    case overdue(UInt64)
    /// A detached function runs.
    case detached(UInt64)
    /// A function of `all` begins (`laterParts`).
    case part(UInt64)
    /// All functions of `all` have ended.
    case partsEnded(UInt64)
    /// The next plugin is asked.
    case advance(ChainID)
    /// The next report of a row is told.
    case notices(ReportKey)
    /// A named timer fires.
    case timer(UInt64)
    /// Changed states are copied.
    case saveStates
    /// What is left of an old generation ends.
    case retire(Int)
    /// What still tells an old generation's plugins of something ends.
    case retireReports(Int)
    /// A generation has proved itself.
    case endProbation(Int)
    /// The plugins before are asked whether they fail alike, as a new generation or a canary does.
    case compare(Cause, isCanary: Bool)
    /// Nothing can come of an ended call any more.
    case forget(CallID)
    /// It is looked whether there is a call that vars are kept for.
    case seek(CallID)
}

/// A handler that waits.
struct Running {
    let plugin: PluginState
    let thread: Int32
    let task: HandlerTask
    /// The call that it is about.
    let call: CallID?
    /// The account that it speaks for.
    let account: UserID?
    /// The event that it is part of.
    let event: PluginEvent
    var wait: WaitID
    /// The question that it is a part of answering.
    var chain: ChainID?
    /// When it asked for what it waits for, and where the question's record has that.
    var asking: (since: Moment, place: Int)?
    /// Whether the shell is doing something for it.
    var isRequest = false
    /// Whether that is a request of `http`.
    var isFetch = false
    /// Whether that is an operation on its call: its reply comes also when the call ends by it.
    var isOperation = false
    /// Whether its call is over, so that it goes on to its next wait and no further.
    var isPastCall = false
    /// What came of `all { … }` so far.
    var parts = Parts()
    /// Counted as long as the handler is there; nil: it is part of another one.
    var use: QuotaUse?
}

/// What a handler was started for.
enum HandlerTask: Hashable {
    case chain(ChainID)
    case report(ReportKey)
    case timer(UInt64)
    /// Detached, or told of something without a call.
    case single(UInt64)
    /// One function of `all { … }` in another handler.
    case part(of: UInt64, Int)

    /// Whether it has a time limit of its own; a chain has its deadline, a part its handler's.
    var isBounded: Bool {
        switch self {
        case .report, .timer, .single: true
        case .chain, .part: false
        }
    }
}

/// Reports of one call come to one plugin one at a time.
struct ReportKey: Hashable {
    let plugin: ObjectIdentifier
    let call: CallID?
}

/// The calls that ended last.
struct RecentCalls {
    private static let most = 4_096
    private var places = HashIndex()
    private var calls: [CallID] = []
    private var next = 0

    func contains(_ call: CallID) -> Bool { find(call) != nil }

    private func find(_ call: CallID) -> Int32? {
        places.find(call.hash) { calls[Int($0)] == call }
    }

    mutating func insert(_ call: CallID) {
        guard find(call) == nil else { return }
        if calls.count < Self.most {
            calls.append(call)
        } else {
            places.remove(calls[next].hash, Int32(next))
            calls[next] = call
        }
        places.insert(call.hash, Int32(next))
        next = (next + 1) % Self.most
    }
}
