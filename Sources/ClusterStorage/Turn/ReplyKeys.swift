// Keeps the replies under idempotency keys within the limits of B25.

import CallModel
import StoreContract

/// How many keys there are, so that the database is asked only when there may be too many.
struct ReplyKeys {
    /// Keys of each user, by a hash of the user's name: a collision only makes the store look
    /// whether there are too many.
    private var counts: [Int: Int] = [:]
    private var total = 0

    private static let put = PostgresStatement(
        "put_keys",
        """
        INSERT INTO kept_reply (space, usr, key, place, at, body_hash, reply)
        SELECT $1, usr, key, nextval('place'), at, body_hash, reply
        FROM unnest($2::bytea[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bytea[])
        AS t (usr, key, at, body_hash, reply)
        ON CONFLICT (space, usr, key) DO UPDATE SET place = excluded.place, at = excluded.at,
        body_hash = excluded.body_hash, reply = excluded.reply
        RETURNING usr, CASE WHEN xmax = 0 THEN 1::bigint ELSE 0 END
        """)
    private static let existing = PostgresStatement(
        "existing_keys",
        """
        SELECT k.usr, count(*) FROM kept_reply AS k
        JOIN unnest($2::bytea[], $3::bytea[]) AS t (usr, key) ON k.usr = t.usr AND k.key = t.key
        WHERE k.space = $1 GROUP BY k.usr
        """)
    private static let trimUsers = PostgresStatement(
        "trim_users",
        """
        DELETE FROM kept_reply WHERE space = $1 AND place IN
        (SELECT old.place FROM unnest($2::bytea[]) AS u (usr), LATERAL
        (SELECT place FROM kept_reply WHERE space = $1 AND usr = u.usr
        ORDER BY place DESC OFFSET $3) AS old)
        RETURNING usr
        """)
    private static let trimAll = PostgresStatement(
        "trim_all",
        """
        DELETE FROM kept_reply WHERE space = $1 AND place IN
        (SELECT place FROM kept_reply WHERE space = $1 ORDER BY place LIMIT $2) RETURNING usr
        """)
    private static let expire = PostgresStatement(
        "expire_keys",
        """
        DELETE FROM kept_reply WHERE space = $1 AND place IN
        (SELECT place FROM (SELECT place, at FROM kept_reply WHERE space = $1
        ORDER BY place LIMIT $3) AS first WHERE at <= $2)
        RETURNING usr
        """)
    private static let forget = PostgresStatement(
        "forget_keys",
        "DELETE FROM kept_reply WHERE space = $1 AND usr = ANY ($2::bytea[]) RETURNING usr")
    private static let page = PostgresStatement(
        "page_keys",
        """
        SELECT usr, key, at, body_hash, place FROM kept_reply WHERE space = $1 AND place > $2
        ORDER BY place LIMIT $3
        """)

    /// What has to be done for the keys of a turn.
    struct Plan {
        fileprivate let entries: [KeyEntry]
        /// Users who have none of before.
        fileprivate let forgotten: [UserID]
        /// Users who may have too many afterwards.
        fileprivate var users: [UserID] = []
        /// How many of all are too many afterwards.
        fileprivate var excess = 0
    }

    /// Plans for `entries`, of which the last one for a key counts. If there may be too many in
    /// all, the database is asked which of them are new.
    func plan(
        _ entries: [KeyEntry], _ forgotten: [UserID], _ limits: StoreLimits, in space: Space,
        on link: PostgresConnection
    ) throws(PostgresFailure) -> Plan {
        var plan = Plan(entries: Self.last(of: entries), forgotten: forgotten)
        guard !plan.entries.isEmpty else { return plan }
        var fresh: [UserID: Int] = [:]
        for entry in plan.entries { fresh[entry.user, default: 0] += 1 }
        if total + plan.entries.count > limits.keysMax {
            link.run(
                Self.existing, .integer(space.id),
                .lists(plan.entries.map { Array($0.user.text.utf8) }),
                .lists(plan.entries.map { Array($0.key.utf8) }))
            let rows = try link.finish().first
            for row in rows.map({ Array($0.all) }) ?? [] {
                fresh[UserID(row.text(0)), default: 0] -= Int(row.integer(1))
            }
        }
        var after = total
        for (user, count) in fresh.sorted(by: { $0.key.text < $1.key.text }) {
            after += count
            let over = counts[user.text.hashValue, default: 0] + count - limits.keysPerUser
            guard over > 0 else { continue }
            plan.users.append(user)
            after -= over
        }
        plan.excess = max(0, after - limits.keysMax)
        return plan
    }

