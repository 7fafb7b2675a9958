// What leaves the server, looked at before the network has it.

import AgentCore
import CallModel
import CallWire
import JSON

/// What the server has said over one line.
struct Hearing {
    let address: Address
    let rights: SimulatedPhone.Rights
    /// The session that it speaks in, once it has answered `hello` well.
    private(set) var session: SessionID?
    private var hasAnswered = false
    /// Requests that were sent over the line and not answered.
    var asked: [Int64: SimulatedRequest] = [:]
    /// Those of an earlier session: what is kept for them may show a call as it no longer is.
    var stale: Set<Int64> = []
    /// When those of them came to the server that did.
    private(set) var arrived: [Int64: Moment] = [:]
    /// When `hello` did.
    private(set) var greetedAt: Moment?
    /// Whether one of them is `bye`.
    var saysBye = false
    private var lastSeq: UInt64?
    private var lastEvent: CallEvent?

    init(_ phone: SimulatedPhone) {
        address = phone.address
        rights = phone.rights
    }

    /// A message comes to the server.
    mutating func arrive(_ message: [UInt8], at now: Moment) {
        greetedAt = greetedAt ?? now
        let number = message.dropFirst(6).prefix { $0 >= 0x30 && $0 <= 0x39 }
        guard let number = Int64(String(decoding: number, as: UTF8.self)) else { return }
        arrived[number] = now
    }

    /// What came to the server before `moment` and was not answered.
    func unanswered(before moment: Moment) -> [SimulatedRequest] {
        asked.filter { arrived[$0.key].map { $0 < moment } ?? false }.map(\.value)
    }

    /// An event is sent.
    mutating func hear(_ event: CallEvent, _ seq: UInt64) throws(RigFailure) {
        guard session != nil else {
            throw RigFailure("\(address) is sent an event before a welcome")
        }
        if let lastSeq, seq != lastSeq + 1 {
            throw RigFailure("\(address) is sent event \(seq) after event \(lastSeq)")
        }
        if event == lastEvent, event.kind.isToldOnce {
            throw RigFailure("\(address) is told \(event.kind) twice")
        }
        (lastSeq, lastEvent) = (seq, event)
    }

    /// Whether the reply is the first one, to `hello`.
    mutating func isGreeting() -> Bool {
        defer { hasAnswered = true }
        return !hasAnswered
    }

    /// `hello` is answered well.
    mutating func greet(_ welcome: Welcome) { session = welcome.session }

    /// What the answer `re` belongs to; nil: to `bye`.
    mutating func takeAsked(_ re: MessageID?) throws(RigFailure) -> SimulatedRequest? {
        if case .integer(let number) = re, let one = asked.removeValue(forKey: number) {
            return one
        }
        guard saysBye else {
            throw RigFailure("\(address) is answered what it did not ask, or twice")
        }
        saysBye = false
        return nil
    }
}

extension CallEvent.Kind {
    /// Whether two that are the same mean that a device was told twice. Who says something twice is
    /// told on twice.
    fileprivate var isToldOnce: Bool {
        switch self {
        case .created, .incoming, .changed, .timedOut, .cancelled, .ended, .failed, .transferred,
            .removed:
            true
        default: false
        }
    }
}

extension World {
    /// A message leaves over a line.
    mutating func hear(_ bytes: [UInt8], over id: LineID) throws(RigFailure) {
        guard var hearing = hearings[id] else { return }
        let address = hearing.address
        let message: ServerMessage
        do throws(ProtocolViolation) {
            message = try ServerMessageDecoder().message(bytes)
        } catch {
            throw RigFailure("\(address) is sent what is no message: \(error.reason)")
        }
        switch message {
        case .event(let seq, .call(let event)):
            try checkIsDurable(event.callID, event.revision, "an event")
            try hearing.hear(event, seq)
            // What is replayed was told before, though it may not have arrived.
            guard seq > lastTold[address, default: 0] else { break }
            lastTold[address] = seq
            try note(.event(event, now: now), address)
        case .event(_, .unknown(let name, _)):
            throw RigFailure("\(address) is told of an unknown event \(name)")
        case .reply(_, let reply) where hearing.isGreeting():
            guard case .ok(let value) = reply, let welcome = ServerMessageDecoder().welcome(value)
            else { break }
            hearing.greet(welcome)
            try greet(hearing, welcome)
        case .reply(let re, let reply):
            guard let asked = try hearing.takeAsked(re) else { break }
            var isStale = false
            if case .integer(let number) = re { isStale = hearing.stale.contains(number) }
            try hear(reply, to: asked, by: address, hearing.rights, isStale: isStale)
        }
        hearings[id] = hearing
    }

    /// An answer over HTTP leaves.
    mutating func hear(_ reply: HTTPReply, to call: HTTPCall) throws(RigFailure) {
        let phone = phones[call.phone]
        guard let operation = phone.requests[call.number], let reply = ServerReply(reply) else {
            return
        }
        let isStale = !hearings.values.contains {
            $0.address == phone.address && $0.session != nil && $0.session == call.session
        }
        try hear(
            reply, to: SimulatedRequest(operation: operation, key: call.key), by: phone.address,
            phone.rights, isStale: isStale)
    }

