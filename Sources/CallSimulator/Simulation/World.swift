// A simulated world: one server, some phones, and everything between them, at virtual time.

import AgentCore
import CallCore
import CallModel
import CallWire
import JSON
import StoreContract

/// Everything there is, and what is going to happen. One seed decides all of it.
struct World {
    struct Line {
        let phone: Int
        let life: Int
        var isDead = false
        /// The server has closed it, and reads no more.
        var isClosed = false
        /// Messages keep their order: no message arrives before one that was sent earlier.
        var lastToServer: Moment
        var lastToPhone: Moment
    }

    var now = Moment(1_800_000_000_000)
    private(set) var steps = 0
    /// What the server says over each line.
    var hearings: [LineID: Hearing] = [:]
    /// The number of the last event of each device's session.
    var lastTold: [Address: UInt64] = [:]
    /// The first answer under each key.
    var firstAnswers: [String: ServerReply] = [:]
    /// When each user's last requests came to the server.
    var arrivals: [UserID: [Moment]] = [:]
    /// When the present life of the server began.
    var startedAt = Moment(0)
    /// Questions that the policies were asked in this life, and those that wait for an answer.
    var askedQuestions: Set<QuestionID> = []
    var openQuestions: Set<QuestionID> = []
    /// Those that were answered: the server may still wait for calls before it carries that out.
    var answeredQuestions: Set<QuestionID> = []
    /// Requests of plugins that were not answered, and when the last one was made.
    var pluginRequests = 0
    var pluginAskedAt = Moment(0)
    /// What the server asked its store and has no answer to.
    var lookUps = 0
    /// Jobs of pushes that were started.
    var jobs: Set<JobID> = []
    /// Acts until the server dies; nil: that is not planned.
    var actsLeft: Int?
    var queue = EventQueue()
    var dice: SeededGenerator
    var actions: RandomActions
    var faults: Faults
    private let planted: PlantedFault?
    let settings: Settings
    var server: SimulatedServer?
    var life = 0
    var disk = SimulatedDisk()
    var phones: [SimulatedPhone] = []
    var lines: [LineID: Line] = [:]
    var lastLine = 0
    var armed: Moment?
    var stalledUntil: Moment
    /// What the server has told each device, and what each phone has understood.
    var told = ConsistencyChecker(atServer: true)
    var understood = ConsistencyChecker()
    /// Who has accepted, with which key.
    var accepted: [Acceptance: String?] = [:]
    var isQuiet = false
    /// Whether the server has done nothing since what it told was checked.
    var isChecked = true
    /// Calls that were made.
    var calls: Set<CallID> = []
    private var last: [(at: Moment, what: SimulatedEvent)] = []

    struct Acceptance: Hashable {
        let call: CallID
        let user: UserID
        let invitedAt: Moment
    }

    /// Requests of one user in a second.
    static let requestsPerSecond = 3

    init(seed: UInt64, faults: Faults, planted: PlantedFault?) {
        dice = SeededGenerator(seed: seed)
        actions = RandomActions(seed: seed ^ 0xAC7)
        self.faults = faults
        if let planted { self.faults.bringOut(planted) }
        self.planted = planted
        var settings = actions.settings()
        settings.callAgeMax = 600_000
        planted?.bringOut(&settings)
        self.settings = settings
        stalledUntil = now
        for user in actions.users {
            for device in actions.devices {
                phones.append(
                    SimulatedPhone(
                        Address(user, device), index: phones.count,
                        device == actions.devices[0] ? .counted : .countedWithoutEnding))
            }
        }
        queue.plan(.start(life: 1), at: now)
        for phone in phones.indices {
            plan(.connect(phone: phone), within: 0...2_000)
            plan(.act(phone: phone), within: 500...5_000)
        }
    }

    // MARK: Going on

    /// Lets the next thing happen; throws what the checks find.
    mutating func step() throws(RigFailure) {
        guard let (at, what) = queue.take() else { throw RigFailure("nothing happens any more") }
        steps += 1
        now = max(now, at)
        if now < stalledUntil, what.concernsServer {
            return queue.plan(what, at: stalledUntil)
        }
        last.append((now, what))
        if last.count > 120 { last.removeFirst(60) }
        try happen(what)
        try performActs()
        try check()
    }

    /// The last events, for whoever looks for the cause of a failure.
    var trace: [String] {
        last.suffix(60).map { "\($0.at.milliseconds - 1_800_000_000_000) \($0.what.summary)" }
    }

    /// Lets everything happen up to `moment`.
    mutating func run(until moment: Moment) throws(RigFailure) {
        while let next = queue.next, next <= moment { try step() }
        now = moment
    }

    mutating func plan(_ what: SimulatedEvent, within span: ClosedRange<Milliseconds>) {
        queue.plan(what, at: now + Milliseconds.random(in: span, using: &dice))
    }

    mutating func hits(_ chance: Int) -> Bool {
        chance > 0 && Int.random(in: 0..<1_000, using: &dice) < chance
    }

