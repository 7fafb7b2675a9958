// The server: the switchboard and the wire's machines, with the duties of a shell around them.

import AgentCore
import CallCore
import CallModel
import CallWire
import JSON

/// One life of a server, from a start to a crash. What it does to the world it puts into `acts`,
/// in order; the world performs them.
struct SimulatedServer {
    /// What the server does to the world.
    enum Act {
        case send(LineID, [UInt8])
        case close(LineID, CloseCode)
        case respond(HTTPCall, HTTPReply)
        case ask(Question)
        case withdraw(QuestionID)
        case tell(Report)
        case policyReply(Reply)
        case push(PushJob)
        case commit([Record])
        case find(LiveCallQuery)
        /// A device is told something: what the checker sees.
        case observed(Observation)
        /// A user's accept of an invitation was carried out; repetitions have the same key.
        case accepted(CallID, UserID, invitedAt: Moment, key: String?)
        /// The checks found something.
        case wrong(String)
    }

    /// Who waits for a reply.
    private enum Awaiting {
        case hello(LineID, MessageID)
        case line(LineID, MessageID, Request)
        case http(HTTPCall, Request)
        case policy
    }

    private struct Line {
        var machine: ClientConnection
        var address: Address?
    }

    private struct Session {
        var session: ClientSession
        var line: LineID?
    }

    /// What waits behind the barrier.
    private enum Waiting {
        case effect(Effect)
        case records([Record], isUnderWay: Bool)
    }

    private(set) var board: Switchboard
    private var lines: [LineID: Line] = [:]
    private var sessions: [Address: Session] = [:]
    private var awaiting: [RequestID: Awaiting] = [:]
    private var lastRequest: UInt64 = 0
    private var queue: [Waiting] = []
    private let canary: Canary?
    private var dice: SeededGenerator
    private let encoder = WireEncoder()
    private let decoder = WireDecoder()
    private let limits = SessionLimits()
    private let life: Int
    /// Until all live calls are loaded.
    private var loader: LiveCallLoader<Input>?
    private(set) var acts: [Act] = []
    /// Effects until the crash; nil: no crash is planned.
    var effectsLeft: Int?
    private(set) var hasCrashed = false
    private var now: Moment

    init(_ settings: Settings, life: Int, seed: UInt64, canary: Canary?, at now: Moment) {
        board = Switchboard(settings: settings, seed: seed, at: now)
        dice = SeededGenerator(seed: seed ^ 0x5E)
        self.canary = canary
        self.life = life
        self.now = now
    }

    mutating func takeActs() -> [Act] {
        defer { acts = [] }
        return acts
    }

    // MARK: What comes

    mutating func timer(at moment: Moment, _ disk: SimulatedDisk) {
        now = moment
        feed(.deadlineReached, disk)
    }

    mutating func answered(
        _ id: QuestionID, _ answer: Answer, at moment: Moment, _ disk: SimulatedDisk
    ) {
        now = moment
        feed(.answered(id, answer), disk)
    }

    mutating func thinking(_ id: QuestionID, at moment: Moment, _ disk: SimulatedDisk) {
        now = moment
        feed(.thinking(id), disk)
    }

    mutating func message(
        _ bytes: [UInt8], over line: LineID, at moment: Moment, _ disk: SimulatedDisk
    ) {
        now = moment
        if lines[line] == nil { lines[line] = Line(machine: ClientConnection(at: now)) }
        do throws(Malformed) {
            handle(.message(try decoder.message(bytes)), line, disk)
        } catch {
            handle(.malformed(error), line, disk)
        }
    }

