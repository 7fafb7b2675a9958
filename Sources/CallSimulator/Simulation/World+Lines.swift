// Connections between phones and the server, which break.

import CallModel
import CallWire

extension World {
    mutating func connect(_ phone: Int) {
        guard phones[phone].line == nil, !phones[phone].isBanned else { return }
        guard server != nil else { return plan(.connect(phone: phone), within: 500...5_000) }
        guard phones[phone].isOffUntil <= now else {
            return queue.plan(.connect(phone: phone), at: phones[phone].isOffUntil)
        }
        lastLine += 1
        let id = LineID(number: lastLine)
        lines[id] = Line(phone: phone, life: life, lastToServer: now, lastToPhone: now)
        phones[phone].line = id
        hearings[id] = Hearing(phones[phone])
        let token = phones[phone].token
        send(phones[phone].link.connected(token: token), toServerOver: id)
    }

    mutating func send(_ bytes: [UInt8], toServerOver id: LineID) {
        guard let line = lines[id], !line.isDead else { return }
        let at = max(line.lastToServer, now + Milliseconds.random(in: 1...200, using: &dice))
        lines[id]?.lastToServer = at
        queue.plan(.toServer(id, bytes), at: at)
        breakSomething(id)
    }

    mutating func send(_ bytes: [UInt8], toPhoneOver id: LineID) {
        guard let line = lines[id], !line.isDead else { return }
        let at = max(line.lastToPhone, now + Milliseconds.random(in: 1...200, using: &dice))
        lines[id]?.lastToPhone = at
        queue.plan(.toPhone(id, bytes), at: at)
        breakSomething(id)
    }

    mutating func breakSomething(_ id: LineID) {
        if hits(faults.cutLine) { cut(id) }
        guard hits(faults.swizzle) else { return }
        let alive = lines.filter { !$0.value.isDead }.keys.sorted { $0.number < $1.number }
        for line in alive where actions.flip(1, in: 2) { cut(line) }
    }

    /// What is under way on the line is lost; both ends notice later, each in its own time.
    mutating func cut(_ id: LineID) {
        guard lines[id]?.isDead == false else { return }
        lines[id]?.isDead = true
        plan(.lostAtPhone(id, nil), within: 0...4_000)
        // Either the network says so soon, or the server notices the silence.
        let isSilent = actions.flip(1, in: 2)
        plan(
            .lostAtServer(id, silentSince: isSilent ? now : nil),
            within: isSilent ? 25_000...33_000 : 0...3_000)
    }

    /// The server closes a line: what it sent before still arrives.
    mutating func close(_ id: LineID, _ code: CloseCode) {
        hearings[id] = nil
        guard let line = lines[id], !line.isDead, !line.isClosed else { return }
        lines[id]?.isClosed = true
        queue.plan(.lostAtPhone(id, code), at: max(line.lastToPhone, now + 1))
    }

    mutating func toServer(_ id: LineID, _ bytes: [UInt8]) {
        guard let line = lines[id], !line.isDead, !line.isClosed, line.life == life else { return }
        if hits(faults.stall) {
            stalledUntil = now + actions.pick([500, 5_000, 70_000])
            return queue.plan(.toServer(id, bytes), at: stalledUntil)
        }
        if hits(faults.crash) { actsLeft = actions.pick([0, 1, 2, 3, 5, 8]) }
        if !bytes.starts(with: Self.acknowledgement) { noteArrival(of: phones[line.phone]) }
        hearings[id]?.arrive(bytes, at: now)
        turn { $0.message(bytes, over: id) }
    }

    private static let acknowledgement = Array("{\"ack\"".utf8)

    mutating func toPhone(_ id: LineID, _ bytes: [UInt8]) throws(RigFailure) {
        guard let line = lines[id], !line.isDead, phones[line.phone].line == id else { return }
        for output in phones[line.phone].link.receive(bytes) {
            try handle(output, of: line.phone, over: id)
        }
        guard let acknowledgement = phones[line.phone].link.acknowledgement() else { return }
        send(acknowledgement, toServerOver: id)
    }

    mutating func lostAtPhone(_ id: LineID, _ code: CloseCode?) {
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
