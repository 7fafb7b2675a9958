// The world of one test: a policy host, a clock, users, a store and a web that are made up.

import CLua
import CallModel
import JSON

/// Everything that a test can reach.
final class TestWorld {
    let source: PluginSource
    var setting: PluginSetting
    /// The state in which the test's own code runs.
    private let bench: PluginState?
    private let cryptography: Cryptography
    private var seed: UInt64
    var host: PolicyHost
    var now: Moment
    var users: [UserID: UserFacts] = [:]
    var pages: [String: LuaValue] = [:]
    private var store = TestStore()
    private(set) var operations: [LuaValue] = []
    private(set) var log: [String] = []
    /// Why the plugin gave no usable answer to the question at hand.
    private(set) var failures: [String] = []
    private(set) var answer: Answer?
    private(set) var shaped: PushDraft??
    /// The call that steps go on with.
    private(set) var current: Call?
    /// After `ring { for_ = … }`: the time, and the place that is asked then.
    var ringing: (span: Milliseconds, place: Int)?
    private var lastQuestion: UInt64 = 0
    private var lastCall: UInt64 = 0
    private var calls: [CallID: Call] = [:]
    private var ran: [String: Set<Int>] = [:]

    init(
        _ source: PluginSource, _ setting: PluginSetting, _ bench: PluginState?,
        _ cryptography: Cryptography, _ seed: UInt64, at begin: Moment = PluginTest.begin
    ) throws(PolicyProblems) {
        now = begin
        self.source = source
        self.setting = setting
        self.bench = bench
        self.cryptography = cryptography
        self.seed = seed
        host = PolicyHost(
            try Self.generation(source, setting, seed, cryptography), seed: seed,
            cryptography: cryptography)
        take(host.start(at: now))
    }

    private static func generation(
        _ source: PluginSource, _ setting: PluginSetting, _ seed: UInt64,
        _ cryptography: Cryptography
    ) throws(PolicyProblems) -> Generation {
        var plan = GenerationPlan()
        var setting = setting
        setting.keepsTests = false
        plan.plugins = [(source, setting)]
        plan.answerFor = Accounts(["*"])
        plan.name = "test"
        return try Generation(
            plan, seed: seed, cryptography: cryptography,
            wallTime: PluginTest.begin.milliseconds)
    }

    // MARK: The test's own code