    private mutating func handle(
        _ input: ClientConnection.Input, _ line: LineID, _ disk: SimulatedDisk
    ) {
        guard let output = lines[line]?.machine.handle(input, at: now) else { return }
        switch output {
        case .nothing: break
        case .check(let id, let hello):
            handle(.admitted, line, disk)
            let user = UserID(String(hello.token.dropFirst(4)))
            open(Address(user, hello.device), hello.resume, id, line, disk)
        case .request(let id, let key, let operation):
            guard let address = lines[line]?.address else { return }
            let request = newRequest(address, key, operation)
            awaiting[request.id] = .line(line, id, request)
            feed(.request(request), disk)
        case .acknowledge(let seq):
            guard let address = lines[line]?.address else { return }
            sessions[address]?.session.acknowledge(seq)
        case .logOut(let id): logOut(id, line, disk)
        case .reply(let id, let reply): acts.append(.send(line, encoder.reply(reply, to: id)))
        case .refuseAndClose(_, let refusal, let code):
            acts.append(.wrong("a phone is refused: \(refusal.message)"))
            close(line, code)
        case .close(let code): close(line, code)
        }
    }

    private mutating func open(
        _ address: Address, _ resume: Hello.Resume?, _ id: MessageID, _ line: LineID,
        _ disk: SimulatedDisk
    ) {
        let newID = SessionID(high: dice.next(), low: dice.next())
        var isResumed = false
        if let older = sessions[address]?.line, older != line {
            sessions[address]?.line = nil
            close(older, .replaced)
        }
        if sessions[address] != nil {
            isResumed =
                sessions[address]?.session.reconnect(resume, newID: newID, at: now) ?? false
        } else {
            sessions[address] = Session(session: ClientSession(id: newID))
        }
        sessions[address]?.line = line
        lines[line]?.address = address
        lastRequest += 1
        let request = RequestID(lastRequest)
        awaiting[request] = .hello(line, id)
        feed(
            .deviceConnected(request, address.user, address.device, resumed: isResumed), disk)
    }

    private mutating func logOut(_ id: MessageID, _ line: LineID, _ disk: SimulatedDisk) {
        acts.append(.send(line, encoder.reply(.done, to: id)))
        guard let address = lines[line]?.address else { return }
        forget(address)
        close(line, .normal)
        feed(.deviceGone(address.user, address.device, bye: true), disk)
    }

    mutating func request(_ call: HTTPCall, from address: Address, _ disk: SimulatedDisk) {
        do throws(Refusal) {
            let asked = try decoder.request(call.name, body: call.body, key: call.key)
            guard case .operation(let operation, let key) = asked else { return }
            var request = newRequest(address, key, operation)
            request.standsAlone = true
            awaiting[request.id] = .http(call, request)
            feed(.request(request), disk)
        } catch {
            acts.append(.respond(call, HTTPReply(error)))
        }
    }

    mutating func moved(to moment: Moment) { now = moment }

    /// A plugin asks for something on behalf of `user`.
    mutating func policyRequest(_ user: UserID, _ operation: Operation, _ disk: SimulatedDisk) {
        lastRequest += 1
        awaiting[RequestID(lastRequest)] = .policy
        feed(
            .policyRequest(RequestID(lastRequest), user, plugin: "plugin", operation), disk)
    }

    /// The operator changes the settings.
    mutating func configure(_ settings: Settings, _ disk: SimulatedDisk) {
        feed(.configured(settings), disk)
    }

    /// The device's session can no longer be resumed.
    mutating func expire(_ address: Address, _ disk: SimulatedDisk) {
        forget(address)
        feed(.deviceGone(address.user, address.device, bye: false), disk)
    }

    private mutating func newRequest(
        _ address: Address, _ key: IdempotencyKey?, _ operation: Operation
    ) -> Request {
        lastRequest += 1
        return Request(
            id: RequestID(lastRequest), user: address.user, device: address.device, key: key,
            operation: operation)
    }

    // MARK: What goes

    /// The line is gone: its session waits for another one.
    mutating func lost(_ line: LineID, at moment: Moment, _ disk: SimulatedDisk) {
        now = moment
        guard let address = lines.removeValue(forKey: line)?.address,
            sessions[address]?.line == line
        else { return }
        detach(address, disk)
    }

    private mutating func detach(_ address: Address, _ disk: SimulatedDisk) {
        sessions[address]?.line = nil
        sessions[address]?.session.detach(at: now, limits: limits)
        feed(.deviceDisconnected(address.user, address.device), disk)
        guard case .detached = sessions[address]?.session.state else {
            forget(address)
            feed(.deviceGone(address.user, address.device, bye: false), disk)
            return
        }
    }

