// A simulated world: one server, some phones, and everything between them, at virtual time.

import CallCore
import CallModel
import CallWire
import JSON

/// Everything there is, and what is going to happen. One seed decides all of it.
struct World {
    private struct Line {
        let phone: Int
        let life: Int
        var isDead = false
        /// The server has closed it, and reads no more.
        var isClosed = false
        /// Messages keep their order: no message arrives before one that was sent earlier.
        var lastToServer: Moment
        var lastToPhone: Moment
    }

    private(set) var now = Moment(1_800_000_000_000)
    private(set) var steps = 0
    private var queue = EventQueue()
    private var dice: SeededGenerator
    private var actions: RandomActions
    private var faults: Faults
    private let canary: Canary?
    private let settings: Settings
    private var server: SimulatedServer?
    private var life = 0
    private var disk = SimulatedDisk()
    private var phones: [SimulatedPhone] = []
    private var lines: [LineID: Line] = [:]
    private var lastLine = 0
    private var armed: Moment?
    private var stalledUntil: Moment
    /// What the server has told each device, and what each phone has understood.
    private var told = ConsistencyChecker(atServer: true)
    private var understood = ConsistencyChecker()
    /// Who has accepted, with which key.
    private var accepted: [Acceptance: String?] = [:]
    private var isQuiet = false
    /// Whether the server has done nothing since what it told was checked.
    private var isChecked = true
    /// Calls that were made.
    private(set) var calls: Set<CallID> = []
    private var last: [(at: Moment, what: SimulatedEvent)] = []

    private struct Acceptance: Hashable {
        let call: CallID
        let user: UserID
        let invitedAt: Moment
    }

