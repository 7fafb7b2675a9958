// The bare core as a rig: a switchboard, a store in memory, and nothing between them.

import CallCore
import CallModel

/// Plays scenarios on a switchboard alone. It performs the effects as a shell has to, and refuses
/// those that no shell could perform.
public struct CoreRig: Rig {
    /// All but a network: there is none.
    public let abilities: Abilities = [.virtualTime, .policies, .restarts, .pushes]

    private var board: Switchboard
    private var store = RecordStore()
    private var now = Moment(1_800_000_000_000)
    private var devices: [Address: Session] = [:]
    private var asked: [RequestID: Address?] = [:]
    private var lastRequest: UInt64 = 0
    private var isResuming = false
    private var questions: [Question] = []
    private var keptReplies: [Reply] = []
    private var seen: [Observation] = []
    private var pending: [Input] = []

    /// A device's session, with what it missed while its connection was cut.
    private enum Session {
        case connected
        case cut(missed: [CallEvent])
    }

    /// The switchboard as it stands.
    public var switchboard: Switchboard { board }
    /// What the store holds.
    public var stored: RecordStore { store }
    /// The rig's clock.
    public var moment: Moment { now }
    /// What the policies are asked and have not answered.
    public var openQuestions: [QuestionSort] { questions.map(\.sort) }
    /// The devices with a live connection, in order of their names.
    public var connected: [Address] {
        devices.filter { if case .connected = $0.value { true } else { false } }
            .map(\.key).sorted { ($0.user.text, $0.device.text) < ($1.user.text, $1.device.text) }
    }

    /// Whether a device's connection is cut and its session may be resumed.
    public func isCut(_ device: Address) -> Bool {
        if case .cut = devices[device] { true } else { false }
    }

    /// A rig with an empty store.
    public init(settings: Settings = Settings()) {
        board = Switchboard(settings: settings, seed: 1, at: now)
    }

    /// Does one thing, and tells what everybody saw of it.
    public mutating func perform(_ action: Action) throws(RigFailure) -> [Observation] {
        seen = []
        switch action {
        case .request(let device, let operation, let key):
            var request = Request(
                id: newRequest(device), user: device.user, device: device.device,
                key: key.map { IdempotencyKey($0, bodyHash: hash("\(operation)")) },
                operation: operation)
            if case .connected = devices[device] {} else { request.standsAlone = true }
            try handle(.request(request))
        case .connect(let device, let resuming): try connect(device, resuming: resuming)
        case .disconnect(let device): try disconnect(device)
        case .forget(let device):
            devices[device] = nil
            try handle(.deviceGone(device.user, device.device, bye: false))
        case .bye(let device):
            devices[device] = nil
            try handle(.deviceGone(device.user, device.device, bye: true))
        case .pass(let time): try pass(time)
        case .restart(let pause):
            now = now + pause
            try restart()
        case .answer(let sort, let answer): try self.answer(sort, answer)
        case .think(let sort): try handle(.thinking(try questions.newest(sort).id))
        case .policyRequest(let user, let operation):
            let request = newRequest(nil)
            try handle(.policyRequest(request, user, plugin: "plugin", operation))
        case .setting(let name, let values):
            var settings = board.settings
            try settings.change(name, to: values)
            try handle(.configured(settings))
        }
        try check()
        return seen
    }

    private mutating func newRequest(_ device: Address?) -> RequestID {
        lastRequest += 1
        asked[RequestID(lastRequest)] = .some(device)
        return RequestID(lastRequest)
    }

    private mutating func handle(_ input: Input) throws(RigFailure) {
        pending.append(input)
        while !pending.isEmpty {
            for effect in board.handle(pending.removeFirst(), at: now) { try perform(effect) }
        }
    }

    // MARK: Devices

    private mutating func connect(_ device: Address, resuming: Bool) throws(RigFailure) {
        let session = devices[device]
        devices[device] = .connected
        var missed: [CallEvent] = []
        if resuming {
            guard case .cut(let events) = session else {
                throw RigFailure("\(written(device)) has no session to resume")
            }
            missed = events
        }
        isResuming = resuming
        try handle(
            .deviceConnected(newRequest(device), device.user, device.device, resumed: resuming))
        for event in missed { seen.append(Observation(.device(device), .event(event, now: now))) }
    }

    private mutating func disconnect(_ device: Address) throws(RigFailure) {
        guard case .connected = devices[device] else {
            throw RigFailure("\(written(device)) is not connected")
        }
        devices[device] = .cut(missed: [])
        try handle(.deviceDisconnected(device.user, device.device))
    }

    // MARK: Time and restarts

    private mutating func pass(_ time: Milliseconds) throws(RigFailure) {
        let end = now + time
        while let next = board.nextDeadline, next <= end {
            now = max(now, next)
            try handle(.deadlineReached)
        }
        now = end
        try handle(.deadlineReached)
    }

