// How one question was decided, and everything that is needed to ask it again.

import CallModel
import JSON

/// One line of the decision log.
public struct DecisionRecord: Sendable, Equatable {
    /// One plugin's part.
    public struct Asked: Sendable, Equatable {
        /// The plugin.
        public let plugin: String
        /// Processor time of its runs, in nanoseconds.
        public let processor: UInt64
        /// From its question to its answer, in milliseconds.
        public let wall: Milliseconds
        /// What it said.
        public let verdict: Verdict
        /// What went wrong, with file and line, or what of the answer was changed.
        public var message: String?

        package init(
            plugin: String, processor: UInt64, wall: Milliseconds, verdict: Verdict,
            message: String? = nil
        ) {
            self.plugin = plugin
            self.processor = processor
            self.wall = wall
            self.verdict = verdict
            self.message = message
        }
    }

    /// What a plugin said.
    public enum Verdict: Sendable, Equatable {
        case noOpinion
        case decided
        case failed(Failure)
        /// What it said cannot be done with this call: the next one was asked.
        case unfit
        /// The ring time was too short for its answer.
        case cutShort
        /// Not asked: passed over for this cause, or quarantined for everybody.
        case quarantined

        /// How records and journals say it.
        package var word: StaticString {
            switch self {
            case .noOpinion: "no opinion"
            case .decided: "decided"
            case .failed: "failed"
            case .unfit: "unfit"
            case .cutShort: "cut short"
            case .quarantined: "quarantined"
            }
        }
    }

    /// What came of the question.
    public enum Outcome: Sendable, Equatable {
        case answer(Answer)
        /// A push as it is to be sent; nil: not at all.
        indirect case push(PushDraft?)
    }

    /// What does not change any more: whoever hands a record on copies two references.
    private final class Body: Sendable {
        let hook: Hook
        let call: CallID
        let user: UserID
        let cause: Cause
        let trace: TraceParent?
        let at: Moment
        let took: Milliseconds
        let generation: String
        let asked: [Asked]
        let outcome: Outcome

        init(
            _ hook: Hook, _ call: CallID, _ user: UserID,
            _ origin: (cause: Cause, trace: TraceParent?), _ generation: String,
            _ time: (at: Moment, took: Milliseconds), _ asked: [Asked], _ outcome: Outcome
        ) {
            (self.hook, self.call, self.user) = (hook, call, user)
            (cause, trace) = origin
            (self.generation, at, took) = (generation, time.at, time.took)
            (self.asked, self.outcome) = (asked, outcome)
        }
    }

    private let body: Body
    /// What it was decided on; nil: not kept.
    public var input: DecisionInput?

    /// The hook.
    public var hook: Hook { body.hook }
    /// The call.
    public var call: CallID { body.call }
    /// The account concerned.
    public var user: UserID { body.user }
    /// Who caused it (G71); nobody in records from before that was kept.
    public var cause: Cause { body.cause }
    /// The trace of the request that led to it; nil: it named none.
    public var trace: TraceParent? { body.trace }
    /// When it was asked.
    public var at: Moment { body.at }
    /// From the question to the answer.
    public var took: Milliseconds { body.took }
    /// The generation that answered.
    public var generation: String { body.generation }
    /// Every plugin asked, in order.
    public var asked: [Asked] { body.asked }
    /// What was committed.
    public var outcome: Outcome { body.outcome }

    package init(
        hook: Hook, call: CallID, user: UserID, cause: Cause = .nobody,
        trace: TraceParent? = nil, at: Moment, took: Milliseconds, generation: String,
        asked: [Asked], outcome: Outcome,
        input: DecisionInput?
    ) {
        body = Body(hook, call, user, (cause, trace), generation, (at, took), asked, outcome)
        self.input = input
    }

    /// The same question, decided otherwise.
    package func decided(_ outcome: Outcome, by asked: [Asked]) -> DecisionRecord {
        DecisionRecord(
            hook: hook, call: call, user: user, cause: cause, trace: trace, at: at, took: took,
            generation: generation, asked: asked, outcome: outcome, input: input)
    }

    /// Whether both say the same.
    public static func == (one: DecisionRecord, other: DecisionRecord) -> Bool {
        one.hook == other.hook && one.call == other.call && one.user == other.user
            && one.cause == other.cause && one.trace == other.trace
            && (one.at, one.took) == (other.at, other.took)
            && one.generation == other.generation && one.asked == other.asked
            && one.outcome == other.outcome && one.input == other.input
    }

    /// The answer to the switchboard; none for a push.
    public var answer: Answer {
        if case .answer(let answer) = outcome { answer } else { .none }
    }

