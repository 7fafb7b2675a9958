// Carries out on the loop what the policies ask for, and gives them the answers.

import AgentCore
import CallCore
import CallModel
import Configuration
import EventLoop
import JSON
import Lua
import PolicyHost
import StoreContract

/// The loop's counterpart of the policy thread. Owner: the loop's thread.
final class PolicyBridge {
    private let exchange: Exchange
    private let gateway: Gateway
    private let log: Log
    private let loop: EventLoop
    private let metrics: Metrics
    private var thread: PolicyThread?
    private var stopped: (_ leftOut: Int) -> Void = { _ in }
    private var statusWanted: [(PolicyStatus) -> Void] = []
    /// A generation failed its probation: from, to, why.
    var rolledBack: (_ from: String, _ to: String, _ reason: GenerationFault) -> Void = {
        _, _, _ in
    }
    /// A problem that the operator has to solve.
    var alarmed: (PolicyAlarm) -> Void = { _ in }
    /// A canary failed: its name, why.
    var canaryTakenBack: (_ name: String, _ reason: GenerationFault) -> Void = { _, _ in }
    private var swaps: [(isCanary: Bool, done: (ScriptProblems?, Moment) -> Void)] = []
    let decisions: DecisionLog
    /// A candidate that is asked beside the active generation.
    private(set) var shadow: Shadow?
    /// Takes the push that plugins have shaped; nil: they dropped it.
    var shaped: (PushID, PushDraft?) -> Void = { _, _ in }
    /// Performs `http.*`.
    private let fetches: PluginFetches

    init(
        _ host: PolicyHost, exchange: Exchange, gateway: Gateway, decisions: DecisionLog,
        fetches: PluginFetches, mayBegin: @escaping @Sendable () -> Bool = { true },
        loop: EventLoop
    ) throws(EventLoopError) {
        self.fetches = fetches
        self.exchange = exchange
        self.gateway = gateway
        self.decisions = decisions
        self.loop = loop
        log = gateway.log
        metrics = gateway.metrics
        let news = try Mailbox<PolicyNews>(on: loop) { [unowned self] in receive($0) }
        let invitations = gateway.invitations
        host.mayForward = { user, now in
            invitations.withLock { $0.admitForward(of: user, at: now) }
        }
        let thread = try PolicyThread(
            host,
            clock: { [unowned exchange] in (exchange.now(), exchange.wallGap) }, news: news,
            mayBegin: mayBegin, write: { [log] in log.write($0) })
        self.thread = thread
        thread.carryOut = { [unowned self] in carryOut($0) }
        exchange.policies = thread
        loop.atEndOfTurn { [unowned decisions] in decisions.flush() }
        exchange.callEnded = { [unowned thread] in thread.callEnded($0) }
        fetches.answer = { [unowned thread] in thread.reply($0, $1) }
    }

    /// Lets another generation take over, or decide for some as a canary. One at a time.
    ///
    /// - Parameter done: called at the cut. What does not belong to the plugins has to change at
    ///   the same moment (G84): what was asked before the cut is answered by the generation before,
    ///   everything else by this one. Or called with what keeps it from taking over. The moment is
    ///   that from which on a canary decides for whoever comes into a call.
    func swap(
        _ candidate: PolicyOrder.Candidate,
        done: @escaping (_ problems: ScriptProblems?, _ since: Moment) -> Void
    ) {
        swaps.append((candidate.canary != nil, done))
        thread?.prepare(candidate)
    }

    private func prepared(_ problems: ScriptProblems?) {
        let (isCanary, done) = swaps.removeFirst()
        let since = nextMoment
        if problems == nil { cut(since: isCanary ? since : nil) }
        done(problems, since)
    }

    /// The canary decides for others, as `order` says.
    func extend(_ order: CanaryOrder) {
        exchange.settle()
        thread?.extend(order)
    }

    /// The canary decides no more.
    func endCanary() {
        exchange.settle()
        thread?.endCanary()
    }

    /// Who came into a call in this millisecond may have been asked about already.
    var nextMoment: Moment { exchange.now() + 1 }

    /// Probation has failed: the earlier generation is tried out and takes over.
    private func goBack(_ from: String, _ to: String, _ reason: GenerationFault) {
        cut()
        rolledBack(from, to, reason)
    }

    /// Everything asked before goes to the earlier generation, everything later to the new one.
    private func cut(since: Moment? = nil) {
        exchange.settle()
        thread?.cut(since: since)
    }

    /// How the plugins are doing.
    func status(_ done: @escaping (PolicyStatus) -> Void) {
        statusWanted.append(done)
        thread?.askStatus()
    }

