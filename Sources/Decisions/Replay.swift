// Asks a generation what others were asked before: without a server, and without any effect.

import CallModel
import JSON
import PolicyHost

/// A policy host at the time of recorded decisions. What its plugins wait for is answered as it was
/// when the decision was recorded; `state`, windows of `limit` and what `kv` holds begin empty and
/// go on from decision to decision. The same records lead to the same answers, always.
public final class Replay {
    /// What came of asking again.
    public struct Answered: Sendable, Equatable {
        /// What the generation would commit.
        public let outcome: DecisionRecord.Outcome
        /// Its plugins, in the order in which they were asked.
        public let asked: [DecisionRecord.Asked]
        /// What plugins waited for though nobody was asked for it then.
        public let missing: [String]
    }

    /// What is asked; it must be used for nothing else.
    public let generation: Generation
    /// Whether plugins are asked with the `state` that a record knows, in the place of their own.
    public var givesStates = false
    /// Why some plugins were not, a line each.
    public private(set) var stateProblems: [String] = []
    private let cryptography: Cryptography
    /// Made at the first question: until then the generation may be given the `state` that it is to
    /// begin with.
    private lazy var host: PolicyHost = {
        let host = PolicyHost(generation, seed: 1, cryptography: cryptography)
        host.recordsInputs = false
        return host
    }()
    private var now = Moment(0)
    private var lastQuestion: UInt64 = 0
    private var values: [String: [String: JSONValue]] = [:]
    /// The decision at hand.
    private var seen: [DecisionInput.Seen] = []
    private var facts: [UserFacts] = []
    private var due: [(at: Moment, wait: WaitID, reply: WaitReply)] = []
    private var record: DecisionRecord?
    private var missing: [String] = []

    /// Asks `generation`, which must be used for nothing else.
    public init(_ generation: Generation, cryptography: Cryptography = .none) {
        self.generation = generation
        self.cryptography = cryptography
    }

    /// Asks what `recorded` was about; nil when that was not kept, or when it took more than `time`
    /// nanoseconds of processor time and there is no answer.
    public func ask(_ recorded: DecisionRecord, within time: UInt64? = nil) -> Answered? {
        guard let input = recorded.input else { return nil }
        // Of an account that is not answered for no plugin is asked.
        if case .question(.invite(_, let callee, _)) = input.subject,
            !generation.plan.answerFor.contains(callee)
        {
            return Answered(outcome: .answer(.none), asked: [], missing: [])
        }
        prepare(recorded, input)
        host.patience = time
        if lastQuestion == 0 { take(host.start(at: now)) }
        if givesStates { stateProblems = generation.give(recorded.copies) }
        lastQuestion += 1
        let question = QuestionID(lastQuestion)
        switch input.subject {
        case .question(let subject):
            let asked = Question(
                id: question, decideBy: now + input.decideIn, subject: subject,
                facts: input.facts, cause: recorded.cause)
            take(host.handle(.asked(asked), at: now))
        case .push(let draft, let call):
            let id = PushID(lastQuestion)
            take(host.handle(.pushing(id, draft, call, facts, recorded.cause), at: now))
        }
        letTimePass(until: now + input.decideIn, within: time)
        guard let record else {
            // Nobody waits for it, and its answer is none to the next question.
            take(host.handle(.withdrawn(question), at: now))
            return nil
        }
        return Answered(outcome: record.outcome, asked: record.asked, missing: missing)
    }

    /// Makes the world what it was.
    private func prepare(_ recorded: DecisionRecord, _ input: DecisionInput) {
        now = recorded.at
        host.take(input, of: recorded.cause)
        (seen, facts) = (input.seen, input.facts)
        (due, record, missing) = ([], nil, [])
    }

    /// Goes on until the question is answered.
    private func letTimePass(until end: Moment, within time: UInt64?) {
        let before = host.spent
        while record == nil, time.map({ host.spent - before < $0 }) ?? true {
            let reply = due.indices.min { due[$0].at < due[$1].at }
            let nextReply = reply.map { due[$0].at }
            let next = [nextReply, host.nextDeadline].compactMap { $0 }.min()
            guard let next, next <= end else { return }
            now = max(now, next)
            if let reply, nextReply == next {
                let arrived = due.remove(at: reply)
                take(host.handle(.replied(arrived.wait, arrived.reply), at: now))
            } else {
                take(host.handle(.deadlineReached, at: now))
            }
        }
    }

