// A partition for each day of calls, made ahead and dropped when all of it is forgotten.

import CallModel
import StoreContract

/// The partitions of `ended_call` and `participation` that there are. A call belongs to the day in
/// its id. What belongs to no partition lies in one more, from which rows are removed one by one.
struct Partitions {
    /// A day since 1970.
    struct Day: Hashable, Comparable {
        let number: Int64

        static let length: Int64 = 86_400_000

        init(of moment: Moment) { number = max(0, moment.milliseconds) / Self.length }
        init(number: Int64) { self.number = number }

        static func < (left: Day, right: Day) -> Bool { left.number < right.number }

        /// When it begins.
        var start: Moment { Moment(number * Self.length) }

        /// The first id of this day.
        var firstID: CallID {
            CallID(high: UInt64(number * Self.length) << 16, low: 0)
        }

        /// As part of a table's name.
        var name: String { "day_\(number)" }

        /// The day in a name that ends with `day_N`.
        init?(in name: String) {
            let parts = name.split(separator: "_")
            guard let number = parts.last.flatMap({ Int64($0) }), parts.dropLast().last == "day"
            else { return nil }
            self.init(number: number)
        }
    }

    /// A table that is parted by days.
    struct Table: Hashable {
        let name: String
        /// The column with the call's id.
        let column: String
    }

    static let tables = [
        Table(name: "ended_call", column: "id"), Table(name: "participation", column: "call"),
    ]

    /// The days that have a partition, of each table.
    private let known: [Table: Set<Day>]

    /// Finds out which there are.
    init(on link: PostgresConnection) throws(PostgresFailure) {
        for table in Self.tables {
            link.query(
                """
                SELECT convert_to(c.relname, 'UTF8') FROM pg_inherits AS i
                JOIN pg_class AS c ON c.oid = i.inhrelid
                WHERE i.inhparent = '\(table.name)'::regclass
                """)
        }
        var known: [Table: Set<Day>] = [:]
        for (table, rows) in zip(Self.tables, try link.finish()) {
            known[table] = Set(rows.all.compactMap { Day(in: $0.text(0)) })
        }
        self.known = known
    }

    /// Whether making a partition needs no long look at what lies in none: at most `size` bytes.
    static func isQuick(
        upTo size: Int64, on link: PostgresConnection
    ) throws(PostgresFailure) -> Bool {
        let sizes = tables.map { "pg_relation_size('\($0.other)')" }
        link.query("SELECT greatest(\(sizes.joined(separator: ", ")))::bigint")
        return try link.finish().first?.first?.integer(0) ?? 0 <= size
    }

    /// Whether `table` has a partition of `day`.
    func has(_ day: Day, in table: Table) -> Bool { known[table]?.contains(day) == true }

    /// The days that should have partitions at `now` and have not all of them.
    func missing(at now: Moment) -> [Day] {
        let today = Day(of: now).number
        return (today...today + 2).map { Day(number: $0) }.filter { day in
            !Self.tables.allSatisfy { has(day, in: $0) }
        }
    }

    /// The days before the last one at `now`, the first ones first. Calls get their partition
    /// before participations do.
    func past(at now: Moment) -> [Day] {
        let yesterday = Day(number: Day(of: now).number - 1)
        return (known[Self.tables[0]] ?? []).filter { $0 < yesterday }.sorted()
    }
}

extension Partitions.Day {
    private var next: Partitions.Day { Partitions.Day(number: number + 1) }

    /// Whether all calls of this day are forgotten, those of all spaces, as a condition.
    var isForgotten: String {
        """
        NOT EXISTS (SELECT 1 FROM history AS h CROSS JOIN LATERAL
        (SELECT e.place FROM ended_call_\(name) AS e WHERE e.space = h.space
        ORDER BY e.place DESC LIMIT 1) AS last WHERE last.place > h.horizon)
        AND NOT EXISTS (SELECT 1 FROM history AS h JOIN live_call AS l ON l.space = h.space
        WHERE l.id >= '\\x\(firstID)' AND l.id < '\\x\(next.firstID)')
        """
    }

    /// The bounds of its ids.
    fileprivate var bounds: (first: String, end: String) {
        ("'\\x\(firstID)'", "'\\x\(next.firstID)'")
    }
}

extension Partitions.Table {
    /// Where rows of days without a partition lie.
    var other: String { "\(name)_other" }

    /// The partition of `day`.
    func partition(of day: Partitions.Day) -> String { "\(name)_\(day.name)" }

    /// Puts making the partition of `day` into the turn. The server reads all of `other` unless
    /// `sendExclusion` was checked, and nobody may read or write that meanwhile.
    func sendMaking(_ day: Partitions.Day, on link: PostgresConnection) {
        let (first, end) = day.bounds
        let partition = partition(of: day)
        link.query("CREATE TABLE IF NOT EXISTS \(partition) (LIKE \(name) INCLUDING ALL)")
        link.query(
            """
            ALTER TABLE \(name) ATTACH PARTITION \(partition)
            FOR VALUES FROM (\(first)) TO (\(end))
            """)
        link.query("ALTER TABLE \(other) DROP CONSTRAINT IF EXISTS not_\(day.name)")
    }

    /// Puts the promise that `other` has nothing of `day` into the turn, for what comes from now
    /// on.
    func sendExclusion(of day: Partitions.Day, on link: PostgresConnection) {
        let (first, end) = day.bounds
        link.query(
            """
            ALTER TABLE \(other) ADD CONSTRAINT not_\(day.name)
            CHECK (\(column) < \(first) OR \(column) >= \(end)) NOT VALID
            """)
    }

    /// Puts a look whether the promise holds for what is there into the turn. It takes long, and
    /// everybody may read and write meanwhile.
    func sendCheck(of day: Partitions.Day, on link: PostgresConnection) {
        link.query("ALTER TABLE \(other) VALIDATE CONSTRAINT not_\(day.name)")
    }

    /// Puts taking the promise back into the turn.
    func sendInclusion(of day: Partitions.Day, on link: PostgresConnection) {
        link.query("ALTER TABLE \(other) DROP CONSTRAINT IF EXISTS not_\(day.name)")
    }
}
