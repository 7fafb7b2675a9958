// The server without I/O as a rig.

import AgentCore
import CallModel
import CallWire
import JSON
import StoreContract

/// Plays scenarios on the product's server, without its sockets and threads: every request, reply
/// and event is encoded, carried and decoded. Nobody may notice what goes wrong before each action.
public struct SimulatorRig: Rig {
    /// What goes wrong.
    public enum Trouble: Sendable {
        case nothing
        /// Every idle connection breaks and resumes.
        case lines
        /// The server dies and starts again, and every device says hello anew.
        case server
    }

    /// What a world at virtual time can do.
    public let abilities: Abilities = [.virtualTime, .policies, .restarts, .pushes]

    private let wrong: Trouble
    private var settings: Settings
    private var server: SimulatedServer
    private let disk = SimulatedDisk()
    /// When the server wants to be woken.
    private var deadline: Moment?
    private var now = Moment(1_800_000_000_000)
    private var phones: [SimulatedPhone] = []
    private var lastLine = 0
    private var lives = 1
    private var questions: [Question] = []
    private var seen: [Observation] = []
    private var trouble: RigFailure?

    /// A rig with an empty store.
    public init(settings: Settings = Settings(), trouble: Trouble = .nothing) {
        self.settings = settings
        wrong = trouble
        server = Self.start(settings, over: disk, life: 1, at: now)
    }

    private static func start(
        _ settings: Settings, over disk: SimulatedDisk, life: Int, at now: Moment
    ) -> SimulatedServer {
        var limits = ServerLimits()
        // So few that there are several pages.
        limits.liveCallsPage = 2
        return SimulatedServer(
            settings, limits: limits, over: disk, seed: UInt64(life), at: now,
            waitsForPolicies: false)
    }

    private func turn(_ what: (SimulatedServer) -> Void) { server.turn(at: now, what) }

    /// Does one thing, waits for the world to settle, and tells what everybody saw.
    public mutating func perform(_ action: Action) throws(RigFailure) -> [Observation] {
        switch wrong {
        case .nothing: break
        case .lines: try breakEveryLine()
        case .server: try crash()
        }
        seen = []
        switch action {
        case .request(let device, let operation, let key): ask(device, operation, key)
        case .connect(let device, let resuming): try connect(device, resuming: resuming)
        case .disconnect(let device): try disconnect(device)
        case .forget(let device): turn { $0.desk.forget(device) }
        case .bye(let device): sayBye(device)
        case .pass(let time): try pass(time)
        case .restart(let pause): try restart(after: pause)
        case .answer(let sort, let answer): try self.answer(sort, answer)
        case .think(let sort):
            let id = try questions.newest(sort).id
            turn { $0.thinking(id) }
        case .policyRequest(let user, let operation): turn { $0.policyRequest(user, operation) }
        case .setting(let name, let values):
            try settings.change(name, to: values)
            let settings = settings
            turn { $0.configure(settings) }
        }
        try settle()
        return seen
    }

    // MARK: Devices

    private func place(of device: Address) -> Int? {
        phones.firstIndex { $0.address == device }
    }

    private mutating func connect(_ device: Address, resuming: Bool) throws(RigFailure) {
        let known = place(of: device)
        if known == nil || !resuming {
            let phone = SimulatedPhone(device, index: known ?? phones.count)
            if let known { phones[known] = phone } else { phones.append(phone) }
        }
        guard let index = place(of: device) else { return }
        guard !resuming || phones[index].link.session != nil else {
            throw RigFailure("\(written(device)) has no session to resume")
        }
        open(index)
    }

    private mutating func open(_ index: Int) {
        lastLine += 1
        let line = LineID(number: lastLine)
        phones[index].line = line
        phones[index].hasConnected = true
        let hello = phones[index].link.connected(token: phones[index].token)
        turn { $0.message(hello, over: line) }
    }

