// Makes and drops the days of calls beside the commits: it may take long, and nobody waits.

import CallModel
import ClusterCore
import StoreContract

/// Keeps the partitions of a space whose owner this process is, on a connection of its own. Used by
/// one thread at a time.
///
/// No step delays a commit or a takeover: long steps need no lock that others want, and steps that
/// need such a lock give up after a moment and are tried again the next time.
public final class DayKeeper {
    private let link: PostgresConnection
    private let space: Space
    private let fence: Fence
    /// From how many bytes without a partition on they are not looked through in one go.
    var quickSize = DayKeeper.quickSize
    /// Days of which there are rows without a partition already: they stay there.
    private var settled: Set<Partitions.Day> = []

    static let quickSize: Int64 = 8 << 20

    /// How long a lock is waited for: shorter than a commit does, which may wait behind it.
    private static let lockPatience: Milliseconds = 100

    /// The keeper of the space that `grant` owns.
    ///
    /// - Parameter isOver: asked again and again; true ends what is under way.
    public init(
        at address: DatabaseAddress, _ grant: Grant, in name: String = Space.usual,
        patience: Milliseconds = 2_000,
        isOver: @escaping () -> Bool = { false }
    ) throws(StoreError) {
        link = try PostgresConnection(to: address, patience: patience)
        try ClusterSchema.current.require(link)
        space = try Space(name, by: link)
        fence = Fence(grant.term, token: grant.token)
        try link.waitLonger(
            upTo: ClusterDatabase.longPatience, forLocks: Self.lockPatience, isOver)
    }

    /// Makes what is missing at `now`, and drops what is forgotten.
    ///
    /// - Throws: `notOwner` when another node owns; otherwise it may be tried again.
    public func tend(at now: Moment) throws(StoreError) {
        do throws(PostgresFailure) {
            try takeBackPromises(at: now)
            let partitions = try Partitions(on: link)
            for day in partitions.missing(at: now) where !settled.contains(day) {
                for table in Partitions.tables where !partitions.has(day, in: table) {
                    try make(day, table, at: now)
                }
            }
            for day in try forgotten(of: partitions.past(at: now)) {
                try drop(day, Partitions.tables.filter { partitions.has(day, in: $0) })
            }
        } catch {
            throw error.error(of: link.address.name, "keeping the days of calls")
        }
    }

    // MARK: Making

    private func make(
        _ day: Partitions.Day, _ table: Partitions.Table, at now: Moment
    ) throws(PostgresFailure) {
        if try !Partitions.isQuick(upTo: quickSize, on: link) {
            // Until its partition is there, calls of that day could not be stored at all.
            guard day.start >= now + Self.ahead, try promise(day, table) else { return }
        }
        let isMade = try attempt(day) { table.sendMaking(day, on: link) }
        // What could not be made must not be promised either.
        if !isMade { try attempt(day) { table.sendInclusion(of: day, on: link) } }
    }

    /// How long before its day a promise is made.
    private static let ahead: Milliseconds = 3_600_000

    /// Makes sure that nothing of `day` lies without a partition, step by step.
    private func promise(
        _ day: Partitions.Day, _ table: Partitions.Table
    ) throws(PostgresFailure) -> Bool {
        let isPromised = try promised(table).contains(day)
        if !isPromised {
            guard try attempt(day, { table.sendExclusion(of: day, on: link) }) else { return false }
        }
        do throws(PostgresFailure) {
            table.sendCheck(of: day, on: link)
            try link.finish()
            return true
        } catch {
            guard !error.isLost else { throw error }
            if error.code == PostgresFailure.checkViolation { settled.insert(day) }
            try attempt(day) { table.sendInclusion(of: day, on: link) }
            return false
        }
    }

    private func promised(
        _ table: Partitions.Table
    ) throws(PostgresFailure) -> Set<Partitions.Day> {
        link.query(
            """
            SELECT convert_to(conname, 'UTF8') FROM pg_constraint
            WHERE conrelid = '\(table.other)'::regclass AND conname LIKE 'not\\_day\\_%'
            """)
        return Set(try link.finish()[0].all.compactMap { Partitions.Day(in: $0.text(0)) })
    }

    /// Of days that begin soon and have no partition: another keeper died between two steps.
    private func takeBackPromises(at now: Moment) throws(PostgresFailure) {
        for table in Partitions.tables {
            for day in try promised(table) where day.start < now + Self.ahead {
                try attempt(day) { table.sendInclusion(of: day, on: link) }
            }
        }
    }

    // MARK: Dropping

    private func forgotten(of days: [Partitions.Day]) throws(PostgresFailure) -> [Partitions.Day] {
        for day in days { link.query("SELECT (\(day.isForgotten))::int::bigint") }
        let answers = try link.finish()
        return zip(days, answers).filter { $1.first?.integer(0) == 1 }.map(\.0)
    }

    private func drop(
        _ day: Partitions.Day, _ tables: [Partitions.Table]
    ) throws(PostgresFailure) {
        try attempt(day) {
            for table in tables {
                let partition = table.partition(of: day)
                link.query("ALTER TABLE \(table.name) DETACH PARTITION \(partition)")
            }
            // Nobody can add to it any more: fails if somebody did just before.
            link.query("SELECT 1 / (\(day.isForgotten))::int")
            for table in tables { link.query("DROP TABLE \(table.partition(of: day))") }
        }
    }

    /// A change of the tables that may be left for the next time: others may hold it up.
    @discardableResult
    private func attempt(
        _ day: Partitions.Day, _ send: () -> Void
    ) throws(PostgresFailure) -> Bool {
        do throws(PostgresFailure) {
            fence.begin(.share, in: space, on: link)
            send()
            try link.finish()
            return true
        } catch {
            if error.code == PostgresFailure.checkViolation { settled.insert(day) }
            guard !error.isLost, error.place != 0 else { throw error }
            return false
        }
    }
}