    private mutating func greet(_ hearing: Hearing, _ welcome: Welcome) throws(RigFailure) {
        let address = hearing.address
        if !welcome.resumed { lastTold[address] = 0 }
        for call in welcome.calls { try checkIsDurable(call.id, call.revision, "a welcome") }
        try note(
            .welcome(
                welcome.calls, viewer: address.user, more: welcome.hasMoreCalls,
                resumed: welcome.resumed), address)
        guard !welcome.hasMoreCalls else { return }
        // Whoever was in a call before is shown it. An invitee counts only if invited before the
        // start: after it their policies may still be asked.
        for call in disk.liveCalls(of: address.user) {
            guard let part = call.participant(address.user), part.state.isLive, part.isVisible,
                !welcome.calls.contains(where: { $0.id == call.id })
            else { continue }
            let since = part.state == .joined ? part.answeredAt ?? now : part.invitedAt
            let before = part.state == .joined ? hearing.greetedAt ?? startedAt : startedAt
            guard since < before else { continue }
            throw RigFailure("\(address) is not shown \(call.id), which lives since before")
        }
    }

    private mutating func hear(
        _ reply: ServerReply, to asked: SimulatedRequest, by address: Address,
        _ rights: SimulatedPhone.Rights, isStale: Bool
    ) throws(RigFailure) {
        let seen = reply.coreReply(for: address.user)
        if let call = seen.call { try checkIsDurable(call.id, call.revision, "a reply") }
        try checkRights(reply, asked, address, rights)
        if let key = asked.key, !asked.operation.isReading, reply.isKept {
            // Its key is its own: no other device has it.
            let name = "\(address.user) \(key)"
            if let first = firstAnswers[name] {
                if first == reply { return }
                throw RigFailure("\(address) has another answer under its key than the first one")
            }
            firstAnswers[name] = reply
        }
        if !isStale { try note(.reply(seen), address) }
        guard case .call(_, .accept, _) = asked.operation,
            let me = seen.call?.participant(address.user), let id = seen.call?.id
        else { return }
        let acceptance = Acceptance(call: id, user: me.user, invitedAt: me.invitedAt)
        if let before = accepted[acceptance], before == nil || before != asked.key {
            throw RigFailure("\(me.user) has accepted \(id) twice")
        }
        accepted.updateValue(asked.key, forKey: acceptance)
    }

    private func checkRights(
        _ reply: ServerReply, _ asked: SimulatedRequest, _ address: Address,
        _ rights: SimulatedPhone.Rights
    ) throws(RigFailure) {
        var code: Refusal.Code?
        if case .error(let refusal) = reply { code = refusal.code }
        let isForbidden = rights == .countedWithoutEnding && asked.operation.name == .end
        if isForbidden, code != .forbidden, code != .unavailable, code != .rateLimited {
            throw RigFailure("\(address) does what its token does not allow")
        }
        if !isForbidden, code == .forbidden {
            throw RigFailure("\(address) may not do what its token allows")
        }
        guard case .error(let refusal) = reply, refusal.message == "too many requests" else {
            return
        }
        let recent = arrivals[address.user, default: []].count { now - $0 <= 3_000 }
        if recent <= Self.requestsPerSecond {
            throw RigFailure("\(address.user) has to wait after \(recent) requests")
        }
    }

    /// A request of a phone comes to the server.
    mutating func noteArrival(of phone: SimulatedPhone) {
        let now = now
        arrivals[phone.address.user, default: []].removeAll { now - $0 > 10_000 }
        arrivals[phone.address.user, default: []].append(now)
    }

    private func checkIsDurable(
        _ id: CallID, _ revision: UInt32, _ what: String
    ) throws(RigFailure) {
        if disk.revision(of: id) < revision {
            throw RigFailure("\(what) leaves before it is durable")
        }
    }

    private mutating func note(_ sight: Sight, _ address: Address) throws(RigFailure) {
        let observation = Observation(.device(address), sight)
        actions.note(observation)
        calls.formUnion(sight.callIDs)
        try told.see(observation)
    }
}

extension ServerReply {
    /// The answer that a response over HTTP is; nil: it is none.
    init?(_ response: HTTPReply) {
        guard let value = try? JSONValue(parsing: response.body) else { return nil }
        guard response.status != 200 else {
            self = .ok(value)
            return
        }
        let message = JSONValue.object(["re": .integer(1), "error": value["error"] ?? value])
        guard case .reply(_, let reply) = try? ServerMessageDecoder().message(message.bytes) else {
            return nil
        }
        self = reply
    }

    /// Whether it is kept under a key (B25).
    fileprivate var isKept: Bool {
        if case .error(let refusal) = self { refusal.code.isKept } else { true }
    }
}
