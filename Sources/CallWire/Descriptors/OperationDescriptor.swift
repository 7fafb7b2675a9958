// An operation of the protocol, described once.

import CallModel
import JSON

/// All that is said of one operation. Decoding, encoding, routes, documents and the clients' checks
/// are made of it.
final class OperationDescriptor: Sendable {
    let name: OperationName
    /// The name on the wire again, in the form that is compared in place.
    let text: StaticString
    /// One line for people.
    let summary: String
    /// The members that its data must have.
    let required: FieldSet
    /// The members that its data may have too.
    let optional: FieldSet
    /// What the `ok` of its reply has.
    let reply: [SchemaMember]
    /// Whether HTTP has it too; else only a session has.
    let isPosted: Bool
    /// Makes the operation of the fields that were read; nil: the session does it by itself.
    let read: Reading
    /// Writes the members of the data but for `call_id` and `extended_data`. What equals the
    /// protocol's default is left out.
    let write: Writing

    typealias Reading = @Sendable (FieldValues) throws(Refusal) -> Operation?
    typealias Writing = @Sendable (Operation, inout JSONWriter, RequestEncoder) -> Void
    /// Members that must be there, and those that may.
    typealias Fields = (required: FieldSet, optional: FieldSet)

    init(
        _ name: OperationName, _ text: StaticString, _ summary: String, _ fields: Fields,
        reply: [SchemaMember] = [], isPosted: Bool = true,
        read: @escaping Reading = { _ in nil }, write: @escaping Writing = { _, _, _ in }
    ) {
        self.name = name
        self.text = text
        self.summary = summary
        (required, optional) = fields
        self.reply = reply
        self.isPosted = isPosted
        self.read = read
        self.write = write
    }

    /// An operation on a call that there is.
    convenience init(
        onCall name: OperationName, _ text: StaticString, _ summary: String,
        _ fields: Fields = ([], []), reply: [SchemaMember] = [],
        read: @escaping @Sendable (FieldValues) -> CallAction,
        write: @escaping @Sendable (CallAction, inout JSONWriter) -> Void = { _, _ in }
    ) {
        var fields = fields
        fields.required.insert(.callID)
        self.init(
            name, text, summary, fields, reply: reply,
            read: { .call($0.callID, read($0), saying: $0.extendedData) },
            write: { operation, writer, _ in
                if case .call(_, let action, _) = operation { write(action, &writer) }
            })
    }

    /// Whether the data may have `field`.
    func has(_ field: Field) -> Bool { required.contains(field) || optional.contains(field) }

    /// The names of all members that the data may have, the required ones first.
    var fieldNames: [String] { (required.fields + optional.fields).map(\.name) }

    /// Every operation, the frequent ones first.
    static let all = ringing + inCall + asking + session

    /// The operation that `name` names, compared in place.
    static func named(_ name: JSONText) -> OperationDescriptor? {
        all.first { name == $0.text }
    }

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The operation `name`.
    static func of(_ name: OperationName) -> OperationDescriptor {
        guard let found = byName[name] else { preconditionFailure("\(name) is not described") }
        return found
    }
}
