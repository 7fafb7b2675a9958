// Keeps replies under idempotency keys, within the limits of B25.

import CallModel
import StoreContract

/// The table `kept_reply`.
final class KeyTable {
    private let connection: DatabaseConnection
    private let add: Statement
    private let remove: Statement
    private let removeOldestOf: Statement
    private let removeOldest: Statement
    private let removeExpired: Statement
    private let removeAllOf: Statement
    /// Keys of each user, by a hash of the user's name: exact except for a collision, which would
    /// only make two users share one limit.
    private var counts: [Int: Int32] = [:]
    private var total = 0

    init(_ connection: DatabaseConnection) throws(StoreError) {
        self.connection = connection
        add = try connection.prepare(
            """
            INSERT INTO kept_reply (user, key, at, body_hash, reply) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO NOTHING
            """, for: "storing a reply")
        remove = try connection.prepare(
            "DELETE FROM kept_reply WHERE user = ? AND key = ?", for: "replacing a reply")
        removeOldestOf = try connection.prepare(
            """
            DELETE FROM kept_reply
            WHERE place = (SELECT min(place) FROM kept_reply WHERE user = ?)
            """, for: "removing a user's oldest reply")
        removeOldest = try connection.prepare(
            """
            DELETE FROM kept_reply WHERE place = (SELECT min(place) FROM kept_reply)
            RETURNING user
            """, for: "removing the oldest reply")
        removeExpired = try connection.prepare(
            """
            DELETE FROM kept_reply WHERE place IN
            (SELECT place FROM (SELECT place, at FROM kept_reply ORDER BY place LIMIT ?2)
             WHERE at <= ?1)
            RETURNING user
            """, for: "removing expired replies")
        removeAllOf = try connection.prepare(
            "DELETE FROM kept_reply WHERE user = ?", for: "removing a user's replies")
    }

    /// Deletes all of a user.
    func forget(_ user: UserID) throws(StoreError) {
        forget(user.text, try removeAllOf.count(.text(user.text)))
    }

    /// Stores `entry`, and deletes others beyond the limits.
    func put(_ entry: KeyEntry, limits: StoreLimits) throws(StoreError) {
        if try insert(entry) == 0 {
            forget(entry.user.text, try remove.count(.text(entry.user.text), .text(entry.key)))
            _ = try insert(entry)
        }
        let slot = entry.user.text.hashValue
        counts[slot, default: 0] += 1
        total += 1
        while counts[slot, default: 0] > limits.keysPerUser {
            let removed = try removeOldestOf.count(.text(entry.user.text))
            guard removed > 0 else { break }
            forget(entry.user.text, removed)
        }
        while total > limits.keysMax, try dropOldest() {}
    }

    private func insert(_ entry: KeyEntry) throws(StoreError) -> Int {
        try add.count(
            .text(entry.user.text), .text(entry.key), .moment(entry.at),
            .integer(Int64(bitPattern: entry.kept.bodyHash)), .bytes(entry.kept.reply))
    }

    private func dropOldest() throws(StoreError) -> Bool {
        guard let user = try removeOldest.first(body: { $0.text(0) }) else { return false }
        forget(user, 1)
        return true
    }

    private func forget(_ user: String, _ number: Int) {
        let slot = user.hashValue
        let left = counts[slot, default: 0] - Int32(number)
        counts[slot] = left > 0 ? left : nil
        total -= number
    }

    /// Every key that has not expired, oldest first.
    func marks(after expiry: Moment) throws(StoreError) -> [KeyMark] {
        let all = try connection.prepare(
            "SELECT user, key, at, body_hash FROM kept_reply ORDER BY place", for: "reading keys")
        var marks: [KeyMark] = []
        counts = [:]
        total = 0
        try all.rows { row in
            let user = row.text(0)
            counts[user.hashValue, default: 0] += 1
            total += 1
            let at = row.moment(2)
            if at > expiry {
                marks.append(
                    KeyMark(
                        user: UserID(user), key: row.text(1),
                        bodyHash: UInt64(bitPattern: row.integer(3)), at: at))
            }
            return true
        }
        return marks
    }

    /// Removes keys used at `expiry` or before, looking at the `step` oldest.
    ///
    /// - Returns: whether there may be more.
    func sweep(upTo expiry: Moment, step: Int) throws(StoreError) -> Bool {
        var users: [String] = []
        try removeExpired.rows(.moment(expiry), .integer(Int64(step))) { row in
            users.append(row.text(0))
            return true
        }
        for user in users { forget(user, 1) }
        return users.count == step
    }
}
