// The threads around a store: commits and look-ups go through them, also after a failure.

import CallClient
import CallModel
import EventLoop
import Storage
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

    func restore(at now: Moment) throws(StoreError) -> StoredState { try kept.restore(at: now) }

    func commit(_ batch: [StoreRecord], at now: Moment) throws(StoreError) -> CommitResult {
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
        private(set) var link: ThreadedLink?

        init() throws {
            waiter = try LoopWaiter()
            let news = try Mailbox<StoreNews>(on: waiter.loop) { [unowned self] batch in
                told += batch.map { Self.word($0) }
            }
            let faults = faults
            let first = MemoryStore()
            _ = try first.restore(at: Moment(0))
            link = try ThreadedLink(
                FlakyStore(first, faults),
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
            case .committed: "committed"
            case .failed(let error): "failed \(error.kind)"
            case .reopened: "reopened"
            case .value(_, let bytes): "value \(bytes.map { "\($0)" } ?? "none")"
            case .call, .key, .page, .keys, .lookupFailed, .generation, .found: "other"
            }
        }

        /// What it has told, once there are as many.
        func told(_ count: Int) throws -> [String] {
            try waiter.wait(for: "\(count) news") { self.told.count >= count }
            return told
        }

        func submit(_ value: UInt8) {
            let change = ValueChange.set(plugin: "p", key: "k", value: [value], expiresAt: nil)
            link?.submit([.value(change)], at: Moment(1_000))
        }

        func read() {
            link?.fetch(.value(StoreTicket(value: 1), plugin: "p", key: "k", at: Moment(1_000)))
        }
    }

    @Test func `What was committed is read`() throws {
        let rig = try Rig()
        defer { rig.close() }
        rig.submit(7)
        #expect(try rig.told(1) == ["committed"])
        rig.read()
        #expect(try rig.told(2) == ["committed", "value [7]"])
    }

    @Test func `After a failure nothing is committed before the store is open again`() throws {
        let rig = try Rig()
        defer { rig.close() }
        rig.faults.left.store(1, ordering: .relaxed)
        rig.submit(1)
        rig.submit(2)
        #expect(try rig.told(2) == ["failed inputOutput", "failed notOpen"])
        rig.link?.reopen(at: Moment(2_000))
        rig.submit(3)
        #expect(try rig.told(4).suffix(2) == ["reopened", "committed"])
        #expect(rig.faults.opened.load(ordering: .relaxed) == 1)
    }

    @Test func `A store that takes nothing yet is not back`() throws {
        let rig = try Rig()
        defer { rig.close() }
        rig.faults.left.store(3, ordering: .relaxed)
        rig.submit(1)
        _ = try rig.told(1)
        for _ in 0..<3 { rig.link?.reopen(at: Moment(2_000)) }
        let expected = ["failed inputOutput", "failed inputOutput", "reopened"]
        #expect(try rig.told(4).dropFirst() == expected[...])
    }

    @Test func `Readers read the store that was opened last`() throws {
        let rig = try Rig()
        defer { rig.close() }
        rig.submit(7)
        rig.link?.reopen(at: Moment(2_000))
        _ = try rig.told(2)
        rig.read()
        #expect(try rig.told(3).last == "value none", "the new store is another one")
        rig.submit(8)
        _ = try rig.told(4)
        rig.read()
        #expect(try rig.told(5).last == "value [8]")
    }
}