    private mutating func happen(_ what: SimulatedEvent) throws(RigFailure) {
        switch what {
        case .toServer(let line, let bytes): toServer(line, bytes)
        case .toPhone(let line, let bytes): try toPhone(line, bytes)
        case .lostAtServer(let line, let silentSince):
            hearings[line] = nil
            turn { $0.lost(line, silentSince: silentSince) }
        case .lostAtPhone(let line, let code): lostAtPhone(line, code)
        case .request(let call): request(call)
        case .response(let call, let reply): try response(call, reply)
        case .impatience(let call): impatient(call)
        case .push(let phone): connect(phone)
        case .start(let life): start(life)
        case .act(let phone): act(phone)
        case .connect(let phone): connect(phone)
        case .disk(let life, _, _), .found(let life, _, _), .reopen(let life), .turn(let life),
            .answer(let life, _, _), .thinking(let life, _), .timer(let life, _),
            .housekeeping(let life):
            // Of another life of the server nothing is left.
            if life == self.life { try happenAtServer(what) }
        }
    }

    private mutating func happenAtServer(_ what: SimulatedEvent) throws(RigFailure) {
        switch what {
        case .disk(_, let ticket, let outcome): try diskIsDone(ticket, outcome)
        case .found(_, let ticket, let answer):
            lookUps -= 1
            turn { $0.exchange.receive(.answered(ticket, answer)) }
        case .reopen: turn { $0.exchange.openStore() }
        case .answer(_, let id, let answer):
            openQuestions.remove(id)
            answeredQuestions.insert(id)
            turn { $0.answered(id, answer) }
        case .thinking(_, let id): turn { $0.thinking(id) }
        case .timer(_, let due):
            guard due == armed else { return }
            armed = nil
            turn { $0.exchange.wake() }
        case .housekeeping:
            let now = now
            turn { $0.desk.lookAround(at: now) }
            queue.plan(.housekeeping(life: life), at: now + 5_000)
        default: turn { _ in }
        }
    }

    /// Lets something happen at the server, if it lives.
    mutating func turn(_ what: (SimulatedServer) -> Void) { server?.turn(at: now, what) }

    // MARK: The server's life

    private mutating func start(_ life: Int) {
        self.life = life
        armed = nil
        startedAt = now
        told = ConsistencyChecker(atServer: true)
        (askedQuestions, openQuestions, answeredQuestions, lastTold) = ([], [], [], [:])
        (pluginRequests, lookUps) = (0, 0)
        var limits = ServerLimits()
        limits.requestsPerSecond = Self.requestsPerSecond
        // So few that there are several pages.
        limits.liveCallsPage = 2
        server = SimulatedServer(
            settings, limits: limits, over: disk, seed: dice.next(), at: now, fault: planted)
        queue.plan(.housekeeping(life: life), at: now + 5_000)
    }

    /// The server dies; its disk keeps what is durable, and perhaps the commit under way.
    private mutating func crash(keepingCommit: Bool) throws(RigFailure) {
        if keepingCommit { try note(disk.finish().changes) } else { disk.fail() }
        for id in lines.keys.sorted(by: { $0.number < $1.number })
        where lines[id]?.life == life && lines[id]?.isDead == false {
            lines[id]?.isDead = true
            plan(.lostAtPhone(id, nil), within: 0...3_000)
        }
        hearings = [:]
        server = nil
        actsLeft = nil
        life += 1
        plan(.start(life: life), within: 100...5_000)
    }

    private mutating func diskIsDone(
        _ ticket: StoreTicket, _ outcome: DiskOutcome
    ) throws(RigFailure) {
        switch outcome {
        case .durable:
            let (changes, result) = disk.finish()
            try note(changes)
            turn { $0.exchange.receive(.answered(ticket, .committed(result, in: 0))) }
        case .lost:
            disk.fail()
            let error = StoreError(.inputOutput, path: "disk", operation: "committing")
            turn { $0.exchange.receive(.lost(error)) }
        case .fatal: try crash(keepingCommit: false)
        }
    }

    /// Something is durable: no number of a job comes twice, and pushes are sent.
    private mutating func note(_ changes: [StoreChange]) throws(RigFailure) {
        for case .push(.add(let id, let job)) in changes {
            guard jobs.insert(id).inserted else {
                throw RigFailure("two jobs have the number \(id)")
            }
            push(job)
        }
    }

    private mutating func performActs() throws(RigFailure) {
        while let acts = server?.takeActs(), !acts.isEmpty {
            isChecked = false
            for act in acts {
                if isToCrash() { return try crash(keepingCommit: hits(500)) }
                try perform(act)
            }
        }
    }

    /// Whether the server dies before its next act.
    private mutating func isToCrash() -> Bool {
        guard let left = actsLeft else { return false }
        actsLeft = left - 1
        return left <= 0
    }