    private mutating func close(_ line: LineID, _ code: CloseCode) {
        lines[line] = nil
        acts.append(.close(line, code))
    }

    /// Ends sessions whose time to resume is over.
    mutating func keepHouse(at moment: Moment, _ disk: SimulatedDisk) {
        now = moment
        for address in Self.inOrder(sessions.keys) {
            guard sessions[address]?.session.expire(at: now) == true else { continue }
            forget(address)
            feed(.deviceGone(address.user, address.device, bye: false), disk)
        }
    }

    // MARK: Effects

    private mutating func take(_ effects: [Effect], _ disk: SimulatedDisk) {
        var late: [Record] = []
        for effect in effects {
            switch effect {
            case .persist(let records):
                if canary == .skipBarrier, Int.random(in: 0..<5, using: &dice) == 0 {
                    late += records
                } else {
                    queue.append(.records(records, isUnderWay: false))
                }
            case .consult(let question): acts.append(.ask(question))
            case .withdraw(let id): acts.append(.withdraw(id))
            case .reply, .welcome, .send, .replace, .tell, .recall, .recallKey, .list:
                queue.append(.effect(effect))
            }
        }
        if !late.isEmpty { queue.append(.records(late, isUnderWay: false)) }
        drain(disk)
    }

    /// Performs what nothing holds back; the first records are given to the disk.
    mutating func drain(_ disk: SimulatedDisk) {
        while !hasCrashed, let first = queue.first {
            switch first {
            case .effect(let effect):
                queue.removeFirst()
                perform(effect, disk)
            case .records(_, isUnderWay: true): return
            case .records(_, isUnderWay: false):
                guard !disk.isBusy else { return }
                return submit()
            }
        }
    }

    private mutating func submit() {
        var batch: [Record] = []
        for (place, waiting) in queue.enumerated() {
            guard case .records(let records, _) = waiting else { continue }
            batch += records
            queue[place] = .records(records, isUnderWay: true)
        }
        acts.append(.commit(batch))
    }

    /// The batch under way is durable.
    mutating func committed(at moment: Moment, _ disk: SimulatedDisk) {
        now = moment
        for case .records(let records, isUnderWay: true) in queue {
            for case .push(let job) in records { acts.append(.push(job)) }
        }
        queue.removeAll { if case .records(_, isUnderWay: true) = $0 { true } else { false } }
        drain(disk)
    }

    private mutating func perform(_ effect: Effect, _ disk: SimulatedDisk) {
        if let left = effectsLeft {
            effectsLeft = left - 1
            if left <= 0 {
                hasCrashed = true
                return
            }
        }
        switch effect {
        case .reply(let request, let reply): deliver(reply, to: request, disk)
        case .welcome(let request, let calls, let more): deliver(calls, more, to: request)
        case .send(let receivers, let event): deliver(event, to: receivers, disk)
        case .replace(let address): replace(address)
        case .tell(let report): acts.append(.tell(report))
        case .recall(let id): feed(.recalled(id, disk.durable[id]), disk)
        case .recallKey(let user, let key):
            let kept = disk.durable.kept(user, key).map {
                KeptReply(bodyHash: $0.key.bodyHash, reply: encoder.kept($0.reply))
            }
            feed(.recalledKey(user, key: key, kept), disk)
        case .list(let request, let user, let query):
            deliver(disk.durable.page(query, for: user), to: request, of: user)
        case .persist, .consult, .withdraw: break
        }
    }

    private mutating func replace(_ address: Address) {
        if let line = sessions[address]?.line { close(line, .replaced) }
        forget(address)
    }
}

// MARK: Deliveries

