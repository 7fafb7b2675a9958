// What each version of the tables adds to the one before.

extension ClusterSchema {
    /// From this version on programs look which nodes they reach.
    static let withSight = 6

    // Which nodes a node reaches.
    static let version6 = Step(
        readableFrom: 5,
        ["ALTER TABLE node ADD COLUMN sees bytea NOT NULL DEFAULT ''"])

    // What each node knows of the tables, its certificate, and the generation that it has loaded.
    // Programs of version 4 take no other tables than theirs.
    static let version5 = Step(
        readableFrom: 5,
        [
            """
            ALTER TABLE node ADD COLUMN tables bigint NOT NULL DEFAULT 4,
              ADD COLUMN fingerprint bytea NOT NULL DEFAULT '',
              ADD COLUMN generation bytea NOT NULL DEFAULT '',
              ADD COLUMN why_not bytea NOT NULL DEFAULT ''
            """,
            // The trace of the request that caused an event, which its receiver is told.
            "ALTER TABLE webhook ADD COLUMN trace bytea",
        ])

    // Whether a node may own.
    static let version4 = Step(
        readableFrom: 4,
        [
            "ALTER TABLE node ADD COLUMN eligible boolean NOT NULL DEFAULT true"
        ])

    // Where other nodes reach a node, and to which it has links.
    static let version3 = Step(
        readableFrom: 3,
        [
            """
            ALTER TABLE node ADD COLUMN link bytea NOT NULL DEFAULT '',
              ADD COLUMN links bytea NOT NULL DEFAULT ''
            """
        ])

    // While `importing` is set nobody owns: it is where the import comes from. What an owner saw
    // of the database tells later ones whether it is another one now.
    static let version2 = Step(
        readableFrom: 2,
        [
            "ALTER TABLE space ADD COLUMN importing bytea",
            "ALTER TABLE term ADD COLUMN timeline bigint, ADD COLUMN synchronous boolean",
            """
            ALTER TABLE node ADD COLUMN has_left boolean NOT NULL DEFAULT false,
              ADD COLUMN settings bytea NOT NULL DEFAULT ''
            """,
        ])

