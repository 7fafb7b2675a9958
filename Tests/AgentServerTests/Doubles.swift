// Stand-ins for everything around an exchange, and the loop that it lives on.

import CallModel
import CallWire
import EventLoop
import StoreContract
import Testing

@testable import AgentCore
@testable import AgentServer

/// A store that answers when a test says so.
final class StoreDouble: StoreLink {
    private(set) var batches: [[StoreChange]] = []
    private(set) var queries: [StoreQuery] = []
    private var tickets: [StoreTicket] = []
    private(set) var reopenings = 0
    private(set) var limits: StoreLimits?
    /// From a batch on, until a test says otherwise.
    var isCommitting = false
    /// What happens when it gets a batch, and when it is to be opened again.
    var onSubmit: () -> Void = {}
    var onReopen: () -> Void = {}

    func commit(_ batch: [StoreChange], at now: Moment, as ticket: StoreTicket) {
        batches.append(batch)
        isCommitting = true
        onSubmit()
    }

    func find(_ query: StoreQuery, as ticket: StoreTicket) {
        // Every start asks what people are called; no test waits for that.
        if case .names = query { return }
        queries.append(query)
        open.append(query)
        tickets.append(ticket)
    }

    /// What was asked and not answered by `answer`.
    private(set) var open: [StoreQuery] = []

    /// `answer` to `query`, which is open no more.
    func answer(_ query: StoreQuery, _ answer: StoreAnswer) -> StoreNews {
        if let place = open.firstIndex(of: query) { open.remove(at: place) }
        return news(to: query, answer)
    }

    /// `answer` to the last time that `query` came; nothing comes of it if it never did.
    func news(to query: StoreQuery, _ answer: StoreAnswer) -> StoreNews {
        let place = queries.lastIndex(of: query)
        return .answered(place.map { tickets[$0] } ?? StoreTicket(0), answer)
    }

    func limit(to limits: StoreLimits) { self.limits = limits }
    func close() {}

    func open(at now: Moment, in term: Term, as ticket: StoreTicket) {
        reopenings += 1
        onReopen()
    }

    /// The calls of a batch, in the order in which they were stored.
    func calls(ofBatch number: Int) -> [Call] {
        batches[number].compactMap { if case .call(let call) = $0 { call } else { nil } }
    }
}

/// Keeps what would be sent to clients.
final class DelivererDouble: Deliverer {
    func note(_ reply: WrittenReply, to request: RequestID) {}
    /// In the order in which it leaves: `reply 1`, `incoming bob`, `drop`.
    private(set) var told: [String] = []
    private(set) var replies: [UInt64: Reply] = [:]

    func deliver(_ reply: Reply, to request: RequestID) {
        told.append("reply \(request.value)")
        replies[request.value] = reply
    }

    func deliver(welcome calls: [Call], more: Bool, to request: RequestID) {
        told.append("welcome \(request.value)")
    }

    func deliver(_ event: CallEvent, to receivers: [Address]) {
        told += receivers.map { "\(event.kind.word) \($0.user)" }
    }

    func deliver(_ page: CallPage, to request: RequestID, of user: UserID) {
        told.append("page \(request.value)")
    }

    func replace(_ address: Address) { told.append("replace \(address.user)") }
    func dropEverything() { told.append("drop") }

    /// What was told since the last time.
    func news() -> [String] {
        defer { told = [] }
        return told
    }
}

extension CallEvent.Kind {
    fileprivate var word: String {
        switch self {
        case .created: "created"
        case .incoming: "incoming"
        case .changed: "changed"
        case .timedOut: "timed_out"
        case .cancelled: "cancelled"
        case .ended: "ended"
        case .elsewhere, .transferred, .removed, .failed, .mediaPhase, .mediaFlags, .hold, .items,
            .signal, .missed:
            "other"
        }
    }
}

/// Keeps what policies would be asked.
final class PolicyDouble: PolicyLink {
    private(set) var asked: [Question] = []
    private(set) var withdrawn: [QuestionID] = []
    private(set) var reports: [Report] = []
    var isThinking = false
    var backlog = 0
    var waiting: [UserID: Int] = [:]

    func reportsWaiting(for account: UserID) -> Int { waiting[account] ?? 0 }
    func ask(_ question: Question) { asked.append(question) }
    func withdraw(_ question: QuestionID) { withdrawn.append(question) }
    func tell(_ report: Report) { reports.append(report) }
    func flush() {}
}

