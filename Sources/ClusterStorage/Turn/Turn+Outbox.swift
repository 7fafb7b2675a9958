// Writes what a turn has to send: pushes, webhooks, and the registrations they go to.

import CallModel
import Storage
import StoreContract

extension Turn {
    private static let putPushes = PostgresStatement(
        "put_pushes",
        """
        INSERT INTO push_job (space, id, call, record)
        SELECT $1, id, call, record FROM unnest($2::bigint[], $3::bytea[], $4::bytea[])
        AS t (id, call, record)
        ON CONFLICT (space, id) DO UPDATE SET call = excluded.call, record = excluded.record
        """)
    private static let removePushes = PostgresStatement(
        "remove_pushes", "DELETE FROM push_job WHERE space = $1 AND id = ANY ($2::bigint[])")
    private static let putOutcomes = PostgresStatement(
        "put_outcomes",
        """
        INSERT INTO push_outcome (space, call, job, usr, device, provider, kind, at, result)
        SELECT $1, t.* FROM unnest($2::bytea[], $3::bigint[], $4::bytea[], $5::bytea[],
        $6::bytea[], $7::bytea[], $8::bigint[], $9::bytea[])
        AS t (call, job, usr, device, provider, kind, at, result)
        ON CONFLICT (space, call, job, usr, device, provider)
        DO UPDATE SET kind = excluded.kind, at = excluded.at, result = excluded.result
        """)
    private static let putWebhooks = PostgresStatement(
        "put_webhooks",
        """
        INSERT INTO webhook (space, id, endpoint, call, type, at, body, state, attempts, due_at,
        last_error, caller, usr, trace)
        SELECT $1, t.* FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[],
        $6::bigint[], $7::bytea[], $8::bytea[], $9::bigint[], $10::bigint[], $11::bytea[],
        $12::bytea[], $13::bytea[], $14::bytea[])
        AS t (id, endpoint, call, type, at, body, state, attempts, due_at, last_error, caller, usr,
        trace)
        ON CONFLICT (space, id) DO UPDATE SET endpoint = excluded.endpoint, call = excluded.call,
        type = excluded.type, at = excluded.at, body = excluded.body, state = excluded.state,
        attempts = excluded.attempts, due_at = excluded.due_at, last_error = excluded.last_error,
        caller = excluded.caller, usr = excluded.usr, trace = excluded.trace
        """)
    private static let updateWebhooks = PostgresStatement(
        "update_webhooks",
        """
        UPDATE webhook AS w SET state = t.state, attempts = t.attempts, due_at = t.due_at,
        last_error = t.last_error
        FROM unnest($2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bytea[])
        AS t (id, state, attempts, due_at, last_error) WHERE w.space = $1 AND w.id = t.id
        """)
    private static let removeWebhooks = PostgresStatement(
        "forget_webhooks", "DELETE FROM webhook WHERE space = $1 AND id = ANY ($2::bigint[])")
    private static let removeRegistration = PostgresStatement(
        "remove_registration",
        """
        DELETE FROM registration WHERE space = $1 AND usr = $2 AND device = $3 AND provider = $4
        """)
    private static let removeToken = PostgresStatement(
        "remove_token",
        """
        DELETE FROM registration
        WHERE space = $1 AND provider = $2 AND sha256(token) = sha256($3) AND token = $3
        """)
    private static let putRegistration = PostgresStatement(
        "put_registration",
        """
        INSERT INTO registration (space, usr, device, provider, token, environment, registered_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (space, usr, device, provider) DO UPDATE SET token = excluded.token,
        environment = excluded.environment, registered_at = excluded.registered_at
        """)
    private static let removeOldestRegistrations = PostgresStatement(
        "remove_oldest_registrations",
        """
        DELETE FROM registration WHERE space = $1 AND usr = $2 AND (device, provider) IN
        (SELECT device, provider FROM registration
        WHERE space = $1 AND usr = $2 AND NOT (device = $3 AND provider = $4)
        ORDER BY registered_at DESC, device, provider OFFSET $5)
        """)
    private static let removeDead = PostgresStatement(
        "remove_dead_registration",
        """
        DELETE FROM registration WHERE space = $1 AND usr = $2 AND device = $3 AND provider = $4
        AND token = $5 AND registered_at = $6
        """)

