// What holds whatever happens: random actions on the bare core, checked after each.

import CallCore
import Collections
import CallModel
import CallSimulator
import Foundation
import Testing

@Suite struct InvariantTests {
    /// Fixed seeds, and one that is new in every run: the failure names it.
    static let seeds: [UInt64] = {
        let more = ProcessInfo.processInfo.environment["CALLAGENT_SEEDS"].flatMap(UInt64.init)
        return Array(1...(more ?? 40)) + [UInt64.random(in: 1_000_000...UInt64.max)]
    }()

    @Test(arguments: seeds) func theInvariantsHoldAfterEveryAction(_ seed: UInt64) throws {
        var actions = RandomActions(seed: seed)
        var rig = CoreRig(settings: actions.settings())
        var checker = ConsistencyChecker(atServer: true)
        var presence = PresenceModel()
        for step in 0..<600 {
            let action = actions.next(asked: rig.openQuestions)
            guard isPossible(action, rig) else { continue }
            do throws(RigFailure) {
                let seen = try rig.perform(action)
                presence.note(action, seen, at: rig.moment, rig.switchboard.liveCalls)
                for observation in seen {
                    actions.note(observation)
                    try checker.see(observation)
                }
                for device in gone(by: action) { checker.forget(device) }
                try checker.compare(with: rig.switchboard, connected: rig.connected)
                try check(rig, presence)
            } catch {
                Issue.record("seed \(seed), step \(step), \(action): \(error)")
                return
            }
        }
    }

    /// Whether the rig's devices can do it now.
    private func isPossible(_ action: Action, _ rig: CoreRig) -> Bool {
        switch action {
        case .connect(let device, let resuming): !resuming || rig.isCut(device)
        case .disconnect(let device), .bye(let device): rig.connected.contains(device)
        case .forget(let device): rig.isCut(device)
        case .request, .pass, .restart, .answer, .think, .policyRequest, .setting: true
        }
    }

    private func gone(by action: Action) -> [Address] {
        switch action {
        case .forget(let device), .bye(let device): [device]
        case .connect, .disconnect, .request, .pass, .restart, .answer, .think, .policyRequest,
            .setting:
            []
        }
    }

    private func check(_ rig: CoreRig, _ presence: PresenceModel) throws(RigFailure) {
        let board = rig.switchboard
        for call in board.liveCalls {
            let users = call.participants.map(\.user)
            guard Set(users).count == users.count else {
                throw RigFailure("a user stands twice in \(call)")
            }
            guard call.participants.contains(where: \.state.isLive) else {
                throw RigFailure("nobody is left in \(call)")
            }
            for participant in call.participants where !participant.state.isPending {
                // Who is joined and lost has to leave for it where the mode says so (K107).
                let leaves =
                    call.mode.lost == .leaves
                    && presence.isLost(participant, at: rig.moment)
                guard participant.deadlineAt == nil, participant.policyAlarm == nil,
                    participant.asking == .nothing, (participant.deliveryAlarm != nil) == leaves
                else { throw RigFailure("a deadline of nobody runs in \(call)") }
            }
        }
        try checkUsers(board, presence, at: rig.moment)
        try checkTimers(board, at: rig.moment)
        try checkRestart(rig)
    }

    /// Every user's list of calls is right: nobody is busy for nothing, nor by a call that has
    /// lost the user (K107).
    private func checkUsers(
        _ board: Switchboard, _ presence: PresenceModel, at now: Moment
    ) throws(RigFailure) {
        let calls = board.liveCalls
        for user in RandomActions(seed: 0).users {
            let expected = calls.count { call in
                guard let part = call.participant(user), part.state.isLive else { return false }
                return !presence.isLost(part, at: now)
            }
            guard board.facts(of: user).calls == expected else {
                throw RigFailure(
                    "\(user) counts as in \(board.facts(of: user).calls) calls, not \(expected)")
            }
            guard board.liveCalls(madeBy: user) == calls.count(where: { $0.caller == user }) else {
                throw RigFailure("\(user) made another number of calls than is counted")
            }
        }
    }

    /// No deadline is later than the next one that the switchboard names.
    private func checkTimers(_ board: Switchboard, at now: Moment) throws(RigFailure) {
        for call in board.liveCalls {
            var alarms = [call.mediaAlarm, call.idleAlarm]
            alarms.append(call.createdAt + board.settings.callAgeMax)
            for participant in call.participants {
                alarms += [participant.deliveryAlarm, participant.policyAlarm]
                alarms.append(participant.deadlineAt.map { $0 + board.settings.shapingGrace })
            }
            guard let first = alarms.compactMap({ $0 }).min() else { continue }
            guard let next = board.nextDeadline, next <= first else {
                throw RigFailure("nothing is due before \(first) of \(call)")
            }
        }
    }

    /// A switchboard restored from the store is the running one, but for open questions, which
    /// are decided anew, deadlines that wait for an answer being shaped, and absence, which begins
    /// anew.
    private func checkRestart(_ rig: CoreRig) throws(RigFailure) {
        let before = rig.switchboard.liveCalls.sorted { $0.id < $1.id }
        let isWaiting = { (participant: Participant) in
            participant.asking == .deciding || participant.asking == .decidingAgain
                || participant.deadlineAt.map { $0 <= rig.moment } ?? false
        }
        guard !before.contains(where: { $0.participants.contains(where: isWaiting) }) else {
            return
        }
        var restored = Switchboard(settings: rig.switchboard.settings, seed: 9, at: rig.moment)
        _ = restored.restore(rig.stored.restored, at: rig.moment)
        let after = restored.liveCalls.sorted { $0.id < $1.id }
        for (old, new) in zip(before, after) where old.withoutAbsence != new {
            throw RigFailure("a restart makes \(new)\nof \(old)")
        }
        guard before.count == after.count else { throw RigFailure("a restart loses a call") }
    }
}

extension Call {
    /// The call without the time after which somebody absent leaves.
    fileprivate var withoutAbsence: Call {
        var call = self
        for index in participants.indices where participants[index].state == .joined {
            call.participants[index].deliveryAlarm = nil
        }
        return call
    }
}
