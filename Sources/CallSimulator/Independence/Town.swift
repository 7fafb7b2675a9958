// One day of a town: a switchboard and the real policy host at virtual time, with residents.

import CallCore
import CallModel
import Configuration
import Decisions
import JSON
import Lua
import PolicyHost

/// Carries inputs and effects between a switchboard, a policy host and the devices of residents.
/// Only the waits of residents and scripts take time, so any difference between two days comes from
/// a different decision.
struct Town {
    /// What is going to happen.
    private enum Plan {
        case act(Int)
        /// The answer to a request of a plugin to the web, for the server of that start.
        case fetched(WaitID, start: Int)
        /// The operator reloads: other plugins answer from now on.
        case reload([Independence.Plugin])
        /// The server ends and is started again, with what it stored.
        case restart
    }

    /// What follows at once from what just happened.
    private enum Work {
        case core(Input)
        case host(PolicyInput)
        case effects([Effect])
    }

    private let start: Moment
    private var now: Moment
    private var board: Switchboard
    private var host: PolicyHost
    private let seed: UInt64
    /// The plugins in force.
    private var plugins: [Independence.Plugin]
    /// How often the server was started.
    private var starts = 1
    private var residents: [Resident] = []
    private var places: [Address: Int] = [:]
    private var plans = DeadlineHeap<Plan>()
    private var work: [Work] = []
    private var store = RecordStore()
    private var pluginStores: [String: KeysInMemory] = [:]
    private var requests: [RequestID: Address] = [:]
    private var waits: [RequestID: WaitID] = [:]
    private var lastRequest: UInt64 = 0
    private var phones = ConsistencyChecker()

    /// What each resident saw; attackers keep none.
    private(set) var diaries: [Address: Diary] = [:]
    private(set) var attackersSights = 0
    /// Failures of plugins.
    private(set) var failures = 0
    /// How often probation took a generation back.
    private(set) var rollbacks = 0

    /// A town with so many attackers, at the beginning of its day.
    init(_ day: Independence, attackers: Int) throws(ScriptProblems) {
        let begin = Moment(1_800_000_000_000)
        (start, now) = (begin, begin)
        (seed, plugins) = (day.seed, day.plugins)
        let generation = try Self.generation(of: day.plugins, seed: day.seed, at: begin)
        host = PolicyHost(generation, seed: day.seed)
        board = Switchboard(settings: Self.settings(for: generation), seed: day.seed, at: begin)
        settle(day, attackers: attackers)
        if let next = day.reloadsTo { plans.add(.reload(next), at: now + day.time / 3) }
        if day.restarts { plans.add(.restart, at: now + day.time * 2 / 3) }
        take(host.start(at: now))
    }

    /// Gives everybody a place in the town.
    private mutating func settle(_ day: Independence, attackers: Int) {
        let people = ["ann", "bob", "cat"]
        let strangers = (0..<attackers).map { "mallory-\($0)" }
        for (names, isAttacker) in [(people, false), (strangers, true)] {
            let circle = names.map { UserID($0) }
            for name in names {
                residents.append(
                    Resident(
                        name, circle: circle, desks: Self.desks, isAttacker: isAttacker,
                        seed: day.seed))
            }
        }
        for place in residents.indices {
            places[residents[place].address] = place
            plans.add(.act(place), at: now + residents[place].pause())
        }
    }

    /// The accounts that the plugins answer for.
    private static let desks = ["desk-1", "desk-2"].map { UserID($0) }

    private static func generation(
        of plugins: [Independence.Plugin], seed: UInt64, at moment: Moment
    ) throws(ScriptProblems) -> Generation {
        var plan = GenerationPlan()
        plan.plugins = plugins.map { name, text in
            let file = SourceFile(name: "\(name).lua", text: Array(text.utf8))
            var setting = PluginSetting()
            setting.grants = ["http:slow.example.com"]
            return (PluginSource(name: name, main: file), setting)
        }
        plan.answerFor = Accounts(desks.map(\.text))
        return try Generation(plan, seed: seed, wallTime: moment.milliseconds)
    }

