// The world of one test: a policy host beside a real switchboard, with a clock, users, a store
// and a web that are made up.

import CLua
import CallCore
import CallModel
import Configuration
import JSON
import Lua
import PolicyHost

/// Everything that a test can reach.
final class TestWorld {
    private(set) var plan: GenerationPlan
    /// The state in which the test's own code runs.
    private let bench: PluginState?
    private let cryptography: Cryptography
    private var seed: UInt64
    private(set) var host: PolicyHost
    var board: Switchboard
    private let given: Given
    private var answeredFor: Set<UserID> = []
    /// Those that the test has made.
    var groups: [String: [UserID]] = [:]
    var now: Moment
    /// What was said of users.
    var users: [UserID: UserFacts] = [:]
    /// How many devices of a user are connected to the switchboard.
    private var devices: [UserID: Int] = [:]
    var pages: [String: LuaValue] = [:]
    var stores: [String: KeysInMemory] = [:]
    var operations: [LuaValue] = []
    var log: [PolicyLog] = []
    /// What was decided since the world began.
    var records: [DecisionRecord] = []
    /// Why plugins gave no usable answer in the step at hand.
    var failures: [String] = []
    /// The same since the world began.
    var allFailures: [String] = []
    /// Whether a plugin's failure is no failure of the step.
    var isForgiving = false

    /// What the switchboard has stored.
    var stored: [CallID: Call] = [:]
    /// Calls that only the plugins are told of.
    var madeUp: [CallID: Call] = [:]
    private var currentID: CallID?
    /// After `ring { for_ = … }`: the time, and the place that is asked then.
    var ringing: (span: Milliseconds, place: Int)?

    // The step at hand: what the switchboard asked, and what came of it.
    var openQuestions: Set<QuestionID> = []
    var asked: [Question] = []
    var answers: [QuestionID: Answer] = [:]
    var replies: [RequestID: Reply] = [:]
    var shaped: PushDraft??
    /// What handlers wait for that the switchboard was asked, with its place in `operations`.
    var waits: [RequestID: (wait: WaitID, place: Int)] = [:]
    var queue: [Work] = []
    var isWorking = false
    /// Whether what the switchboard tells is nobody's business.
    var isQuiet = false
    private var lastNumber: UInt64 = 0
    /// What the test has done and the moments that have passed; a test shall end.
    private var steps = 0
    static let mostSteps = 100_000
    private var ran: [String: Set<Int>] = [:]

    /// What the operator says.
    enum Given {
        case settings(Settings)
        /// Nothing but these modes: whoever is invited is answered for.
        case modes([ModeRow])

        var settings: Settings {
            switch self {
            case .settings(let settings): return settings
            case .modes(let modes):
                var settings = Settings()
                settings.modes = modes
                return settings
            }
        }
    }

    enum Work {
        case core(Input)
        case host(PolicyInput)
    }

    init(
        _ plan: GenerationPlan, _ given: Given, _ bench: PluginState?,
        _ cryptography: Cryptography, _ seed: UInt64, at begin: Moment = PluginTest.begin
    ) throws(ScriptProblems) {
        now = begin
        self.plan = plan
        self.bench = bench
        self.cryptography = cryptography
        self.seed = seed
        self.given = given
        let generation = try Self.generation(plan, seed, cryptography)
        host = PolicyHost(generation, seed: seed, cryptography: cryptography)
        board = Switchboard(settings: given.settings, seed: seed, at: begin)
        configure()
        take(host.start(at: now))
        work(nil)
    }

    private static func generation(
        _ plan: GenerationPlan, _ seed: UInt64, _ cryptography: Cryptography
    ) throws(ScriptProblems) -> Generation {
        try Generation(
            plan, seed: seed, cryptography: cryptography,
            wallTime: PluginTest.begin.milliseconds)
    }

    /// The modes that calls may have.
    var modes: [ModeRow] { board.settings.modes }

    /// The mode of a call that names none, as a server has it.
    var usualMode: ModeRow { board.settings.defaultMode }

    /// The time zone of the plugins.
    var zone: TimeZoneRules { plan.plugins.first?.setting.zone ?? .utc }

    // MARK: The test's own code

    /// Runs a test to its end; returns why it failed.
    func run(_ test: TestDeclaration) -> ScriptProblem? {
        guard let bench else { return ScriptProblem("there is nothing to run a test in") }
        let arguments = PlainWriter()
        arguments.list(1)
        arguments.value(.handle(kind: Bindings.Kind.test.rawValue, number: 0))
        let budget = bench.setting.limits.loadTime.nanoseconds
        bench.services.now = now
        var outcome = bench.start(test.function, arguments, budget: budget)
        while Int(outcome.status) == CALLUA_WAITING {
            guard steps < Self.mostSteps else {
                return ScriptProblem(
                    "the test takes more than \(Self.mostSteps) steps", file: test.file,
                    line: test.line)
            }
            steps += 1
            let status = step(on: bench)
            bench.services.now = now
            bench.services.effects = []
            outcome = bench.resume(outcome.thread, status: status, budget: budget)
        }
        if Int(outcome.status) == CALLUA_FINISHED { return nil }
        let problem = ScriptProblem(message: outcome.message)
        if problem.line != nil { return problem }
        return ScriptProblem(problem.text, file: test.file, line: test.line)
    }