    private mutating func perform(_ act: Act) throws(RigFailure) {
        switch act {
        case .send(let line, let bytes):
            try hear(bytes, over: line)
            send(bytes, toPhoneOver: line)
        case .close(let line, let code): close(line, code)
        case .respond(let call, let reply):
            try hear(reply, to: call)
            if !hits(faults.lostHTTP) { plan(.response(call, reply), within: 1...400) }
        case .ask(let question): try ask(question)
        case .withdraw(let id):
            guard openQuestions.remove(id) != nil || answeredQuestions.contains(id) else {
                throw RigFailure("a question is taken back that is not open")
            }
        case .tell: speakForAnAccount()
        case .policyReply:
            pluginRequests -= 1
            if pluginRequests < 0 { throw RigFailure("a plugin is answered twice") }
        case .commit(let changes, let moment, let ticket):
            disk.begin(changes, at: moment)
            let span: ClosedRange<Milliseconds> = hits(faults.slowDisk) ? 20...3_000 : 0...5
            var outcome = DiskOutcome.durable
            if hits(faults.failingDisk) { outcome = actions.flip(1, in: 2) ? .lost : .fatal }
            plan(.disk(life: life, ticket, outcome), within: span)
        case .find(let query, let ticket):
            // What the store says may be old when it comes.
            lookUps += 1
            plan(.found(life: life, ticket, disk.answer(query)), within: 0...400)
        case .open(let ticket):
            askedQuestions = []
            lookUps += 1
            let state = disk.restore(at: now)
            plan(.found(life: life, ticket, .opened(state)), within: 0...400)
        case .wake(let moment):
            armed = moment
            queue.plan(.timer(life: life, due: moment), at: max(now, moment))
        case .reopen(let pause): queue.plan(.reopen(life: life), at: now + pause)
        case .turn(let pause): queue.plan(.turn(life: life), at: now + pause)
        }
    }

    // MARK: Policies and pushes

    private mutating func ask(_ question: Question) throws(RigFailure) {
        guard askedQuestions.insert(question.id).inserted else {
            throw RigFailure("a question is asked twice")
        }
        openQuestions.insert(question.id)
        if hits(faults.brokenPolicy), actions.flip(1, in: 2) { return }
        let sort = hits(faults.brokenPolicy) ? QuestionSort.dial : question.sort
        let answer = actions.answer(to: sort)
        // Half of all handlers answer at once, the others wait for something.
        var span: ClosedRange<Milliseconds> = actions.flip(1, in: 2) ? 0...1 : 0...300
        if span.upperBound > 5, actions.flip(1, in: 2) {
            plan(.thinking(life: life, question.id), within: 0...2)
        }
        if hits(faults.latePolicy) { span = 1_500...6_000 }
        plan(.answer(life: life, question.id, answer), within: span)
    }

    /// A plugin that was told something does something for the account it answers for.
    private mutating func speakForAnAccount() {
        guard !isQuiet, let account = actions.users.last, actions.flip(1, in: 12) else { return }
        pluginRequests += 1
        pluginAskedAt = now
        let operation = actions.policyOperation()
        turn { $0.policyRequest(account, operation) }
    }

    private mutating func push(_ job: PushJob) {
        for phone in phones.indices
        where phones[phone].address.user == job.user && phones[phone].line == nil {
            let isBad = hits(faults.badPush)
            if isBad, actions.flip(1, in: 2) { continue }
            plan(.push(phone: phone), within: 50...20_000)
            if isBad { plan(.push(phone: phone), within: 50...40_000) }
        }
    }
}

extension SimulatedEvent {
    /// Whether it happens at the server.
    fileprivate var concernsServer: Bool {
        switch self {
        case .toServer, .lostAtServer, .request, .disk, .found, .reopen, .turn, .answer, .thinking,
            .timer, .housekeeping:
            true
        case .toPhone, .lostAtPhone, .response, .impatience, .push, .start, .act, .connect: false
        }
    }

    /// One line for the trace.
    fileprivate var summary: String {
        switch self {
        case .toServer(let line, let bytes):
            "to server over \(line.number): \(String(decoding: bytes, as: UTF8.self))"
        case .toPhone(let line, let bytes):
            "to phone over \(line.number): \(String(decoding: bytes, as: UTF8.self))"
        case .lostAtServer(let line, _): "server loses line \(line.number)"
        case .lostAtPhone(let line, let code):
            "phone loses line \(line.number)" + (code.map { " \($0)" } ?? "")
        case .request(let call):
            "HTTP \(call.name.rawValue) of phone \(call.phone), attempt \(call.attempt): "
                + String(decoding: call.body, as: UTF8.self)
        case .response(let call, let reply): "HTTP \(reply.status) to phone \(call.phone)"
        case .impatience(let call): "phone \(call.phone) waits no longer"
        case .push(let phone): "push to phone \(phone)"
        case .found(_, let ticket, _): "the store answers \(ticket.value)"
        case .disk(_, _, let outcome): "the commit is \(outcome)"
        case .reopen: "the server opens its store again"
        case .turn: "the server's turn ends"
        case .answer(_, let id, let answer): "answer to question \(id.value): \(answer)"
        case .thinking(_, let id): "the handler of question \(id.value) waits"
        case .timer: "the server's timer"
        case .housekeeping: "the server's housekeeping"
        case .start(let life): "the server's life \(life) begins"
        case .act(let phone): "somebody uses phone \(phone)"
        case .connect(let phone): "phone \(phone) connects"
        }
    }
}
