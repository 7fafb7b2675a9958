// Writes what people are called.

import CallModel
import StoreContract

extension Turn {
    private static let putName = PostgresStatement(
        "put_name",
        """
        INSERT INTO person_name AS n (space, usr, name, origin) VALUES ($1, $2, $3, $4)
        ON CONFLICT (space, usr) DO UPDATE SET name = excluded.name, origin = excluded.origin
        WHERE n.origin <= excluded.origin
        """)
    private static let removeName = PostgresStatement(
        "remove_name",
        "DELETE FROM person_name WHERE space = $1 AND usr = $2 AND origin <= $3")

    /// A name of a lower origin changes none of a higher one.
    static func send(
        _ name: PersonName?, of user: UserID, _ origin: NameOrigin, _ id: PostgresValue,
        _ link: PostgresConnection
    ) {
        let rank = PostgresValue.integer(origin.rawValue)
        if let name {
            link.run(putName, id, .text(user.text), .text(name.text), rank)
        } else {
            link.run(removeName, id, .text(user.text), rank)
        }
    }
}
