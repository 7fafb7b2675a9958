// What is around a simulated server: clock, store, policies, connections. Whatever the server
// wants of them becomes an act for the world.

import AgentCore
import CallModel
import CallWire
import StoreContract

/// The clock and the timers.
final class Surroundings: Shell {
    /// The present moment, as the world says.
    var moment: Moment
    private var acts: [Act] = []

    init(at now: Moment) { moment = now }

    func add(_ act: Act) { acts.append(act) }

    func takeActs() -> [Act] {
        defer { acts = [] }
        return acts
    }

    func now() -> Moment { moment }
    var wallGap: Milliseconds { 0 }
    func wake(at moment: Moment) { add(.wake(at: moment)) }
    func openStore(after pause: Milliseconds) { add(.reopen(after: pause)) }
    func endTurn(after pause: Milliseconds) { add(.turn(after: pause)) }
    func log(_ level: LogLevel, _ message: StaticString, _ fields: [(String, String)]) {}
}

/// The way to the world's disk.
final class SimulatedStore: StoreLink {
    private let surroundings: Surroundings
    let isCommitting = false

    init(_ surroundings: Surroundings) { self.surroundings = surroundings }

    func commit(_ batch: [StoreChange], at now: Moment, as ticket: StoreTicket) {
        surroundings.add(.commit(batch, at: now, ticket))
    }

    func find(_ query: StoreQuery, as ticket: StoreTicket) {
        surroundings.add(.find(query, ticket))
    }

    func open(at now: Moment, in term: Term, as ticket: StoreTicket) {
        surroundings.add(.open(ticket))
    }

    func limit(to limits: StoreLimits) {}
    func close() {}
}

/// Whoever thinks for the policies: the world.
final class SimulatedPolicies: PolicyLink {
    private let surroundings: Surroundings
    private let waits: Bool
    /// Asked, and not looked at yet.
    private var fresh: Set<QuestionID> = []

    init(_ surroundings: Surroundings, waits: Bool) {
        self.surroundings = surroundings
        self.waits = waits
    }

    func ask(_ question: Question) {
        fresh.insert(question.id)
        surroundings.add(.ask(question))
    }

    func withdraw(_ question: QuestionID) {
        looked(at: question)
        surroundings.add(.withdraw(question))
    }

    /// A handler has begun with the question.
    func looked(at question: QuestionID) { fresh.remove(question) }

    func tell(_ report: Report) { surroundings.add(.tell(report)) }
    func flush() {}
    var isThinking: Bool { waits && !fresh.isEmpty }
    var backlog: Int { 0 }
}

/// A phone's connection, at the server. The network takes at once whatever is sent.
final class SimulatedLine: Endpoint {
    let id: LineID
    let line: Line
    private let surroundings: Surroundings
    private(set) var isOpen = true
    private(set) var sentBytes: UInt64 = 0
    let unsentBytes = 0

    init(_ id: LineID, _ surroundings: Surroundings, limits: SessionLimits) {
        self.id = id
        self.surroundings = surroundings
        line = Line(at: surroundings.moment, limits: limits)
        line.begins(self)
    }

    func send(_ head: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer) {
        guard isOpen else { return }
        sentBytes += UInt64(head.count + tail.count)
        surroundings.add(.send(id, Array(head) + Array(tail)))
    }

    func close(_ code: CloseCode, _ reason: String) {
        guard isOpen else { return }
        isOpen = false
        line.ends()
        surroundings.add(.close(id, code))
    }

    func respond(_ reply: HTTPReply) {}
    func begins(_ weight: Int) {}
    func ends(_ weight: Int) {}
    func sendNow() {}
    func noteTold() {}
    func noteGreeted() {}
}

/// A request over HTTP, at the server.
final class SimulatedExchange: Endpoint {
    private let call: HTTPCall
    private let surroundings: Surroundings
    let isOpen = true
    let sentBytes: UInt64 = 0
    let unsentBytes = 0

    init(_ call: HTTPCall, _ surroundings: Surroundings) {
        self.call = call
        self.surroundings = surroundings
    }

    func respond(_ reply: HTTPReply) { surroundings.add(.respond(call, reply)) }
    func send(_ head: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer) {}
    func close(_ code: CloseCode, _ reason: String) {}
    func begins(_ weight: Int) {}
    func ends(_ weight: Int) {}
    func sendNow() {}
    func noteTold() {}
    func noteGreeted() {}
}
