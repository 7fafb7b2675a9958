// What operations are to the wire: found by the bytes of their name, refused where a client of ours
// names a field that there is not.

import CallModel
import JSON

extension OperationDescriptor {
    /// The operation that `name` names, compared in place.
    static func named(_ name: JSONText) -> OperationDescriptor? {
        all.first { name == $0.text }
    }

    /// The field that a member name means; nil for one that the operation does not have.
    func field(_ name: JSONText) -> Field? { fields.first { name == $0.text } }
}

extension OperationName {
    /// Why a client does not send `data` with this operation: the first member that the operation
    /// or a push text does not have. Nil: all of them are known.
    public func refusal(of data: JSONValue) -> Refusal? {
        Self.unknown(in: data, of: rawValue, known: fields)
            ?? data["push"].flatMap {
                Self.unknown(in: $0, of: "push", known: ["title", "body", "payload"])
            }
    }

    private static func unknown(
        in data: JSONValue, of what: String, known: [String]
    ) -> Refusal? {
        guard let name = data.object?.members.map(\.key).first(where: { !known.contains($0) })
        else { return nil }
        let names = known.isEmpty ? "none" : known.joined(separator: ", ")
        return Refusal(
            .badRequest, "\(what) has no field '\(name)'; it has: \(names)", detail: .field(name))
    }
}
