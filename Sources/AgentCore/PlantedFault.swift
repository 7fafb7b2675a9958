// Bugs on purpose, to see that whoever checks this server finds them.

import CallCore
import CallModel
import CallWire

/// A bug that can be planted in the server. Each stands as one condition in the code that it
/// spoils; in release builds the conditions are compiled away.
public enum PlantedFault: String, Sendable, CaseIterable {
    // The order of effects.

    /// A reply leaves before what it tells is stored.
    case earlyReply = "early-reply"
    /// An event leaves before what it tells is stored.
    case earlyEvent = "early-event"
    /// An effect is lost.
    case lostEffect = "lost-effect"
    /// An effect leaves behind a later one.
    case lateEffect = "late-effect"
    /// After a commit that failed, what waited for it leaves nevertheless.
    case failureOverlooked = "failure-overlooked"

    // What is stored.

    /// A change of a call is not stored.
    case lostChange = "lost-change"
    /// The reply to a request with a key is not stored.
    case lostKey = "lost-key"
    /// Two jobs get the same number.
    case jobNumberTwice = "job-number-twice"

    // Deadlines and starts.

    /// A deadline is not armed.
    case droppedDeadline = "dropped-deadline"
    /// After a start nobody waits until the calls of those whom it concerns are loaded.
    case answerUnloaded = "answer-unloaded"
    /// After a start a live call is left out.
    case lostPage = "lost-page"

    // Questions to the policies.

    /// A question is asked twice.
    case questionTwice = "question-twice"
    /// A question is not asked.
    case lostQuestion = "lost-question"
    /// The policies are not told that a question was taken back.
    case lostWithdrawal = "lost-withdrawal"
    /// An answer is taken for the answer to another question.
    case answerToAnother = "answer-to-another"
    /// A plugin hears nothing of what became of its request.
    case lostPluginReply = "lost-plugin-reply"

    // Sessions.

    /// One device is not told of an event.
    case forgottenDevice = "forgotten-device"
    /// A device is told of an event twice.
    case eventTwice = "event-twice"
    /// Two events have the same number.
    case numberTwice = "number-twice"
    /// A number is left out between two events.
    case numberSkipped = "number-skipped"
    /// A session that goes on misses its oldest event.
    case shortReplay = "short-replay"
    /// The answer to `hello` leaves a call out.
    case shortWelcome = "short-welcome"
    /// A connection that another one replaced still ends the session of its device.
    case deafAfterReplacement = "deaf-after-replacement"
    /// A device that came back is sent away for the device that took its place before.
    case lateReplacement = "late-replacement"
    /// A device that said `bye` still counts as there.
    case sessionAfterBye = "session-after-bye"
    /// A device whose time to come back is over still counts as there.
    case sessionForEver = "session-for-ever"
    /// When the store fails, nobody is sent away.
    case nobodySentAway = "nobody-sent-away"

    // Requests.

    /// A request is answered twice.
    case replyTwice = "reply-twice"
    /// A request is not answered.
    case lostReply = "lost-reply"
    /// An answer goes back under the number of another request.
    case replyToAnother = "reply-to-another"
    /// A request counts twice for the rate of its user.
    case rateTwice = "rate-twice"
    /// What a token does not allow is done nevertheless.
    case capabilityIgnored = "capability-ignored"

    /// Whether this program has the conditions: debug builds do.
    public static var areCompiledIn: Bool {
        #if PLANTED_FAULTS
            true
        #else
            false
        #endif
    }

    /// Of so many occasions one shows the bug; 1: all of them.
    fileprivate var rarity: Int {
        switch self {
        case .failureOverlooked, .answerUnloaded, .deafAfterReplacement, .lateReplacement,
            .sessionAfterBye, .sessionForEver, .nobodySentAway, .rateTwice, .capabilityIgnored:
            1
        case .earlyReply, .earlyEvent, .lostPage, .lostKey, .jobNumberTwice, .answerToAnother,
            .lostPluginReply, .shortReplay, .shortWelcome, .lostQuestion, .questionTwice,
            .lostWithdrawal:
            4
        case .lostEffect, .lateEffect, .lostChange, .droppedDeadline, .forgottenDevice, .eventTwice,
            .numberTwice, .numberSkipped, .replyTwice, .lostReply, .replyToAnother:
            40
        }
    }
}