    /// Lets the plugins shape a push; `shaped` answers.
    func shape(
        _ draft: PushDraft, _ push: PushID, _ call: Call, _ facts: [UserFacts], _ cause: Cause
    ) {
        thread?.tell(.pushing(push, draft, call, facts, cause))
    }

    /// Tells the plugins of a push that did not arrive.
    func pushFailed(
        _ draft: PushDraft, _ call: Call, _ facts: [UserFacts], _ reason: String, _ cause: Cause
    ) {
        thread?.tell(.pushFailed(draft, call, facts, reason: reason, cause))
    }

    /// Starts the plugins, with the timers that were kept.
    func start(_ timers: [NamedTimer]) {
        thread?.start(timers.map { PolicyTimer($0) })
    }

    /// Tells the plugins what waits, until `moment` of the boot clock, and then `on.stop`; `done`
    /// gets the number of events that were left out.
    func stop(by moment: Int64, _ done: @escaping (_ leftOut: Int) -> Void) {
        stopped = done
        thread?.stop(by: moment)
    }

    /// Whether questions that are quick are answered on the loop's thread (`fast_lane`).
    var isLaneOpen: Bool {
        get { thread?.isLaneOpen ?? false }
        set { thread?.isLaneOpen = newValue }
    }

    /// Questions that were answered on the loop's thread.
    var answeredInLane: Int { thread?.answeredInLane ?? 0 }

    /// Events and questions that the plugins have not handled yet.
    var backlog: Int { thread?.backlog ?? 0 }

    /// Asks `candidate`, which nothing else uses, every question from now on, without any effect.
    func beginShadow(_ candidate: Generation) throws(EventLoopError) {
        shadow?.close()
        let name = candidate.name
        shadow = try Shadow(candidate, loop: loop) { [unowned self] change in
            decisions.note(.shadow(change, generation: name))
        }
    }

    /// Nothing is asked beside the active generation any more.
    func endShadow() {
        shadow?.close()
        shadow = nil
    }

    /// Ends the policy thread.
    func close() {
        endShadow()
        thread?.close()
    }

    // MARK: What the policies want

    private func receive(_ batch: [PolicyNews]) {
        for place in batch.indices {
            switch batch[place] {
            case .prepared(let problems): prepared(problems)
            case .thought: thread?.thought()
            case .reported(let counts): thread?.reported(counts)
            case .stopped(let leftOut): stopped(leftOut)
            case .status(let status): tell(status)
            case .effect(let effect): carryOut(effect)
            }
        }
    }

    private func tell(_ status: PolicyStatus) {
        let wanted = statusWanted
        statusWanted = []
        for done in wanted { done(status) }
    }

    private func carryOut(_ effect: PolicyEffect) {
        switch effect {
        case .answer(let question, let answer):
            exchange.feed(.answered(question, answer))
            thread?.hears()
        case .thinking(let question):
            exchange.feed(.thinking(question))
            thread?.hears()
        case .log(let line): log.write(line)
        case .record(let record):
            exchange.journal?.enter(record, at: exchange.now())
            decisions.note(.decision(record))
            shadow?.ask(record)
        case .operate(let wait, let user, let plugin, let operation, let cause):
            gateway.desk.request(operation, by: .plugin(plugin, for: user, cause)) { [weak self] in
                self?.replied(wait, $0)
            }
        case .perform(let wait, let plugin, let request, _): perform(wait, plugin, request)
        case .keepTimer(let timer): exchange.unconfirmed.keep([.timer(.set(NamedTimer(timer)))])
        case .dropTimer(let id):
            exchange.unconfirmed.keep([.timer(.remove(JobID(Int64(clamping: id))))])
        case .rolledBack(let from, let to, let reason): goBack(from, to, reason)
        case .canaryTakenBack(let name, let reason): canaryTakenBack(name, reason)
        case .alarm(let alarm): alarmed(alarm)
        case .abandon(let wait): fetches.abandon(wait)
        case .shaped(let push, let draft): shaped(push, draft)
        case .count(let plugin, let name, let amount, let labels):
            metrics.plugins.count(plugin, name, amount, labels)
        case .observe(let plugin, let name, let value, let labels):
            metrics.plugins.observe(plugin, name, value, labels)
        }
    }

    private func replied(_ wait: WaitID, _ reply: Reply) {
        if case .refused(let refusal) = reply {
            thread?.reply(wait, .operation(refusal))
        } else {
            thread?.reply(wait, .operation(nil))
        }
    }

    // MARK: kv, http, users

