// How much memory the stores of this process use.

import CSQLite

/// The memory behind all connections, writers and readers alike.
public enum StoreMemory {
    /// Bytes, most of them pages of files: at most `StoreOptions.cacheKiB` for each connection.
    public static var bytes: Int { Int(sqlite3_memory_used()) }
}