    private static func settings(for generation: Generation) -> Settings {
        var settings = Settings()
        settings.answerFor = Accounts(desks.map(\.text))
        settings.hooks = generation.hooks
        return settings
    }

    /// Lets so much time pass.
    mutating func live(_ time: Milliseconds) throws(RigFailure) {
        let end = now + time
        try settle()
        while let next = [board.nextDeadline, host.nextDeadline, plans.first].compactMap({ $0 })
            .min(), next <= end
        {
            now = max(now, next)
            if let due = board.nextDeadline, due <= now { work.append(.core(.deadlineReached)) }
            try settle()
            if let due = host.nextDeadline, due <= now { work.append(.host(.deadlineReached)) }
            try settle()
            if let plan = plans.popDue(at: now) { try carryOut(plan) }
            try settle()
        }
        now = end
    }

    private mutating func carryOut(_ plan: Plan) throws(RigFailure) {
        switch plan {
        case .fetched(let wait, let start) where start == starts:
            work.append(.host(.replied(wait, .trouble("timed out"))))
        case .fetched: break
        case .reload(let next):
            do throws(ScriptProblems) {
                try reload(next)
            } catch {
                throw RigFailure("the reload failed: \(error)")
            }
        case .restart:
            do throws(ScriptProblems) {
                try restart()
            } catch {
                throw RigFailure("the start failed: \(error)")
            }
        case .act(let place):
            act(place)
            plans.add(.act(place), at: now + residents[place].pause())
        }
    }

    private mutating func act(_ place: Int) {
        let me = residents[place].address
        switch residents[place].act(ringing: phones.ringing(me), joined: phones.joined(me)) {
        case .connect:
            residents[place].isConnected = true
            let connected = Input.deviceConnected(
                newRequest(of: me), me.user, me.device, resumed: false)
            work.append(.core(connected))
        case .disconnect:
            residents[place].isConnected = false
            work.append(.core(.deviceDisconnected(me.user, me.device)))
        case .bye:
            residents[place].isConnected = false
            work.append(.core(.deviceGone(me.user, me.device, bye: true)))
        case .ask(let operation):
            let request = Request(
                id: newRequest(of: me), user: me.user, device: me.device, operation: operation)
            work.append(.core(.request(request)))
        }
    }

    private mutating func reload(_ next: [Independence.Plugin]) throws(ScriptProblems) {
        let generation = try Self.generation(of: next, seed: seed, at: now)
        let control = try Self.generation(of: plugins, seed: seed, at: now)
        plugins = next
        try host.prepare(generation, control: Replay(control), at: now)
        take(host.cut(at: now))
        work.append(.core(.configured(Self.settings(for: generation))))
    }

    /// Nobody is connected any more, and nothing waits for a request or a plugin.
    private mutating func restart() throws(ScriptProblems) {
        starts += 1
        (requests, waits) = ([:], [:])
        for place in residents.indices { residents[place].isConnected = false }
        let generation = try Self.generation(of: plugins, seed: seed, at: now)
        host = PolicyHost(generation, seed: seed &+ UInt64(starts))
        board = Switchboard(
            settings: Self.settings(for: generation), seed: seed &+ UInt64(starts), at: now)
        take(host.start(at: now))
        work.insert(.effects(board.restore(store.restored, at: now)), at: 0)
    }

    private mutating func newRequest(of device: Address) -> RequestID {
        lastRequest += 1
        requests[RequestID(lastRequest)] = device
        return RequestID(lastRequest)
    }

    // MARK: From one to the other

