// Rewrites tokens of old registrations in the form in which tokens are searched for now.

import CallModel
import StoreContract

/// Registrations as servers of store version 5 and before kept them: as the client wrote them.
enum OldTokens {
    private struct Found {
        let user: String
        let device: String
        let registration: PushRegistration
        let at: Moment
    }

    /// Rewrites all tokens that are in another form. If two registrations become equal, the later
    /// one stays (G79).
    static func rewrite(_ connection: DatabaseConnection) throws(StoreError) {
        let removeOlder = try connection.prepare(
            """
            DELETE FROM registration WHERE token = ? AND provider = ? AND registered_at <= ?
            """, for: "removing a token's earlier registration")
        let put = try connection.prepare(
            """
            INSERT INTO registration SELECT ?1, ?2, ?3, ?4, ?5, ?6
            WHERE NOT EXISTS (SELECT 1 FROM registration WHERE token = ?4 AND provider = ?3)
            """, for: "rewriting a token")
        let remove = try connection.prepare(
            "DELETE FROM registration WHERE user = ? AND device = ? AND provider = ?",
            for: "removing a token in an old form")
        for row in try inOtherForms(connection) {
            let (user, device) = (SQLValue.text(row.user), SQLValue.text(row.device))
            let same = row.registration.inOneForm
            let (provider, token) = (SQLValue.text(same.provider), SQLValue.text(same.token))
            try remove.run(user, device, provider)
            try removeOlder.run(token, provider, .moment(row.at))
            try put.run(
                user, device, provider, token, .optional(same.environment), .moment(row.at))
        }
    }

    /// The oldest first: a later one takes the token.
    private static func inOtherForms(_ connection: DatabaseConnection) throws(StoreError) -> [Found]
    {
        let all = try connection.prepare(
            """
            SELECT user, device, provider, token, environment, registered_at FROM registration
            ORDER BY registered_at, user, device
            """, for: "reading tokens in old forms")
        var found: [Found] = []
        try all.rows { row in
            let registration = PushRegistration(
                provider: row.text(2), token: row.text(3), environment: row.optionalText(4))
            guard registration.inOneForm != registration else { return true }
            found.append(
                Found(
                    user: row.text(0), device: row.text(1), registration: registration,
                    at: row.moment(5)))
            return true
        }
        return found
    }
}
