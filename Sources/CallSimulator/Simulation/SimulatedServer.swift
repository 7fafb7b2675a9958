// The server of a simulated world: the product's own, between things that are made up.

import AgentCore
import CallModel
import CallWire
import StoreContract

/// What the server wants from the world, in order; the world performs it.
enum Act {
    case send(LineID, [UInt8])
    case close(LineID, CloseCode)
    case respond(HTTPCall, HTTPReply)
    case ask(Question)
    case withdraw(QuestionID)
    case tell(Report)
    case policyReply(Reply)
    case commit([StoreChange], at: Moment, StoreTicket)
    case find(StoreQuery, StoreTicket)
    /// Open the store.
    case open(StoreTicket)
    /// Call `wake` at this moment.
    case wake(at: Moment)
    /// Call `openStore` in a while.
    case reopen(after: Milliseconds)
    /// Call `endTurn` in a while.
    case turn(after: Milliseconds)
}

/// One life of a server, from a start to a crash: an `Exchange` and a `ClientDesk` as they are in
/// the product. Everything that it wants from outside becomes an `Act`.
final class SimulatedServer {
    let exchange: Exchange
    let desk: ClientDesk
    private let settings: ServerLimits
    private let surroundings: Surroundings
    private let policies: SimulatedPolicies
    private var lines: [LineID: SimulatedLine] = [:]

    /// A server that starts over what `disk` holds.
    ///
    /// - Parameters:
    ///   - waitsForPolicies: whether a commit waits for policies that may answer at once.
    ///   - fault: a bug that is planted in it.
    init(
        _ settings: Settings, limits: ServerLimits, over disk: SimulatedDisk, seed: UInt64,
        at now: Moment, waitsForPolicies: Bool = true, fault: PlantedFault? = nil
    ) {
        self.settings = limits
        surroundings = Surroundings(at: now)
        policies = SimulatedPolicies(surroundings, waits: waitsForPolicies)
        let state = disk.restore(at: now)
        exchange = Exchange(
            settings, restored: state, seed: seed, limits: limits, shell: surroundings)
        if let fault { exchange.plant(PlantedBug(fault, seed: seed)) }
        exchange.store = SimulatedStore(surroundings)
        exchange.policies = policies
        desk = ClientDesk(
            exchange, limits: limits, modes: settings.modes, server: "simulator",
            dice: SeededGenerator(seed: seed ^ 0x5E))
        desk.owner = self
        exchange.restore(state)
        endTurn()
    }

    /// Takes what is to be done.
    func takeActs() -> [Act] { surroundings.takeActs() }

    /// Lets something happen in a turn of its own, at `now`.
    func turn(at now: Moment, _ what: (SimulatedServer) -> Void = { _ in }) {
        surroundings.moment = now
        what(self)
        endTurn()
    }

    /// Goes on with other settings, which sessions that begin from now on are told of.
    func configure(_ settings: Settings) {
        exchange.configure(settings)
        desk.configure(self.settings, modes: settings.modes)
    }

    private func endTurn() {
        // What was closed in this turn is gone at its end.
        let closed = lines.values.filter { !$0.isOpen }
        for line in closed.sorted(by: { $0.id.number < $1.id.number }) {
            lines[line.id] = nil
            desk.part(line.line)
        }
        exchange.endTurn()
    }

    // MARK: Clients

    /// A message came; the first one of a line opens it.
    func message(_ bytes: [UInt8], over id: LineID) {
        let line = lines[id] ?? open(id)
        guard line.isOpen else { return }
        line.line.keepAlive.heard(at: exchange.now())
        bytes.withUnsafeBytes { desk.message($0, over: line.line) }
    }

    private func open(_ id: LineID) -> SimulatedLine {
        let line = SimulatedLine(id, surroundings, limits: settings.session)
        lines[id] = line
        return line
    }

    /// The line is gone: its session waits for another one. The phone was heard until
    /// `silentSince`; nil: until now.
    func lost(_ id: LineID, silentSince: Moment? = nil) {
        guard let line = lines.removeValue(forKey: id) else { return }
        line.line.keepAlive.heard(at: silentSince ?? exchange.now())
        line.line.ends()
        desk.part(line.line, forSilence: silentSince != nil)
    }

    /// A request over HTTP.
    func request(_ call: HTTPCall, by asker: AdmittedAddress) {
        let exchange = SimulatedExchange(call, surroundings)
        do throws(Refusal) {
            let asked = try desk.decoder.request(call.name, body: call.body, key: call.key)
            guard case .operation(let operation, let key) = asked else { return }
            desk.request(operation, key: key, by: asker, over: exchange)
        } catch {
            exchange.respond(HTTPReply(error))
        }
    }

    // MARK: Policies

    /// A plugin asks for something in the name of `account`.
    func policyRequest(_ account: UserID, _ operation: Operation) {
        desk.request(operation, by: .plugin("plugin", for: account)) { [surroundings] in
            surroundings.add(.policyReply($0))
        }
    }

    /// The policies answer.
    func answered(_ id: QuestionID, _ answer: Answer) {
        policies.looked(at: id)
        exchange.feed(.answered(id, answer))
    }

    /// A handler that was asked waits for something.
    func thinking(_ id: QuestionID) {
        policies.looked(at: id)
        exchange.feed(.thinking(id))
    }

    // MARK: For the checks

    /// Nothing waits for the store: what was told and what is held have to agree.
    var isSettled: Bool { exchange.isReady && !exchange.isLoading && !exchange.hasOpenCommits }
}

extension SimulatedServer: ClientDeskOwner {
    func check(_ hello: Hello, _ id: MessageID, of line: Line) {
        guard exchange.isReady else { return desk.turnAway(id, of: line) }
        desk.admit(SimulatedPhone.identity(hello.token), hello, id, over: line)
    }

    func asksTooOften(_ user: UserID, over endpoint: any Endpoint) {}

    func dropEverybody() {
        for line in lines.values.sorted(by: { $0.id.number < $1.id.number }) {
            line.close(.draining, "the store is away")
        }
    }
}
