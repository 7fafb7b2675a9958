// Operations from the invitation to the end of a call.

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
            phrases: [
                "invites {invitees} {mode} {kind} {timeout_ms} {delivery_check} {items} {audio} "
                    + "{video} {push} {extended_data}"
            ],
            rule: "Always, except in modes `ringing` and `group` while the user is in a live call "
                + "of these modes, and in `managed` while the user is in any (`busy`, with "
                + "`detail.call_id`). People who cannot be invited come back in `errors[]`; if "
                + "nobody is left, the operation fails and no call is made.",
            make: { .invite($0.takeInvitation()) },
            give: { operation, values in
                if case .invite(let invitation) = operation { values.give(invitation) }
            }),
        OperationDescriptor(
            onCall: .ringing, "call.ringing", "This device shows the call.",
            phrases: ["shows {call_id}"],
            rule: "This device shows the call. A late one does nothing and gets `{}`.",
            make: { _ in .ringing }),
        OperationDescriptor(
            onCall: .accept, "call.accept", "Takes the call on this device.",
            ([], [.extendedData, .audio, .video, .holdActive]), reply: [.call],
            phrases: ["accepts {call_id} {audio} {video} {hold_active} {extended_data}"],
            rule: "Pending invitees. Too late: `expired`, `cancelled` or `already_answered`, by "
                + "what came first. The caller and joiners get `already_joined`. In `managed`, "
                + "who is in another call accepts nothing: `busy`, with `detail.call_id`.",
            make: { .accept($0.acceptance) },
            give: { action, values in
                guard case .accept(let acceptance) = action else { return }
                values.give(.audio, acceptance.audio)
                values.give(.video, acceptance.video)
                if acceptance.holdActive { values.give(.holdActive, true) }
            }),
        OperationDescriptor(
            onCall: .reject, "call.reject", "Says no.", ([], [.reason, .extendedData]),
            reply: [.call], phrases: ["rejects {call_id} {reason} {extended_data}"],
            rule: "Like `call.accept`.",
            make: { .reject(busy: $0.reason == .busy) },
            give: { action, values in
                if case .reject(true) = action { values.give(.reason, .busy, \.reason) }
            }),
        OperationDescriptor(
            onCall: .cancel, "call.cancel", "Withdraws invitations.",
            ([], [.users, .extendedData, .push]), reply: [.call, .errors],
            phrases: ["cancels {call_id} {users} {push} {extended_data}"],
            rule: "Without `users` the caller cancels the whole call, if nobody accepted; else "
                + "`already_answered`. With `users`, where the mode has it, the caller cancels "
                + "any pending invitee and others those they invited. What could not be cancelled "
                + "is in `errors[]`.",
            make: { .cancel($0.users, push: $0.push) },
            give: { action, values in
                guard case .cancel(let users, let push) = action else { return }
                if !users.isEmpty { values.give(.users, users, \.users) }
                values.give(.push, push, \.push)
            }),
        OperationDescriptor(
            onCall: .end, "call.end", "Ends the call for everybody.", ([], [.extendedData, .push]),
            reply: [.call], phrases: ["ends {call_id} {push} {extended_data}"],
            needs: .end,
            rule: "Joined participants. A call that nobody answered can be ended where the mode "
                + "has that; in `direct` it means cancel for the caller and reject for the "
                + "invitee; elsewhere it is `wrong_state`, and the caller cancels.",
            make: { .end(push: $0.push) },
            give: { action, values in
                if case .end(let push) = action { values.give(.push, push, \.push) }
            }),
    ]
}

extension FieldValues {
    fileprivate mutating func give(_ invitation: Invitation) {
        give(.invitees, invitation.invitees, \.users)
        give(.mode, invitation.mode, \.mode)
        give(.kind, invitation.kind, \.kind)
        give(.timeout, invitation.timeout, \.timeout)
        give(.deliveryCheck, invitation.deliveryCheck, \.deliveryCheck)
        give(.audio, invitation.audio)
        give(.video, invitation.video)
        if !invitation.items.isEmpty { give(.items, invitation.items, \.texts) }
        give(.push, invitation.push, \.push)
    }

    /// What they say of an invitation.
    @inline(__always)
    fileprivate mutating func takeInvitation() -> Invitation {
        var invitation = Invitation(invitees: [])
        swap(&invitation.invitees, &users)
        swap(&invitation.items, &texts)
        invitation.mode = mode.take()
        invitation.extendedData = extendedData.take()
        invitation.push = push.take()
        invitation.kind = kind
        (invitation.timeout, invitation.deliveryCheck) = (timeout, deliveryCheck)
        (invitation.audio, invitation.video) = (flag(.audio), flag(.video))
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