    /// Whether some plugin gave no usable answer.
    public var hasFailures: Bool {
        asked.contains {
            switch $0.verdict {
            case .failed, .quarantined: true
            case .noOpinion, .decided, .unfit, .cutShort: false
            }
        }
    }
}

/// What a question was decided on: enough to ask other plugins the same. It is large and seldom
/// read, so whoever hands it on copies one reference.
public final class DecisionInput: Sendable, Equatable {
    /// What was asked.
    public enum Subject: Sendable, Equatable {
        case question(Question.Subject)
        indirect case push(PushDraft, Call)
    }

    /// See `Subject`.
    public let subject: Subject
    /// What was known of the users.
    public let facts: [UserFacts]
    /// How long the plugins had.
    public let decideIn: Milliseconds
    /// How far the wall clock was ahead of the core's.
    public let wallOffset: Milliseconds
    /// What `random` and `uuid` went on from.
    public let dice: UInt64
    /// `call.vars` of each plugin that had some.
    public let vars: [Vars]
    /// `state` of each plugin that had some when it was asked; nil: nobody noted that.
    public let states: [State]?
    /// What plugins asked for and were told, in the order of asking.
    public let seen: [Seen]

    package init(
        subject: Subject, facts: [UserFacts], decideIn: Milliseconds, wallOffset: Milliseconds,
        dice: UInt64, vars: [Vars], states: [State]? = nil, seen: [Seen]
    ) {
        self.subject = subject
        self.facts = facts
        self.decideIn = decideIn
        self.wallOffset = wallOffset
        self.dice = dice
        self.vars = vars
        self.states = states
        self.seen = seen
    }

    /// Whether both say the same; at once where they are one object.
    public static func == (one: DecisionInput, other: DecisionInput) -> Bool {
        one === other
            || one.subject == other.subject && one.facts == other.facts
                && (one.decideIn, one.wallOffset, one.dice)
                    == (other.decideIn, other.wallOffset, other.dice)
                && one.vars == other.vars && one.states == other.states && one.seen == other.seen
    }

    /// `call.vars` of one plugin.
    public struct Vars: Sendable, Equatable {
        /// The plugin.
        public let plugin: String
        /// As plain data, as they cross into Lua.
        package let bytes: [UInt8]

        package init(plugin: String, bytes: [UInt8]) {
            self.plugin = plugin
            self.bytes = bytes
        }
    }

    /// `state` of one plugin.
    public struct State: Sendable, Equatable {
        /// The plugin.
        public let plugin: String
        /// See `StateCopy.id`; nil: no copy was made.
        public let id: UInt64?
        /// Nil: none was made, or it is not at hand.
        public let copy: StateCopy?
        /// Whether no record before this one names the copy: others only share it.
        package let isFirst: Bool

        package init(plugin: String, id: UInt64?, copy: StateCopy? = nil, isFirst: Bool = false) {
            (self.plugin, self.id, self.copy, self.isFirst) = (plugin, id, copy, isFirst)
        }

        /// Whether both are the same state of the same plugin.
        public static func == (one: State, other: State) -> Bool {
            one.plugin == other.plugin && one.id == other.id && one.copy == other.copy
        }
    }

    /// The same with other copies of `state`: those that `find` knows.
    package func finding(_ find: (UInt64) -> StateCopy?) -> DecisionInput {
        let states = states?.map { state in
            State(plugin: state.plugin, id: state.id, copy: state.id.flatMap(find))
        }
        return DecisionInput(
            subject: subject, facts: facts, decideIn: decideIn, wallOffset: wallOffset, dice: dice,
            vars: vars, states: states, seen: seen)
    }

    /// One wait of a plugin.
    public struct Seen: Sendable, Equatable {
        /// The plugin.
        public let plugin: String
        /// What it asked for, in words that are the same whenever the same is asked for.
        public let request: String
        /// From the request to the reply.
        public var after: Milliseconds
        /// What it was told; nil: nothing before the question was answered.
        public var reply: WaitReply?

        package init(
            plugin: String, request: String, after: Milliseconds, reply: WaitReply? = nil
        ) {
            self.plugin = plugin
            self.request = request
            self.after = after
            self.reply = reply
        }
    }

    /// The call at hand.
    public var call: Call { subject.call }
}

extension DecisionInput.Subject {
    /// The call at hand.
    var call: Call {
        switch self {
        case .push(_, let call): call
        case .question(let subject): subject.call
        }
    }
}

/// Why a plugin gave no usable answer.
public enum Failure: String, Sendable, CaseIterable {
    case error, cpu, wall, memory, denied
    case badReturn = "bad_return"
    case late
}
