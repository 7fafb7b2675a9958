// The states of a call's participants, as one participant sees them.

import CallModel
import CallWire

/// The participants of a call, and how this participant can leave it.
struct CallProgress: Equatable {
    /// The participant whose view this is.
    let me: UserID
    private let caller: UserID
    private let mode: Mode
    private var states: [UserID: Participant.State] = [:]
    /// The newest revision seen. Answers and events may tell of the same change.
    private var revision: UInt32 = 0

    /// The progress of `me` in `call`.
    init(_ call: Call, me: UserID) {
        self.me = me
        caller = call.caller
        mode = call.mode
        take(call)
    }

    /// Takes a call from the server; an older revision changes nothing.
    mutating func take(_ call: Call) {
        guard call.revision >= revision else { return }
        revision = call.revision
        states = [:]
        for participant in call.participants { states[participant.user] = participant.state }
    }

    /// Takes the changes of an event; an older revision changes nothing.
    mutating func take(_ changes: [CallEvent.Change], at revision: UInt32) {
        guard revision >= self.revision else { return }
        self.revision = revision
        for change in changes { states[change.user] = change.state }
    }

    private var others: [Participant.State] {
        states.filter { $0.key != me }.map(\.value)
    }

    /// Whether this participant may still answer.
    var isAsked: Bool { states[me]?.mayAnswer == true }
    /// Whether this participant is in the call.
    var hasJoined: Bool { states[me] == .joined }
    /// Whether somebody else is in the call.
    var isAnswered: Bool { others.contains(.joined) }
    /// Whether nobody else is in the call or may still come, and the call goes on nevertheless.
    var isLeftAlone: Bool {
        if others.contains(where: { $0.isLive || $0 == .accepting }) { return false }
        return !(others.contains(.left) ? mode.endsWhenLeft : mode.endsWhenUnanswered)
    }

    /// The operation that ends this participant's part in this mode.
    var wayOut: CallAction {
        let isUnanswered = !isAnswered && others.contains { $0.isPending }
        if me == caller, isUnanswered { return .cancel() }
        return mode.has(.leave) ? .leave() : .end()
    }

    /// The operation that ends the call for everybody, as far as the mode has one.
    var wayOutForAll: CallAction { mode.has(.end) && isAnswered ? .end() : wayOut }
}

extension CallAction {
    /// The word for it in a ladder.
    var word: String { String(name.rawValue.drop { $0 != "." }.dropFirst()) }
}

extension Mode {
    /// Whether a call ends by itself when nobody accepted and nobody may any more.
    fileprivate var endsWhenUnanswered: Bool { endWhenAnswered != .never }

    /// Whether a call ends by itself when all but one have left.
    fileprivate var endsWhenLeft: Bool { (endWhenJoinedAtMost ?? 0) >= 1 }
}
