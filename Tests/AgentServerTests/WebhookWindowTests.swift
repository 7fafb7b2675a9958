// Whose events are in memory, and whose wait in the store.

import AgentCore
import CallModel
import Outbound
import StoreContract
import Testing

@testable import AgentServer

@Suite struct WebhookWindowTests {
    private var window: WebhookWindow

    init() throws {
        var limits = WebhookWindow.Limits()
        (limits.events, limits.eventsPerCaller, limits.behind) = (12, 6, 3)
        let endpoint = WebhookEndpoint("crm", try HTTPURL("https://crm.example/"), secrets: [])
        window = WebhookWindow(endpoint, isSearching: false, limits: limits)
    }

    private func job(_ id: Int64, _ caller: String) -> StoreContract.WebhookJob {
        var job = StoreContract.WebhookJob(
            JobID(id), endpoint: "crm", call: CallID(high: 0, low: UInt64(id)),
            type: "call.ended", at: Moment(0), body: [])
        job.cause = Cause(UserID(caller))
        return job
    }

    private mutating func take(_ id: Int64, _ caller: String) -> Bool {
        window.take(job(id, caller))
    }

    @Test mutating func whoeverHasManyEventsLeavesRoomForThoseOfOthers() {
        var taken = (1...10).map { take($0, "mallory") }
        #expect(taken == [true, true, true, true, true, true, false, false, false, false])
        taken = (11...13).map { take($0, "ann") }
        #expect(taken == [true, true, true])
        #expect(window.count == 9 && window.isLate)
    }

    @Test mutating func whoIsBehindGoesOnInOrderFromWhereTheWindowEnded() {
        for id in 1...8 as ClosedRange<Int64> { _ = take(id, "mallory") }
        var turns = window.turns()
        #expect(turns.isEmpty, "there is no room for more of theirs")
        for id in 1...5 as ClosedRange<Int64> { window.remove(JobID(id)) }
        let late = take(9, "mallory")
        #expect(!late, "the seventh comes first")
        turns = window.turns()
        #expect(turns.map(\.caller) == [UserID("mallory")] && turns[0].after == JobID(6))
        let stored = window.takeStored(job(7, "mallory"))
        let again = window.takeStored(job(7, "mallory"))
        #expect(stored && !again)
        _ = window.takeStored(job(8, "mallory"))
        _ = window.takeStored(job(9, "mallory"))
        window.noteRead(UserID("mallory"), isAll: true)
        #expect(!window.isLate)
        let next = take(10, "mallory")
        #expect(next)
    }

    @Test mutating func whatIsStoredDuringAReadIsNotLost() {
        for id in 1...7 as ClosedRange<Int64> { _ = take(id, "mallory") }
        for id in 1...6 as ClosedRange<Int64> { window.remove(JobID(id)) }
        #expect(window.turns().count == 1)
        let overtaking = take(8, "mallory")
        #expect(!overtaking)
        _ = window.takeStored(job(7, "mallory"))
        window.noteRead(UserID("mallory"), isAll: true)
        #expect(window.turns().map(\.after) == [JobID(7)])
    }

    @Test mutating func afterAStartEverybodyIsLookedForTooManyInTwoSteps() {
        window = window.enabled()
        #expect(window.mayFind && window.isLate)
        let direct = take(9, "ann")
        #expect(!direct)
        #expect(window.turns().map(\.after) == [nil], "an older one may be in the store")
        window.found(["bob", "carl", "dora"].map { UserID($0) })
        #expect(!window.mayFind && window.searched == UserID("carl"), "three is the limit")
        for caller in ["ann", "bob", "carl"] {
            _ = window.turns()
            window.noteRead(UserID(caller), isAll: true)
        }
        #expect(window.mayFind)
        window.found([UserID("dora")])
        #expect(!window.mayFind && window.turns().map(\.caller) == [UserID("dora")])
        window.noteRead(UserID("dora"), isAll: true)
        #expect(!window.isLate)
    }

    @Test mutating func anEventThatIsSentAgainIsReadAgain() {
        _ = take(5, "ann")
        window.rewind(before: (JobID(2), UserID("ann")))
        #expect(window.turns().map(\.after) == [JobID(1)])
        _ = window.takeStored(job(2, "ann"))
        let known = window.takeStored(job(5, "ann"))
        #expect(!known)
        window.noteRead(UserID("ann"), isAll: true)
        #expect(!window.isLate && window.count == 2)
    }

    /// What the window gives out of the events of `ann` in a store, in one turn.
    private mutating func turn(of stored: [Int64]) -> [Int64] {
        let after = window.turns().first { $0.caller == UserID("ann") }?.after
        let read = stored.filter { $0 > (after?.value ?? 0) }
        let given = read.filter { window.takeStored(job($0, "ann")) }
        window.noteRead(UserID("ann"), isAll: true)
        return given
    }

    @Test mutating func whatHappensDuringASearchDoesNotHideWhatHappenedBefore() {
        window = window.enabled()
        _ = take(9, "ann")
        var given = turn(of: [1, 2, 9])
        #expect(given == [1, 2, 9])
        // So it is with whom the search has found, once that has ended.
        window = window.enabled()
        window.found([UserID("ann")])
        _ = take(9, "ann")
        given = turn(of: [1, 2, 9])
        #expect(given == [1, 2, 9])
        #expect(!window.isLate)
    }

    @Test mutating func whoComesToBeBehindUnknownIsNotPassedOverByASearch() {
        window = window.enabled()
        let last = window.beginSearch()
        #expect(last == nil)
        for (id, caller) in ["bob", "carl", "dora", "ann"].enumerated() {
            _ = take(Int64(id + 1), caller)
        }
        // It was read before ann had any.
        window.found([])
        for caller in ["bob", "carl", "dora"] {
            _ = window.turns()
            window.noteRead(UserID(caller), isAll: true)
        }
        #expect(window.mayFind, "she is still to be found")
        _ = window.beginSearch()
        window.found([UserID("ann")])
        let given = turn(of: [4])
        #expect(given == [4])
        #expect(!window.isLate)
    }

    @Test mutating func ofWhomThereIsNoRoomNothingIsRemembered() {
        window = window.enabled()
        for id in 1...50 as ClosedRange<Int64> {
            _ = take(id, "u\(id)")
            window.rewind(before: (JobID(id), UserID("v\(id)")))
        }
        #expect(window.accounts == 3)
    }

    @Test mutating func whatAStoreHasThatSaidItHadNotIsFound() {
        _ = take(1, "ann")
        window.searchAnew()
        let overtaking = take(3, "ann")
        #expect(!overtaking)
        _ = window.beginSearch()
        window.found([UserID("ann")])
        let given = turn(of: [1, 2, 3])
        #expect(given == [2, 3] && !window.isLate)
    }

    @Test mutating func aReadingThatWasBegunBeforeAReceiverWasDisabledCountsNoMore() {
        for id in 1...7 as ClosedRange<Int64> { _ = take(id, "ann") }
        window.beginReading(1)
        window.disable()
        window = window.enabled()
        #expect(!window.isReading)
        window.beginReading(2)
        let counts = [window.endReading(1), window.isReading, window.endReading(2)]
        #expect(counts == [false, true, true] && !window.isReading)
        window.noteRead(UserID("ann"), isAll: false)
        #expect(window.turns().isEmpty, "nobody is behind who was not found")
    }
}
