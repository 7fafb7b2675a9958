// One cell of the transition table, tried on a switchboard.

import CallCore
import CallModel

/// A call of alice, who made it, with the participant whose part is tried in it.
struct Trial {
    /// What happens to the participant whose part is tried.
    typealias Trigger = @Sendable (inout Trial) -> String

    private static let start = Moment(1_800_000_000_000)
    private static let alice = UserID("alice")
    private static let bob = UserID("bob")
    private static let carol = UserID("carol")
    private static let dave = UserID("dave")
    private static let phone = DeviceID("phone")

    /// Whose part is tried.
    private let user: UserID
    private let before: Participant.State?
    private let id = CallID(high: 1_800_000_000_000 << 16, low: 7)
    private var board: Switchboard
    private var now = Trial.start
    private var requests: UInt64 = 0

    /// What `trigger` does, as a cell of the table; nil: there is no such trigger.
    static func run(
        _ trigger: String, from situation: String, of part: TransitionTable.Part, _ mode: Mode
    ) -> String? {
        var trial = Trial(part, situation, mode)
        return all(part)[trigger].map { $0(&trial) }
    }

    /// The names of all triggers of a part.
    static func triggers(of part: TransitionTable.Part) -> [String] { Array(all(part).keys) }

    private init(_ part: TransitionTable.Part, _ situation: String, _ mode: Mode) {
        let settings = Settings()
        before = Participant.State(rawValue: String(situation.prefix { $0 != "," }))
        board = Switchboard(settings: settings, seed: 1, at: now)
        var call = Call(
            id: id, mode: ModeRow(mode), kind: "audio",
            ringTime: 60_000, deliveryCheck: 5_000, createdAt: now)
        switch part {
        case .invitee: user = Self.bob
        case .caller: user = Self.alice
        case .joiner: user = Self.dave
        }
        call.participants = participants(part, bobIsIn: situation.hasSuffix("bob joined"))
        let wasAnswered = call.participants.dropFirst().contains {
            $0.state == .joined || $0.state == .left
        }
        if wasAnswered {
            call.state = .active
            call.answeredAt = now
        }
        var restored = Restored()
        restored.calls = [call]
        _ = board.restore(restored, at: now)
        _ = connect(Self.alice)
    }

    private func participants(
        _ part: TransitionTable.Part, bobIsIn: Bool
    ) -> [Participant] {
        let bob = participant(Self.bob, .invitee, bobIsIn ? .joined : .ringing)
        switch part {
        case .invitee:
            let carol = participant(Self.carol, .invitee, .ringing)
            let tried = before.map { [participant(Self.bob, .invitee, $0)] } ?? []
            return [participant(Self.alice, .caller, .joined), carol] + tried
        case .caller: return [participant(Self.alice, .caller, before ?? .joined), bob]
        case .joiner:
            let tried = before.map { [participant(Self.dave, .joiner, $0)] } ?? []
            return [participant(Self.alice, .caller, .joined), bob] + tried
        }
    }

    private func participant(
        _ user: UserID, _ role: Participant.Role, _ state: Participant.State
    ) -> Participant {
        var participant = Participant(user: user, role: role, state: state, at: now)
        let isTried = user == self.user
        participant.invitedBy = role == .invitee ? Self.alice : isTried ? Self.bob : nil
        if state == .joined { participant.device = Self.phone }
        if state == .accepting || state == .inviting { participant.deliveryAlarm = now + 5_000 }
        if state.mayAnswer, isTried { participant.deadlineAt = now + 30_000 }
        return participant
    }

    // MARK: Triggers

    private static func all(_ part: TransitionTable.Part) -> [String: Trigger] {
        switch part {
        case .invitee: own.merging(byTheCaller) { $1 }
        case .caller, .joiner: own.merging(byBob) { $1 }
        }
    }

