// Whom the policies are asked about while others are tried for some accounts.

import CallModel
import Testing

@testable import CallCore

@Suite struct CanarySettingsTests {
    private let start = Moment(1_790_000_000_000)

    private func settings(_ guarded: Bool = false) throws -> Settings {
        var settings = Settings()
        settings.answerFor = Accounts(["old-*"])
        let extent = try #require(CanaryExtent("old-1 new-1", salt: ""))
        let guards = guarded ? [Settings.Guard(plugin: "door", place: 0, users: nil)] : []
        settings.canary = Settings.Canary(
            extent, answerFor: Accounts(["new-*"]), inviteGuards: guards, dialGuards: [])
        return settings
    }

    /// The accounts that a question is asked about when all of these are invited.
    private func asked(_ names: [String], _ board: inout Switchboard) -> [String] {
        let request = Request(
            id: RequestID(1), user: UserID("ann"), device: DeviceID("phone"),
            operation: .invite(Invitation(invitees: names.map { UserID($0) })))
        return board.handle(.request(request), at: start).compactMap {
            guard case .consult(let question) = $0,
                case .invite(_, let callee, _) = question.subject
            else { return nil }
            return callee.text
        }
    }

    @Test func eachAccountIsAnsweredForByItsOwnPlugins() throws {
        var board = Switchboard(settings: try settings(), seed: 1, at: start)
        let names = ["old-1", "old-2", "new-1", "new-2", "zoe"]
        #expect(asked(names, &board) == ["old-2", "new-1"])
    }

    /// (G71)
    @Test func aGuardRefusesForTheAccountsOfTheCanaryOnly() throws {
        var board = Switchboard(settings: try settings(true), seed: 1, at: start)
        #expect(asked(["old-2", "new-1"], &board) == ["old-2", "new-1"])
        _ = board.handle(.deadlineReached, at: start + board.settings.heldWithin)
        let end = start + board.settings.decideWithin + board.settings.decideGrace
        let effects = board.handle(.deadlineReached, at: end)
        let call = try #require(effects.compactMap { $0.stored }.last)
        #expect(call.participant(UserID("new-1"))?.state == .rejected)
        #expect(call.participant(UserID("old-2"))?.state == .inviting, "it rings")
    }
}

extension Effect {
    /// The call that it stores.
    fileprivate var stored: Call? {
        guard case .persist(let changes) = self else { return nil }
        for case .call(let call) in changes { return call }
        return nil
    }
}
