// A call in the record of a decision: what handlers see of it.

import CallModel
import JSON
import PolicyHost

/// Writes the fields that handlers see, unless they are at their defaults. What clients are shown
/// has the same names here.
struct SeenCall: ~Copyable, CallVisitor {
    var writer = JSONWriter(capacity: 0)

    init() {}

    /// The name of a field that handlers see; nil: they do not.
    private func name(_ field: CallField) -> StaticString? {
        switch field {
        case .mode, .kind, .state, .extendedData, .items, .createdAt, .ringTime, .participants,
            .user, .role, .invitedBy, .deadlineAt:
            field.shown
        case .isGroup, .transfers, .views, .receiver: field.kept
        case .callID, .caller, .answeredAt, .connectedAt, .endedAt, .duration, .revision, .media,
            .end, .deliveryCheck, .mediaAlarm, .idleAlarm, .removed, .forks, .returns, .reason,
            .invitedAt, .device, .audio, .video, .held, .name, .mediaConnected, .wasConnected,
            .deliveryAlarm, .isAnsweredFor, .hops, .askFrom, .begunBy, .asking, .policyAlarm,
            .policyNote:
            nil
        }
    }

    mutating func visit(_ field: CallField, _ id: CallID) {}

    mutating func visit(_ field: CallField, _ mode: ModeRow) {
        guard let name = name(field) else { return }
        // An operator's own mode with all that it says: replays know it without the file.
        writer.field(name, mode.place == nil ? mode.mode.text : mode.name)
    }

    mutating func visit(_ field: CallField, text: String?) {
        if let name = name(field), let text { writer.field(name, text) }
    }

    mutating func visit(_ field: CallField, word: String?, isUsual: Bool) {
        if let name = name(field), let word { writer.field(name, plain: word) }
    }

    mutating func visit(_ field: CallField, _ user: UserID?) {
        if let name = name(field), let user { writer.field(name, user.text) }
    }

    mutating func visit(_ field: CallField, _ flag: Bool, usual: Bool) {
        if let name = name(field), flag != usual { writer.field(name, flag) }
    }

    mutating func visit(_ field: CallField, _ moment: Moment?) {
        if let name = name(field), let moment { writer.field(name, moment.milliseconds) }
    }

    mutating func visit(_ field: CallField, time: Milliseconds?) {
        if let name = name(field), let time { writer.field(name, time) }
    }

    mutating func visit(_ field: CallField, _ items: [Call.Item]) {
        guard let name = name(field), !items.isEmpty else { return }
        writer.object(name) {
            for item in items {
                $0.key(text: item.key)
                $0.value(item.value)
            }
        }
    }

    mutating func visit(_ field: CallField, _ views: [Call.View]) {
        guard let name = name(field), !views.isEmpty else { return }
        writer.array(name) {
            for view in views { view.write(into: &$0) }
        }
    }

    mutating func visit(_ field: CallField, _ transfers: [Call.Transfer]) {
        guard let name = name(field), !transfers.isEmpty else { return }
        writer.array(name) {
            for transfer in transfers where transfer.isPending {
                $0.object {
                    $0.field("to", transfer.to.text)
                    $0.field("by", transfer.by.text)
                }
            }
        }
    }

    mutating func visit(
        _ field: CallField, of call: Call, _ show: (Int, inout SeenCall) -> Void
    ) {
        guard let name = name(field) else { return }
        writer.key(name)
        writer.beginArray()
        for place in call.participants.indices {
            writer.beginObject()
            show(place, &self)
            writer.endObject()
        }
        writer.endArray()
    }

    // What handlers do not see.

    mutating func visit(_ field: CallField, _ device: DeviceID?) {}
    mutating func visit(_ field: CallField, count: Int) {}
    mutating func visit(_ field: CallField, _ end: Call.End?) {}
    mutating func visit(_ field: CallField, _ users: [UserID]) {}
    mutating func visit(_ field: CallField, _ forks: [Call.Fork]) {}
    mutating func visit(_ field: CallField, _ returns: [Call.Return]) {}
    mutating func visit(_ field: CallField, _ note: PolicyNote?) {}
}
