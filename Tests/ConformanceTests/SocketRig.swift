// The real server over real sockets as a rig.

import AgentCore
import CallClient
import CallClientCore
import CallCore
import CallModel
import CallSimulator
import CallWire
import EventLoop
import JSON
import Storage
import TestSupport

@testable import AgentServer

/// Plays scenarios on the server's own exchange and gateway and its SQLite store with the two
/// threads of production, with the Swift client on the other ends of TCP connections. Its clock
/// stands still until a scenario lets time pass. The policies are the scenario's, so the policy
/// thread has no part in it.
final class SocketRig: Rig {
    /// Where the phones connect.
    enum Way: Sendable, CaseIterable {
        /// To the server.
        case direct
        /// To another node of its cluster, which brings them over its link.
        case frontEnd
    }

    let abilities: Abilities = [.virtualTime, .policies, .restarts, .pushes]

    private let waiter: LoopWaiter
    private let folder = TemporaryFolder()
    private let directory: StateDirectory
    private var listener: Listener?
    private var server: ServerLife
    private var front: FrontNode?
    private var earlier: [ServerLife] = []
    private var settings = Settings()
    private var now: Moment
    private var phones: [Address: Phone] = [:]
    /// Replaced phones: a client is not dropped while its loop lives.
    private var retired: [Phone] = []
    private var seen: [Observation] = []
    private var trouble: RigFailure?

    private final class Phone {
        let address: Address
        var client: CallClient?

        init(_ address: Address) { self.address = address }
    }

    init(_ way: Way) throws {
        waiter = try LoopWaiter()
        directory = try StateDirectory(claiming: folder.path)
        // Ahead of the wall clock, by which a life begins before it is told to stand.
        now = Moment(Clock.wallMilliseconds() + 3_600_000)
        server = try ServerLife(settings, in: directory, at: now, on: waiter.loop) { _, _ in }
        server.sees = { [unowned self] in seen.append(Observation($0, $1)) }
        listener = try Listener(
            at: .tcp(host: "127.0.0.1", port: 0), on: waiter.loop,
            failed: { [unowned self] in trouble = RigFailure("accepting failed: \($0)") },
            accepted: { [unowned self] in
                if let front { front.accept($0) } else { server.gateway.accept($0) }
            })
        guard way == .frontEnd else { return }
        front = try FrontNode(on: waiter.loop, log: Log(level: .error, descriptor: -1))
        try link()
    }

    /// The front end follows the server.
    private func link() throws {
        guard let front else { return }
        try front.follow(server.gateway)
        try waiter.wait(for: "a link") { front.isLinked }
    }

    /// Must be called: a loop is closed, not dropped.
    func close() {
        for life in earlier + [server] { life.kill() }
        front?.close()
        for phone in Array(phones.values) + retired { phone.client?.disconnect() }
        waiter.close()
    }

    func perform(_ action: Action) throws(RigFailure) -> [Observation] {
        seen = []
        do {
            try carryOut(action)
            try settle()
        } catch let failure as RigFailure {
            throw failure
        } catch {
            throw RigFailure("\(error)")
        }
        if let trouble { throw trouble }
        guard front == nil || server.gateway.links.isEmpty else {
            throw RigFailure("a phone is connected to the server itself")
        }
        return seen
    }

    private func carryOut(_ action: Action) throws {
        switch action {
        case .request(let device, let operation, let key): try ask(device, operation, key)
        case .connect(let device, let resuming): try connect(device, resuming: resuming)
        case .disconnect(let device): try disconnect(device)
        case .forget(let device):
            server.gateway.desk.forget(device)
        case .bye(let device):
            let client = phones[device]?.client
            client?.logOut()
            try waiter.wait(for: "the log-out") { client?.state == .stopped }
        case .pass(let time): try pass(time)
        case .restart(let pause): try restart(after: pause)
        case .answer(let sort, let answer):
            guard server.answer(sort, answer) else {
                throw RigFailure("nobody asked the policies that")
            }
        case .think(let sort):
            guard server.think(sort) else {
                throw RigFailure("nobody asked the policies that")
            }
        case .policyRequest(let user, let operation):
            server.gateway.desk.request(operation, by: .plugin("plugin", for: user)) {
                [unowned server] in server.sees(.policy, .reply($0))
            }
        case .setting(let name, let values):
            try settings.change(name, to: values)
            server.configure(settings)
        }
    }

    /// Turns the loop until the store's threads are done and nobody sees anything new: every
    /// connected device asks whether the server is there, and what the server said before arrives
    /// before the answer.
    private func settle() throws {
        var quietRounds = 0
        while quietRounds < 2 {
            let before = seen.count
            var isTurned = false
            let turn = Timer(on: waiter.loop) { isTurned = true }
            turn.arm(after: 0)
            var awaited = 0
            for phone in phones.values where phone.client?.state == .open {
                awaited += 1
                phone.client?.perform(named: "ping", data: .object([:])) { _ in awaited -= 1 }
            }
            try waiter.wait(for: "the store, and the answer to a ping") {
                [unowned self] in isTurned && server.isStoreQuiet && awaited == 0
            }
            quietRounds = seen.count == before ? quietRounds + 1 : 0
        }
    }