    /// Does what the test waits for; the result is in the bench's `reply`.
    private func step(on bench: PluginState) -> Int {
        let pending = bench.pending
        bench.pending = nil
        let writer = bench.reply
        writer.cut()
        do throws(Refused) {
            let values: [LuaValue]
            switch pending {
            case .test(let name, let arguments)?:
                share(bench, host.generation.plugins)
                values = try perform(name, arguments)
                share(host.generation.plugins, bench)
            case .sleep(let span)?:
                try advance(span)
                values = []
            case .request(let request)?:
                writer.reply(reply(to: request, of: bench.name))
                return CALLUA_RETURN
            case .operation?, .all?, nil: throw Refused("this cannot be waited for in a test")
            }
            writer.list(values.count)
            for value in values { writer.value(value) }
            return CALLUA_RETURN
        } catch {
            writer.cut()
            writer.raw(error.message)
            return CALLUA_RAISE
        }
    }

    /// The test and the plugin have Lua states of their own; `state` is one for both.
    private func share(_ bench: PluginState, _ plugins: [PluginState]) {
        bench.saveState()
        for plugin in plugins { plugin.takeState(of: bench) }
    }

    private func share(_ plugins: [PluginState], _ bench: PluginState) {
        for plugin in plugins {
            plugin.saveState()
            bench.takeState(of: plugin)
        }
    }

    // MARK: Steps

    /// A step begins.
    private func begin() {
        (failures, asked, answers, replies) = ([], [], [:], [:])
        shaped = nil
    }

    /// A plugin that failed in the step fails it.
    private func end() throws(Refused) {
        if let failure = failures.first, !isForgiving { throw Refused(failure) }
    }

    /// Lets the plugins answer; waits of their handlers end by themselves.
    func ask(_ subject: Question.Subject, _ facts: [UserFacts]) throws(Refused) -> Answer {
        begin()
        // Numbers that the switchboard, which knows nothing of this, never comes to.
        let id = QuestionID(newNumber() | 1 << 62)
        let question = Question(id: id, decideBy: now + 2_000, subject: subject, facts: facts)
        work(.host(.asked(question)))
        wait { answers[id] != nil }
        try end()
        return answers[id] ?? .none
    }

    /// Shapes a push; nil: dropped.
    func shape(_ draft: PushDraft, _ call: Call) throws(Refused) -> PushDraft? {
        begin()
        work(.host(.pushing(PushID(1), draft, call, facts(of: call))))
        wait { shaped != nil }
        try end()
        return shaped ?? nil
    }

    /// Lets a device of `user` ask the switchboard; returns when everything about it is decided.
    func request(_ operation: Operation, by user: UserID) throws(Refused) -> Reply? {
        begin()
        let reply = commit(operation, by: user)
        try end()
        return reply
    }

    /// The same, whatever the plugins make of it.
    private func commit(_ operation: Operation, by user: UserID) -> Reply? {
        connect(user)
        let id = RequestID(newNumber())
        let request = Request(
            id: id, user: user, device: Self.device(1), operation: operation)
        work(.core(.request(request)))
        wait { replies[id] != nil && openQuestions.isEmpty }
        return replies[id]
    }

    func tell(_ input: PolicyInput) throws(Refused) {
        begin()
        work(.host(input))
        try end()
    }

    /// Tells of something that is not of a call.
    func tell(_ hook: Hook, _ table: JSONObject) throws(Refused) {
        begin()
        take(host.tell(hook, table, at: now))
        work(nil)
        try end()
    }

    /// Loads the plugin anew: with other options, or as a reload does it.
    func load(
        keepingState: Bool, options: JSONObject? = nil, zone: TimeZoneRules? = nil
    ) throws(Refused) {
        seed += 1
        noteLines()
        if let options { plan.plugins[0].setting.options = options }
        for place in plan.plugins.indices where !groups.isEmpty {
            plan.plugins[place].setting.groups = groups
        }
        if let zone {
            for place in plan.plugins.indices { plan.plugins[place].setting.zone = zone }
        }
        do throws(ScriptProblems) {
            let next = try Self.generation(plan, seed, cryptography)
            if keepingState {
                take(try host.activate(next, at: now))
            } else {
                // Nobody is left to hear the answers.
                (waits, openQuestions) = ([:], [])
                host = PolicyHost(next, seed: seed, cryptography: cryptography)
                take(host.start(at: now))
            }
        } catch {
            throw Refused(error.description)
        }
        configure()
        work(nil)
    }

    // MARK: Time

    /// Lets time pass; a handler that fails meanwhile fails the test.
    func advance(_ span: Milliseconds) throws(Refused) {
        begin()
        let end = now + span
        while steps < Self.mostSteps, let due = nextDeadline, due <= end { pass(until: due) }
        now = end
        try self.end()
    }

    /// Lets the time of the current call's `ring { for_ = … }` pass, and the plugins answer then.
    func advanceToQuestion(_ span: Milliseconds) throws(Refused) {
        try advance(span)
        wait { openQuestions.isEmpty }
        try end()
    }

