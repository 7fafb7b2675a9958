// Every participant state × every trigger × every mode against the table.

import CallCore
import CallModel
import Foundation
import Testing

@Suite struct TransitionTests {
    @Test(arguments: TransitionTable.all)
    func everyStateInEveryModeDoesWhatTheTableSays(_ table: TransitionTable) throws {
        for mode in Mode.all {
            for state in TransitionTable.states {
                let expected = try #require(table.cell(from: state, mode: mode.name))
                var trial = Trial(mode: mode.name, state: Participant.State(rawValue: state))
                let seen = trial.run(table.trigger)
                #expect(seen == expected, "\(table.trigger) of \(state) in \(mode.name)")
            }
        }
    }

    @Test func theTableHasARowForEveryState() {
        for table in TransitionTable.all {
            #expect(table.rows.map(\.from) == TransitionTable.states, "\(table.trigger)")
            #expect(table.rows.allSatisfy { $0.cells.count == table.columns.count })
        }
    }

    @Test func thePageOfTheDocumentationIsFresh() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/CallCore/CallCore.docc/Transitions.md")
        if ScenarioTests.isRecording {
            try TransitionTable.page.write(to: page, atomically: true, encoding: .utf8)
            Issue.record("the page was written: read it, then run again")
        }
        let written = try String(contentsOf: page, encoding: .utf8)
        #expect(written == TransitionTable.page, "stale: run with CALLAGENT_RECORD=1")
    }
}

/// A call with alice, who made it, carol, who rings, and bob, who is in the state to be tried.
private struct Trial {
    private static let start = Moment(1_800_000_000_000)
    private let alice = UserID("alice")
    private let bob = UserID("bob")
    private let phone = DeviceID("phone")
    private let before: Participant.State?
    private let id = CallID(high: 1_800_000_000_000 << 16, low: 7)
    private var board: Switchboard
    private var now = Trial.start
    private var requests: UInt64 = 0

    init(mode name: String, state: Participant.State?) {
        let settings = Settings()
        before = state
        board = Switchboard(settings: settings, seed: 1, at: now)
        var call = Call(
            id: id, mode: settings.modeIndex(named: name) ?? ModeIndex(0), kind: "audio",
            ringTime: 60_000, deliveryCheck: true, createdAt: now)
        call.participants = [
            participant(alice, .caller, .joined), participant(UserID("carol"), .invitee, .ringing),
        ]
        if let state { call.participants.append(participant(bob, .invitee, state)) }
        if state == .joined || state == .left {
            call.state = .active
            call.answeredAt = now
        }
        var restored = Restored()
        restored.calls = [call]
        _ = board.restore(restored, at: now)
        _ = connect(alice)
    }

    private mutating func newRequest() -> RequestID {
        requests += 1
        return RequestID(requests)
    }

    private mutating func connect(_ user: UserID) -> String {
        handle(.deviceConnected(newRequest(), user, phone, resumed: false))
    }

    private func participant(
        _ user: UserID, _ role: Participant.Role, _ state: Participant.State
    ) -> Participant {
        var participant = Participant(user: user, role: role, state: state, at: now)
        participant.invitedBy = role == .caller ? nil : alice
        if state == .joined { participant.device = phone }
        if state == .accepting || state == .inviting { participant.deliveryAlarm = now + 5_000 }
        if state.mayAnswer, user == bob { participant.deadlineAt = now + 30_000 }
        return participant
    }

    /// What became of bob; nil: there is no such trigger.
    mutating func run(_ trigger: String) -> String? {
        switch trigger {
        case "add": ask(alice, .add([bob]))
        case "ringing": ask(bob, .ringing)
        case "check": pass(5_000)
        case "deadline":
            // Without the check, which comes before.
            before == .accepting || before == .inviting ? passDeadline() : pass(30_000)
        case "accept": ask(bob, .accept())
        case "accept_ack": ask(alice, .acceptAck(bob))
        case "reject": ask(bob, .reject())
        case "reject_busy": ask(bob, .reject(busy: true))
        case "cancel_one": ask(alice, .cancel([bob]))
        case "cancel": ask(alice, .cancel())
        case "caller_lost":
            handle(.deviceGone(alice, phone, bye: true))
        case "join": ask(bob, .join)
        case "join_elsewhere": ask(bob, .join, with: DeviceID("laptop"))
        case "leave": ask(bob, .leave)
        case "end": ask(bob, .end)
        case "end_by_caller": ask(alice, .end)
        case "connect": connect(bob)
        case "lost":
            connect(bob) == "=" ? handle(.deviceGone(bob, phone, bye: true)) : nil
        case "forward":
            handle(
                .policyRequest(
                    newRequest(), bob, plugin: "plugin",
                    .call(id, .forward(to: UserID("dave")))))
        default: nil
        }
    }

    /// The ring time of somebody whose delivery check is still to come.
    private mutating func passDeadline() -> String {
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

    private mutating func ask(
        _ user: UserID, _ action: CallAction, with device: DeviceID = DeviceID("phone")
    ) -> String {
        let request = Request(
            id: newRequest(), user: user, device: device, operation: .call(id, action))
        return handle(.request(request))
    }

    private mutating func handle(_ input: Input) -> String {
        let effects = board.handle(input, at: now)
        for case .reply(_, let reply) in effects {
            switch reply {
            case .refused(let refusal): return "!\(refusal.code.rawValue)"
            case .callWithErrors(_, _, let errors) where !errors.isEmpty:
                return "?\(errors[0].code.rawValue)"
            case .callWithErrors, .done, .call, .invited, .items, .token, .kept: break
            }
        }
        let after = board.call(id)?.participant(bob)?.state
        return after == before ? "=" : after?.rawValue ?? "-"
    }
}
