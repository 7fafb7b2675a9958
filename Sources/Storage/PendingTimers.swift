// Reads the plugins' timers without opening the store, whether a process uses it or not.

import CallModel
import Glibc
import StoreContract

/// The pending timers in a state directory, for tools.
public enum PendingTimers {
    /// Every pending timer, by id; none where there is no store yet.
    ///
    /// - Parameter directory: the state directory, which nobody claims by this.
    /// - Throws: what keeps the store from being read.
    public static func read(in directory: String) throws(StoreError) -> [NamedTimer] {
        let path = StateDirectory.database(in: directory)
        guard access(path, F_OK) == 0 else { return [] }
        return try read(by: try Opening.reader(at: path, StoreOptions()))
    }

    static func read(by connection: DatabaseConnection) throws(StoreError) -> [NamedTimer] {
        let all = try connection.prepare(
            "SELECT id, plugin, name, due_at, call, data FROM timer ORDER BY id",
            for: "reading timers")
        var timers: [NamedTimer] = []
        try all.rows { row in
            timers.append(
                NamedTimer(
                    JobID(row.integer(0)), plugin: row.text(1), name: row.text(2),
                    dueAt: row.moment(3), call: row.id(4), data: row.bytes(5)))
            return true
        }
        return timers
    }
}