    // Text of clients is bytea, because text cannot hold NUL. The row of `space` is the judge of
    // who may write; it changes only at takeovers and ends, because a row that every turn changes
    // grows under a long snapshot, and a beat must not wait for a turn. So what each turn has to
    // leave behind is a row of `turn`. Ended calls and participations lie in a partition for each
    // day of their calls' ids, and are forgotten by `history.horizon`: a partition is dropped when
    // all of it is behind that.
    static let version1 = Step(
        readableFrom: 1,
        [
            """
            CREATE TABLE space (
              id bigint PRIMARY KEY, name bytea NOT NULL UNIQUE, epoch bigint NOT NULL,
              owner bytea NOT NULL, token bytea NOT NULL, writer_pid bigint,
              writer_start timestamptz, clean boolean NOT NULL, released boolean NOT NULL,
              successor bytea NOT NULL)
            """,
            "ALTER TABLE space SET (fillfactor = 20)",
            "CREATE SEQUENCE space_id",
            """
            CREATE TABLE term (
              space bigint NOT NULL, epoch bigint NOT NULL, owner bytea NOT NULL,
              at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (space, epoch))
            """,
            "CREATE TABLE beat (space bigint PRIMARY KEY, beat bigint NOT NULL, wish bytea)",
            "ALTER TABLE beat SET (fillfactor = 20)",
            """
            CREATE TABLE node (
              space bigint NOT NULL, name bytea NOT NULL, process bytea NOT NULL,
              program bytea NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (space, name))
            """,
            "ALTER TABLE node SET (fillfactor = 50)",
            "CREATE TABLE turn (space bigint NOT NULL, at bigint NOT NULL, job bigint NOT NULL)",
            "CREATE TABLE history (space bigint PRIMARY KEY, horizon bigint NOT NULL)",
            "CREATE SEQUENCE place",
            """
            CREATE TABLE live_call (
              space bigint NOT NULL, id bytea NOT NULL, record bytea NOT NULL,
              epoch bigint NOT NULL, PRIMARY KEY (space, id))
            """,
            """
            CREATE TABLE ended_call (
              space bigint NOT NULL, id bytea NOT NULL, place bigint NOT NULL,
              ended_at bigint NOT NULL, reason bytea NOT NULL, record bytea NOT NULL,
              epoch bigint NOT NULL, PRIMARY KEY (space, id)) PARTITION BY RANGE (id)
            """,
            "CREATE INDEX ended_call_place ON ended_call (space, place)",
            "CREATE TABLE ended_call_other PARTITION OF ended_call DEFAULT",
            """
            CREATE TABLE participation (
              space bigint NOT NULL, usr bytea NOT NULL, call bytea NOT NULL,
              PRIMARY KEY (space, usr, call)) PARTITION BY RANGE (call)
            """,
            "CREATE TABLE participation_other PARTITION OF participation DEFAULT",
            """
            CREATE TABLE missed_call (
              space bigint NOT NULL, usr bytea NOT NULL, call bytea NOT NULL, at bigint NOT NULL,
              PRIMARY KEY (space, usr, call))
            """,
            """
            CREATE TABLE person_name (
              space bigint NOT NULL, usr bytea NOT NULL, name bytea NOT NULL,
              origin bigint NOT NULL, PRIMARY KEY (space, usr))
            """,
            """
            CREATE TABLE kept_reply (
              space bigint NOT NULL, usr bytea NOT NULL, key bytea NOT NULL, place bigint NOT NULL,
              at bigint NOT NULL, body_hash bigint NOT NULL, reply bytea NOT NULL,
              PRIMARY KEY (space, usr, key))
            """,
            "CREATE INDEX kept_reply_place ON kept_reply (space, place)",
            """
            CREATE TABLE registration (
              space bigint NOT NULL, usr bytea NOT NULL, device bytea NOT NULL,
              provider bytea NOT NULL, token bytea NOT NULL, environment bytea,
              registered_at bigint NOT NULL, PRIMARY KEY (space, usr, device, provider))
            """,
            // Tokens of browsers are long, and an index row must not be.
            "CREATE INDEX registration_token ON registration (space, provider, sha256(token))",
            """
            CREATE TABLE push_job (
              space bigint NOT NULL, id bigint NOT NULL, call bytea NOT NULL, record bytea NOT NULL,
              PRIMARY KEY (space, id))
            """,
            """
            CREATE TABLE push_outcome (
              space bigint NOT NULL, call bytea NOT NULL, job bigint NOT NULL, usr bytea NOT NULL,
              device bytea NOT NULL, provider bytea NOT NULL, kind bytea NOT NULL,
              at bigint NOT NULL, result bytea NOT NULL,
              PRIMARY KEY (space, call, job, usr, device, provider))
            """,
            """
            CREATE TABLE webhook (
              space bigint NOT NULL, id bigint NOT NULL, endpoint bytea NOT NULL,
              call bytea NOT NULL, type bytea NOT NULL, at bigint NOT NULL, body bytea NOT NULL,
              state bytea NOT NULL, attempts bigint NOT NULL, due_at bigint NOT NULL,
              last_error bytea, caller bytea NOT NULL, usr bytea NOT NULL, PRIMARY KEY (space, id))
            """,
            "CREATE INDEX webhook_state ON webhook (space, state, id)",
            """
            CREATE INDEX webhook_turn ON webhook (space, endpoint, caller, id)
              WHERE state = '\\x6f70656e'
            """,
            """
            CREATE TABLE timer (
              space bigint NOT NULL, id bigint NOT NULL, plugin bytea NOT NULL, name bytea NOT NULL,
              call bytea, due_at bigint NOT NULL, data bytea NOT NULL, PRIMARY KEY (space, id))
            """,
            """
            CREATE TABLE plugin_value (
              space bigint NOT NULL, plugin bytea NOT NULL, key bytea NOT NULL,
              value bytea NOT NULL, expires_at bigint, PRIMARY KEY (space, plugin, key))
            """,
            """
            CREATE INDEX plugin_value_expiry ON plugin_value (space, expires_at)
              WHERE expires_at IS NOT NULL
            """,
            """
            CREATE TABLE generation (
              space bigint NOT NULL, name bytea NOT NULL, place bigint NOT NULL,
              activated_at bigint NOT NULL, rolled_back_at bigint, PRIMARY KEY (space, name))
            """,
            """
            CREATE TABLE generation_file (
              space bigint NOT NULL, generation bytea NOT NULL, place bigint NOT NULL,
              path bytea NOT NULL, source bytea NOT NULL, PRIMARY KEY (space, generation, place))
            """,
        ])
}
