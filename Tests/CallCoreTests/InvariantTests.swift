// What holds whatever happens: random actions on the bare core, checked after each.

import CallCore
import Bookkeeping
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
        for step in 0..<600 {
            let action = actions.next(asked: rig.openQuestions)
            guard isPossible(action, rig) else { continue }
            do throws(RigFailure) {
                for observation in try rig.perform(action) {
                    actions.note(observation)
                    try checker.see(observation)
                }
                for device in gone(by: action) { checker.forget(device) }
                try checker.compare(with: rig.switchboard, connected: rig.connected)
                try check(rig)
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
        case .request, .pass, .restart, .answer, .policyRequest, .setting: true
        }
    }

    private func gone(by action: Action) -> [Address] {
        switch action {
        case .forget(let device), .bye(let device): [device]
        case .connect, .disconnect, .request, .pass, .restart, .answer, .policyRequest, .setting:
            []
        }
    }

    private func check(_ rig: CoreRig) throws(RigFailure) {
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
                guard participant.deadlineAt == nil, participant.policyAlarm == nil,
                    participant.deliveryAlarm == nil, participant.asking == .nothing
                else { throw RigFailure("a deadline of nobody runs in \(call)") }
            }
        }
        try checkUsers(board)
        try checkTimers(board, at: rig.moment)
        try checkRestart(rig)
    }

    /// Every user's list of calls is right: nobody is busy for nothing.
    private func checkUsers(_ board: Switchboard) throws(RigFailure) {
        let calls = board.liveCalls
        for user in RandomActions(seed: 0).users {
            let expected = calls.count { $0.participant(user)?.state.isLive == true }
            guard board.facts(of: user).calls == expected else {
                throw RigFailure("\(user) counts as in \(board.facts(of: user).calls) calls")
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
    /// are decided anew, and deadlines that wait for an answer being shaped.
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
        for (old, new) in zip(before, after) where old != new {
            throw RigFailure("a restart makes \(new)\nof \(old)")
        }
        guard before.count == after.count else { throw RigFailure("a restart loses a call") }
    }
}
