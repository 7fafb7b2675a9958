// Reads and writes stored calls without a database.

import CallModel
import JSON

/// The record of a call, for tools that judge it.
package enum StoredCall {
    /// Why a record cannot be read: where, and what is wrong.
    package struct Damage: Error, Equatable {
        /// The member as a path; empty: the record as a whole.
        package let field: String
        /// What is wrong with it.
        package let problem: String
    }

    /// What is stored of `call`.
    package static func bytes(of call: Call) -> [UInt8] {
        var writer = JSONWriter()
        CallRecord.write(call, to: &writer)
        return writer.bytes
    }

    /// The call `id` of a record.
    package static func call(_ id: CallID, of bytes: [UInt8]) throws(Damage) -> Call {
        do {
            return try bytes.withUnsafeBytes { try CallRecord.read($0, id: id) }
        } catch let damage as RecordDamage {
            throw Damage(field: damage.field, problem: damage.problem)
        } catch {
            throw Damage(field: "", problem: "\(error)")
        }
    }
}
