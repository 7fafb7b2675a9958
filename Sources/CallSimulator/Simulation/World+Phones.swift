// Phones, and the people who use them.

import CallModel
import CallWire
import JSON

extension World {
    mutating func handle(
        _ output: ServerLink.Output, of phone: Int, over line: LineID
    ) throws(RigFailure) {
        let address = phones[phone].address
        switch output {
        case .welcomed(let welcome):
            // They are sent again, and answered over this line.
            hearings[line]?.asked = phones[phone].asked
            if !welcome.resumed { hearings[line]?.stale = Set(phones[phone].asked.keys) }
            if !welcome.resumed { phones[phone].stale = Set(phones[phone].asked.keys) }
            try understand(
                .welcome(
                    welcome.calls, viewer: address.user, more: welcome.hasMoreCalls,
                    resumed: welcome.resumed), phone)
        case .send(let bytes): send(bytes, toServerOver: line)
        case .reply(let number, let reply):
            guard phones[phone].asked.removeValue(forKey: number) != nil,
                phones[phone].stale.remove(number) == nil
            else { return }
            try understand(.reply(reply.coreReply(for: address.user)), phone)
        case .lost(let number): phones[phone].asked[number] = nil
        case .event(.call(let event)): try understand(.event(event, now: now), phone)
        case .event(.unknown(let name, _)):
            throw RigFailure("\(address) is told of an unknown event \(name)")
        case .turnedAway(let refusal):
            if refusal.code == .unavailable { return }
            throw RigFailure("\(address) is turned away: \(refusal.message)")
        case .violation(let violation): throw RigFailure("\(address): \(violation.reason)")
        }
    }

    mutating func understand(_ sight: Sight, _ phone: Int) throws(RigFailure) {
        try understood.see(Observation(.device(phones[phone].address), sight))
    }

    /// A person picks a phone up.
    mutating func act(_ phone: Int) {
        guard !isQuiet else { return }
        plan(.act(phone: phone), within: 200...6_000)
        if phones[phone].isBanned, actions.flip(1, in: 4) { return reinstall(phone) }
        switch Int.random(in: 0..<100, using: &dice) {
        case 0..<2: sayBye(phone)
        case 2..<4: if let line = phones[phone].line { cut(line) }
        case 4..<5: reinstall(phone)
        case 5: switchOff(phone)
        case 6..<20: ask(phone, overHTTP: true)
        default: if phones[phone].line != nil { ask(phone, overHTTP: false) }
        }
    }

    mutating func sayBye(_ phone: Int) {
        guard let line = phones[phone].line, phones[phone].link.isOpen else { return }
        hearings[line]?.saysBye = true
        send(phones[phone].link.bye(), toServerOver: line)
        understood.forget(phones[phone].address)
    }

    /// The phone is away for longer than its session is kept.
    mutating func switchOff(_ phone: Int) {
        phones[phone].isOffUntil = now + Milliseconds.random(in: 125_000...300_000, using: &dice)
        if let line = phones[phone].line { cut(line) }
    }

    /// The app begins anew: it knows nothing of its session.
    mutating func reinstall(_ phone: Int) {
        if let line = phones[phone].line { cut(line) }
        let address = phones[phone].address
        // An answer that is still under way must not be taken for that of a new request.
        let last = phones[phone].lastRequest
        phones[phone] = SimulatedPhone(address, index: phone, phones[phone].rights)
        phones[phone].lastRequest = last
        understood.forget(address)
        plan(.connect(phone: phone), within: 100...10_000)
    }

    mutating func ask(_ phone: Int, overHTTP: Bool) {
        let operation = sensibleOperation(phone)
        let key = "\(phones[phone].address.device)-\(steps)"
        if overHTTP { return post(operation, phone, key: key) }
        let isKeyed = actions.flip(2, in: 3)
        let asked = SimulatedRequest(operation: operation, key: isKeyed ? key : nil)
        let (number, message) = phones[phone].link.request(operation, key: asked.key)
        phones[phone].asked[number] = asked
        guard let message, let line = phones[phone].line else { return }
        hearings[line]?.asked[number] = asked
        send(message, toServerOver: line)
    }

    /// What a person would do with what the phone shows; now and then anything at all.
    mutating func sensibleOperation(_ phone: Int) -> Operation {
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

    mutating func post(_ operation: Operation, _ phone: Int, key: String) {
        phones[phone].lastRequest += 1
        let number = phones[phone].lastRequest
        phones[phone].requests[number] = operation
        send(
            HTTPCall(
                phone: phone, number: number, attempt: 1, name: operation.name,
                body: RequestEncoder().body(operation), key: key,
                session: phones[phone].link.session))
    }

    mutating func send(_ call: HTTPCall) {
        plan(.impatience(call), within: 5_000...5_000)
        if !hits(faults.lostHTTP) { plan(.request(call), within: 1...1_000) }
        if hits(faults.doubledHTTP) { plan(.request(call), within: 1...4_000) }
    }

    mutating func request(_ call: HTTPCall) {
        let phone = phones[call.phone]
        noteArrival(of: phone)
        turn { $0.request(call, by: phone.asker) }
    }

    mutating func response(_ call: HTTPCall, _ reply: HTTPReply) throws(RigFailure) {
        // Whoever is told to come again does, when it is tired of waiting.
        guard reply.status != 503 else { return }
        guard phones[call.phone].requests.removeValue(forKey: call.number) != nil,
            reply.status == 200, phones[call.phone].link.isOpen,
            phones[call.phone].link.session == call.session
        else { return }
        // What an app learns over HTTP it could show: it must fit what its session says.
        guard case .ok(let value) = ServerReply(reply),
            let shown = ServerMessageDecoder().call(value["call"])
        else { return }
        try understand(.reply(.call(shown, viewer: phones[call.phone].address.user)), call.phone)
    }

    mutating func impatient(_ call: HTTPCall) {
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
