// The threads around a store: commits and look-ups go through them, also after a failure.

import AgentCore
import CallClient
import CallModel
import EventLoop
import Storage
import StoreContract
import Synchronization
import Testing

@testable import AgentServer

/// A store in memory whose commits fail when a test says so.
private final class FlakyStore: CallStore {
    /// How many of the next commits fail; shared by stores that are opened one after the other.
    final class Faults: Sendable {
        let left = Atomic<Int>(0)
        let opened = Atomic<Int>(0)
    }

    private let kept: MemoryStore
    private let faults: Faults

    init(_ kept: MemoryStore, _ faults: Faults) {
        self.kept = kept
        self.faults = faults
    }

    var limits: StoreLimits {
        get { kept.limits }
        set { kept.limits = newValue }
    }

    func restore(at now: Moment, in term: Term) throws(StoreError) -> StoredState {
        try kept.restore(at: now, in: term)
    }

    func commit(_ batch: [StoreChange], at now: Moment) throws(StoreError) -> CommitResult {
        guard faults.left.load(ordering: .relaxed) == 0 else {
            faults.left.subtract(1, ordering: .relaxed)
            throw StoreError(.inputOutput, path: "test", operation: "commit")
        }
        return try kept.commit(batch, at: now)
    }

    func sweep(at now: Moment) throws(StoreError) -> Bool { try kept.sweep(at: now) }
    func makeReader() throws(StoreError) -> any CallReader { try kept.makeReader() }
    func close() throws(StoreError) { try kept.close() }
}

@Suite struct StoreLinkTests {
    /// A link to a flaky store, with everything that it has told.
    private final class Rig {
        let waiter: LoopWaiter
        let faults = FlakyStore.Faults()
        private(set) var told: [String] = []
        private(set) var link: StoreThreads?

        init(_ settings: Settings = Settings()) throws {
            waiter = try LoopWaiter()
            let news = try Mailbox<StoreNews>(on: waiter.loop) { [unowned self] batch in
                told += batch.map { Self.word($0) }
            }
            let faults = faults
            let first = MemoryStore()
            _ = try first.restore(at: Moment(0))
            link = try StoreThreads(
                (FlakyStore(first, faults), try first.makeReader()), settings,
                open: { () throws(StoreError) in
                    faults.opened.add(1, ordering: .relaxed)
                    return FlakyStore(MemoryStore(), faults)
                }, news: news)
        }

        func close() {
            link?.close()
            waiter.close()
        }

        private static func word(_ news: StoreNews) -> String {
            switch news {
            case .answered(_, .committed): "committed"
            case .lost(let error): "lost \(error.kind)"
            case .answered(_, .opened): "opened"
            case .answered(_, .values(let values)):
                "value \(values[0].map { "\($0)" } ?? "none")"
            case .answered(_, .call(let call)):
                call.map { "call of \($0.createdAt.milliseconds)" } ?? "no call"
            case .answered: "other"
            }
        }

        /// What it has told, once there are as many.
        func told(_ count: Int) throws -> [String] {
            try waiter.wait(for: "\(count) news") { self.told.count >= count }
            return told
        }

        func submit(_ value: UInt8) {
            let change = ValueChange.set(plugin: "p", key: "k", value: [value], expiresAt: nil)
            link?.commit([.value(change)], at: Moment(1_000), as: StoreTicket(1))
        }

        /// A call that begins and ends at `moment`.
        func submit(endedAt moment: Int64) {
            let at = Moment(moment)
            var call = Call(
                id: id(moment), mode: .common, kind: "video", ringTime: 30_000,
                deliveryCheck: nil, createdAt: at)
            call.participants = [
                Participant(user: UserID("ann"), role: .caller, state: .joined, at: at)
            ]
            (call.state, call.endedAt, call.end) = (.ended, at, Call.End(.noAnswer))
            link?.commit([.call(call)], at: at, as: StoreTicket(2))
        }

        func readCall(of moment: Int64) { link?.find(.call(id(moment)), as: StoreTicket(3)) }

        private func id(_ moment: Int64) -> CallID { CallID(high: UInt64(moment) << 16, low: 1) }

        func read() {
            let query = StoreQuery.values(plugin: "p", keys: ["k"], at: Moment(1_000))
            link?.find(query, as: StoreTicket(4))
        }
    }

    @Test func whatWasCommittedIsRead() throws {
        let rig = try Rig()
        defer { rig.close() }
        rig.submit(7)
        #expect(try rig.told(1) == ["committed"])
        rig.read()
        #expect(try rig.told(2) == ["committed", "value [7]"])
    }