    init(seed: UInt64, faults: Faults, canary: Canary?) {
        dice = SeededGenerator(seed: seed)
        actions = RandomActions(seed: seed ^ 0xAC7)
        self.faults = faults
        // What is wrong at a start shows when there are some.
        if canary == .answerUnloaded { self.faults.crash = max(faults.crash, 6) }
        self.canary = canary
        var settings = actions.settings()
        settings.callAgeMax = 600_000
        self.settings = settings
        stalledUntil = now
        for user in actions.users {
            for device in actions.devices {
                phones.append(SimulatedPhone(Address(user, device), index: phones.count))
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
        arm()
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

    private mutating func plan(_ what: SimulatedEvent, within span: ClosedRange<Milliseconds>) {
        queue.plan(what, at: now + Milliseconds.random(in: span, using: &dice))
    }

    private mutating func hits(_ chance: Int) -> Bool {
        chance > 0 && Int.random(in: 0..<1_000, using: &dice) < chance
    }

    private mutating func happen(_ what: SimulatedEvent) throws(RigFailure) {
        switch what {
        case .toServer(let line, let bytes): toServer(line, bytes)
        case .toPhone(let line, let bytes): try toPhone(line, bytes)
        case .lostAtServer(let line): server?.lost(line, at: now, disk)
        case .lostAtPhone(let line, let code): lostAtPhone(line, code)
        case .request(let call):
            server?.moved(to: now)
            server?.request(call, from: phones[call.phone].address, disk)
        case .response(let call, let reply): try response(call, reply)
        case .impatience(let call): impatient(call)
        case .push(let phone): connect(phone)
        case .disk(let life, let fails): diskIsDone(life, fails: fails)
        case .loaded(let life, let query, let found):
            if life == self.life { server?.loaded(found, for: query, at: now, disk) }
        case .answer(let life, let id, let answer):
            if life == self.life { server?.answered(id, answer, at: now, disk) }
        case .thinking(let life, let id):
            if life == self.life { server?.thinking(id, at: now, disk) }
        case .timer(let life, let due):
            guard life == self.life, due == armed else { return }
            armed = nil
            server?.timer(at: now, disk)
        case .housekeeping(let life):
            guard life == self.life else { return }
            server?.keepHouse(at: now, disk)
            queue.plan(.housekeeping(life: life), at: now + 5_000)
        case .start(let life): start(life)
        case .act(let phone): act(phone)
        case .connect(let phone): connect(phone)
        }
    }

    // MARK: The server's life

    private mutating func start(_ life: Int) {
        self.life = life
        armed = nil
        told = ConsistencyChecker(atServer: true)
        var server = SimulatedServer(
            settings, life: life, seed: dice.next(), canary: canary, at: now)
        server.start(from: disk)
        self.server = server
        queue.plan(.housekeeping(life: life), at: now + 5_000)
    }

    /// The server dies; its disk keeps what is durable, and perhaps the commit under way.
    private mutating func crash(keepingCommit: Bool) {
        if keepingCommit { disk.finish() } else { disk.fail() }
        for id in lines.keys.sorted(by: { $0.number < $1.number })
        where lines[id]?.life == life && lines[id]?.isDead == false {
            lines[id]?.isDead = true
            plan(.lostAtPhone(id, nil), within: 0...3_000)
        }
        server = nil
        life += 1
        plan(.start(life: life), within: 100...5_000)
    }

    private mutating func diskIsDone(_ life: Int, fails: Bool) {
        guard life == self.life, server != nil else { return }
        if fails { return crash(keepingCommit: false) }
        disk.finish()
        server?.committed(at: now, disk)
    }

    /// Plans the server's one timer; one that was planned for later finds another in its place.
    private mutating func arm() {
        guard let next = server?.board.nextDeadline else { return }
        if let armed, armed <= next { return }
        armed = next
        if canary == .dropDeadline, hits(200) { return }
        queue.plan(.timer(life: life, due: next), at: max(now, next))
    }

    private mutating func performActs() throws(RigFailure) {
        while let acts = server?.takeActs(), !acts.isEmpty {
            isChecked = false
            for act in acts { try perform(act) }
        }
        if server?.hasCrashed == true { crash(keepingCommit: hits(500)) }
    }

    private mutating func perform(_ act: SimulatedServer.Act) throws(RigFailure) {
        switch act {
        case .send(let line, let bytes): send(bytes, toPhoneOver: line)
        case .close(let line, let code): close(line, code)
        case .respond(let call, let reply):
            if !hits(faults.lostHTTP) { plan(.response(call, reply), within: 1...400) }
        case .ask(let question): ask(question)
        case .tell: speakForAnAccount()
        case .withdraw, .policyReply: break
        case .push(let job): push(job)
        case .commit(let records):
            disk.begin(records)
            let span: ClosedRange<Milliseconds> = hits(faults.slowDisk) ? 20...3_000 : 0...5
            plan(.disk(life: life, fails: hits(faults.failingDisk)), within: span)
        case .find(let query):
            // What the store says may be old when it comes.
            plan(.loaded(life: life, query, disk.durable.live(query)), within: 0...400)
        case .observed(let observation):
            actions.note(observation)
            calls.formUnion(observation.sight.callIDs)
            try told.see(observation)
        case .accepted(let call, let user, let invitedAt, let key):
            let acceptance = Acceptance(call: call, user: user, invitedAt: invitedAt)
            if let before = accepted[acceptance], before == nil || before != key {
                throw RigFailure("\(user) has accepted \(call) twice")
            }
            accepted.updateValue(key, forKey: acceptance)
        case .wrong(let what): throw RigFailure(what)
        }
    }

    // MARK: Policies and pushes

    private mutating func ask(_ question: Question) {
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
        server?.policyRequest(account, actions.policyOperation(), disk)
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

// MARK: Lines

extension World {
    private mutating func connect(_ phone: Int) {
        guard phones[phone].line == nil, !phones[phone].isBanned else { return }
        guard server != nil else { return plan(.connect(phone: phone), within: 500...5_000) }
        lastLine += 1
        let id = LineID(number: lastLine)
        lines[id] = Line(phone: phone, life: life, lastToServer: now, lastToPhone: now)
        phones[phone].line = id
        let token = phones[phone].token
        send(phones[phone].link.connected(token: token), toServerOver: id)
    }

    private mutating func send(_ bytes: [UInt8], toServerOver id: LineID) {
        guard let line = lines[id], !line.isDead else { return }
        let at = max(line.lastToServer, now + Milliseconds.random(in: 1...200, using: &dice))
        lines[id]?.lastToServer = at
        queue.plan(.toServer(id, bytes), at: at)
        breakSomething(id)
    }

    private mutating func send(_ bytes: [UInt8], toPhoneOver id: LineID) {
        guard let line = lines[id], !line.isDead else { return }
        let at = max(line.lastToPhone, now + Milliseconds.random(in: 1...200, using: &dice))
        lines[id]?.lastToPhone = at
        queue.plan(.toPhone(id, bytes), at: at)
        breakSomething(id)
    }

    private mutating func breakSomething(_ id: LineID) {
        if hits(faults.cutLine) { cut(id) }
        guard hits(faults.swizzle) else { return }
        let alive = lines.filter { !$0.value.isDead }.keys.sorted { $0.number < $1.number }
        for line in alive where actions.flip(1, in: 2) { cut(line) }
    }

    /// What is under way on the line is lost; both ends notice later, each in its own time.
    private mutating func cut(_ id: LineID) {
        guard lines[id]?.isDead == false else { return }
        lines[id]?.isDead = true
        plan(.lostAtPhone(id, nil), within: 0...4_000)
        plan(.lostAtServer(id), within: 0...33_000)
    }

    /// The server closes a line: what it sent before still arrives.
    private mutating func close(_ id: LineID, _ code: CloseCode) {
        guard let line = lines[id], !line.isDead, !line.isClosed else { return }
        lines[id]?.isClosed = true
        queue.plan(.lostAtPhone(id, code), at: max(line.lastToPhone, now + 1))
    }

    private mutating func toServer(_ id: LineID, _ bytes: [UInt8]) {
        guard let line = lines[id], !line.isDead, !line.isClosed, line.life == life else { return }
        if hits(faults.stall) {
            stalledUntil = now + actions.pick([500, 5_000, 70_000])
            return queue.plan(.toServer(id, bytes), at: stalledUntil)
        }
        if hits(faults.crash) { server?.effectsLeft = actions.pick([0, 1, 2, 3, 5, 8]) }
        server?.message(bytes, over: id, at: now, disk)
    }

    private mutating func toPhone(_ id: LineID, _ bytes: [UInt8]) throws(RigFailure) {
        guard let line = lines[id], !line.isDead, phones[line.phone].line == id else { return }
        for output in phones[line.phone].link.receive(bytes) {
            try handle(output, of: line.phone, over: id)
        }
        guard let acknowledgement = phones[line.phone].link.acknowledgement() else { return }
        send(acknowledgement, toServerOver: id)
    }

    private mutating func lostAtPhone(_ id: LineID, _ code: CloseCode?) {
        guard let line = lines.removeValue(forKey: id), phones[line.phone].line == id else {
            return
        }
        phones[line.phone].line = nil
        for case .lost(let number) in phones[line.phone].link.disconnected() {
            phones[line.phone].asked[number] = nil
        }
        switch code.map({ CloseCode.reaction(to: $0.rawValue) }) {
        case nil, .reconnect, .renewToken:
            plan(.connect(phone: line.phone), within: 50...15_000)
        case .stop:
            phones[line.phone].isBanned = code == .replaced
            plan(.connect(phone: line.phone), within: 5_000...60_000)
        }
    }
}

// MARK: Phones

extension World {
    private mutating func handle(
        _ output: ServerLink.Output, of phone: Int, over line: LineID
    ) throws(RigFailure) {
        let address = phones[phone].address
        switch output {
        case .welcomed(let welcome):
            if !welcome.resumed { phones[phone].stale = Set(phones[phone].asked.keys) }
            try understand(
                .welcome(
                    welcome.calls, viewer: address.user, more: welcome.hasMoreCalls,
                    resumed: welcome.resumed), phone)
        case .send(let bytes): send(bytes, toServerOver: line)
        case .reply(let number, let reply):
            guard let operation = phones[phone].asked.removeValue(forKey: number),
                phones[phone].stale.remove(number) == nil
            else { return }
            try understand(.reply(reply.reply(to: operation, viewer: address.user)), phone)
        case .lost(let number): phones[phone].asked[number] = nil
        case .event(.call(let event)): try understand(.event(event, now: now), phone)
        case .event(.unknown(let name, _)):
            throw RigFailure("\(address) is told of an unknown event \(name)")
        case .turnedAway(let refusal):
            throw RigFailure("\(address) is turned away: \(refusal.message)")
        case .violation(let violation): throw RigFailure("\(address): \(violation.reason)")
        }
    }

    private mutating func understand(_ sight: Sight, _ phone: Int) throws(RigFailure) {
        try understood.see(Observation(.device(phones[phone].address), sight))
    }

    /// A person picks a phone up.
    private mutating func act(_ phone: Int) {
        guard !isQuiet else { return }
        plan(.act(phone: phone), within: 200...6_000)
        if phones[phone].isBanned, actions.flip(1, in: 4) { return reinstall(phone) }
        switch Int.random(in: 0..<100, using: &dice) {
        case 0..<2: sayBye(phone)
        case 2..<4: if let line = phones[phone].line { cut(line) }
        case 4..<5: reinstall(phone)
        case 5..<20: ask(phone, overHTTP: true)
        default: if phones[phone].line != nil { ask(phone, overHTTP: false) }
        }
    }

    private mutating func sayBye(_ phone: Int) {
        guard let line = phones[phone].line, phones[phone].link.isOpen else { return }
        send(phones[phone].link.bye(), toServerOver: line)
        understood.forget(phones[phone].address)
    }

    /// The app begins anew: it knows nothing of its session.
    private mutating func reinstall(_ phone: Int) {
        if let line = phones[phone].line { cut(line) }
        let address = phones[phone].address
        phones[phone] = SimulatedPhone(address, index: phone)
        understood.forget(address)
        plan(.connect(phone: phone), within: 100...10_000)
    }

    private mutating func ask(_ phone: Int, overHTTP: Bool) {
        let operation = sensibleOperation(phone)
        let key = "\(phones[phone].address.device)-\(steps)"
        if overHTTP { return post(operation, phone, key: key) }
        let isKeyed = actions.flip(2, in: 3)
        let (number, message) = phones[phone].link.request(operation, key: isKeyed ? key : nil)
        phones[phone].asked[number] = operation
        if let message, let line = phones[phone].line { send(message, toServerOver: line) }
    }

    /// What a person would do with what the phone shows; now and then anything at all.
    private mutating func sensibleOperation(_ phone: Int) -> Operation {
        let address = phones[phone].address
        let ringing = understood.ringing(address)
        let joined = understood.joined(address)
        if !ringing.isEmpty, actions.flip(3, in: 4) {
            let action = actions.pick([
                CallAction.accept(), .accept(), .ringing, .ringing, .reject(), .reject(busy: true),
            ])
            return .call(actions.pick(ringing), action)
        }
        if !joined.isEmpty, actions.flip(1, in: 2) {
            let signal = CallAction.signal(to: nil, data: [0x31])
            return .call(actions.pick(joined), actions.pick([.leave(), .end(), .cancel(), signal]))
        }
        return actions.operation()
    }

    // MARK: HTTP

    private mutating func post(_ operation: Operation, _ phone: Int, key: String) {
        phones[phone].lastRequest += 1
        let number = phones[phone].lastRequest
        phones[phone].requests[number] = operation
        send(
            HTTPCall(
                phone: phone, number: number, attempt: 1, name: operation.name,
                body: RequestEncoder().body(operation), key: key,
                session: phones[phone].link.session))
    }

    private mutating func send(_ call: HTTPCall) {
        plan(.impatience(call), within: 5_000...5_000)
        if !hits(faults.lostHTTP) { plan(.request(call), within: 1...1_000) }
        if hits(faults.doubledHTTP) { plan(.request(call), within: 1...4_000) }
    }

    private mutating func response(_ call: HTTPCall, _ reply: HTTPReply) throws(RigFailure) {
        guard phones[call.phone].requests.removeValue(forKey: call.number) != nil,
            reply.status == 200, phones[call.phone].link.isOpen,
            phones[call.phone].link.session == call.session
        else { return }
        // What an app learns over HTTP it could show: it must fit what its session says.
        let message = Array("{\"re\":1,\"ok\":".utf8) + reply.body + [UInt8(ascii: "}")]
        guard case .reply(_, .ok(let value)) = try? ServerMessageDecoder().message(message),
            let shown = ServerMessageDecoder().call(value["call"])
        else { return }
        try understand(.reply(.call(shown, viewer: phones[call.phone].address.user)), call.phone)
    }

    private mutating func impatient(_ call: HTTPCall) {
        guard phones[call.phone].requests[call.number] != nil else { return }
        var again = call
        again.attempt += 1
        if again.attempt > 4 {
            phones[call.phone].requests[call.number] = nil
        } else {
            send(again)
        }
    }
}

// MARK: Checks

extension World {
    /// What holds after every step.
    private mutating func check() throws(RigFailure) {
        guard let server else { return }
        if now >= stalledUntil, let deadline = server.board.nextDeadline,
            let next = queue.next, next > max(deadline, now)
        {
            throw RigFailure("nothing happens at the deadline \(deadline)")
        }
        guard !isChecked, server.isSettled else { return }
        isChecked = true
        try told.compare(with: server.board, connected: server.informed)
        let calls = server.board.liveCalls
        for user in actions.users {
            let count = calls.count { call in
                guard let part = call.participant(user), part.state.isLive else { return false }
                return part.state != .joined || !server.board.isLost(part)
            }
            guard server.board.facts(of: user).calls == count else {
                throw RigFailure("\(user) counts as in another number of calls than \(count)")
            }
        }
    }

    /// Faults and people stop; everything settles. Then phones and server agree, and later every
    /// call has reached its end.
    mutating func comeToRest() throws(RigFailure) {
        faults = Faults()
        isQuiet = true
        for phone in phones.indices where phones[phone].line == nil {
            plan(.connect(phone: phone), within: 0...1_000)
        }
        try run(until: now + 200_000)
        try checkAgreement()
        try run(until: now + settings.callAgeMax + 60_000)
        try checkAgreement()
        guard server?.board.liveCallCount == 0, server?.board.unanswered == [] else {
            throw RigFailure("a call never ends: \(server?.board.liveCalls ?? [])")
        }
    }

    private func checkAgreement() throws(RigFailure) {
        guard let server, server.isSettled else { throw RigFailure("the server has not settled") }
        let open = phones.filter { $0.link.isOpen && $0.line != nil }
        guard open.count == phones.count(where: { !$0.isBanned }) else {
            let absent = phones.filter { !$0.isBanned && !($0.link.isOpen && $0.line != nil) }
            throw RigFailure("\(absent.map(\.address)) cannot connect")
        }
        try understood.compare(with: server.board, connected: open.map(\.address))
    }
}

extension SimulatedEvent {
    /// Whether it happens at the server.
    fileprivate var concernsServer: Bool {
        switch self {
        case .toServer, .lostAtServer, .request, .disk, .loaded, .answer, .thinking, .timer,
            .housekeeping:
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
        case .lostAtServer(let line): "server loses line \(line.number)"
        case .lostAtPhone(let line, let code):
            "phone loses line \(line.number)" + (code.map { " \($0)" } ?? "")
        case .request(let call):
            "HTTP \(call.name.rawValue) of phone \(call.phone), attempt \(call.attempt): "
                + String(decoding: call.body, as: UTF8.self)
        case .response(let call, let reply): "HTTP \(reply.status) to phone \(call.phone)"
        case .impatience(let call): "phone \(call.phone) waits no longer"
        case .push(let phone): "push to phone \(phone)"
        case .loaded(_, _, let found): "the store has \(found.calls.count) live calls more"
        case .disk(_, let fails): fails ? "the disk fails" : "the disk is done"
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