extension SimulatedServer {
    private mutating func deliver(
        _ reply: Reply, to request: RequestID, _ disk: SimulatedDisk
    ) {
        guard let who = awaiting.removeValue(forKey: request) else {
            return acts.append(.wrong("a request is answered that nobody made, or twice"))
        }
        checkIsDurable(reply.call, disk)
        switch who {
        case .line(let line, let id, let asked):
            acts.append(.send(line, encoder.reply(reply, to: id)))
            if lines[line] != nil { observe(reply, to: asked) }
        case .http(let call, let asked):
            acts.append(.respond(call, HTTPReply(tail: encoder.kept(reply))))
            let address = Address(asked.user, asked.device)
            if sessions[address]?.line != nil { observe(reply, to: asked) }
        case .policy: acts.append(.policyReply(reply))
        case .hello: break
        }
    }

    private mutating func deliver(
        _ page: (calls: [Call], more: Bool), to request: RequestID, of user: UserID
    ) {
        var writer = JSONWriter()
        let cursor = page.more ? page.calls.last?.id : nil
        let who = awaiting.removeValue(forKey: request)
        if case .line(let line, let id, _) = who {
            WireEncoder.replyHead(id, into: &writer)
            encoder.pageTail(
                page.calls, cursor: cursor, for: user, limits: WireLimits(), into: &writer)
            acts.append(.send(line, writer.bytes))
        } else if case .http(let call, _) = who {
            encoder.pageTail(
                page.calls, cursor: cursor, for: user, limits: WireLimits(), into: &writer)
            acts.append(.respond(call, HTTPReply(tail: writer.bytes)))
        }
    }

    private mutating func observe(_ reply: Reply, to asked: Request) {
        if case .kept = reply { return }
        let address = Address(asked.user, asked.device)
        acts.append(.observed(Observation(.device(address), .reply(reply))))
        guard case .call(_, .accept, _) = asked.operation,
            let me = reply.call?.participant(address.user), let id = reply.call?.id
        else { return }
        acts.append(
            .accepted(id, me.user, invitedAt: me.invitedAt, key: asked.key?.text))
    }

    /// Nobody speaks for a device any more.
    private mutating func forget(_ address: Address) {
        sessions[address] = nil
        acts.append(.observed(Observation(.device(address), .closed("gone"))))
    }

    private mutating func deliver(_ calls: [Call], _ more: Bool, to request: RequestID) {
        guard case .hello(let line, let id) = awaiting.removeValue(forKey: request),
            let address = lines[line]?.address, let session = sessions[address],
            session.line == line, case .welcoming(let resumed) = session.session.state
        else { return }
        let settings = WelcomeSettings(
            session: limits, limits: AnnouncedLimits(), server: "simulator")
        let welcome = Welcome(
            address, session: session.session.id, resumed: resumed, serverTime: now,
            settings: settings, calls: calls, hasMoreCalls: more)
        var writer = JSONWriter()
        WireEncoder.replyHead(id, into: &writer)
        encoder.welcomeTail(welcome, into: &writer)
        acts.append(.send(line, writer.bytes))
        acts.append(
            .observed(
                Observation(
                    .device(address),
                    .welcome(calls, viewer: address.user, more: more, resumed: resumed))))
        for event in sessions[address]?.session.welcomed(limits: limits) ?? [] {
            send(event.tail, event.seq, over: line)
        }
        for mark in sessions[address]?.session.untoldSignals ?? [] {
            let call = calls.first { $0.id == mark.call } ?? board.call(mark.call)
            let me = call.flatMap { $0.isLive ? $0.participant(address.user) : nil }
            if me?.state.isLive != true || me?.state == .joined {
                tellUntold(of: mark.call, to: address, isThere: me?.state == .joined)
            }
        }
    }

    /// See `ClientSession.takeUntold`.
    private mutating func tellUntold(of call: CallID, to address: Address, isThere: Bool = true) {
        for signal in sessions[address]?.session.takeUntold(of: call) ?? [] where isThere {
            let seq = sessions[address]?.session.number(
                signal.tail, signal.mark, limits: limits)
            if let seq, let line = sessions[address]?.line { send(signal.tail, seq, over: line) }
        }
    }