    /// Runs a test to its end; returns why it failed.
    func run(_ test: TestDeclaration) -> PolicyProblem? {
        guard let bench else { return PolicyProblem("there is nothing to run a test in") }
        let arguments = PlainWriter()
        arguments.list(1)
        arguments.value(.handle(kind: Bindings.Kind.test.rawValue, number: 0))
        let budget = setting.limits.loadTime.nanoseconds
        bench.services.now = now
        var outcome = bench.start(test.function, arguments, budget: budget)
        while Int(outcome.status) == CALLUA_WAITING {
            let status = step(on: bench)
            bench.services.now = now
            bench.services.effects = []
            outcome = bench.resume(outcome.thread, status: status, budget: budget)
        }
        if Int(outcome.status) == CALLUA_FINISHED { return nil }
        let problem = PolicyProblem(message: outcome.message)
        if problem.line != nil { return problem }
        return PolicyProblem(problem.text, file: test.file, line: test.line)
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
                writer.reply(reply(to: request))
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

    // MARK: Time

    /// Lets time pass; a handler that fails meanwhile fails the test.
    func advance(_ span: Milliseconds) throws(Refused) {
        failures = []
        let end = now + span
        while let due = host.nextDeadline, due <= end {
            now = max(now, due)
            take(host.handle(.deadlineReached, at: now))
        }
        now = end
        if let failure = failures.first { throw Refused(failure) }
    }

    /// Sets the clock without anything happening in between.
    func setClock(to moment: Moment) { now = moment }

    // MARK: Questions

    func newCall() -> CallID {
        lastCall += 1
        return CallID(high: 0x0190_0000_0000_0000, low: lastCall)
    }

    func remember(_ call: Call) {
        calls[call.id] = call
        current = call
    }

    /// The call is over: handlers of it end, and `call.vars` go.
    func end(_ call: Call) {
        take(host.handle(.callEnded(call.id), at: now))
        calls[call.id] = nil
        current = nil
    }

    func facts(of user: UserID) -> UserFacts {
        users[user] ?? UserFacts(user, calls: 0, devices: 1)
    }

    func facts(of call: Call) -> [UserFacts] { call.participants.map { facts(of: $0.user) } }

    /// Asks the plugin; waits of its handler end by themselves.
    func ask(_ subject: Question.Subject, _ facts: [UserFacts]) throws(Refused) -> Answer {
        lastQuestion += 1
        failures = []
        answer = nil
        let question = Question(
            id: QuestionID(lastQuestion), decideBy: now + 2_000, subject: subject, facts: facts)
        take(host.handle(.asked(question), at: now))
        while answer == nil, let due = host.nextDeadline {
            now = max(now, due)
            take(host.handle(.deadlineReached, at: now))
        }
        if let failure = failures.first { throw Refused(failure) }
        return answer ?? .none
    }

    /// Shapes a push; nil: dropped.
    func shape(_ draft: PushDraft, _ call: Call) throws(Refused) -> PushDraft? {
        failures = []
        shaped = nil
        take(host.handle(.pushing(PushID(1), draft, call, facts(of: call)), at: now))
        while shaped == nil, let due = host.nextDeadline {
            now = max(now, due)
            take(host.handle(.deadlineReached, at: now))
        }
        if let failure = failures.first { throw Refused(failure) }
        return shaped ?? nil
    }

    func tell(_ report: Report) throws(Refused) { try tell(.told(report)) }

    /// Tells of something that is not of a call.
    func tell(_ hook: Hook, _ table: JSONObject) throws(Refused) {
        failures = []
        host.services.now = now
        for plugin in host.generation.plugins { host.tell(.table(hook, table), plugin) }
        take(host.services.takeEffects())
        if let failure = failures.first { throw Refused(failure) }
    }

    func tell(_ input: PolicyInput) throws(Refused) {
        failures = []
        take(host.handle(input, at: now))
        if let failure = failures.first { throw Refused(failure) }
    }

    /// Loads the plugin anew: with other options, or as a reload does it.
    func load(keepingState: Bool) throws(Refused) {
        seed += 1
        noteLines()
        do throws(PolicyProblems) {
            let next = try Self.generation(source, setting, seed, cryptography)
            if keepingState {
                take(try host.activate(next, at: now))
            } else {
                host = PolicyHost(next, seed: seed, cryptography: cryptography)
                take(host.start(at: now))
            }
        } catch {
            throw Refused(error.description)
        }
    }

    // MARK: Coverage

    /// The lines that the plugin has run in this world.
    func linesRun(of file: SourceFile) -> Set<Int> {
        noteLines()
        return ran[file.name] ?? []
    }

    /// Keeps what a generation has run before it goes.
    private func noteLines() {
        for plugin in host.generation.plugins {
            for file in source.files {
                ran[file.name, default: []].formUnion(plugin.linesRun(of: file))
            }
        }
    }

    // MARK: Effects

    private func take(_ effects: [PolicyEffect]) {
        for effect in effects { take(effect) }
    }

    private func take(_ effect: PolicyEffect) {
        switch effect {
        case .answer(_, let answer): self.answer = answer
        case .shaped(_, let draft): shaped = .some(draft)
        case .log(let line):
            log.append(line.text)
            if line.fields["failure"] != nil
                || line.level == .warn && line.text.contains("decision")
            {
                failures.append(line.text)
            }
        case .operate(let wait, _, _, let operation):
            operations.append(operation.described)
            take(host.handle(.replied(wait, .operation(nil)), at: now))
        case .perform(let wait, _, let request):
            take(host.handle(.replied(wait, reply(to: request)), at: now))
        case .record, .keepTimer, .dropTimer, .abandon, .count, .observe, .rolledBack: break
        }
    }

    private func reply(to request: WaitRequest) -> WaitReply {
        switch request {
        case .lookUp(let user): .user(facts(of: user))
        case .call(let id): .call(calls[id], calls[id].map { facts(of: $0) } ?? [])
        case .store(let request): store.reply(to: request, at: now)
        case .fetch(let request): reply(to: request)
        }
    }

    private func reply(to request: FetchRequest) -> WaitReply {
        operations.append(request.described)
        guard let page = pages[request.url] else {
            return .trouble("no reply for \(request.url) (set one with t.http)")
        }
        if let problem = page.text { return .trouble(problem) }
        var headers: [FetchRequest.Header] = []
        for pair in page["headers"].table ?? [] {
            headers.append(FetchRequest.Header(pair.key.shown, pair.value.shown))
        }
        var body = Array((page["body"].text ?? "").utf8)
        if let json = try? page["json"].json(), !json.isNull {
            body = json.bytes
            headers.append(FetchRequest.Header("content-type", "application/json"))
        }
        return .fetched(
            FetchReply(status: Int(page["status"].integer ?? 200), headers: headers, body: body))
    }
}