    /// What the participant does, and what time and the policies do to them.
    private static let own: [String: Trigger] = [
        "ringing": { $0.ask(.ringing) },
        "check": { $0.pass(5_000) },
        "deadline": { $0.passDeadline() },
        "accept": { $0.ask(.accept()) },
        "reject": { $0.ask(.reject()) },
        "reject_busy": { $0.ask(.reject(busy: true)) },
        "join": { $0.ask(.join()) },
        "join_elsewhere": { $0.ask(.join(), with: DeviceID("laptop")) },
        "leave": { $0.ask(.leave()) },
        "end": { $0.ask(.end()) },
        "connect": { $0.connect($0.user) },
        "lost": { $0.lose($0.user) },
        "forward": { $0.decide(.forward(to: [UserID("erin")])) },
        "finish": { $0.decide(.finish(code: nil)) },
        "media_failed": { $0.ask(.report(.failed)) },
        "cancels": { $0.ask(.cancel()) },
        "adds": { $0.ask(.add([UserID("erin")])) },
    ]

    private static let byTheCaller: [String: Trigger] = [
        "add": { $0.ask(.add([$0.user]), by: alice) },
        "accept_ack": { $0.ask(.acceptAck($0.user), by: alice) },
        "cancel_one": { $0.ask(.cancel([$0.user]), by: alice) },
        "cancel": { $0.ask(.cancel(), by: alice) },
        "end_by_caller": { $0.ask(.end(), by: alice) },
        "caller_lost": { $0.lose(alice) },
    ]

    private static let byBob: [String: Trigger] = [
        "add": { $0.ask(.add([$0.user]), by: bob) },
        "acknowledges": { $0.ask(.acceptAck(bob)) },
        "cancel_one": { $0.ask(.cancel([$0.user]), by: bob) },
        "cancels_one": { $0.ask(.cancel([bob])) },
        "bob_accepts": { $0.ask(.accept(), by: bob) },
        "bob_rejects": { $0.ask(.reject(), by: bob) },
        "bob_leaves": { $0.ask(.leave(), by: bob) },
        "bob_ends": { $0.ask(.end(), by: bob) },
    ]

    /// The ring time, without the delivery check that comes before.
    private mutating func passDeadline() -> String {
        guard before == .accepting || before == .inviting else { return pass(30_000) }
        var restored = Restored()
        var call = board.liveCalls[0]
        for index in call.participants.indices {
            call.participants[index].deliveryAlarm = nil
        }
        restored.calls = [call]
        board = Switchboard(settings: Settings(), seed: 1, at: now)
        _ = board.restore(restored, at: now)
        return pass(30_000)
    }

    private mutating func pass(_ time: Milliseconds) -> String {
        now = now + time
        return handle(.deadlineReached)
    }

    private mutating func connect(_ user: UserID) -> String {
        handle(.deviceConnected(newRequest(), user, Self.phone, resumed: false))
    }

    /// The user's last device says bye.
    private mutating func lose(_ user: UserID) -> String {
        _ = connect(user)
        return handle(.deviceGone(user, Self.phone, bye: true))
    }

    private mutating func decide(_ action: CallAction) -> String {
        handle(.policyRequest(newRequest(), user, plugin: "plugin", .call(id, action)))
    }

    private mutating func ask(
        _ action: CallAction, by other: UserID? = nil, with device: DeviceID = Trial.phone
    ) -> String {
        let request = Request(
            id: newRequest(), user: other ?? user, device: device, operation: .call(id, action))
        return handle(.request(request))
    }

    private mutating func newRequest() -> RequestID {
        requests += 1
        return RequestID(requests)
    }

    // MARK: What came of it

    private mutating func handle(_ input: Input) -> String {
        for case .reply(_, let reply) in board.handle(input, at: now) {
            switch reply {
            case .refused(let refusal): return "!\(refusal.code.rawValue)"
            case .callWithErrors(_, _, let errors) where !errors.isEmpty:
                return "?\(errors[0].code.rawValue)"
            case .callWithErrors, .done, .call, .invited, .items, .token, .names, .kept: break
            }
        }
        return outcome
    }

    /// The participant's state, and why the call ended if it did.
    private var outcome: String {
        let call = board.call(id)
        let after = call?.participant(user)?.state
        let state = after == before ? "=" : after?.rawValue ?? "-"
        return state + (call?.end.map { " (\($0.reason.rawValue))" } ?? "")
    }
}
