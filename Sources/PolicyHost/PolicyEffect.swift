// What happens to a policy host, and what it tells its shell to do.

import CallModel
import Configuration
import JSON
import WebProtocols

/// Something that happened outside the policy host.
public enum PolicyInput: Sendable {
    /// The core asks (`Effect.consult`).
    case asked(Question)
    /// The core takes a question back (`Effect.withdraw`).
    case withdrawn(QuestionID)
    /// The core tells (`Effect.tell`).
    /// The plugins from place `from` of the chain on hear of it.
    indirect case told(Report, from: Int = 0)
    /// A push is about to be sent; `PolicyEffect.shaped` answers. Only when some plugin shapes
    /// pushes (`Generation.shapesPushes`).
    indirect case pushing(PushID, PushDraft, Call, [UserFacts], Cause = .nobody)
    /// A push could not be delivered.
    indirect case pushFailed(
        PushDraft, Call, [UserFacts], reason: String, Cause = .nobody)
    /// A call is over: its handlers end and what was kept for it goes.
    case callEnded(CallID)
    /// What a handler waits for has come.
    indirect case replied(WaitID, WaitReply)
    /// `nextDeadline` has come: everything that is due is done.
    case deadlineReached
    /// This is due (`PolicyHost.takeDue`).
    indirect case due(PolicyDue)
}

/// Something that is due in a policy host.
public struct PolicyDue: Sendable {
    let deadline: Deadline
}

/// Whose turn something is that waits for the policy thread.
public struct PolicyTurn: Sendable, Equatable {
    /// Who caused it.
    public let cause: Cause
    /// Whether somebody waits for a decision.
    public let decides: Bool
}

/// What a policy host tells its shell to do, in this order. Large cases are stored separately,
/// because every answer is copied several times on its way and would be as large.
public enum PolicyEffect: Sendable, Equatable {
    /// Give the core this answer (`Input.answered`).
    case answer(QuestionID, Answer)
    /// Tell the core that a handler which it asked about an invitation waits for something
    /// (`Input.thinking`): the answer comes later.
    case thinking(QuestionID)
    /// Send this push; nil: send nothing.
    indirect case shaped(PushID, PushDraft?)
    /// Write a line to the log.
    indirect case log(PolicyLog)
    /// Write a line to the decision log.
    case record(DecisionRecord)
    /// Give the core this request (`Input.policyRequest`); answer with `WaitReply.operation`.
    indirect case operate(WaitID, UserID, plugin: String, Operation, Cause)
    /// Answer with `WaitReply.values` or `.trouble`.
    indirect case perform(WaitID, plugin: String, WaitRequest, Cause)
    /// Keep a timer over a restart (`PolicyHost.restore`), in the place of one with the same id.
    indirect case keepTimer(PolicyTimer)
    /// Forget the timer with this id.
    case dropTimer(UInt64)
    /// The active generation failed its probation: the one before is active again. The shell
    /// returns to the settings that belong to it.
    case rolledBack(from: String, to: String, reason: GenerationFault)
    /// A canary failed: the active generation decides for all again. The shell returns to the
    /// settings that belong to that.
    case canaryTakenBack(String, reason: GenerationFault)
    /// Something that somebody has to see to.
    case alarm(PolicyAlarm)
    /// Nobody waits for it any more.
    case abandon(WaitID)
    /// Add `amount` to a counter of a plugin.
    case count(plugin: String, name: String, amount: Double, labels: [String: String])
    /// Note a value of a plugin's summary.
    case observe(plugin: String, name: String, value: Double, labels: [String: String])
}

/// Something that a handler waits for, named by the host.
public struct WaitID: Hashable, Sendable {
    /// Unique within one life of a host.
    public let value: UInt64

    /// A wait named `value`.
    public init(_ value: UInt64) { self.value = value }
}

/// What the shell is asked to do for a handler.
public enum WaitRequest: Sendable, Equatable {
    /// `kv.get` and its like.
    case store(StoreRequest)
    /// `http.get`, `http.post`.
    case fetch(FetchRequest)
    /// `users.get`; answer with `WaitReply.user`.
    case lookUp(UserID, besides: CallID?)
    /// The call of a timer; answer with `WaitReply.call`.
    case call(CallID)
}

/// A request to a plugin's durable store.
public enum StoreRequest: Sendable, Equatable {
    case get(key: String)
    case set(key: String, JSONValue, lifetime: Milliseconds?)
    case increment(key: String, by: Int64, lifetime: Milliseconds?)
    case delete(key: String)
    case keys(prefix: String)
}

/// A request to a granted host.
public struct FetchRequest: Sendable, Equatable {
    /// `GET` or `POST`.
    public var method: String
    /// `http` or `https`, host, path.
    public var url: String
    /// In the order given.
    public var headers: [HTTPHeader]
    /// Nothing for `GET`.
    public var body: [UInt8]
    /// After which it is given up.
    public var timeout: Milliseconds
    /// Whether the operator said that the host is in its own network (`internal:HOST`).
    public var mayBeInternal = false
}

/// What a server answered.
public struct FetchReply: Sendable, Equatable {
    /// The HTTP status.
    public let status: Int
    /// As they came.
    public let headers: [HTTPHeader]
    /// The body as it came.
    public let body: [UInt8]

    /// An answer with `status` and `body`.
    public init(status: Int, headers: [HTTPHeader], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// What came of something a handler waits for.
public enum WaitReply: Sendable, Equatable {
    /// The value, as JSON; null: nothing there.
    case value(JSONValue)
    /// What a server answered to a `fetch`.
    case fetched(FetchReply)
    /// The call as it is now, with what is known of its users; nil: it is over.
    case call(Call?, [UserFacts])
    /// What an `operate` came to; nil: done.
    case operation(Refusal?)
    /// What is known of a user.
    case user(UserFacts)
    /// It failed; the text is for the script.
    case trouble(String)
}

/// A line for the log.
public struct PolicyLog: Sendable, Equatable {
    /// How serious.
    public var level: LogLevel
    /// What happened.
    public var text: String
    /// Whose line; nil: the host's.
    public var plugin: String?
    /// Of which call.
    public var call: CallID?
    /// What the script added, in order.
    public var fields: JSONObject

    /// A line saying `text`.
    public init(
        _ level: LogLevel, _ text: String, plugin: String? = nil,
        call: CallID? = nil,
        fields: JSONObject = JSONObject()
    ) {
        self.level = level
        self.text = text
        self.plugin = plugin
        self.call = call
        self.fields = fields
    }
}
