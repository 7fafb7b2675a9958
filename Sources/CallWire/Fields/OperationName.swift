// Every operation with the members of its data: the table that decoding and documents share.

import CallModel
import JSON

/// What a client may ask for, by its name on the wire.
public enum OperationName: String, CaseIterable, Sendable {
    case hello, ping, bye
    case invite = "call.invite"
    case add = "call.add"
    case ringing = "call.ringing"
    case accept = "call.accept"
    case acceptAck = "call.accept_ack"
    case reject = "call.reject"
    case cancel = "call.cancel"
    case join = "call.join"
    case leave = "call.leave"
    case end = "call.end"
    case report = "call.report"
    case media = "call.media"
    case hold = "call.hold"
    case items = "call.items"
    case signal = "call.signal"
    case get = "call.get"
    case list = "call.list"
    case token = "call.token"
    case pushRegister = "device.push_register"
    case pushUnregister = "device.push_unregister"
}

/// One operation and the members that its data must and may have.
struct OperationShape: Sendable {
    let name: OperationName
    let required: FieldSet
    let optional: FieldSet
    /// The name again, in the form that is compared in place.
    let text: StaticString

    init(
        _ text: StaticString, _ name: OperationName, _ required: FieldSet = [],
        optional: FieldSet = []
    ) {
        self.text = text
        self.name = name
        self.required = required
        self.optional = optional
    }

    /// Whether the data may have `field`.
    func has(_ field: Field) -> Bool { required.contains(field) || optional.contains(field) }

    /// Every operation, the frequent ones first.
    static let all: [OperationShape] = [
        OperationShape(
            "call.invite", .invite, [.invitees],
            optional: [
                .mode, .kind, .timeout, .extendedData, .deliveryCheck, .items, .push, .audio,
                .video,
            ]),
        OperationShape("call.ringing", .ringing, [.callID]),
        OperationShape(
            "call.accept", .accept, [.callID],
            optional: [.extendedData, .audio, .video, .holdActive]),
        OperationShape(
            "call.reject", .reject, [.callID], optional: [.reason, .extendedData]),
        OperationShape(
            "call.cancel", .cancel, [.callID], optional: [.users, .extendedData, .push]),
        OperationShape("call.end", .end, [.callID], optional: [.extendedData, .push]),
        OperationShape("call.signal", .signal, [.callID, .data], optional: [.to]),
        OperationShape("call.leave", .leave, [.callID], optional: [.extendedData, .push]),
        OperationShape(
            "call.join", .join, [.callID], optional: [.extendedData, .audio, .video]),
        OperationShape("call.add", .add, [.callID, .invitees], optional: [.push]),
        OperationShape("call.accept_ack", .acceptAck, [.callID, .user]),
        OperationShape("call.report", .report, [.callID, .media]),
        OperationShape("call.media", .media, [.callID], optional: [.audio, .video]),
        OperationShape("call.hold", .hold, [.callID, .on], optional: [.force]),
        OperationShape("call.items", .items, [.callID], optional: [.put, .delete, .clear]),
        OperationShape("call.get", .get, [.callID]),
        OperationShape(
            "call.list", .list,
            optional: [
                .limit, .cursor, .state, .role, .endReasons, .kind, .peer, .since, .until,
            ]),
        OperationShape("call.token", .token, [.callID]),
        OperationShape("hello", .hello, [.token, .device], optional: [.resume, .missed]),
        OperationShape("ping", .ping),
        OperationShape("bye", .bye),
        OperationShape(
            "device.push_register", .pushRegister, [.provider],
            optional: [.token, .subscription, .environment]),
        OperationShape("device.push_unregister", .pushUnregister, [.provider]),
    ]

    /// The operation that `name` names, compared in place.
    static func named(_ name: JSONText) -> OperationShape? { all.first { name == $0.text } }

    /// The row of `name`.
    static func of(_ name: OperationName) -> OperationShape? { all.first { $0.name == name } }
}

// What a client asks before it sends: what the server would ignore is a mistake there.

extension OperationName {
    /// The names of all members that the data of this operation may have, the required ones first.
    public var fields: [String] {
        guard let shape = OperationShape.of(self) else { return [] }
        return (shape.required.fields + shape.optional.fields).map(\.name)
    }

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
