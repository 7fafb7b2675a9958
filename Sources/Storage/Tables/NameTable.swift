// What people are called.

import CallModel
import StoreContract

/// The table `person_name`.
final class NameTable {
    private let put: Statement
    private let remove: Statement

    init(_ connection: DatabaseConnection) throws(StoreError) {
        put = try connection.prepare(
            """
            INSERT INTO person_name VALUES (?, ?, ?) ON CONFLICT (user) DO UPDATE
            SET name = excluded.name, origin = excluded.origin WHERE origin <= excluded.origin
            """, for: "storing a name")
        remove = try connection.prepare(
            "DELETE FROM person_name WHERE user = ? AND origin <= ?", for: "removing a name")
    }

    func apply(
        _ user: UserID, _ name: PersonName?, from origin: NameOrigin
    ) throws(StoreError) {
        let rank = SQLValue.integer(origin.rawValue)
        if let name {
            try put.run(.text(user.text), .text(name.text), rank)
        } else {
            try remove.run(.text(user.text), rank)
        }
    }
}