    func sendOutbox(in space: Space, on link: PostgresConnection) {
        let id = PostgresValue.integer(space.id)
        sendPushes(id, link)
        if !outcomes.isEmpty { sendOutcomes(id, link) }
        if !removedWebhooks.isEmpty {
            let all = removedWebhooks.sorted().map(\.value)
            link.run(Self.removeWebhooks, id, .integers(all))
        }
        if !webhooks.isEmpty { sendWebhooks(id, link) }
        if !progress.isEmpty {
            let all = progress.sorted { $0.key < $1.key }
            link.run(
                Self.updateWebhooks, id, .integers(all.map { $0.key.value }),
                .lists(all.map { Array($0.value.state.rawValue.utf8) }),
                .integers(all.map { Int64($0.value.attempts) }),
                .integers(all.map { $0.value.dueAt.milliseconds }),
                .lists(all.map { $0.value.lastError.map { Array($0.utf8) } }))
        }
    }

    private func sendPushes(_ id: PostgresValue, _ link: PostgresConnection) {
        let all = pushes.sorted { $0.key < $1.key }
        let removed = all.filter { $0.value == nil }
        if !removed.isEmpty {
            link.run(Self.removePushes, id, .integers(removed.map { $0.key.value }))
        }
        let put = all.compactMap { job, row in row.map { (job, $0.call, $0.record) } }
        guard !put.isEmpty else { return }
        link.run(
            Self.putPushes, id, .integers(put.map { $0.0.value }), .lists(put.map { $0.1.stored }),
            .lists(put.map { $0.2 }))
    }

    private func sendOutcomes(_ id: PostgresValue, _ link: PostgresConnection) {
        let all = outcomes.values.sorted { ($0.job, $0.at) < ($1.job, $1.at) }
        link.run(
            Self.putOutcomes, id, .lists(all.map { $0.callID.stored }),
            .integers(all.map { $0.job.value }),
            .lists(all.map { Array($0.address.user.text.utf8) }),
            .lists(all.map { Array($0.address.device.text.utf8) }),
            .lists(all.map { Array($0.provider.utf8) }),
            .lists(all.map { Array($0.kind.rawValue.utf8) }),
            .integers(all.map { $0.at.milliseconds }),
            .lists(all.map { Array($0.result.utf8) }))
    }

    private func sendWebhooks(_ id: PostgresValue, _ link: PostgresConnection) {
        let all = webhooks.values.sorted { $0.job.id < $1.job.id }
        func texts(_ text: (StoredWebhook) -> String) -> PostgresValue {
            .lists(all.map { Array(text($0).utf8) })
        }
        link.run(
            Self.putWebhooks, id, .integers(all.map { $0.job.id.value }),
            texts { $0.job.endpoint }, .lists(all.map { $0.job.callID.stored }),
            texts { $0.job.type }, .integers(all.map { $0.job.at.milliseconds }),
            .lists(all.map { $0.job.body }), texts { $0.progress.state.rawValue },
            .integers(all.map { Int64($0.progress.attempts) }),
            .integers(all.map { $0.progress.dueAt.milliseconds }),
            .lists(all.map { $0.progress.lastError.map { Array($0.utf8) } }),
            texts { $0.job.cause.caller?.text ?? "" }, texts { $0.job.cause.user?.text ?? "" },
            .lists(all.map { $0.job.trace.map { Array($0.description.utf8) } }))
    }

    /// Keeps only the newest registrations of a user (G79). A token belongs to the device that
    /// registered it last.
    static func send(
        _ change: RegistrationChange, most: Int, _ id: PostgresValue, _ link: PostgresConnection
    ) {
        let user = PostgresValue.text(change.address.user.text)
        let device = PostgresValue.text(change.address.device.text)
        let named = PostgresValue.text(change.provider)
        guard let registration = change.registration?.inOneForm else {
            return link.run(removeRegistration, id, user, device, named)
        }
        link.run(removeToken, id, named, .text(registration.token))
        link.run(
            putRegistration, id, user, device, named, .text(registration.token),
            registration.environment.map { .text($0) } ?? .null, .moment(change.at))
        link.run(
            removeOldestRegistrations, id, user, device, named, .integer(Int64(most - 1)))
    }

    static func send(dead: Registration, _ id: PostgresValue, _ link: PostgresConnection) {
        link.run(
            removeDead, id, .text(dead.address.user.text), .text(dead.address.device.text),
            .text(dead.registration.provider), .text(dead.registration.token), .moment(dead.at))
    }
}

/// A device registers for pushes, or does not want them any more.
struct RegistrationChange {
    let address: Address
    let provider: String
    /// nil: removed.
    let registration: PushRegistration?
    let at: Moment
}