/// One bug in one server, with dice of its own that say when it shows.
public struct PlantedBug {
    private let fault: PlantedFault
    private var dice: SeededGenerator

    /// `fault`, which shows when the dice of `seed` say so.
    public init(_ fault: PlantedFault, seed: UInt64) {
        self.fault = fault
        dice = SeededGenerator(seed: seed)
    }

    /// Whether it is `asked` for, and shows now.
    mutating func shows(as asked: PlantedFault) -> Bool {
        asked == fault && Int.random(in: 0..<fault.rarity, using: &dice) == 0
    }
}

extension Exchange {
    /// Whether `fault` was planted here and shows now. Never in release builds.
    @inline(__always)
    func shows(_ fault: PlantedFault) -> Bool {
        #if PLANTED_FAULTS
            bug?.shows(as: fault) ?? false
        #else
            false
        #endif
    }

    /// Plants a bug, where they are compiled in.
    public func plant(_ bug: PlantedBug) {
        #if PLANTED_FAULTS
            self.bug = bug
        #endif
    }
}

// MARK: What the bugs of the exchange do

extension Exchange {
    #if PLANTED_FAULTS
        /// What is taken for `input`: the answer to one question may be taken for that to another.
        func spoiled(_ input: Input) -> Input {
            if case .answered(let id, let answer) = input,
                let other = switchboard.unanswered.first(where: { $0 != id }),
                shows(.answerToAnother)
            {
                return .answered(other, answer)
            }
            return input
        }
    #endif

    /// Whether a bug took the effect, which is not to be queued then.
    @inline(__always)
    func spoils(_ effect: Effect) -> Bool {
        #if PLANTED_FAULTS
            if bug != nil { return take(effect) }
        #endif
        return false
    }

    /// Whether a bug lost the record.
    @inline(__always)
    func spoils(_ record: Record) -> Bool {
        #if PLANTED_FAULTS
            switch record {
            case .call: return shows(.lostChange)
            case .key: return shows(.lostKey)
            case .push, .registration, .name: return false
            }
        #else
            return false
        #endif
    }

    #if PLANTED_FAULTS
        private func take(_ effect: Effect) -> Bool {
            if let late = heldBack.take() {
                queue.add(.effect(effect))
                queue.add(.effect(late))
                return true
            }
            switch effect {
            case .reply where queue.isOpen && shows(.earlyReply),
                .send where queue.isOpen && shows(.earlyEvent):
                perform(effect, by: deliverer)
                return true
            case .send where shows(.lateEffect):
                heldBack = effect
                return true
            default: return shows(.lostEffect)
            }
        }
    #endif
}

// MARK: What the bugs of the desk do

extension ClientDesk {
    /// Under which number a request is answered that was asked under `id`.
    @inline(__always)
    func spoiled(_ id: MessageID) -> MessageID {
        #if PLANTED_FAULTS
            if case .integer(let number) = id, exchange.shows(.replyToAnother) {
                return .integer(number + 1)
            }
        #endif
        return id
    }

    /// The number under which the event `tail` is sent that was numbered `seq`.
    @inline(__always)
    func spoiled(_ seq: UInt64, _ tail: [UInt8], _ live: LiveSession) -> UInt64 {
        #if PLANTED_FAULTS
            if exchange.shows(.numberTwice) { return seq - 1 }
            if exchange.shows(.numberSkipped) { return seq + 1 }
            if exchange.shows(.eventTwice), let endpoint = live.line?.endpoint {
                send(tail, seq: seq, over: endpoint)
                return live.session.number(tail, limits: limits.session) ?? seq
            }
        #endif
        return seq
    }
}
