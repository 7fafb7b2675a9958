// Operations from the invitation to the end of a call.

import CallModel
import JSON

extension OperationDescriptor {
    static let ringing: [OperationDescriptor] = [
        OperationDescriptor(
            .invite, "call.invite", "Calls people.",
            (
                [.invitees],
                [
                    .mode, .kind, .timeout, .extendedData, .deliveryCheck, .items, .push, .audio,
                    .video,
                ]
            ),
            reply: [.callID, .call, .errors],
            read: { .invite($0.invitation) },
            write: { operation, writer, encoder in
                guard case .invite(let invitation) = operation else { return }
                encoder.write(invitation, into: &writer)
            }),
        OperationDescriptor(
            onCall: .ringing, "call.ringing", "This device shows the call.", read: { _ in .ringing }
        ),
        OperationDescriptor(
            onCall: .accept, "call.accept", "Takes the call on this device.",
            ([], [.extendedData, .audio, .video, .holdActive]), reply: [.call],
            read: { .accept($0.acceptance) },
            write: { action, writer in
                guard case .accept(let acceptance) = action else { return }
                writer.given("audio", acceptance.audio)
                writer.given("video", acceptance.video)
                if acceptance.holdActive { writer.field("hold_active", true) }
            }),
        OperationDescriptor(
            onCall: .reject, "call.reject", "Says no.", ([], [.reason, .extendedData]),
            reply: [.call],
            read: { .reject(busy: $0.reason == .busy) },
            write: { action, writer in
                if case .reject(true) = action { writer.field("reason", literal: "busy") }
            }),
        OperationDescriptor(
            onCall: .cancel, "call.cancel", "Withdraws invitations.",
            ([], [.users, .extendedData, .push]), reply: [.call, .errors],
            read: { .cancel($0.users, push: $0.push) },
            write: { action, writer in
                guard case .cancel(let users, let push) = action else { return }
                if !users.isEmpty { writer.field("users", users.map(\.text)) }
                writer.given("push", push)
            }),
        OperationDescriptor(
            onCall: .end, "call.end", "Ends the call for everybody.", ([], [.extendedData, .push]),
            reply: [.call],
            read: { .end(push: $0.push) },
            write: { action, writer in
                if case .end(let push) = action { writer.given("push", push) }
            }),
    ]
}

extension RequestEncoder {
    fileprivate func write(_ invitation: Invitation, into writer: inout JSONWriter) {
        writer.field("invitees", invitation.invitees.map(\.text))
        if let mode = invitation.mode { writer.field("mode", modeNames[Int(mode.value)]) }
        writer.field("kind", invitation.kind)
        if let timeout = invitation.timeout { writer.field("timeout_ms", timeout) }
        switch invitation.deliveryCheck {
        case Invitation.usualDeliveryCheck: writer.field("delivery_check", true)
        case 0: writer.field("delivery_check", false)
        case let time?: writer.field("delivery_check", time)
        case nil: break
        }
        writer.given("audio", invitation.audio)
        writer.given("video", invitation.video)
        if !invitation.items.isEmpty { writer.field("items", invitation.items) }
        writer.given("push", invitation.push)
    }
}

extension FieldValues {
    fileprivate var invitation: Invitation {
        var invitation = Invitation(invitees: users)
        invitation.mode = mode
        invitation.kind = kind
        invitation.timeout = timeout
        invitation.extendedData = extendedData
        invitation.deliveryCheck = deliveryCheck
        invitation.audio = flag(.audio)
        invitation.video = flag(.video)
        invitation.items = texts
        invitation.push = push
        return invitation
    }

    fileprivate var acceptance: Acceptance {
        var acceptance = Acceptance()
        acceptance.audio = flag(.audio)
        acceptance.video = flag(.video)
        acceptance.holdActive = isOn(.holdActive)
        return acceptance
    }
}
