// Reads registrations, push jobs and webhooks.

import CallModel
import Storage
import StoreContract

extension ClusterReader {
    private static let readRegistrations = PostgresStatement(
        "registrations",
        """
        SELECT device, provider, token, environment, registered_at FROM registration
        WHERE space = $1 AND usr = $2 ORDER BY device, provider
        """)
    private static let readPushes = PostgresStatement(
        "pushes",
        """
        SELECT id, call, record FROM push_job WHERE space = $1 AND id > $2 ORDER BY id LIMIT $3
        """)
    private static let readOutcomes = PostgresStatement(
        "outcomes",
        """
        SELECT job, usr, device, provider, kind, at, result FROM push_outcome
        WHERE space = $1 AND call = $2 ORDER BY job, usr, device, provider
        """)
    private static let columns =
        "id, endpoint, call, type, at, body, attempts, due_at, last_error, caller, usr, trace"
    private static let readWebhooks = PostgresStatement(
        "webhooks",
        """
        SELECT \(columns) FROM webhook WHERE space = $1 AND state = $2 AND id > $3
        ORDER BY id LIMIT $4
        """)
    // The index skips the other events of each caller.
    private static let readCallers = PostgresStatement(
        "callers",
        """
        WITH RECURSIVE next AS (
        (SELECT caller FROM webhook WHERE space = $1 AND state = '\\x6f70656e' AND endpoint = $2
        AND caller >= $3 AND ($4::bigint = 0 OR caller > $3) ORDER BY caller LIMIT 1)
        UNION ALL
        SELECT (SELECT w.caller FROM webhook AS w WHERE w.space = $1 AND w.state = '\\x6f70656e'
        AND w.endpoint = $2 AND w.caller > n.caller ORDER BY w.caller LIMIT 1)
        FROM next AS n WHERE n.caller IS NOT NULL)
        SELECT caller FROM next WHERE caller IS NOT NULL LIMIT $5
        """)
    private static let readTurn = PostgresStatement(
        "turn",
        """
        SELECT \(columns) FROM webhook WHERE space = $1 AND state = '\\x6f70656e'
        AND endpoint = $2 AND caller = $3 AND id > $4 ORDER BY id LIMIT $5
        """)

    func registrations(of user: UserID) throws(StoreError) -> [Registration] {
        try ask("reading push registrations", Self.readRegistrations, id, .text(user.text)).map {
            let registration = PushRegistration(
                provider: $0.text(1), token: $0.text(2), environment: $0.optionalText(3))
            return Registration(
                Address(user, DeviceID($0.text(0))), registration, at: $0.moment(4))
        }
    }

    func openPushes(after job: JobID?, limit: Int) throws(StoreError) -> [StoredPush] {
        let rows = try ask(
            "reading push jobs", Self.readPushes, id, .integer(job?.value ?? -1),
            .integer(Int64(limit)))
        return try rows.map { (row) throws(StoreError) in
            let job = JobID(row.integer(0))
            do throws(RecordDamage) {
                let call = row.id(1) ?? CallID(high: 0, low: 0)
                return StoredPush(id: job, job: try PushRecord.read(row.raw(2), call: call))
            } catch {
                throw damage(
                    "reading push jobs", "push job \(job), field \(error.field): \(error.problem)")
            }
        }
    }

    func pushOutcomes(of call: CallID) throws(StoreError) -> [PushOutcome] {
        try ask("reading push outcomes", Self.readOutcomes, id, .id(call)).map {
            PushOutcome(
                job: JobID($0.integer(0)), call: call,
                address: Address(UserID($0.text(1)), DeviceID($0.text(2))),
                provider: $0.text(3), kind: PushJob.Kind(rawValue: $0.text(4)) ?? .invite,
                at: $0.moment(5), result: $0.text(6))
        }
    }

    func webhooks(
        _ state: WebhookProgress.State, after job: JobID?, limit: Int
    ) throws(StoreError) -> [StoredWebhook] {
        try ask(
            "reading webhooks", Self.readWebhooks, id, .text(state.rawValue),
            .integer(job?.value ?? -1), .integer(Int64(limit))
        ).map { StoredWebhook($0, state) }
    }

    func webhookCallers(
        of endpoint: String, after caller: UserID?, limit: Int
    ) throws(StoreError) -> [UserID] {
        try ask(
            "reading the callers of webhooks", Self.readCallers, id, .text(endpoint),
            .text(caller?.text ?? ""), .integer(caller == nil ? 0 : 1), .integer(Int64(limit))
        ).map { UserID($0.text(0)) }
    }

    func openWebhooks(
        of endpoint: String, _ turn: WebhookTurn, limit: Int
    ) throws(StoreError) -> [StoredWebhook] {
        try ask(
            "reading the webhooks of a caller", Self.readTurn, id, .text(endpoint),
            .text(turn.caller.text), .integer(turn.after?.value ?? -1), .integer(Int64(limit))
        ).map { StoredWebhook($0, .open) }
    }
}
