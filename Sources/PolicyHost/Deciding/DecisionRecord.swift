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
    }

    /// What came of the question.
    public enum Outcome: Sendable, Equatable {
        case answer(Answer)
        /// A push as it is to be sent; nil: not at all.
        indirect case push(PushDraft?)
    }

    /// The hook.
    public let hook: Hook
    /// The call.
    public let call: CallID
    /// The account concerned.
    public let user: UserID
    /// Who brought it about (G71); nobody in records of before it was kept.
    public var cause: Cause
    /// When it was asked.
    public let at: Moment
    /// From the question to the answer.
    public let took: Milliseconds
    /// The generation that answered.
    public let generation: String
    /// Every plugin asked, in order.
    public var asked: [Asked]
    /// What was committed.
    public var outcome: Outcome
    /// What it was decided on; nil: not kept. It is large and seldom read.
    @Boxed public var input: DecisionInput?

    package init(
        hook: Hook, call: CallID, user: UserID, cause: Cause = .nobody, at: Moment,
        took: Milliseconds, generation: String, asked: [Asked], outcome: Outcome,
        input: DecisionInput?
    ) {
        self.hook = hook
        self.call = call
        self.user = user
        self.cause = cause
        self.at = at
        self.took = took
        self.generation = generation
        self.asked = asked
        self.outcome = outcome
        self.input = input
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

/// A large value in a piece of memory of its own: whoever hands it on copies one reference.
@propertyWrapper
public enum Boxed<Value> {
    case nothing
    indirect case kept(Value)

    /// Keeps `wrappedValue`; nil: nothing.
    public init(wrappedValue: Value?) {
        self = wrappedValue.map { .kept($0) } ?? .nothing
    }

    /// The value; nil: there is none.
    public var wrappedValue: Value? {
        get { if case .kept(let value) = self { value } else { nil } }
        set { self = Boxed(wrappedValue: newValue) }
    }
}

extension Boxed: Sendable where Value: Sendable {}
extension Boxed: Equatable where Value: Equatable {}

/// What a question was decided on: enough to ask other plugins the same.
public struct DecisionInput: Sendable, Equatable {
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
    public var vars: [Vars]
    /// What plugins asked for and were told, in the order of asking.
    public var seen: [Seen]

    package init(
        subject: Subject, facts: [UserFacts], decideIn: Milliseconds, wallOffset: Milliseconds,
        dice: UInt64, vars: [Vars], seen: [Seen]
    ) {
        self.subject = subject
        self.facts = facts
        self.decideIn = decideIn
        self.wallOffset = wallOffset
        self.dice = dice
        self.vars = vars
        self.seen = seen
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
