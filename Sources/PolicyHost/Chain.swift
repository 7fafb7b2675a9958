// One question on its way through the plugins.

import CallModel
import JSON

/// What is asked, with what was found so far.
enum Inquiry {
    /// `on.invite` about the account `callee`.
    case invite(callee: UserID)
    /// `on.dial`.
    case dial(user: UserID, invitees: [UserID])
    /// `on.join`.
    case join(user: UserID)
    /// `on.token`.
    case token(user: UserID)
    /// `on.extended_data(…, "in")`: the text as shaped so far.
    case incoming(user: UserID, text: String?)
    /// `on.extended_data(…, "out")`: the texts, the place of the one being shaped, its shape so
    /// far, and the views of those before it.
    case outgoing(
        [Question.OutgoingText], place: Int, text: String?, views: [Call.View])
    /// `on.push`: the push as shaped so far; nil: dropped.
    indirect case push(PushDraft, job: PushID)

    /// The hook that is asked.
    var hook: Hook {
        switch self {
        case .invite: .invite
        case .dial: .dial
        case .join: .join
        case .token: .token
        case .incoming, .outgoing: .extendedData
        case .push: .push
        }
    }

    /// The account concerned (E55).
    var user: UserID {
        switch self {
        case .invite(let user), .dial(let user, _), .join(let user), .token(let user),
            .incoming(let user, _):
            user
        case .outgoing(let texts, let place, _, _): texts[place].receiver
        case .push(let draft, _): draft.user
        }
    }
}

/// A question on its way through the plugins of one generation.
struct Chain {
    /// Names the question among those that wait.
    let id: ChainID
    var generation: Generation
    /// The one that was asked before it, about other receivers; nil: there was none.
    var first: Generation?
    var view: CallView
    var inquiry: Inquiry
    /// Who caused it.
    let cause: Cause
    /// The trace of the request that led to it; nil: it named none.
    var trace: TraceParent?
    /// When the answer must be there.
    let deadline: Moment
    /// Whether that is sooner than usual, because the ring time is short.
    var isCutShort = false
    /// The plugin that is asked, or asked next.
    var place: Int
    /// When the plugin at `place` was asked.
    var since: Moment
    var asked: [DecisionRecord.Asked] = []
    /// Processor time of its runs, in nanoseconds.
    var spent: UInt64 = 0
    /// Whether some plugin gave no usable answer.
    var hasFailed = false
    /// How often plugins of a canary failed.
    var canaryFailures = 0
    /// Whether there was no time to ask: that says nothing about the plugins.
    var isPassedOver = false
    /// Whether the host will be woken when the time is over.
    var isTimed = false
    /// How the invitation is held that the question is about; nil: not, or not any more.
    var hold: Question.Hold?
    /// What was asked, before any plugin changed it; nil: it is not kept.
    var recorded: RecordedInput?
    /// What plugins asked for and were told.
    var seen: [DecisionInput.Seen] = []

    var hook: Hook { inquiry.hook }
    var user: UserID { inquiry.user }

    /// The next receiver may be an account for which another generation decides.
    mutating func goOn(in next: Generation) {
        if next !== generation, first == nil { first = generation }
        generation = next
    }

    /// What the record says of a plugin that is not of the generation which it names.
    var changeOfGeneration: String? {
        first.flatMap { $0 === generation ? nil : "of generation \(generation.name)" }
    }
}

/// Names a chain.
enum ChainID: Hashable {
    case question(QuestionID)
    case push(PushID)
}

/// What a plugin's result means for the question.
enum Step {
    /// No opinion, or one that the next plugin goes on from.
    case next(hasOpinion: Bool)
    /// The question is answered; the note says what of it had to be changed.
    case answered(Verdict, note: String? = nil)
    /// An answer that the caller's circumstances make impossible: the next plugin is asked.
    case unfit(String)
}

/// The end of a chain.
typealias Verdict = DecisionRecord.Outcome

/// What a chain began with, for the decision log; the call is in the chain.
struct RecordedInput {
    /// Before any plugin shaped it.
    let inquiry: Inquiry
    /// The place of the plugin that was asked first.
    let place: Int
    let dice: UInt64
    let vars: [DecisionInput.Vars]
    /// Of the plugins that were asked so far.
    var states: [DecisionInput.State] = []

    /// What was asked about `call`.
    func subject(_ call: Call) -> DecisionInput.Subject {
        switch inquiry {
        case .invite(let callee): .question(.invite(call, callee: callee, from: place))
        case .dial(let user, let invitees):
            .question(.dial(call, user: user, invitees: invitees))
        case .join(let user): .question(.join(call, user: user))
        case .token(let user): .question(.token(call, user: user))
        case .incoming(let user, let text):
            .question(.incomingData(call, user: user, data: text ?? ""))
        case .outgoing(let texts, _, _, _): .question(.outgoingData(call, texts))
        case .push(let draft, _): .push(draft, call)
        }
    }
}