    @Test func afterAFailureNothingIsCommittedBeforeTheStoreIsOpenAgain() throws {
        let rig = try Rig()
        defer { rig.close() }
        rig.faults.left.store(1, ordering: .relaxed)
        rig.submit(1)
        rig.submit(2)
        #expect(try rig.told(2) == ["lost inputOutput", "lost notOpen"])
        rig.link?.open(at: Moment(2_000), in: .alone, as: StoreTicket(5))
        rig.submit(3)
        #expect(try rig.told(4).suffix(2) == ["opened", "committed"])
        #expect(rig.faults.opened.load(ordering: .relaxed) == 1)
    }

    @Test func aStoreThatTakesNothingYetIsNotBack() throws {
        let rig = try Rig()
        defer { rig.close() }
        rig.faults.left.store(3, ordering: .relaxed)
        rig.submit(1)
        _ = try rig.told(1)
        for _ in 0..<3 { rig.link?.open(at: Moment(2_000), in: .alone, as: StoreTicket(5)) }
        let expected = ["lost inputOutput", "lost inputOutput", "opened"]
        #expect(try rig.told(4).dropFirst() == expected[...])
    }

    @Test func readersReadTheStoreThatWasOpenedLast() throws {
        let rig = try Rig()
        defer { rig.close() }
        rig.submit(7)
        rig.link?.open(at: Moment(2_000), in: .alone, as: StoreTicket(5))
        _ = try rig.told(2)
        rig.read()
        #expect(try rig.told(3).last == "value none", "the new store is another one")
        rig.submit(8)
        _ = try rig.told(4)
        rig.read()
        #expect(try rig.told(5).last == "value [8]")
    }

    /// The store takes nothing here: what is found was not read.
    @Test func aCallThatEndedIsHeldUntilTheStoreIsOpenedAgain() throws {
        let rig = try Rig()
        defer { rig.close() }
        rig.faults.left.store(1, ordering: .relaxed)
        rig.submit(endedAt: 1_000)
        rig.readCall(of: 1_000)
        #expect(try rig.told(2).sorted() == ["call of 1000", "lost inputOutput"])
        rig.link?.open(at: Moment(2_000), in: .alone, as: StoreTicket(5))
        _ = try rig.told(3)
        rig.readCall(of: 1_000)
        #expect(try rig.told(4).last == "no call")
    }

    @Test func soManyEndedCallsAreHeldAndForSoLong() throws {
        var settings = Settings()
        (settings.endedCallsMax, settings.endedCallsFor) = (2, 1_000)
        let rig = try Rig(settings)
        defer { rig.close() }
        var count = 0
        /// Whether the link has the call of `moment`; the store never has.
        func isHeld(_ moment: Int64) throws -> Bool {
            rig.readCall(of: moment)
            count += 1
            return try rig.told(count).last == "call of \(moment)"
        }
        rig.faults.left.store(1, ordering: .relaxed)
        for moment in [1_000, 1_001, 1_002] as [Int64] {
            rig.submit(endedAt: moment)
            count += 1
            _ = try rig.told(count)
        }
        #expect(try !isHeld(1_000) && isHeld(1_001) && isHeld(1_002))
        rig.submit(endedAt: 2_001)
        count += 1
        _ = try rig.told(count)
        #expect(try !isHeld(1_001) && isHeld(1_002) && isHeld(2_001))
        rig.submit(endedAt: 2_002)
        count += 1
        _ = try rig.told(count)
        #expect(try !isHeld(1_002) && isHeld(2_001) && isHeld(2_002))
    }

    /// Keys are looked up whatever their age: what is not found was removed.
    @Test func aStoreInMemoryForgetsWhatIsTooOldToo() throws {
        let kept = MemoryStore()
        _ = try kept.restore(at: Moment(0))
        var isKept = true
        let link = try StoreInPlace(kept) { news in
            if case .answered(_, .reply(let reply)) = news { isKept = reply != nil }
        }
        let (ann, first) = (UserID("ann"), Moment(1_790_000_000_000))
        func submit(_ key: String, at moment: Moment) {
            let reply = KeptReply(bodyHash: 1, reply: [1])
            let entry = KeyEntry(user: ann, key: key, at: moment, kept: reply)
            link.commit([.key(entry)], at: moment, as: StoreTicket(1))
        }
        submit("old", at: first)
        let nearly = first + (StoreLimits().keyLifetime - 1)
        submit("young", at: nearly)
        link.find(.reply(ann, key: "old"), as: StoreTicket(2))
        #expect(isKept)
        submit("younger", at: nearly + 59_999)
        link.find(.reply(ann, key: "old"), as: StoreTicket(2))
        #expect(isKept, "it is not time to look again")
        submit("youngest", at: nearly + 60_000)
        link.find(.reply(ann, key: "old"), as: StoreTicket(2))
        #expect(!isKept)
        link.find(.reply(ann, key: "young"), as: StoreTicket(2))
        #expect(isKept)
    }
}
