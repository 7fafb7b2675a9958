// What may be done with a call that there is: the actions, their names and their rows. A new one
// needs no other file to be decoded, encoded, routed, documented and written in scenarios.

/// What may be done with a call that there is. `accept`, `reject`, `cancel`, `join`, `leave` and
/// `end` may say something: their extended data stands beside the action.
public enum CallAction: Sendable, Equatable {
    /// `call.add`.
    case add([UserID], push: PushText? = nil)
    /// `call.ringing`.
    case ringing
    /// `call.accept`.
    case accept(Acceptance = Acceptance())
    /// `call.accept_ack`.
    case acceptAck(UserID)
    /// `call.reject`.
    case reject(busy: Bool = false)
    /// `call.cancel`; no users: all.
    case cancel([UserID] = [], push: PushText? = nil)
    /// `call.join`; nil: as in `Acceptance`.
    case join(audio: Bool? = nil, video: Bool? = nil)
    /// `call.leave`.
    case leave(push: PushText? = nil)
    /// `call.end`.
    case end(push: PushText? = nil)
    /// `call.transfer`.
    case transfer(to: UserID, push: PushText? = nil)
    /// `call.remove`.
    case remove([UserID])
    /// `call.report`.
    case report(MediaReport)
    /// `call.media`; nil: as it was.
    case media(audio: Bool?, video: Bool?)
    /// `call.hold`.
    case hold(on: Bool, force: Bool = false)
    /// `call.items`.
    case items(ItemsChange)
    /// `call.signal`; nil: to all other joined participants. `data` is one JSON value.
    case signal(to: UserID?, data: [UInt8])
    /// `call.get`.
    case get
    /// `call.token`.
    case token
    /// Not on the wire: a policy's decision to invite another user in the invitee's place.
    case forward(to: [UserID], each: Milliseconds? = nil)
    /// Not on the wire: a policy or the operator ends the call, whatever its mode and state.
    case finish(code: EndDetail?)
}

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
    case transfer = "call.transfer"
    case remove = "call.remove"
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
    case userGet = "user.get"
    case userSet = "user.set"
}

extension CallAction {
    /// The name on the wire.
    public var name: OperationName {
        switch self {
        case .add: .add
        case .ringing: .ringing
        case .accept: .accept
        case .acceptAck: .acceptAck
        case .reject: .reject
        case .cancel: .cancel
        case .join: .join
        case .leave: .leave
        case .end: .end
        case .transfer: .transfer
        case .remove: .remove
        case .report: .report
        case .media: .media
        case .hold: .hold
        case .items: .items
        case .signal: .signal
        case .get: .get
        case .token: .token
        case .forward, .finish: preconditionFailure("a policy's decision is not on the wire")
        }
    }
}

