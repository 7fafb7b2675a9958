// What holds after every step, and when everything has come to rest.

import AgentCore
import CallCore
import CallModel
import CallWire

extension World {
    /// What holds after every step.
    mutating func check() throws(RigFailure) {
        guard let server, now >= stalledUntil, server.exchange.isReady else { return }
        if let deadline = server.exchange.switchboard.nextDeadline,
            armed.map({ $0 > max(deadline, now) }) ?? true
        {
            throw RigFailure("nothing happens at the deadline \(deadline)")
        }
        guard !isChecked, server.isSettled else { return }
        isChecked = true
        let board = server.exchange.switchboard
        let informed = Set(hearings.values.filter { $0.session != nil }.map(\.address))
        try told.compare(
            with: board, connected: phones.map(\.address).filter { informed.contains($0) })
        let calls = board.liveCalls
        for user in actions.users { try check(user, in: calls, of: board) }
        for phone in phones {
            let address = phone.address
            let isThere = board.addresses(of: address.user).contains(address)
            guard isThere == (server.desk.sessions[address] != nil) else {
                throw RigFailure("\(address) \(isThere ? "is" : "is not") there, by its calls")
            }
        }
        for call in calls where disk.call(call.id)?.withoutDecisions != call.withoutDecisions {
            throw RigFailure("the store does not hold \(call) as it is")
        }
        guard Set(board.unanswered) == openQuestions else {
            throw RigFailure("the policies have other questions than \(board.unanswered)")
        }
        guard openQuestions.isEmpty, lookUps == 0 else { return }
        if pluginRequests > 0, now - pluginAskedAt > 10_000 {
            throw RigFailure("a plugin has no answer to what it asked for")
        }
        for hearing in hearings.values {
            for asked in hearing.unanswered(before: now + -10_000) {
                throw RigFailure("\(hearing.address) has no answer to \(asked.operation)")
            }
        }
    }

    private func check(
        _ user: UserID, in calls: [Call], of board: Switchboard
    ) throws(RigFailure) {
        let count = calls.count { call in
            guard let part = call.participant(user), part.state.isLive else { return false }
            return part.state != .joined || !board.isLost(part)
        }
        guard board.facts(of: user).calls == count else {
            throw RigFailure("\(user) counts as in another number of calls than \(count)")
        }
    }

    /// Faults and people stop; everything settles. Then phones and server agree, and later every
    /// call has reached its end.
    mutating func comeToRest() throws(RigFailure) {
        faults = Faults()
        isQuiet = true
        for phone in phones.indices { phones[phone].isOffUntil = now }
        for phone in phones.indices where phones[phone].line == nil {
            plan(.connect(phone: phone), within: 0...1_000)
        }
        try run(until: now + 200_000)
        try checkAgreement()
        try run(until: now + settings.callAgeMax + 60_000)
        try checkAgreement()
        let board = server?.exchange.switchboard
        guard board?.liveCallCount == 0, board?.unanswered == [] else {
            throw RigFailure("a call never ends: \(board?.liveCalls ?? [])")
        }
    }

    private func checkAgreement() throws(RigFailure) {
        guard let server, server.isSettled else { throw RigFailure("the server has not settled") }
        let open = phones.filter { $0.link.isOpen && $0.line != nil }
        guard open.count == phones.count(where: { !$0.isBanned }) else {
            let absent = phones.filter { !$0.isBanned && !($0.link.isOpen && $0.line != nil) }
            throw RigFailure("\(absent.map(\.address)) cannot connect")
        }
        try understood.compare(
            with: server.exchange.switchboard, connected: open.map(\.address))
    }
}