    private func perform(_ wait: WaitID, _ plugin: String, _ request: WaitRequest) {
        switch request {
        case .lookUp(let user, let call):
            exchange.whenLoaded(user) { [unowned self] in
                let facts = exchange.switchboard.facts(of: user, besides: call)
                thread?.reply(wait, .user(exchange.named([facts])[0]))
            }
        case .call(let id):
            exchange.whenLoaded(nil, and: id) { [unowned self] in
                let call = exchange.switchboard.call(id)
                let facts = call.map { exchange.named(exchange.switchboard.facts(of: $0)) } ?? []
                thread?.reply(wait, .call(call, facts))
            }
        case .fetch(let request): fetches.begin(wait, request)
        case .store(let request): perform(wait, plugin, request)
        }
    }

    private func perform(_ wait: WaitID, _ plugin: String, _ request: StoreRequest) {
        let now = exchange.now()
        switch request {
        case .get(let key):
            find(.values(plugin: plugin, keys: [key], at: now), for: wait)
        case .keys(let prefix):
            find(.keys(plugin: plugin, prefix: prefix, limit: 1_000, at: now), for: wait)
        case .set(let key, let value, let lifetime):
            store(
                .set(
                    plugin: plugin, key: key, value: value.bytes,
                    expiresAt: lifetime.map { now + $0 }), for: wait)
        case .delete(let key): store(.remove(plugin: plugin, key: key), for: wait)
        case .increment(let key, let amount, let lifetime):
            store(
                .increment(
                    plugin: plugin, key: key, by: amount, expiresAt: lifetime.map { now + $0 }),
                for: wait)
        }
    }

    private func find(_ query: StoreQuery, for wait: WaitID) {
        guard exchange.isReady else { return trouble(wait, "the store is away") }
        exchange.find(query) { [weak self] in
            switch $0 {
            case .values(let values):
                let value = values[0].flatMap { try? JSONValue(parsing: $0) }
                self?.thread?.reply(wait, .value(value ?? .null))
            case .keys(let keys):
                self?.thread?.reply(wait, .value(.array(keys.map { .string($0) })))
            default: self?.trouble(wait, "the store is away")
            }
        }
    }

    private func store(_ change: ValueChange, for wait: WaitID) {
        exchange.store([.value(change)]) { [weak self] in
            switch $0 {
            case .durable: self?.thread?.reply(wait, .value(.bool(true)))
            case .counted(.sum(let sum)): self?.thread?.reply(wait, .value(.integer(sum)))
            case .counted(.notCountable): self?.trouble(wait, "the value is not an integer")
            case .lost: self?.trouble(wait, "the store is away")
            }
        }
    }

    private func trouble(_ wait: WaitID, _ text: String) {
        thread?.reply(wait, .trouble(text))
    }
}

extension NamedTimer {
    /// A plugin's timer as the store keeps it.
    fileprivate init(_ timer: PolicyTimer) {
        var data: JSONObject = ["data": timer.data]
        if let account = timer.account { data["account"] = .string(account.text) }
        if let schedule = timer.schedule { data["schedule"] = .string(schedule) }
        if let user = timer.cause.user { data["cause"] = .string(user.text) }
        if let caller = timer.cause.caller { data["caller"] = .string(caller.text) }
        self.init(
            JobID(Int64(clamping: timer.id)), plugin: timer.plugin, name: timer.name,
            dueAt: timer.dueAt, call: timer.call, data: JSONValue.object(data).bytes)
    }
}

extension PolicyTimer {
    /// A timer that the store kept.
    init(_ timer: NamedTimer) {
        let data = (try? JSONValue(parsing: timer.data)) ?? .null
        self.init(
            id: UInt64(clamping: timer.id.value), plugin: timer.plugin, name: timer.name,
            dueAt: timer.dueAt, call: timer.callID,
            account: data["account"]?.string.map { UserID($0) }, data: data["data"] ?? .null,
            schedule: data["schedule"]?.string,
            // Timers that were stored before causes were kept have none.
            cause: Cause(
                data["cause"]?.string.map { UserID($0) },
                caller: data["caller"]?.string.map { UserID($0) }))
    }
}

extension Log {
    /// Writes a line of a plugin. Any thread.
    fileprivate func write(_ line: PolicyLog) {
        var fields: [(String, String)] = []
        if let plugin = line.plugin { fields.append(("plugin", plugin)) }
        if let call = line.call { fields.append(("call", "\(call)")) }
        for member in line.fields.members {
            // A name that comes twice is bad JSON, and the host's own fields must stay the host's.
            let name = Log.ownNames.contains(member.key) ? member.key + "_" : member.key
            fields.append((name, member.value.shown))
        }
        write(line.level, line.text, fields)
    }
}