    private mutating func settle() throws(RigFailure) {
        while !work.isEmpty {
            switch work.removeFirst() {
            case .core(let input):
                for effect in board.handle(input, at: now) { try perform(effect) }
            case .host(let input): take(host.handle(input, at: now))
            case .effects(let effects): for effect in effects { try perform(effect) }
            }
        }
    }

    private mutating func perform(_ effect: Effect) throws(RigFailure) {
        switch effect {
        case .persist(let records):
            for record in records { store.apply(record) }
            for id in records.compactMap(\.endedCall) { work.append(.host(.callEnded(id))) }
        case .reply(let id, let reply):
            if let wait = waits.removeValue(forKey: id) {
                var refusal: Refusal?
                if case .refused(let why) = reply { refusal = why }
                work.append(.host(.replied(wait, .operation(refusal))))
            } else if let device = requests.removeValue(forKey: id) {
                try see(.reply(reply), device)
            }
        case .welcome(let id, let calls, let more):
            guard let device = requests.removeValue(forKey: id) else { return }
            try see(
                .welcome(calls, viewer: device.user, more: more, resumed: false), device)
        case .send(let devices, let event):
            for device in devices where isConnected(device) {
                try see(.event(event, now: now), device)
            }
        case .replace(let device): try see(.closed("replaced"), device)
        case .consult(let question): work.append(.host(.asked(question)))
        case .withdraw(let id): work.append(.host(.withdrawn(id)))
        case .tell(let report):
            if report.isForHooks { work.append(.host(.told(report))) }
        case .recall(let id): work.append(.core(.recalled(id, store[id])))
        case .recallKey(let user, let key):
            work.append(.core(.recalledKey(user, key: key, nil)))
        case .list(let id, let user, let query):
            guard let device = requests.removeValue(forKey: id) else { return }
            let page = store.page(query, for: user)
            try see(.page(page.calls, viewer: user, more: page.more), device)
        }
    }

    private func isConnected(_ device: Address) -> Bool {
        places[device].map { residents[$0].isConnected } ?? false
    }

    private mutating func see(_ sight: Sight, _ device: Address) throws(RigFailure) {
        guard let place = places[device] else { return }
        let observation = Observation(.device(device), sight)
        residents[place].note(observation)
        try phones.see(observation)
        if residents[place].isAttacker {
            attackersSights += 1
        } else {
            diaries[device, default: Diary()].note(observation, at: Moment(now - start))
        }
    }

    private mutating func take(_ effects: [PolicyEffect]) {
        for effect in effects {
            switch effect {
            case .answer(let id, let answer): work.append(.core(.answered(id, answer)))
            case .thinking(let id): work.append(.core(.thinking(id)))
            case .log(let line): if line.fields["failure"] != nil { failures += 1 }
            case .operate(let wait, let user, let plugin, let operation, let cause):
                lastRequest += 1
                waits[RequestID(lastRequest)] = wait
                work.append(
                    .core(
                        .policyRequest(
                            RequestID(lastRequest), user, plugin: plugin, operation, cause)))
            case .perform(let wait, let plugin, let request, _): reply(to: request, plugin, wait)
            case .rolledBack, .canaryTakenBack: rollbacks += 1
            case .shaped, .record, .keepTimer, .dropTimer, .alarm, .abandon, .count,
                .observe:
                break
            }
        }
    }

    private mutating func reply(to request: WaitRequest, _ plugin: String, _ wait: WaitID) {
        switch request {
        case .store(let request):
            let reply = pluginStores[plugin, default: KeysInMemory()].reply(to: request, at: now)
            work.append(.host(.replied(wait, reply)))
        case .fetch: plans.add(.fetched(wait, start: starts), at: now + 5_000)
        case .lookUp(let user, let call):
            work.append(.host(.replied(wait, .user(board.facts(of: user, besides: call)))))
        case .call(let id):
            let call = board.call(id)
            let facts = call.map { board.facts(of: $0) } ?? []
            work.append(.host(.replied(wait, .call(call, facts))))
        }
    }
}