    private mutating func deliver(
        _ event: CallEvent, to receivers: [Address], _ disk: SimulatedDisk
    ) {
        if (disk.durable[event.callID]?.revision ?? 0) < event.revision {
            acts.append(.wrong("an event leaves before it is durable"))
        }
        var receivers = receivers
        if canary == .forgetDevice, Int.random(in: 0..<50, using: &dice) == 0 {
            receivers.removeLast()
        }
        for address in receivers {
            // Whoever left while the event waited for the disk is told nothing.
            guard let state = sessions[address]?.session.state else { continue }
            let tail = encoder.event(event, for: address.user)
            let seq = sessions[address]?.session.number(
                tail, SignalMark(event), limits: limits)
            if state != .welcoming(resumed: false) {
                acts.append(
                    .observed(Observation(.device(address), .event(event, now: now))))
            }
            if let seq, let line = sessions[address]?.line { send(tail, seq, over: line) }
            if case .incoming = event.kind { tellUntold(of: event.callID, to: address) }
        }
    }

    private mutating func send(_ tail: [UInt8], _ seq: UInt64, over line: LineID) {
        var writer = JSONWriter()
        WireEncoder.eventHead(seq, into: &writer)
        writer.append(tail)
        acts.append(.send(line, writer.bytes))
    }

    private mutating func checkIsDurable(_ call: Call?, _ disk: SimulatedDisk) {
        guard let call, (disk.durable[call.id]?.revision ?? 0) < call.revision else { return }
        acts.append(.wrong("a reply leaves before it is durable"))
    }

    // MARK: For the checks

    /// Nothing waits for the disk: what was told and what is held have to agree.
    var isSettled: Bool { queue.isEmpty }

    /// The devices whose sessions get every event.
    var informed: [Address] {
        Self.inOrder(
            sessions.filter { $0.value.session.state != .welcoming(resumed: false) }.keys)
    }

    private static func inOrder(_ addresses: some Sequence<Address>) -> [Address] {
        addresses.sorted { ($0.user.text, $0.device.text) < ($1.user.text, $1.device.text) }
    }
}

// MARK: Loading

extension SimulatedServer {
    /// Live calls come in pages of this many, so that there are several.
    private static let page = 2

    mutating func start(from disk: SimulatedDisk) {
        var kept = disk.durable.restored
        kept.lastCall = kept.calls.last?.id
        kept.calls = []
        loader = kept.lastCall.map { LiveCallLoader(upTo: $0, limit: Self.page) }
        take(board.restore(kept, at: now), disk)
        askForCalls()
    }

    private mutating func feed(_ input: Input, _ disk: SimulatedDisk) {
        if loader != nil, canary != .answerUnloaded, let need = LiveCallLoader<Input>.Need(input),
            loader?.admits(need, board, else: input) == false
        {
            return askForCalls()
        }
        carryOut(input, disk)
    }

    private mutating func carryOut(_ input: Input, _ disk: SimulatedDisk) {
        if loader != nil { checkIsLoaded(input, disk) }
        take(board.handle(input, at: now), disk)
    }

    private mutating func askForCalls() {
        for query in loader?.takeQueries() ?? [] { acts.append(.find(query)) }
    }

    /// The store has answered.
    mutating func loaded(
        _ found: LiveCalls, for query: LiveCallQuery, at moment: Moment, _ disk: SimulatedDisk
    ) {
        now = moment
        guard let (calls, more) = loader?.take(found, to: query) else { return }
        take(board.handle(.loaded(calls, more: more), at: now), disk)
        while let input = loader?.takeReady(board) { carryOut(input, disk) }
        if loader?.isOver == true { loader = nil }
        askForCalls()
    }

    /// Whoever asks, and whomever it concerns, is in as many calls as the disk knows.
    private mutating func checkIsLoaded(_ input: Input, _ disk: SimulatedDisk) {
        guard let need = LiveCallLoader<Input>.Need(input) else { return }
        for user in need.others + [need.user].compactMap({ $0 }) {
            for call in disk.durable.liveCalls(of: user) where board.call(call.id) == nil {
                acts.append(.wrong("\(user) is served, and \(call.id) is not loaded"))
            }
        }
    }
}
