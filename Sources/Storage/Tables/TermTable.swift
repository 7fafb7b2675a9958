// Says which server may write: the fence of every transaction.

import StoreContract

/// The table `term`: a row for each takeover. What calls were stored in points there.
final class TermTable {
    private let path: String
    private let newest: Statement
    private let add: Statement

    init(_ connection: DatabaseConnection) throws(StoreError) {
        path = connection.path
        newest = try connection.prepare(
            "SELECT epoch, owner FROM term ORDER BY epoch DESC LIMIT 1", for: "reading the owner")
        add = try connection.prepare(
            "INSERT INTO term SELECT ?1, ?2 WHERE ?1 > (SELECT max(epoch) FROM term)",
            for: "taking the store over")
    }

    /// Begins `term`, or goes on with it.
    func begin(_ term: Term) throws(StoreError) {
        try add.run(.integer(Int64(term.epoch)), .text(term.owner))
        try require(term, for: "opening")
    }

    /// Whether `term` is the last that began.
    func require(_ term: Term, for operation: String) throws(StoreError) {
        let held = try newest.first { row in
            Term(owner: row.text(1), epoch: UInt32(clamping: row.integer(0)))
        }
        guard held != term else { return }
        throw term.refusal(by: held ?? .alone, at: path, operation)
    }
}