/// The rows of the operations of those who are in a call.
extension OperationDescriptor {
    static let inCall: [OperationDescriptor] = [
        OperationDescriptor(
            onCall: .signal, "call.signal", "Sends data to other participants.", ([.data], [.to]),
            phrases: ["signals {call_id} {to} {data}"],
            rule: "Joined participants, to all others who joined, or to one (`to`), who may be "
                + "pending. Relayed byte for byte and not stored. Held for a pending addressee "
                + "without a device, at most 64.",
            make: { .signal(to: $0.addressee, data: $0.data) },
            give: { action, values in
                guard case .signal(let to, let data) = action else { return }
                values.give(.to, to, \.user)
                values.give(.data, data, \.data)
            }),
        OperationDescriptor(
            onCall: .leave, "call.leave", "Leaves the call.", ([], [.extendedData, .push]),
            reply: [.call], phrases: ["leaves {call_id} {push} {extended_data}"],
            needs: .leave,
            rule: "Joined participants. In `managed`, when the caller leaves and nobody has "
                + "joined, the whole call is cancelled.",
            make: { .leave(push: $0.push) },
            give: { action, values in
                if case .leave(let push) = action { values.give(.push, push, \.push) }
            }),
        OperationDescriptor(
            onCall: .join, "call.join", "Joins from outside, or moves the call to this device.",
            ([], [.extendedData, .audio, .video]), reply: [.call],
            phrases: ["joins {call_id} {audio} {video} {extended_data}"],
            needs: .join,
            rule: "Anybody who knows the id, where the mode has it: from outside, back after a "
                + "reject, a time-out or a leave, or with another device, which takes the call "
                + "over.",
            make: { .join(audio: $0.flag(.audio), video: $0.flag(.video)) },
            give: { action, values in
                guard case .join(let audio, let video) = action else { return }
                values.give(.audio, audio)
                values.give(.video, video)
            }),
        OperationDescriptor(
            onCall: .add, "call.add", "Calls more people into a call.", ([.invitees], [.push]),
            reply: [.call, .errors], phrases: ["adds {invitees} to {call_id} {push}"],
            needs: .add,
            rule: "Joined participants, in modes that have it. The call's ring time counts anew "
                + "for those added.",
            make: { .add($0.users, push: $0.push) },
            give: { action, values in
                guard case .add(let invitees, let push) = action else { return }
                values.give(.invitees, invitees, \.users)
                values.give(.push, push, \.push)
            }),
        OperationDescriptor(
            onCall: .transfer, "call.transfer", "Asks that somebody else takes the user's place.",
            ([.to], [.extendedData, .push]), reply: [.call],
            phrases: ["transfers {call_id} to {to} {push} {extended_data}"],
            needs: .transfer,
            rule: "Joined participants. `to` is invited in the name of who asks, and the two "
                + "count as one until `to` answers; when `to` accepts, who asked has left. "
                + "`self_call`, `not_found`, `already_joined`, `refused` say why nobody can; "
                + "`wrong_state`: the transfer before has no answer yet; `too_many`: the call had "
                + "all its transfers.",
            make: { .transfer(to: $0.user, push: $0.push) },
            give: { action, values in
                guard case .transfer(let to, let push) = action else { return }
                values.give(.to, to, \.user)
                values.give(.push, push, \.push)
            }),
        OperationDescriptor(
            onCall: .remove, "call.remove", "Sends people out of the call.", ([.users], []),
            reply: [.call, .errors], phrases: ["removes {users} from {call_id}"],
            needs: .remove,
            rule: "The caller, who has joined. Who has joined leaves (`kicked`), a pending "
                + "invitation is withdrawn, and neither may join again without a new invitation. "
                + "Who could not be removed is in `errors[]`.",
            make: { .remove($0.users) },
            give: { action, values in
                if case .remove(let users) = action { values.give(.users, users, \.users) }
            }),
        OperationDescriptor(
            onCall: .acceptAck, "call.accept_ack",
            "Confirms that an accept arrived (mode handshake).",
            ([.user], []), reply: [.call], phrases: ["acknowledges {user} in {call_id}"],
            needs: .acceptAck,
            rule: "The caller, in mode `handshake`.",
            make: { .acceptAck($0.user) },
            give: { action, values in
                if case .acceptAck(let user) = action { values.give(.user, user, \.user) }
            }),
        OperationDescriptor(
            onCall: .report, "call.report", "Tells what became of this device's media.",
            ([.media], []), phrases: ["reports {call_id} {media}"],
            rule: "Joined participants say what became of their media: `connected`, `lost`, "
                + "`recovered` (the same as `connected`) or `failed`, which ends the call: with "
                + "`not_connected`, once connected with `connection_lost`. While nobody has "
                + "accepted, only the caller can report: `failed` says that the dial cannot be "
                + "carried out (`dial_failed`), other values are `wrong_state`. `{}` without "
                + "effect where the mode tracks no media.",
            make: { .report($0.media) },
            give: { action, values in
                if case .report(let media) = action { values.give(.media, media, \.media) }
            }),
        OperationDescriptor(
            onCall: .media, "call.media", "Switches audio or video.", ([], [.audio, .video]),
            phrases: ["sets {call_id} {audio} {video}"],
            rule: "Joined participants. Says what the user sends; the server switches nothing.",
            make: { .media(audio: $0.flag(.audio), video: $0.flag(.video)) },
            give: { action, values in
                guard case .media(let audio, let video) = action else { return }
                values.give(.audio, audio)
                values.give(.video, video)
            }),
        OperationDescriptor(
            onCall: .hold, "call.hold", "Holds the call or goes on with it.", ([.on], [.force]),
            phrases: ["holds {call_id} {on=true} {force}", "unholds {call_id} {on=false} {force}"],
            needs: .hold,
            rule: "Joined participants of an active call, in mode `direct`. `on: false` while "
                + "another call is not held: `wrong_state` with `detail.code` `other_active`; "
                + "`force` ends that one.",
            make: { .hold(on: $0.isOn(.on), force: $0.isOn(.force)) },
            give: { action, values in
                guard case .hold(let on, let force) = action else { return }
                values.give(.on, on)
                if force { values.give(.force, true) }
            }),
        OperationDescriptor(
            onCall: .items, "call.items", "Changes the call's named texts.",
            ([], [.put, .delete, .clear]),
            reply: [
                DataMember("items", .map(.text)),
                DataMember("keys", .list(.text), "all that were touched"),
            ], phrases: ["edits {call_id} {clear} {delete} {put}"],
            needs: .items,
            rule: "Participants, also after the end, in mode `direct`. Applied in the order "
                + "clear, delete, put. `keys` in the answer names all that were touched.",
            make: { .items($0.itemsChange) },
            give: { action, values in
                guard case .items(let change) = action else { return }
                if !change.put.isEmpty { values.give(.put, change.put, \.texts) }
                if !change.delete.isEmpty { values.give(.delete, change.delete, \.delete) }
                if change.clear { values.give(.clear, true) }
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
