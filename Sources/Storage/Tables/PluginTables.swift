// Stores what plugins own: timers, values and their sources.

import CallModel
import StoreContract

/// The tables `timer`, `plugin_value`, `generation` and `generation_file`.
final class PluginTables {
    private let connection: DatabaseConnection
    private let putTimer: Statement
    private let removeTimer: Statement
    private let putValue: Statement
    private let changeValue: Statement
    private let removeValue: Statement
    private let getValue: Statement
    private let removeExpired: Statement

    init(_ connection: DatabaseConnection) throws(StoreError) {
        self.connection = connection
        putTimer = try connection.prepare(
            "INSERT OR REPLACE INTO timer VALUES (?, ?, ?, ?, ?, ?)", for: "storing a timer")
        removeTimer = try connection.prepare(
            "DELETE FROM timer WHERE id = ?", for: "removing a timer")
        putValue = try connection.prepare(
            "INSERT OR REPLACE INTO plugin_value VALUES (?, ?, ?, ?)", for: "storing a value")
        changeValue = try connection.prepare(
            "UPDATE plugin_value SET value = ? WHERE plugin = ? AND key = ?",
            for: "changing a value")
        removeValue = try connection.prepare(
            "DELETE FROM plugin_value WHERE plugin = ? AND key = ?", for: "removing a value")
        getValue = try connection.prepare(
            """
            SELECT value FROM plugin_value
            WHERE plugin = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)
            """, for: "reading a value")
        removeExpired = try connection.prepare(
            """
            DELETE FROM plugin_value WHERE (plugin, key) IN
            (SELECT plugin, key FROM plugin_value WHERE expires_at <= ? LIMIT ?)
            """, for: "removing expired values")
    }

    func apply(_ change: TimerChange) throws(StoreError) {
        switch change {
        case .set(let timer):
            try putTimer.run(
                .integer(timer.id.value), .text(timer.plugin), .text(timer.name),
                timer.callID.map { .id($0) } ?? .null, .moment(timer.dueAt), .bytes(timer.data))
        case .remove(let id): try removeTimer.run(.integer(id.value))
        }
    }

    /// Applies `change`; an increment returns its result.
    func apply(_ change: ValueChange, at now: Moment) throws(StoreError) -> CommitResult.Counter? {
        switch change {
        case .set(let plugin, let key, let value, let expiresAt):
            try putValue.run(.text(plugin), .text(key), .bytes(value), .moment(expiresAt))
        case .remove(let plugin, let key):
            try removeValue.run(.text(plugin), .text(key))
        case .increment(let plugin, let key, let amount, let expiresAt):
            let old = try getValue.first(.text(plugin), .text(key), .moment(now)) { $0.bytes(0) }
            guard let sum = Counting.sum(old, amount) else { return .notCountable }
            let value = SQLValue.bytes(Array(String(sum).utf8))
            if old == nil {
                try putValue.run(.text(plugin), .text(key), value, .moment(expiresAt))
            } else {
                try changeValue.run(value, .text(plugin), .text(key))
            }
            return .sum(sum)
        }
        return nil
    }

    /// Every pending timer, by id.
    func timers() throws(StoreError) -> [NamedTimer] { try PendingTimers.read(by: connection) }

    /// Removes at most `step` values that expired.
    ///
    /// - Returns: whether there may be more.
    func sweep(at now: Moment, step: Int) throws(StoreError) -> Bool {
        try removeExpired.count(.moment(now), .integer(Int64(step))) == step
    }
}

/// Sums of values that are integers in JSON.
package enum Counting {
    /// The old value, nothing counting as 0, plus `amount`; nil: not an integer or too large.
    package static func sum(_ old: [UInt8]?, _ amount: Int64) -> Int64? {
        guard let old else { return amount }
        guard let number = Int64(String(decoding: old, as: UTF8.self)) else { return nil }
        let (sum, overflow) = number.addingReportingOverflow(amount)
        return overflow ? nil : sum
    }
}
