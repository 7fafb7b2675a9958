// Takes somebody out of what is kept.

import CallModel
import JSON
import Storage
import StoreContract

extension Turn {
    private static let rewriteEnded = PostgresStatement(
        "rewrite_ended", "UPDATE ended_call SET record = $3 WHERE space = $1 AND id = $2")
    // One statement for each table, and each does something only where the call is kept.
    private static let moveParticipation = PostgresStatement(
        "move_participation",
        """
        WITH old AS (DELETE FROM participation WHERE space = $1 AND call = $2 AND usr = $3
        AND EXISTS (SELECT 1 FROM ended_call WHERE space = $1 AND id = $2) RETURNING call)
        INSERT INTO participation (space, usr, call) SELECT $1, $4, call FROM old
        ON CONFLICT DO NOTHING
        """)
    private static let removeMissed = PostgresStatement(
        "forget_missed",
        """
        DELETE FROM missed_call WHERE space = $1 AND call = $2 AND usr = $3
        AND EXISTS (SELECT 1 FROM ended_call WHERE space = $1 AND id = $2)
        """)
    // Each device gets another name, because a row is found by it.
    private static let renameOutcomes = PostgresStatement(
        "rename_outcomes",
        """
        UPDATE push_outcome
        SET usr = $4, device = convert_to('deleted:' || md5(random()::text), 'UTF8')
        WHERE space = $1 AND call = $2 AND usr = $3
        AND EXISTS (SELECT 1 FROM ended_call WHERE space = $1 AND id = $2)
        """)
    private static let removeRegistrations = PostgresStatement(
        "forget_registrations", "DELETE FROM registration WHERE space = $1 AND usr = $2")
    private static let removeName = PostgresStatement(
        "forget_name", "DELETE FROM person_name WHERE space = $1 AND usr = $2")
    private static let removeAllMissed = PostgresStatement(
        "forget_all_missed", "DELETE FROM missed_call WHERE space = $1 AND usr = $2")

    /// Keeps `call`, which has ended, without somebody who was in it.
    static func send(
        _ gone: Forgotten, in call: Call, _ id: PostgresValue, _ link: PostgresConnection
    ) {
        var writer = JSONWriter()
        CallRecord.write(call, to: &writer)
        let (callID, user) = (PostgresValue.id(call.id), PostgresValue.text(gone.user.text))
        link.run(rewriteEnded, id, callID, .bytes(writer.bytes))
        link.run(moveParticipation, id, callID, user, .text(gone.substitute.text))
        link.run(removeMissed, id, callID, user)
        link.run(renameOutcomes, id, callID, user, .text(gone.substitute.text))
    }

    /// The registrations, the name and the missed calls of a user go.
    static func send(forget user: UserID, _ id: PostgresValue, _ link: PostgresConnection) {
        for statement in [removeRegistrations, removeName, removeAllMissed] {
            link.run(statement, id, .text(user.text))
        }
    }
}
