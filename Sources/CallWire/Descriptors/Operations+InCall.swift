// Operations of those who are in a call.

import CallModel
import JSON

extension OperationDescriptor {
    static let inCall: [OperationDescriptor] = [
        OperationDescriptor(
            onCall: .signal, "call.signal", "Sends data to other participants.", ([.data], [.to]),
            read: { .signal(to: $0.addressee, data: $0.data) },
            write: { action, writer in
                guard case .signal(let to, let data) = action else { return }
                writer.given("to", to?.text)
                writer.field("data", raw: data)
            }),
        OperationDescriptor(
            onCall: .leave, "call.leave", "Leaves the call.", ([], [.extendedData, .push]),
            reply: [.call],
            read: { .leave(push: $0.push) },
            write: { action, writer in
                if case .leave(let push) = action { writer.given("push", push) }
            }),
        OperationDescriptor(
            onCall: .join, "call.join", "Joins from outside, or moves the call to this device.",
            ([], [.extendedData, .audio, .video]), reply: [.call],
            read: { .join(audio: $0.flag(.audio), video: $0.flag(.video)) },
            write: { action, writer in
                guard case .join(let audio, let video) = action else { return }
                writer.given("audio", audio)
                writer.given("video", video)
            }),
        OperationDescriptor(
            onCall: .add, "call.add", "Calls more people into a call.", ([.invitees], [.push]),
            reply: [.call, .errors],
            read: { .add($0.users, push: $0.push) },
            write: { action, writer in
                guard case .add(let invitees, let push) = action else { return }
                writer.field("invitees", invitees.map(\.text))
                writer.given("push", push)
            }),
        OperationDescriptor(
            onCall: .acceptAck, "call.accept_ack",
            "Confirms that an accept arrived (mode handshake).",
            ([.user], []), reply: [.call],
            read: { .acceptAck($0.user) },
            write: { action, writer in
                if case .acceptAck(let user) = action { writer.field("user", user.text) }
            }),
        OperationDescriptor(
            onCall: .report, "call.report", "Tells what became of this device's media.",
            ([.media], []),
            read: { .report($0.media) },
            write: { action, writer in
                if case .report(let media) = action { writer.field("media", media.rawValue) }
            }),
        OperationDescriptor(
            onCall: .media, "call.media", "Switches audio or video.", ([], [.audio, .video]),
            read: { .media(audio: $0.flag(.audio), video: $0.flag(.video)) },
            write: { action, writer in
                guard case .media(let audio, let video) = action else { return }
                writer.given("audio", audio)
                writer.given("video", video)
            }),
        OperationDescriptor(
            onCall: .hold, "call.hold", "Holds the call or goes on with it.", ([.on], [.force]),
            read: { .hold(on: $0.isOn(.on), force: $0.isOn(.force)) },
            write: { action, writer in
                guard case .hold(let on, let force) = action else { return }
                writer.field("on", on)
                if force { writer.field("force", true) }
            }),
        OperationDescriptor(
            onCall: .items, "call.items", "Changes the call's named texts.",
            ([], [.put, .delete, .clear]),
            reply: [
                SchemaMember("items", Schema.map(of: Schema.text())),
                SchemaMember("keys", Schema.list(of: Schema.text()), "all that were touched"),
            ],
            read: { .items($0.itemsChange) },
            write: { action, writer in
                guard case .items(let change) = action else { return }
                if !change.put.isEmpty { writer.field("put", change.put) }
                if !change.delete.isEmpty { writer.field("delete", change.delete) }
                if change.clear { writer.field("clear", true) }
            }),
    ]
}

extension FieldValues {
    /// `to`.
    fileprivate var addressee: UserID? { given.contains(.to) ? user : nil }

    fileprivate var itemsChange: ItemsChange {
        var change = ItemsChange()
        change.clear = isOn(.clear)
        change.delete = delete
        change.put = texts
        return change
    }
}
