// What an owner does with its database beside the calls, on a thread of its own because it may take
// long.

import CallModel
import ClusterCore
import ClusterStorage
import EventLoop
import StoreContract
import Synchronization

/// Keeps the days of calls and watches the other nodes while this process owns. Any thread may call
/// it.
final class Upkeep: Sendable {
    private let address: DatabaseAddress
    private let silence: Milliseconds
    private let tell: @Sendable (MemberNews) -> Void
    private let grants = WorkerMailbox<Grant?>()
    /// Grows with each grant and at the end: what is under way for an older one ends.
    private let turns = Atomic<Int>(0)
    private let thread = Locked<WorkerThread?>(nil)

    /// How often it looks at the nodes, in milliseconds.
    private static let every: Int64 = 2_000
    /// How many of those looks there are for one at the days.
    private static let looksPerDays = 15

    /// Nothing happens before `begin`.
    ///
    /// - Parameters:
    ///   - silence: how long a living node may say nothing.
    ///   - tell: hears what it sees, and why the days cannot be kept.
    init(
        of address: DatabaseAddress, silence: Milliseconds,
        _ tell: @escaping @Sendable (MemberNews) -> Void
    ) {
        (self.address, self.silence, self.tell) = (address, silence, tell)
    }

    func begin() throws(EventLoopError) {
        let thread = try WorkerThread(name: "upkeep", yields: true) { [self] in run() }
        self.thread.withLock { $0 = thread }
    }

    /// From now on for this takeover; nil: this process does not own.
    func owns(_ grant: Grant?) {
        turns.add(1, ordering: .releasing)
        grants.post(grant)
    }

    /// Ends it; what is under way is given up.
    func end() {
        turns.add(1, ordering: .releasing)
        grants.close()
        thread.withLock { $0.take() }?.join()
    }

    private func run() {
        var work: Work?
        while true {
            var batch: [Grant?] = []
            let taken = grants.takeAll(into: &batch, until: Clock.bootMilliseconds() + Self.every)
            if taken == .closed { return }
            if let last = batch.last {
                work = last.map { Work(grant: $0) }
                continue
            }
            guard work != nil else { continue }
            look(&work)
            keepDays(&work)
        }
    }

    /// What is done for one takeover.
    private struct Work {
        let grant: Grant
        var database: ClusterDatabase?
        var keeper: DayKeeper?
        var looks = 0
        var hasTrouble = false
    }

    private func look(_ work: inout Work?) {
        guard let grant = work?.grant else { return }
        do throws(StoreError) {
            let known = work?.database
            let database = if let known { known } else { try ClusterDatabase(at: address) }
            work?.database = database
            tell(.sight(try database.watch(as: grant, silence: silence)))
        } catch {
            // The lease tells of a database that is away.
            work?.database = nil
        }
    }

    private func keepDays(_ work: inout Work?) {
        guard let current = work else { return }
        work?.looks += 1
        guard (current.looks + 1).isMultiple(of: Self.looksPerDays) else { return }
        do throws(StoreError) {
            let keeper = if let known = current.keeper { known } else { try keeper(current.grant) }
            work?.keeper = keeper
            try keeper.tend(at: Moment(Clock.wallMilliseconds()))
            if current.hasTrouble { tell(.days(nil)) }
            work?.hasTrouble = false
        } catch {
            work?.keeper = nil
            if !current.hasTrouble, grants.count == 0 { tell(.days(error)) }
            work?.hasTrouble = true
        }
    }

    private func keeper(_ grant: Grant) throws(StoreError) -> DayKeeper {
        let turn = turns.load(ordering: .acquiring)
        return try DayKeeper(at: address, grant) { [self] in
            turns.load(ordering: .acquiring) != turn
        }
    }
}
