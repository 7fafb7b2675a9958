// Opens, makes, migrates and checks the database file.

import CallModel
import StoreContract

/// How connections are opened.
enum Opening {
    /// The connection that writes.
    static func writer(
        at path: String, _ options: StoreOptions, _ schema: StoreSchema
    ) throws(StoreError) -> DatabaseConnection {
        let connection = try DatabaseConnection(
            path: path, access: .existing, faults: options.faults)
        // Before anything is changed: the file must be ours, and not written by a newer version.
        let version = try schema.examine(connection)
        try useLog(connection)
        try connection.execute(
            """
            PRAGMA synchronous = \(options.synchronous.rawValue);
            PRAGMA cache_size = -\(options.cacheKiB);
            PRAGMA journal_size_limit = 67108864;
            PRAGMA wal_autocheckpoint = 4000;
            PRAGMA temp_store = MEMORY;
            """, for: "opening")
        try schema.migrate(connection, from: version)
        try check(connection, options.check)
        return connection
    }

    /// If the log cannot be used, SQLite says so only by the mode that it returns.
    private static func useLog(_ connection: DatabaseConnection) throws(StoreError) {
        let pragma = try connection.prepare("PRAGMA journal_mode = WAL", for: "opening the log")
        let mode = try pragma.first { row in row.text(0) } ?? ""
        guard mode == "wal" else {
            throw StoreError(
                .cannotOpen, path: connection.path, operation: "opening the log",
                detail: "this file system cannot hold one, only \(mode)")
        }
    }

    /// A connection that reads beside the writer.
    static func reader(at path: String, _ options: StoreOptions) throws(StoreError)
        -> DatabaseConnection
    {
        let connection = try DatabaseConnection(
            path: path, access: .reading, faults: options.faults)
        try connection.execute(
            """
            PRAGMA query_only = 1;
            PRAGMA cache_size = -\(options.cacheKiB / 4);
            """, for: "opening for reading")
        return connection
    }

    /// The tables that a start reads whole, and those whose size does not grow with history.
    private static let liveTables = [
        "mark", "term", "live_call", "recent_participation", "kept_reply", "registration",
        "push_job",
        "timer", "plugin_value", "generation", "generation_file",
    ]

    private static func check(
        _ connection: DatabaseConnection, _ check: StoreOptions.Check
    ) throws(StoreError) {
        switch check {
        case .live:
            for table in liveTables { try quickCheck(connection, "PRAGMA quick_check('\(table)')") }
        case .whole: try quickCheck(connection, "PRAGMA integrity_check(10)")
        }
    }

    /// Runs a check whose one row is `ok` if all is well.
    static func quickCheck(
        _ connection: DatabaseConnection, _ pragma: String
    ) throws(StoreError) {
        let statement = try connection.prepare(pragma, for: "checking")
        var verdicts: [String] = []
        try statement.rows { row in
            verdicts.append(row.text(0))
            return true
        }
        guard let first = verdicts.first, first != "ok" else { return }
        let unread = verdicts.first(where: isUnread)
        throw StoreError(
            unread == nil ? .corrupt : .inputOutput, path: connection.path,
            operation: "checking", detail: unread ?? first)
    }

    /// Whether a verdict means that a page could not be read. That tells nothing about its content:
    /// SQLite reports both as findings, with the code of the system's error in the text.
    private static func isUnread(_ verdict: String) -> Bool {
        verdict.split(separator: "=").dropFirst().contains { rest in
            guard let code = Int32(rest.prefix { $0.isNumber }) else { return false }
            return DatabaseConnection.kind(of: code) == .inputOutput
        }
    }
}
