// To which trace belongs what the core does.

import CallModel

/// Follows the traces that requests name through what the core does because of them; the core knows
/// nothing of traces. Where no request names one, this costs nothing. Owner: the exchange's thread.
struct RequestTraces {
    /// Requests, questions and calls of which a trace is remembered. Beyond it all are forgotten:
    /// each is the smallest part of something that has a bound of its own.
    static let most = 1_000_000

    /// What one turn of the core does: a trace, and the call that it is about.
    final class Turn {
        fileprivate var trace: TraceParent?
        fileprivate var call: CallID?
        /// Calls that have ended in it.
        fileprivate var ended: [CallID] = []
    }

    /// False: no request that is under way names a trace, and nothing is remembered of others.
    private(set) var isUsed = false

    /// Requests that are not answered yet.
    private var requests: [RequestID: TraceParent] = [:]
    /// Open questions, and the calls that they are about.
    private var questions: [QuestionID: (trace: TraceParent, call: CallID)] = [:]
    /// Live calls: the trace of the last request that was answered with each and named one.
    private var calls: [CallID: TraceParent] = [:]

    /// How much is remembered.
    var count: Int { requests.count + questions.count + calls.count }

    /// The request belongs to `trace`; it comes in next, or when the calls of before are loaded.
    mutating func name(_ trace: TraceParent, in request: inout Request) {
        request.trace = trace
        isUsed = true
    }

    /// What waited while calls were loaded comes in next: it may name traces.
    mutating func expectHeld() { isUsed = true }

    /// Begins a turn, where traces are used.
    mutating func begin(_ input: Input?, _ effects: [Effect]) -> Turn {
        if case .request(let request)? = input, let trace = request.trace {
            return begin(request, trace, effects)
        }
        let turn = Turn()
        if case .answered(let id, _)? = input, let found = questions.removeValue(forKey: id) {
            (turn.trace, turn.call) = (found.trace, found.call)
        }
        noteReplies(in: effects)
        return turn
    }

    private mutating func begin(
        _ request: Request, _ trace: TraceParent, _ effects: [Effect]
    ) -> Turn {
        if count >= Self.most { (requests, questions, calls) = ([:], [:], [:]) }
        // Who only reads changes nothing of what is done in a call.
        if !request.operation.isReading { requests[request.id] = trace }
        noteReplies(in: effects)
        let turn = Turn()
        turn.trace = trace
        turn.call = request.operation.callID ?? effects.lazy.compactMap(\.call).first
        return turn
    }

    /// What was asked for earlier may be answered now.
    private mutating func noteReplies(in effects: [Effect]) {
        guard !requests.isEmpty else { return }
        for place in effects.indices {
            guard case .reply(let id, let reply) = effects[place],
                let trace = requests.removeValue(forKey: id)
            else { continue }
            if let call = reply.call, call.isLive { calls[call.id] = trace }
        }
    }

    /// The trace of something that is done in `turn` and is about `call`.
    func trace(of call: CallID, in turn: Turn) -> TraceParent? {
        if let trace = turn.trace, turn.call == call { return trace }
        return calls[call]
    }

    /// A question is asked in `turn`: its answer goes on in its trace.
    mutating func ask(_ question: inout Question, in turn: Turn) {
        let call = question.subject.call.id
        guard let trace = trace(of: call, in: turn) else { return }
        question.trace = trace
        questions[question.id] = (trace, call)
    }

    /// Nobody waits for the answer any more.
    mutating func withdraw(_ question: QuestionID) { questions[question] = nil }

    /// What is still told of `call` in `turn` is the last of it.
    func end(_ call: CallID, in turn: Turn) { turn.ended.append(call) }

    /// Everything of the turn is under way.
    mutating func end(_ turn: Turn) {
        for call in turn.ended { calls[call] = nil }
        isUsed = count > 0
    }
}

extension Effect {
    /// The call that it is about; nil: none, or that is not known.
    fileprivate var call: CallID? {
        switch self {
        case .persist(let records):
            records.lazy.compactMap { if case .call(let call) = $0 { call.id } else { nil } }.first
        case .consult(let question): question.subject.call.id
        case .reply(_, let reply): reply.call?.id
        case .welcome, .send, .replace, .recall, .recallKey, .list, .tell, .withdraw: nil
        }
    }
}