    private mutating func disconnect(_ device: Address) throws(RigFailure) {
        guard let index = place(of: device), let line = phones[index].line else {
            throw RigFailure("\(written(device)) is not connected")
        }
        phones[index].line = nil
        _ = phones[index].link.disconnected()
        turn { $0.lost(line) }
    }

    private mutating func sayBye(_ device: Address) {
        guard let index = place(of: device), let line = phones[index].line else { return }
        let bye = phones[index].link.bye()
        turn { $0.message(bye, over: line) }
    }

    private mutating func breakEveryLine() throws(RigFailure) {
        // A request without a key that is under way would be lost with its line.
        for index in phones.indices where phones[index].line != nil && phones[index].asked.isEmpty {
            try disconnect(phones[index].address)
            try settle()
            open(index)
            try settle()
        }
    }

    /// The server dies where it may do so unnoticed: everybody is there to come back at once, and
    /// nothing waits for an answer.
    private mutating func crash() throws(RigFailure) {
        guard questions.isEmpty,
            phones.allSatisfy({ $0.asked.isEmpty && ($0.line != nil || !$0.hasConnected) })
        else { return }
        let connected = phones.indices.filter { phones[$0].line != nil }
        try restart(after: 0)
        for index in connected { open(index) }
        try settle()
    }

    private mutating func ask(_ device: Address, _ operation: Operation, _ key: String?) {
        if let index = place(of: device), let line = phones[index].line {
            let (number, message) = phones[index].link.request(operation, key: key)
            phones[index].asked[number] = SimulatedRequest(operation: operation, key: key)
            if let message { turn { $0.message(message, over: line) } }
            return
        }
        if place(of: device) == nil {
            phones.append(SimulatedPhone(device, index: phones.count))
        }
        guard let index = place(of: device) else { return }
        phones[index].lastRequest += 1
        phones[index].requests[phones[index].lastRequest] = operation
        let call = HTTPCall(
            phone: index, number: phones[index].lastRequest, attempt: 1, name: operation.name,
            body: RequestEncoder().body(operation), key: key, session: nil)
        let asker = phones[index].asker
        turn { $0.request(call, by: asker) }
    }

    // MARK: Time and restarts

    private mutating func pass(_ time: Milliseconds) throws(RigFailure) {
        let end = now + time
        while let next = deadline, next <= end {
            now = max(now, next)
            deadline = nil
            turn { $0.exchange.wake() }
            try settle()
        }
        now = end
        turn { $0.desk.lookAround(at: end) }
    }

    private mutating func restart(after pause: Milliseconds) throws(RigFailure) {
        now = now + pause
        lives += 1
        for index in phones.indices {
            phones[index].line = nil
            _ = phones[index].link.disconnected()
        }
        questions = []
        deadline = nil
        server = Self.start(settings, over: disk, life: lives, at: now)
    }

    private mutating func answer(_ sort: QuestionSort, _ answer: Answer) throws(RigFailure) {
        let id = try questions.takeOldest(sort).id
        turn { $0.answered(id, answer) }
    }

    // MARK: What the server does

    /// Performs everything until nothing more follows.
    private mutating func settle() throws(RigFailure) {
        while true {
            let acts = server.takeActs()
            if acts.isEmpty { break }
            for act in acts { try perform(act) }
        }
        if let trouble { throw trouble }
    }