/// Sends nothing, and is told when the store is back.
final class OutboxDouble: Outbox {
    var onReturn: () -> Void = {}
    /// The traces of what would be sent.
    private(set) var pushed: [TraceParent?] = []
    private(set) var reported: [TraceParent?] = []

    func entry(for job: PushJob, of records: [Record]) -> OutboxEntry {
        pushed.append(job.trace)
        return OutboxEntry()
    }

    /// The traces since the last time.
    func takeTraces() -> (pushed: [TraceParent?], reported: [TraceParent?]) {
        defer { (pushed, reported) = ([], []) }
        return (pushed, reported)
    }

    func kept(_ records: [Record]) {}
    func note(_ report: Report, _ trace: TraceParent?) { reported.append(trace) }
    func takeEvents() -> OutboxEntry? { nil }
    func storeIsBack() { onReturn() }
}

/// An exchange between doubles, on a loop that a test turns by hand.
final class ExchangeRig {
    let loop: EventLoop
    let exchange: Exchange
    let store = StoreDouble()
    let clients = DelivererDouble()
    let policies = PolicyDouble()
    private(set) var endedCalls: [CallID] = []
    private var lastRequest: UInt64 = 0

    init(
        answering: [String] = [], restored: StoredState = StoredState(),
        _ adjust: (inout ServerLimits) -> Void = { _ in }
    ) throws {
        loop = try EventLoop()
        var limits = ServerLimits()
        adjust(&limits)
        var settings = Settings()
        settings.answerFor = Accounts(answering)
        exchange = Exchange(
            settings, restored: restored, seed: 1, limits: limits,
            log: Log(level: .error, descriptor: -1), loop: loop)
        exchange.store = store
        exchange.deliverer = clients
        exchange.policies = policies
        exchange.callEnded = { [unowned self] in endedCalls.append($0) }
    }

    /// Must be called: a loop is closed, not dropped.
    func close() { loop.close() }

    /// One turn: what gathered goes to the store.
    func turn() {
        let timer = Timer(on: loop) { [loop] in loop.stop() }
        timer.arm(after: 0)
        loop.run()
    }

    /// Turns until the test says `loop.stop()`.
    func run(limit: Int64 = 20_000, sourceLocation: SourceLocation = #_sourceLocation) {
        let guardian = Timer(on: loop) { [loop] in
            Issue.record("not finished after \(limit) ms", sourceLocation: sourceLocation)
            loop.stop()
        }
        guardian.arm(after: limit)
        loop.run()
        guardian.cancel()
    }

    /// Asks for an operation and returns the number of the request.
    @discardableResult
    func ask(
        _ operation: CallModel.Operation, as user: String = "alice", key: String? = nil,
        trace: TraceParent? = nil
    ) -> UInt64 {
        lastRequest += 1
        var request = Request(
            id: RequestID(lastRequest), user: UserID(user), device: DeviceID("phone"),
            key: key.map { IdempotencyKey($0, bodyHash: 7) }, operation: operation)
        if let trace { exchange.traces.name(trace, in: &request) }
        exchange.feed(.request(request))
        return lastRequest
    }

    /// Connects a device; its welcome is not news any more.
    func connect(_ user: String) {
        lastRequest += 1
        exchange.feed(
            .deviceConnected(
                RequestID(lastRequest), UserID(user), DeviceID("phone"), resumed: false))
        _ = clients.news()
    }

    /// The batch with the store is durable.
    func commit(in duration: Milliseconds = 0) {
        store.isCommitting = false
        exchange.receive(.committed(in: duration))
    }

    /// The store fails.
    func fail() {
        exchange.receive(
            .lost(StoreError(.notOpen, path: "test", operation: "commit", detail: "as planned")))
    }
}

extension StoreNews {
    /// The batch is durable. Only one is under way: its ticket does not matter.
    static func committed(
        _ result: CommitResult = CommitResult(), in duration: Milliseconds = 0
    ) -> StoreNews {
        .answered(StoreTicket(0), .committed(result, in: duration))
    }

    /// The store is open again.
    static func opened(_ state: StoredState = StoredState()) -> StoreNews {
        .answered(StoreTicket(0), .opened(state))
    }
}
