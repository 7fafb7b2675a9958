// The simulated server as a rig: the same scenarios, as bytes through the wire's machines.

import CallCore
import CallModel
import CallWire
import JSON

/// Plays scenarios on the simulated server: every request, reply and event is encoded, carried and
/// decoded. What goes wrong before each action nobody may notice.
public struct SimulatorRig: Rig {
    /// What goes wrong.
    public enum Trouble: Sendable {
        case nothing
        /// Every idle connection breaks and resumes.
        case lines
        /// The server dies and starts again, and every device says hello anew.
        case server
    }

    public let abilities: Abilities = [.virtualTime, .policies, .restarts, .pushes]

    private let wrong: Trouble
    private var settings: Settings
    private var server: SimulatedServer
    private var disk = SimulatedDisk()
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
        server = SimulatedServer(settings, life: 1, seed: 1, canary: nil, at: now)
    }

    public mutating func perform(_ action: Action) throws(RigFailure) -> [Observation] {
        switch wrong {
        case .nothing: break
        case .lines: try breakEveryLine()
        case .server: try crash()
        }
        seen = []
        server.moved(to: now)
        switch action {
        case .request(let device, let operation, let key): ask(device, operation, key)
        case .connect(let device, let resuming): try connect(device, resuming: resuming)
        case .disconnect(let device): try disconnect(device)
        case .forget(let device): server.expire(device, disk)
        case .bye(let device): sayBye(device)
        case .pass(let time): try pass(time)
        case .restart(let pause): try restart(after: pause)
        case .answer(let sort, let answer): try self.answer(sort, answer)
        case .think(let sort):
            server.thinking(try questions.newest(sort).id, at: now, disk)
        case .policyRequest(let user, let operation):
            server.policyRequest(user, operation, disk)
        case .setting(let name, let values):
            try settings.change(name, to: values)
            server.configure(settings, disk)
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
        server.message(hello, over: line, at: now, disk)
    }

    private mutating func disconnect(_ device: Address) throws(RigFailure) {
        guard let index = place(of: device), let line = phones[index].line else {
            throw RigFailure("\(written(device)) is not connected")
        }
        phones[index].line = nil
        _ = phones[index].link.disconnected()
        server.lost(line, at: now, disk)
    }

    private mutating func sayBye(_ device: Address) {
        guard let index = place(of: device), let line = phones[index].line else { return }
        server.message(phones[index].link.bye(), over: line, at: now, disk)
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
            phones[index].asked[number] = operation
            if let message { server.message(message, over: line, at: now, disk) }
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
        server.request(call, from: device, disk)
    }

    // MARK: Time and restarts

    private mutating func pass(_ time: Milliseconds) throws(RigFailure) {
        let end = now + time
        while let next = server.board.nextDeadline, next <= end {
            now = max(now, next)
            server.timer(at: now, disk)
            try settle()
        }
        now = end
        server.timer(at: now, disk)
        server.keepHouse(at: now, disk)
    }

    private mutating func restart(after pause: Milliseconds) throws(RigFailure) {
        now = now + pause
        lives += 1
        for index in phones.indices {
            phones[index].line = nil
            _ = phones[index].link.disconnected()
        }
        questions = []
        server = SimulatedServer(
            settings, life: lives, seed: UInt64(lives), canary: nil, at: now)
        server.start(from: disk)
    }

    private mutating func answer(_ sort: QuestionSort, _ answer: Answer) throws(RigFailure) {
        server.answered(try questions.takeOldest(sort).id, answer, at: now, disk)
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

    private mutating func perform(_ act: SimulatedServer.Act) throws(RigFailure) {
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
        case .push(let job): seen.append(Observation(.push, .job(job, now: now)))
        case .commit(let records):
            disk.begin(records)
            disk.finish()
            server.committed(at: now, disk)
        case .find(let query):
            server.loaded(disk.durable.live(query), for: query, at: now, disk)
        case .observed, .accepted: break
        case .wrong(let what): throw RigFailure(what)
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
            case .send(let message): server.message(message, over: line, at: now, disk)
            case .reply(let number, let reply):
                guard let operation = phones[index].asked.removeValue(forKey: number) else {
                    break
                }
                seen.append(Observation(.device(address), reply.sight(of: operation, address.user)))
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
        guard let operation = phones[call.phone].requests.removeValue(forKey: call.number),
            let value = try? JSONValue(parsing: reply.body)
        else { return }
        let message: JSONValue =
            reply.status == 200
            ? .object(["re": .integer(1), "ok": value])
            : .object(["re": .integer(1), "error": value["error"] ?? .null])
        guard case .reply(_, let decoded) = try? ServerMessageDecoder().message(message.bytes)
        else { return trouble = RigFailure("an HTTP response that makes no sense") }
        seen.append(Observation(.device(address), decoded.sight(of: operation, address.user)))
    }
}

extension ServerReply {
    /// What somebody who asked for `operation` sees.
    public func sight(of operation: Operation, _ viewer: UserID) -> Sight {
        guard case .ok(let value) = self else {
            return .reply(reply(to: operation, viewer: viewer))
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