    private mutating func perform(_ act: Act) throws(RigFailure) {
        switch act {
        case .send(let line, let bytes): receive(bytes, over: line)
        case .close(let line, let code): closed(line, code)
        case .respond(let call, let reply): respond(call, reply)
        case .ask(let question):
            questions.append(question)
            seen.append(Observation(.policy, .question(question, now: now)))
        case .withdraw(let id):
            questions.removeAll { $0.id == id }
            seen.append(Observation(.policy, .withdrawn))
        case .tell(let report):
            if report.isForHooks { seen.append(Observation(.policy, .report(report))) }
        case .policyReply(let reply): seen.append(Observation(.policy, .reply(reply)))
        case .commit(let changes, let moment, let ticket):
            disk.begin(changes, at: moment)
            let (changes, result) = disk.finish()
            for case .push(.add(_, let job)) in changes {
                seen.append(Observation(.push, .job(job, now: now)))
            }
            turn { $0.exchange.receive(.answered(ticket, .committed(result, in: 0))) }
        case .find(let query, let ticket):
            let answer = disk.answer(query)
            turn { $0.exchange.receive(.answered(ticket, answer)) }
        case .wake(let moment): deadline = moment
        case .turn: turn { _ in }
        case .open, .reopen: throw RigFailure("the store was away")
        }
    }

    private mutating func closed(_ line: LineID, _ code: CloseCode) {
        guard let index = phones.firstIndex(where: { $0.line == line }) else { return }
        phones[index].line = nil
        _ = phones[index].link.disconnected()
        guard code == .replaced else { return }
        seen.append(Observation(.device(phones[index].address), .closed("replaced")))
    }

    private mutating func receive(_ bytes: [UInt8], over line: LineID) {
        guard let index = phones.firstIndex(where: { $0.line == line }) else { return }
        let address = phones[index].address
        for output in phones[index].link.receive(bytes) {
            switch output {
            case .welcomed(let welcome):
                let sight = Sight.welcome(
                    welcome.calls, viewer: address.user, more: welcome.hasMoreCalls,
                    resumed: welcome.resumed)
                seen.append(Observation(.device(address), sight))
            case .send(let message): turn { $0.message(message, over: line) }
            case .reply(let number, let reply):
                guard let asked = phones[index].asked.removeValue(forKey: number) else { break }
                let sight = reply.sight(of: asked.operation, address.user)
                seen.append(Observation(.device(address), sight))
            case .event(.call(let event)):
                seen.append(Observation(.device(address), .event(event, now: now)))
            case .event(.unknown(let name, _)): trouble = RigFailure("unknown event \(name)")
            case .turnedAway(let refusal): trouble = RigFailure(refusal.message)
            case .violation(let violation): trouble = RigFailure(violation.reason)
            case .lost: break
            }
        }
    }

    private mutating func respond(_ call: HTTPCall, _ reply: HTTPReply) {
        let address = phones[call.phone].address
        guard let operation = phones[call.phone].requests.removeValue(forKey: call.number) else {
            return
        }
        guard let answer = ServerReply(reply) else {
            return trouble = RigFailure("an HTTP response that makes no sense")
        }
        seen.append(Observation(.device(address), answer.sight(of: operation, address.user)))
    }
}

extension ServerReply {
    /// What somebody who asked for `operation` sees.
    public func sight(of operation: Operation, _ viewer: UserID) -> Sight {
        guard case .ok(let value) = self else {
            return .reply(coreReply(for: viewer))
        }
        if case .list = operation {
            let calls = value["calls"]?.array?.compactMap { ServerMessageDecoder().call($0) } ?? []
            return .page(calls, viewer: viewer, more: value["cursor"]?.string != nil)
        }
        if let token = value["token"] { return .reply(.token(token.bytes)) }
        if let items = value["items"]?.object {
            let keys = value["keys"]?.array?.compactMap(\.string) ?? []
            let texts = items.members.map { Call.Item(key: $0.key, value: $0.value.string ?? "") }
            return .reply(.items(texts, keys: keys))
        }
        guard let call = ServerMessageDecoder().call(value["call"]) else { return .reply(.done) }
        let errors = value["errors"]?.array?.compactMap { entry -> InviteeError? in
            guard let user = entry["user"]?.string, let code = entry["code"]?.string else {
                return nil
            }
            return InviteeError.Code(rawValue: code).map { InviteeError(UserID(user), $0) }
        }
        return .reply(.callWithErrors(call, viewer: viewer, errors: errors ?? []))
    }
}
