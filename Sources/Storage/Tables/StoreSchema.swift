// The tables, version by version.

import StoreContract

/// How a database file gets from one version to the next. A file of version `n` has had the
/// first `n` steps; so the steps also build a file of any older version, for tests.
struct StoreSchema: Sendable {
    /// The statements of each step.
    let steps: [String]

    /// What this program reads and writes.
    static let current = StoreSchema(
        steps: [
            version1, version2, version3, version4, version5, version6, version7, version8,
            version9,
        ])
    /// The version since which a token is stored in one form (`PushRegistration.inOneForm`).
    static let tokensInOneForm = 6

    /// Marks the file as ours: "call" in ASCII.
    static let applicationID: Int64 = 0x6361_6C6C

    var version: Int { steps.count }

    /// Brings a file of version `found` to the newest one, each step in a transaction of its own.
    func migrate(_ connection: DatabaseConnection, from found: Int) throws(StoreError) {
        for step in found..<version {
            let operation = "migrating to store version \(step + 1)"
            try connection.execute("BEGIN IMMEDIATE; \(steps[step])", for: operation)
            if step + 1 == Self.tokensInOneForm { try OldTokens.rewrite(connection) }
            try connection.execute(
                """
                PRAGMA application_id = \(Self.applicationID);
                PRAGMA user_version = \(step + 1);
                COMMIT;
                """, for: operation)
        }
    }

    /// The version of the file; 0: it is empty. Changes nothing.
    ///
    /// - Throws: `newer` for a file of a later version, `foreign` for one of something else.
    func examine(_ connection: DatabaseConnection) throws(StoreError) -> Int {
        let found = try connection.integer("PRAGMA user_version", for: "reading the version") ?? 0
        let owner = try connection.integer("PRAGMA application_id", for: "reading the owner")
        let tables = try connection.integer(
            "SELECT count(*) FROM sqlite_schema", for: "reading the tables")
        let isNew = found == 0 && owner == 0 && tables == 0
        guard isNew || owner == Self.applicationID else {
            throw StoreError(.foreign, path: connection.path, operation: "opening")
        }
        guard found <= version else {
            throw StoreError(
                .newer(found: Int(found), known: version), path: connection.path,
                operation: "opening")
        }
        return Int(found)
    }
}

extension StoreSchema {
    // Calls, keys and values are found by their key, and small enough to be stored in the index.
    // History and replies are large and written in order of time, so they are ordinary tables with
    // an index. `participation` has no further columns, because it is written at random places.
    private static let version1 = """
        CREATE TABLE mark (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
        INSERT INTO mark VALUES ('newest', 0), ('job', 0), ('clean', 1);

        CREATE TABLE live_call (id BLOB PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;
        CREATE TABLE ended_call (
          place INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, ended_at INTEGER NOT NULL,
          reason TEXT NOT NULL, record BLOB NOT NULL);
        CREATE TABLE participation (
          user TEXT NOT NULL, call BLOB NOT NULL, PRIMARY KEY (user, call)) WITHOUT ROWID;
        CREATE TABLE missed_call (
          user TEXT NOT NULL, call BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (user, call)
        ) WITHOUT ROWID;

        CREATE TABLE kept_reply (
          place INTEGER PRIMARY KEY, user TEXT NOT NULL, key TEXT NOT NULL,
          at INTEGER NOT NULL, body_hash INTEGER NOT NULL, reply BLOB NOT NULL,
          UNIQUE (user, key));

        CREATE TABLE registration (
          user TEXT NOT NULL, device TEXT NOT NULL, provider TEXT NOT NULL, token TEXT NOT NULL,
          environment TEXT, PRIMARY KEY (user, device, provider)) WITHOUT ROWID;
        CREATE TABLE push_job (id INTEGER PRIMARY KEY, call BLOB NOT NULL, record BLOB NOT NULL);
        CREATE TABLE push_outcome (
          call BLOB NOT NULL, job INTEGER NOT NULL, user TEXT NOT NULL, device TEXT NOT NULL,
          provider TEXT NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL, result TEXT NOT NULL,
          PRIMARY KEY (call, job, user, device, provider)) WITHOUT ROWID;
        CREATE TABLE webhook (
          id INTEGER PRIMARY KEY, endpoint TEXT NOT NULL, call BLOB NOT NULL, type TEXT NOT NULL,
          at INTEGER NOT NULL, body BLOB NOT NULL, state TEXT NOT NULL,
          attempts INTEGER NOT NULL, due_at INTEGER NOT NULL, last_error TEXT);
        CREATE INDEX webhook_state ON webhook (state, id);

        CREATE TABLE timer (
          id INTEGER PRIMARY KEY, plugin TEXT NOT NULL, name TEXT NOT NULL, call BLOB,
          due_at INTEGER NOT NULL, data BLOB NOT NULL);
        CREATE TABLE plugin_value (
          plugin TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, expires_at INTEGER,
          PRIMARY KEY (plugin, key)) WITHOUT ROWID;
        CREATE INDEX plugin_value_expiry ON plugin_value (expires_at)
          WHERE expires_at IS NOT NULL;

        CREATE TABLE generation (
          name TEXT PRIMARY KEY, place INTEGER NOT NULL, activated_at INTEGER NOT NULL,
          rolled_back_at INTEGER) WITHOUT ROWID;
        CREATE TABLE generation_file (
          generation TEXT NOT NULL, place INTEGER NOT NULL, path TEXT NOT NULL,
          source BLOB NOT NULL, PRIMARY KEY (generation, place)) WITHOUT ROWID;
        """

    // The owner of a token is looked up at every registration: when a phone changes hands, its
    // token moves with it.
    private static let version2 = """
        CREATE INDEX registration_token ON registration (token, provider);
        """

    // The answer of a push service about a token is out of date if the token was registered again
    // since.
    private static let version3 = """
        ALTER TABLE registration ADD COLUMN registered_at INTEGER NOT NULL DEFAULT 0;
        """

    // New participations wait here to be written into `participation` together, one row for a
    // commit.
    private static let version4 = """
        CREATE TABLE recent_participation (
          place INTEGER PRIMARY KEY, participations BLOB NOT NULL);
        """

    // Each caller has a part of what is sent, however many events it has: so events are found by
    // receiver and caller. Empty: nobody.
    private static let version5 = """
        ALTER TABLE webhook ADD COLUMN caller TEXT NOT NULL DEFAULT '';
        ALTER TABLE webhook ADD COLUMN user TEXT NOT NULL DEFAULT '';
        CREATE INDEX webhook_turn ON webhook (endpoint, caller, id) WHERE state = 'open';
        """

    // A token belongs to one user, however it is written: older ones are rewritten.
    private static let version6 = ""

    // The writer of each row: a call points to the term in which it was stored last, a job has the
    // epoch in its id. A server that runs alone writes zeros, which take no room in a row.
    private static let version7 = """
        CREATE TABLE term (epoch INTEGER PRIMARY KEY, owner TEXT NOT NULL);
        INSERT INTO term VALUES (0, '');
        ALTER TABLE live_call ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE ended_call ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
        """

    // What people are called, and who said so (`NameOrigin`).
    private static let version8 = """
        CREATE TABLE person_name (
          user TEXT PRIMARY KEY, name TEXT NOT NULL, origin INTEGER NOT NULL) WITHOUT ROWID;
        """

    // The trace of the request that caused an event, which its receiver is told.
    private static let version9 = """
        ALTER TABLE webhook ADD COLUMN trace TEXT;
        """
}
