// The policy host: runs the plugins of one generation, decides nothing itself.

import CLua
import CallCore
import JSON

/// Runs plugins. A value of time goes in with every input; effects come out; nothing is waited for
/// and no clock is read but to bound scripts. It belongs to one thread.
public final class PolicyHost {
    /// The generation that answers from now on.
    public internal(set) var generation: Generation
    /// The names of the core's modes, in the order of its table.
    public var modeNames = Mode.all.map(\.name)
    /// Whether every question leaves a record in the decision log.
    public var recordsDecisions = true

    let services: Services
    let arguments = PlainWriter()
    /// Questions whose plugins wait for something.
    var chains: [QuestionID: Chain] = [:]
    /// Handlers that wait for something.
    var running: [UInt64: Running] = [:]
    var tasks: [HandlerTask: UInt64] = [:]
    var handlersOfCalls: [CallID: [UInt64]] = [:]
    var waits: [WaitID: UInt64] = [:]
    var deadlines = DeadlineHeap<Deadline>()
    /// Reports that stand behind a waiting handler of the same plugin and call.
    var reportQueues: [ReportKey: [Report]] = [:]
    private var lastID: UInt64 = 0

    /// A host that runs `generation`. `seed` decides all of its dice.
    public init(_ generation: Generation, seed: UInt64, cryptography: Cryptography = .none) {
        self.generation = generation
        services = Services(seed: seed)
        services.cryptography = cryptography
        adopt(generation)
    }

    /// How far the wall clock is ahead of the core's clock.
    public var wallOffset: Milliseconds {
        get { services.wallOffset }
        set { services.wallOffset = newValue }
    }

    /// When `PolicyInput.deadlineReached` is due.
    public var nextDeadline: Moment? { deadlines.first }

    /// What `input` leads to, to be done in this order.
    public func handle(_ input: PolicyInput, at now: Moment) -> [PolicyEffect] {
        services.now = now
        switch input {
        case .asked(let question): ask(question)
        case .withdrawn(let id): withdraw(id)
        case .told(let report): tell(report)
        case .callEnded(let id): endCall(id)
        case .replied(let id, let reply): replied(id, reply)
        case .deadlineReached: deadlineReached()
        }
        let effects = services.effects
        services.effects = []
        return effects
    }

    func newID() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// Makes the plugins of a generation use this host's time and effects.
    func adopt(_ generation: Generation) {
        for plugin in generation.plugins { plugin.services = services }
        services.effects += generation.services.effects
        generation.services.effects = []
    }
}

/// What is due at a moment.
enum Deadline: Equatable {
    /// A handler's sleep is over.
    case wake(UInt64, WaitID)
    /// A question must be answered.
    case decide(QuestionID)
    /// A handler takes too long.
    case overdue(UInt64)
}

/// A handler that waits.
struct Running {
    let plugin: PluginState
    let thread: Int32
    let task: HandlerTask
    /// The call whose end ends the handler.
    let call: CallID?
    let since: Moment
    /// Processor time so far, in nanoseconds.
    var spent: UInt64
    var wait: WaitID
}

/// What a handler was started for.
enum HandlerTask: Hashable {
    case chain(QuestionID)
    case report(ReportKey)
}

/// Reports of one call come to one plugin one at a time.
struct ReportKey: Hashable {
    let plugin: ObjectIdentifier
    let call: CallID?
}