    private mutating func restart() throws(RigFailure) {
        for device in devices.keys { devices[device] = nil }
        asked = [:]
        questions = []
        board = Switchboard(settings: board.settings, seed: lastRequest, at: now)
        for effect in board.restore(store.restored, at: now) { try perform(effect) }
    }

    // MARK: Effects

    private mutating func perform(_ effect: Effect) throws(RigFailure) {
        switch effect {
        case .persist(let records): for record in records { try store(record) }
        case .reply(let request, let reply): try see(request, reply)
        case .welcome(let request, let calls, let more):
            let device = try takeAsker(request)
            let sight = Sight.welcome(
                calls, viewer: device?.user ?? UserID(""), more: more, resumed: isResuming)
            if let device { seen.append(Observation(.device(device), sight)) }
        case .send(let receivers, let event):
            for receiver in receivers { try send(event, to: receiver) }
        case .replace(let device):
            devices[device] = nil
            seen.append(Observation(.device(device), .closed("replaced")))
        case .consult(let question):
            questions.append(question)
            seen.append(Observation(.policy, .question(question, now: now)))
        case .withdraw(let id):
            guard questions.contains(where: { $0.id == id }) else {
                throw RigFailure("a question is withdrawn that is not open")
            }
            questions.removeAll { $0.id == id }
            seen.append(Observation(.policy, .withdrawn))
        case .tell(let report):
            if report.isForHooks { seen.append(Observation(.policy, .report(report))) }
        case .recall(let id): pending.append(.recalled(id, store[id]))
        case .recallKey(let user, let key):
            pending.append(.recalledKey(user, key: key, kept(user, key)))
        case .list(let request, let user, let query):
            guard let device = try takeAsker(request) else { return }
            let page = store.page(query, for: user)
            seen.append(
                Observation(.device(device), .page(page.calls, viewer: user, more: page.more)))
        }
    }

    private mutating func store(_ record: Record) throws(RigFailure) {
        if case .call(let call) = record, let before = store[call.id],
            call.revision < before.revision
        {
            throw RigFailure("the revision of a call fell to \(call.revision)")
        }
        if case .push(let job) = record {
            seen.append(Observation(.push, .job(job, now: now)))
        }
        store.apply(record)
    }

    private mutating func takeAsker(_ request: RequestID) throws(RigFailure) -> Address? {
        guard let asker = asked.removeValue(forKey: request) else {
            throw RigFailure("a request is answered that nobody made, or twice")
        }
        return asker
    }

    private mutating func see(_ request: RequestID, _ reply: Reply) throws(RigFailure) {
        var reply = reply
        if case .kept(let bytes) = reply, let index = Int(String(decoding: bytes, as: UTF8.self)) {
            reply = keptReplies[index]
        }
        guard let device = try takeAsker(request) else {
            return seen.append(Observation(.policy, .reply(reply)))
        }
        seen.append(Observation(.device(device), .reply(reply)))
    }

    private mutating func send(_ event: CallEvent, to device: Address) throws(RigFailure) {
        switch devices[device] {
        case .connected: seen.append(Observation(.device(device), .event(event, now: now)))
        case .cut(let missed): devices[device] = .cut(missed: missed + [event])
        case nil: throw RigFailure("\(written(device)) is sent an event but not there")
        }
    }

    /// The rig keeps replies as places in a list: it has no wire to write them on.
    private mutating func kept(_ user: UserID, _ key: String) -> KeptReply? {
        guard let record = store.kept(user, key) else { return nil }
        keptReplies.append(record.reply)
        return KeptReply(
            bodyHash: record.key.bodyHash, reply: Array("\(keptReplies.count - 1)".utf8))
    }

    private mutating func answer(_ sort: QuestionSort, _ answer: Answer) throws(RigFailure) {
        try handle(.answered(try questions.takeOldest(sort).id, answer))
    }

    // MARK: Checks

    /// What holds after every action.
    private func check() throws(RigFailure) {
        for call in board.liveCalls
        where store[call.id]?.withoutDecisions != call.withoutDecisions {
            throw RigFailure("the store does not hold \(call) as it is")
        }
        if let next = board.nextDeadline, next < now {
            throw RigFailure("a deadline of \(next) did not fire by \(now)")
        }
    }
}

extension Call {
    /// The call without what is still to be decided: a decision on its way to be carried out is
    /// not stored, because after a restart the question is asked again.
    var withoutDecisions: Call {
        var call = self
        for index in call.participants.indices {
            call.participants[index].asking = .nothing
            call.participants[index].policyAlarm = nil
        }
        return call
    }
}

/// FNV-1a.
private func hash(_ text: String) -> UInt64 {
    text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
}