    private static func last(of entries: [KeyEntry]) -> [KeyEntry] {
        var seen: Set<[String]> = []
        let kept = entries.reversed().filter { seen.insert([$0.user.text, $0.key]).inserted }
        return kept.reversed()
    }

    /// Puts what was planned into the turn: as many statements as `absorb` takes results.
    func send(
        _ plan: Plan, _ limits: StoreLimits, in space: Space, on link: PostgresConnection
    ) {
        let id = PostgresValue.integer(space.id)
        if !plan.forgotten.isEmpty {
            link.run(Self.forget, id, .lists(plan.forgotten.map { Array($0.text.utf8) }))
        }
        guard !plan.entries.isEmpty else { return }
        link.run(
            Self.put, id, .lists(plan.entries.map { Array($0.user.text.utf8) }),
            .lists(plan.entries.map { Array($0.key.utf8) }),
            .integers(plan.entries.map { $0.at.milliseconds }),
            .integers(plan.entries.map { Int64(bitPattern: $0.kept.bodyHash) }),
            .lists(plan.entries.map { $0.kept.reply }))
        if !plan.users.isEmpty {
            link.run(
                Self.trimUsers, id, .lists(plan.users.map { Array($0.text.utf8) }),
                .integer(Int64(limits.keysPerUser)))
        }
        if plan.excess > 0 { link.run(Self.trimAll, id, .integer(Int64(plan.excess))) }
    }

    /// Notes what the statements of `send` did: the first of `results`.
    mutating func absorb(_ plan: Plan, _ results: ArraySlice<PostgresRows>) {
        var results = results
        if !plan.forgotten.isEmpty { removed(results.popFirst()) }
        guard !plan.entries.isEmpty else { return }
        for row in results.popFirst().map({ Array($0.all) }) ?? [] where row.integer(1) == 1 {
            note(row.text(0), 1)
        }
        if !plan.users.isEmpty { removed(results.popFirst()) }
        if plan.excess > 0 { removed(results.popFirst()) }
    }

    private mutating func note(_ user: String, _ change: Int) {
        let slot = user.hashValue
        let count = counts[slot, default: 0] + change
        counts[slot] = count > 0 ? count : nil
        total += change
    }

    private mutating func removed(_ rows: PostgresRows?) {
        for row in rows.map({ Array($0.all) }) ?? [] { note(row.text(0), -1) }
    }

    /// Removes keys used at `expiry` or before, looking at the `step` oldest.
    static func sendExpiry(
        upTo expiry: Moment, step: Int, in space: Space, on link: PostgresConnection
    ) {
        link.run(expire, .integer(space.id), .moment(expiry), .integer(Int64(step)))
    }

    /// Notes what `sendExpiry` removed; whether there may be more.
    mutating func absorbExpiry(_ rows: PostgresRows, step: Int) -> Bool {
        removed(rows)
        return rows.count == step
    }

    /// Reads all keys, and gives those that have not expired, oldest first.
    mutating func load(
        after expiry: Moment, in space: Space, on link: PostgresConnection
    ) throws(PostgresFailure) -> [KeyMark] {
        var marks: [KeyMark] = []
        (counts, total) = ([:], 0)
        link.run(Self.page, .integer(space.id), .integer(0), .integer(Self.pageSize))
        while true {
            guard let rows = try link.finish().first else { return marks }
            // The database reads the next page while this one is taken in: a takeover waits for
            // all of them.
            if rows.count == Int(Self.pageSize), let last = rows.last?.integer(4) {
                link.run(Self.page, .integer(space.id), .integer(last), .integer(Self.pageSize))
                try link.send()
            }
            for row in rows.all {
                note(row.text(0), 1)
                guard row.moment(2) > expiry else { continue }
                marks.append(
                    KeyMark(
                        user: UserID(row.text(0)), key: row.text(1),
                        bodyHash: UInt64(bitPattern: row.integer(3)), at: row.moment(2)))
            }
            if rows.count < Int(Self.pageSize) { return marks }
        }
    }

    private static let pageSize: Int64 = 20_000
}
