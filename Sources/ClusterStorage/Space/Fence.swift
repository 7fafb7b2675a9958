// The first statement of every transaction that writes.

import CallModel
import StoreContract

/// What an owner has to show before it writes. The epoch alone is not enough: a standby that had
/// not heard of the last takeover could give it twice. So there is a token that no other node can
/// have.
struct Fence: Equatable {
    let term: Term
    /// 16 random bytes.
    let token: [UInt8]

    init(_ term: Term) {
        var dice = SystemRandomNumberGenerator()
        self.init(term, token: (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &dice) })
    }

    init(_ term: Term, token: [UInt8]) { (self.term, self.token) = (term, token) }

    /// How the row is asked for. Only `share` is right; the others are for the tests that show why.
    enum Form: String, CaseIterable {
        /// The takeover waits until transactions that passed the fence have ended, and transactions
        /// that wait for a takeover look at the row again.
        case share = "FOR SHARE"
        /// The takeover does not wait for it.
        case keyShare = "FOR KEY SHARE"
        /// Nobody waits.
        case noLock = ""
        /// The row is not asked for at all.
        case none

        /// Fails the whole transaction by a division when there is no such row.
        var statement: PostgresStatement {
            let row =
                switch self {
                case .none: "SELECT $1::bigint + $2::bigint + length($3::bytea)"
                case .share, .keyShare, .noLock:
                    "SELECT id FROM space WHERE id = $1 AND epoch = $2 AND token = $3 \(rawValue)"
                }
            return PostgresStatement("fence", "SELECT 1 / count(*) FROM (\(row)) AS held")
        }
    }

    /// Puts it at the head of a turn.
    func begin(_ form: Form, in space: Space, on connection: PostgresConnection) {
        connection.run(
            form.statement, .integer(space.id), .integer(Int64(term.epoch)), .bytes(token))
    }
}