    /// Sets the clock without anything happening in between: calls that the switchboard had
    /// belong to another time.
    func setClock(to moment: Moment) {
        if moment == now { return }
        if let current, stored[current.id] != nil { madeUp[current.id] = current }
        for call in board.liveCalls where call.id != currentID {
            take(host.handle(.callEnded(call.id), at: now))
        }
        now = moment
        host.restartTimers(at: now)
        (stored, devices, answeredFor) = ([:], [:], [])
        board = Switchboard(settings: given.settings, seed: newNumber(), at: now)
        configure()
    }

    private var nextDeadline: Moment? {
        switch (host.nextDeadline, board.nextDeadline) {
        case (let a?, let b?): min(a, b)
        case (let a, let b): a ?? b
        }
    }

    private func pass(until due: Moment) {
        steps += 1
        now = max(now, due)
        if let due = board.nextDeadline, due <= now { work(.core(.deadlineReached)) }
        if let due = host.nextDeadline, due <= now { work(.host(.deadlineReached)) }
    }

    /// Lets time pass until something is there, or nothing more can come: no question stays open
    /// for longer.
    private func wait(until isThere: () -> Bool) {
        let end = now + 60_000
        while !isThere(), steps < Self.mostSteps, let due = nextDeadline, due <= end {
            pass(until: due)
        }
    }

    // MARK: Calls

    /// The call that steps go on with.
    var current: Call? {
        guard let id = currentID else { return nil }
        guard stored[id] != nil else { return madeUp[id] }
        return board.call(id).flatMap { $0.isLive ? $0 : nil }
    }

    /// Whether the switchboard has the call.
    func isReal(_ call: Call) -> Bool { stored[call.id] != nil }

    func newCall() -> CallID { CallID(high: 0x0190_0000_0000_0000, low: newNumber()) }

    func newNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// Steps go on with this call.
    func goOn(with call: Call) {
        if !isReal(call) { madeUp[call.id] = call }
        currentID = call.id
    }

    /// The call is over: handlers of it end, and `call.vars` go.
    func end(_ call: Call) {
        quietly {
            for participant in call.participants where isReal(call) {
                for action in [CallAction.end(), .cancel(), .reject(), .leave()]
                where board.call(call.id)?.isLive == true {
                    _ = commit(.call(call.id, action), by: participant.user)
                }
            }
        }
        work(.host(.callEnded(call.id)))
        madeUp[call.id] = nil
        currentID = nil
    }

    // MARK: Users

    /// What was said of a user, and what the switchboard knows.
    func facts(of user: UserID, besides call: CallID? = nil) -> UserFacts {
        shown(board.facts(of: user, besides: call))
    }

    func facts(of call: Call) -> [UserFacts] {
        call.participants.map { facts(of: $0.user, besides: call.id) }
    }

    func shown(_ facts: UserFacts) -> UserFacts {
        let said = users[facts.user]
        return UserFacts(
            facts.user, calls: facts.calls + (said?.calls ?? 0), devices: said?.devices ?? 1,
            name: said?.name)
    }

    /// Connects as many devices of a user as the test said.
    func connect(_ user: UserID) {
        let wanted = min(users[user]?.devices ?? 1, settings.devicesPerUser)
        quietly {
            while devices[user, default: 0] < wanted {
                devices[user, default: 0] += 1
                let device = Self.device(devices[user, default: 0])
                let id = RequestID(newNumber())
                work(.core(.deviceConnected(id, user, device, resumed: false)))
            }
            while devices[user, default: 0] > wanted {
                let device = Self.device(devices[user, default: 0])
                devices[user, default: 0] -= 1
                work(.core(.deviceGone(user, device, bye: true)))
            }
        }
    }

    /// Does what the plugins are not told of.
    private func quietly(_ body: () -> Void) {
        let wasQuiet = isQuiet
        isQuiet = true
        body()
        isQuiet = wasQuiet
    }

    private static func device(_ number: Int) -> DeviceID { DeviceID("phone-\(number)") }

    /// Whoever is invited is answered for, unless the operator has said who is.
    func answer(for users: [UserID]) {
        answeredFor.formUnion(users)
        configure()
    }

    private var settings: Settings {
        var settings = given.settings
        settings.hooks = host.generation.hooks
        settings.wakesDevices = false
        settings.groups.merge(groups) { _, own in own }
        if case .modes = given { settings.answerFor = Accounts(answeredFor.map(\.text)) }
        return settings
    }

    private func configure() {
        host.generation.plan.answerFor = settings.answerFor
        work(.core(.configured(settings)))
    }

    // MARK: Coverage

    /// The lines that the plugin has run in this world.
    func linesRun(of file: SourceFile) -> Set<Int> {
        noteLines()
        return ran[file.name] ?? []
    }

    /// Keeps what a generation has run before it goes.
    private func noteLines() {
        for (plugin, (source, _)) in zip(host.generation.plugins, plan.plugins) {
            for file in source.files {
                ran[file.name, default: []].formUnion(plugin.linesRun(of: file))
            }
        }
    }
}
