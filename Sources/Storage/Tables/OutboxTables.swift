// Stores what is to be sent: pushes, webhooks and the registrations they go to.

import CallModel
import JSON
import StoreContract

/// The tables `registration`, `push_job`, `push_outcome` and `webhook`.
final class OutboxTables {
    private let putRegistration: Statement
    private let removeRegistration: Statement
    private let removeToken: Statement
    private let removeOldest: Statement
    private let removeDead: Statement
    private let removeAllOf: Statement
    private let addPush: Statement
    private let removePush: Statement
    private let putOutcome: Statement
    private let addWebhook: Statement
    private let updateWebhook: Statement
    private let removeWebhook: Statement
    private let removeOldWebhooks: Statement
    private let openWebhooks: Statement
    private let giveUpWebhooks: Statement
    /// Where the search for webhooks that are too old goes on.
    private var lookedAt: Int64 = 0
    private var writer = JSONWriter()

    init(_ connection: DatabaseConnection) throws(StoreError) {
        putRegistration = try connection.prepare(
            "INSERT OR REPLACE INTO registration VALUES (?, ?, ?, ?, ?, ?)",
            for: "storing a push registration")
        removeRegistration = try connection.prepare(
            "DELETE FROM registration WHERE user = ? AND device = ? AND provider = ?",
            for: "removing a push registration")
        removeToken = try connection.prepare(
            "DELETE FROM registration WHERE token = ? AND provider = ?",
            for: "removing a token's earlier registration")
        removeOldest = try connection.prepare(
            """
            DELETE FROM registration WHERE user = ?1 AND (device, provider) IN
            (SELECT device, provider FROM registration
            WHERE user = ?1 AND NOT (device = ?2 AND provider = ?3)
            ORDER BY registered_at DESC, device, provider LIMIT -1 OFFSET ?4)
            """, for: "removing the oldest push registrations")
        removeDead = try connection.prepare(
            """
            DELETE FROM registration WHERE user = ? AND device = ? AND provider = ? AND token = ?
            AND registered_at = ?
            """, for: "removing a dead push registration")
        removeAllOf = try connection.prepare(
            "DELETE FROM registration WHERE user = ?", for: "removing a user's registrations")
        addPush = try connection.prepare(
            "INSERT OR REPLACE INTO push_job VALUES (?, ?, ?)", for: "storing a push job")
        removePush = try connection.prepare(
            "DELETE FROM push_job WHERE id = ?", for: "removing a push job")
        putOutcome = try connection.prepare(
            "INSERT OR REPLACE INTO push_outcome VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            for: "storing a push outcome")
        addWebhook = try connection.prepare(
            "INSERT OR REPLACE INTO webhook VALUES (?, ?, ?, ?, ?, ?, 'open', 0, ?, NULL, ?, ?, ?)",
            for: "storing a webhook")
        updateWebhook = try connection.prepare(
            """
            UPDATE webhook SET state = ?, attempts = ?, due_at = ?, last_error = ? WHERE id = ?
            """, for: "updating a webhook")
        removeWebhook = try connection.prepare(
            "DELETE FROM webhook WHERE id = ?", for: "removing a webhook")
        removeOldWebhooks = try connection.prepare(
            """
            DELETE FROM webhook WHERE at <= ?2 AND id IN
            (SELECT id FROM webhook WHERE state = ?1 ORDER BY id LIMIT ?3)
            """, for: "removing old webhooks")
        openWebhooks = try connection.prepare(
            "SELECT id, at FROM webhook WHERE state = 'open' AND id > ? ORDER BY id LIMIT ?",
            for: "looking for late webhooks")
        giveUpWebhooks = try connection.prepare(
            """
            UPDATE webhook SET state = 'failed', last_error = coalesce(last_error, ?4)
            WHERE state = 'open' AND id > ?1 AND id <= ?2 AND due_at <= ?3
            """, for: "giving late webhooks up")
    }

    /// Keeps only the newest `most` registrations of a user (G79). A token belongs to the device
    /// that registered it last.
    func put(
        _ address: Address, provider: String, _ registration: PushRegistration?, at now: Moment,
        most: Int
    ) throws(StoreError) {
        let (user, device) = (SQLValue.text(address.user.text), SQLValue.text(address.device.text))
        guard let registration = registration?.inOneForm else {
            return try removeRegistration.run(user, device, .text(provider))
        }
        try removeToken.run(.text(registration.token), .text(provider))
        try putRegistration.run(
            user, device, .text(provider), .text(registration.token),
            .optional(registration.environment), .moment(now))
        try removeOldest.run(user, device, .text(provider), .integer(Int64(most - 1)))
    }

    /// Removes all registrations of a user.
    func forget(_ user: UserID) throws(StoreError) { try removeAllOf.run(.text(user.text)) }

    /// Removes a registration whose token is dead.
    func remove(_ dead: Registration) throws(StoreError) {
        try removeDead.run(
            .text(dead.address.user.text), .text(dead.address.device.text),
            .text(dead.registration.provider), .text(dead.registration.token), .moment(dead.at))
    }

    func apply(_ change: PushChange) throws(StoreError) {
        switch change {
        case .add(let id, let job):
            writer.removeAll()
            PushRecord.write(job, to: &writer)
            try addPush.run(.integer(id.value), .id(job.callID), .written(writer.written))
        case .outcome(let outcome):
            try putOutcome.run(
                .id(outcome.callID), .integer(outcome.job.value),
                .text(outcome.address.user.text), .text(outcome.address.device.text),
                .text(outcome.provider), .text(outcome.kind.rawValue), .moment(outcome.at),
                .text(outcome.result))
        case .finish(let id):
            try removePush.run(.integer(id.value))
        }
    }

    func apply(_ change: WebhookChange) throws(StoreError) {
        switch change {
        case .add(let job):
            try addWebhook.run(
                .integer(job.id.value), .text(job.endpoint), .id(job.callID), .text(job.type),
                .moment(job.at), .bytes(job.body), .moment(job.at),
                .text(job.cause.caller?.text ?? ""), .text(job.cause.user?.text ?? ""),
                .optional(job.trace?.description))
        case .update(let id, let progress):
            try updateWebhook.run(
                .text(progress.state.rawValue), .integer(Int64(progress.attempts)),
                .moment(progress.dueAt), .optional(progress.lastError), .integer(id.value))
        case .remove(let id): try removeWebhook.run(.integer(id.value))
        }
    }

    /// Removes finished webhooks of `moment` or before, looking at the `step` oldest of each state.
    ///
    /// - Returns: whether there may be more.
    func sweep(upTo moment: Moment, step: Int) throws(StoreError) -> Bool {
        var hasMore = false
        for state in [WebhookProgress.State.delivered, .failed] {
            let removed = try removeOldWebhooks.count(
                .text(state.rawValue), .moment(moment), .integer(Int64(step)))
            hasMore = hasMore || removed == step
        }
        return hasMore
    }

    /// Gives up open webhooks that were due at `moment` or before, looking at the `step` next ones:
    /// those at the head may be in the middle of their attempts, and hide others.
    ///
    /// - Returns: whether there may be more.
    func giveUp(dueUpTo moment: Moment, step: Int) throws(StoreError) -> Bool {
        let from = lookedAt
        var (last, count, isOld) = (from, 0, false)
        try openWebhooks.rows(.integer(from), .integer(Int64(step))) { row in
            (last, count, isOld) = (row.integer(0), count + 1, row.moment(1) <= moment)
            return true
        }
        if count > 0 {
            try giveUpWebhooks.run(
                .integer(from), .integer(last), .moment(moment), .text(WebhookProgress.neverTried))
        }
        // A webhook is never due before its event: behind a young one there are only younger ones.
        let hasMore = count == step && isOld
        lookedAt = hasMore ? last : 0
        return hasMore
    }
}