    // MARK: The world as it was

    private func take(_ effects: [PolicyEffect]) {
        for effect in effects {
            switch effect {
            case .record(let record): self.record = self.record ?? record
            case .perform(let wait, let plugin, let request, _):
                answer(wait, plugin, request.words) { standIn(for: request, of: plugin) }
            case .operate(let wait, _, let plugin, let operation, _):
                answer(wait, plugin, operation.words) { .operation(nil) }
            case .abandon(let wait): due.removeAll { $0.wait == wait }
            case .answer, .thinking, .shaped, .log, .keepTimer, .dropTimer, .count, .observe,
                .rolledBack, .canaryTakenBack, .alarm:
                break
            }
        }
    }

    /// Answers as it was answered then, at the same distance; `standIn` where nobody asked then.
    private func answer(
        _ wait: WaitID, _ plugin: String, _ words: String, _ standIn: () -> WaitReply
    ) {
        guard let place = place(of: words, plugin) else {
            missing.append(words)
            due.append((now, wait, standIn()))
            return
        }
        let found = seen.remove(at: place)
        // What was not answered in time then is not answered now.
        if let reply = found.reply { due.append((now + found.after, wait, reply)) }
    }

    private func place(of words: String, _ plugin: String) -> Int? {
        let own = seen.indices.filter { seen[$0].plugin == plugin }
        if let same = own.first(where: { seen[$0].request == words }) { return same }
        // The same page with another header or body.
        let page = words.prefix { $0 != "#" }
        guard page.hasPrefix("http.") else { return nil }
        return own.first { seen[$0].request.prefix { $0 != "#" } == page }
    }

    private func standIn(for request: WaitRequest, of plugin: String) -> WaitReply {
        switch request {
        case .lookUp(let user, _):
            .user(facts.first { $0.user == user } ?? UserFacts(user, calls: 0, devices: 0))
        case .call: .call(nil, [])
        case .fetch: .trouble("nobody asked for it when the decision was recorded")
        case .store(let request): standIn(for: request, of: plugin)
        }
    }

    private func standIn(for request: StoreRequest, of plugin: String) -> WaitReply {
        switch request {
        case .get(let key): return .value(values[plugin]?[key] ?? .null)
        case .set(let key, let value, _):
            values[plugin, default: [:]][key] = value
            return .value(true)
        case .increment(let key, let amount, _):
            let sum = (values[plugin]?[key]?.integer ?? 0) &+ amount
            values[plugin, default: [:]][key] = .integer(sum)
            return .value(.integer(sum))
        case .delete(let key):
            values[plugin]?[key] = nil
            return .value(true)
        case .keys(let prefix):
            let keys = (values[plugin] ?? [:]).keys.filter { $0.hasPrefix(prefix) }.sorted()
            return .value(.array(keys.map { .string($0) }))
        }
    }
}

extension DecisionRecord {
    /// The `state` with which each plugin was asked, where that is known.
    package var copies: [String: StateCopy] {
        guard let states = input?.states else { return [:] }
        var copies: [String: StateCopy] = [:]
        for said in asked where said.verdict != .quarantined { copies[said.plugin] = .empty }
        for state in states { copies[state.plugin] = state.copy }
        return copies
    }
}

extension Replay: Control {
    /// Processor time of its plugins in all, in nanoseconds.
    public var spent: UInt64 { host.spent }

    /// What its plugins answer; nil: they did not within `time` nanoseconds. It is asked about
    /// failures only, and is never passed over because of them. Otherwise, of several failures at
    /// the same time, it would meet the last ones differently from the plugins in force, which ran
    /// at once.
    public func answers(
        to record: DecisionRecord, within time: UInt64
    ) -> [DecisionRecord.Asked]? {
        host.passesOver = false
        return ask(record, within: time)?.asked
    }
}