    // MARK: Devices

    private var address: ServerAddress {
        ServerAddress(listener?.endpoint ?? .tcp(host: "127.0.0.1", port: 0))
    }

    private func connect(_ device: Address, resuming: Bool) throws {
        if !resuming {
            if let old = phones[device] { retired.append(old) }
            phones[device] = phone(device)
        }
        guard let client = phones[device]?.client else {
            throw RigFailure("\(device) has no session to resume")
        }
        client.connect()
        try waiter.wait(for: "a welcome") { client.state == .open || client.state == .stopped }
    }

    private func phone(_ device: Address) -> Phone {
        let phone = Phone(device)
        var options = CallClient.Options(
            address, token: "dev:\(device.user)", device: device.device)
        // Scenarios say themselves when that happens.
        options.acknowledgesAccepts = false
        options.backoff.first = 1_000_000
        options.backoff.shortest = 1_000_000
        phone.client = CallClient(options, on: waiter.loop) { [unowned self, unowned phone] in
            if phones[device] === phone { hear($0, device) }
        }
        return phone
    }

    private func hear(_ news: ClientEvent, _ device: Address) {
        switch news {
        case .opened(let welcome):
            let sight = Sight.welcome(
                welcome.calls, viewer: device.user, more: welcome.hasMoreCalls,
                resumed: welcome.resumed)
            seen.append(Observation(.device(device), sight))
        case .event(let event):
            // Of the shell and not of the core, whose rig knows nothing of it.
            if case .missed = event.kind { return }
            seen.append(Observation(.device(device), .event(event, now: now)))
        case .stopped(.lost(.closed(CloseCode.replaced.rawValue, _))):
            seen.append(Observation(.device(device), .closed("replaced")))
        case .stopped(.disconnected), .stopped(.loggedOut): break
        case .unknownEvent, .lost, .tokenNeeded, .stopped:
            trouble = RigFailure("\(device) hears \(news)")
        }
    }

    private func disconnect(_ device: Address) throws {
        guard let client = phones[device]?.client, client.state == .open else {
            throw RigFailure("\(device) is not connected")
        }
        client.disconnect()
        try waiter.wait(for: "the server to notice") { [unowned self] in
            server.gateway.desk.sessions[device]?.line == nil
        }
    }

    private func ask(_ device: Address, _ operation: Operation, _ key: String?) throws {
        let viewer = device.user
        if let client = phones[device]?.client, client.state == .open {
            client.perform(operation, key: key.map { .text($0) } ?? .none) {
                [unowned self] in
                switch $0 {
                case .success(let value): see(.ok(value), operation, device)
                case .failure(.refused(let refusal)): see(.error(refusal), operation, device)
                // The connection went before the answer came.
                case .failure(.unanswered), .failure(.stopped): break
                case .failure(.unreadable): trouble = RigFailure("\(viewer) cannot read a reply")
                }
            }
            return
        }
        try askOverHTTP(device, operation, key)
    }

    private func askOverHTTP(_ device: Address, _ operation: Operation, _ key: String?) throws {
        let before = server.gateway.desk.figures.requests.total
        var isAnswered = false
        let caller = HTTPCaller(
            address, token: "dev:\(device.user)", device: device.device, on: waiter.loop)
        caller.perform(operation, key: key) { [unowned self] in
            isAnswered = true
            switch $0 {
            case .success(let value): see(.ok(value), operation, device)
            case .failure(.refused(let refusal)): see(.error(refusal), operation, device)
            case .failure(let failure): trouble = RigFailure("\(device): \(failure)")
            }
        }
        // Some requests are answered later: by a policy, or after another one.
        try waiter.wait(for: "the server to hear") { [unowned self] in
            isAnswered || server.gateway.desk.figures.requests.total > before
        }
    }

    private func see(_ reply: ServerReply, _ operation: Operation, _ device: Address) {
        seen.append(Observation(.device(device), reply.sight(of: operation, device.user)))
    }

    // MARK: Time and restarts

    private func pass(_ time: Milliseconds) throws {
        let end = now + time
        while let next = server.exchange.switchboard.nextDeadline, next <= end {
            try stand(at: max(now, next))
        }
        try stand(at: end)
        server.gateway.runHousekeeping()
    }

    private func stand(at moment: Moment) throws {
        now = moment
        server.stand(at: now)
        server.exchange.feed(.deadlineReached)
        try settle()
    }

    private func restart(after pause: Milliseconds) throws {
        now = now + pause
        server.kill()
        for phone in phones.values { phone.client?.disconnect() }
        earlier.append(server)
        server = try ServerLife(settings, in: directory, at: now, on: waiter.loop) {
            [unowned self] in seen.append(Observation($0, $1))
        }
        try link()
    }
}
