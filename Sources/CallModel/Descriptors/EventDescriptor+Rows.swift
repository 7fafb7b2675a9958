// The rows of the events.

extension EventDescriptor {
    static let ofInvitations: [EventDescriptor] = [
        EventDescriptor(
            .created, "To the caller's other devices: the call exists.", [.call], words: "{call}",
            make: { $0.call("call").map { .created($0) } }),
        EventDescriptor(
            .incoming, "To an invitee: somebody calls.",
            [
                .call, DataMember("inviter", .name),
                DataMember("expires_in_ms", .orNull(.time), "null: no ring time runs yet"),
                DataMember(
                    "transfer", .named("Transfer"), "whose place to take", optional: true),
                .nameOfInviter,
            ], words: "{call}[ in place of {transfer}]",
            make: {
                guard let call = $0.call("call"), let inviter = $0.user("inviter") else {
                    return nil
                }
                return .incoming(
                    call, inviter: inviter, expiresIn: $0.integer("expires_in_ms"),
                    transfer: $0.transfer("transfer"))
            }),
        EventDescriptor(
            .changed, "Participants have new states.",
            [DataMember("changes", .list(.named("Change")))], words: "{changes}",
            make: { $0.changes("changes").map { .changed($0) } }),
        EventDescriptor(
            .timedOut, "To an invitee: the ring time is over.", words: "",
            make: { _ in .timedOut }),
        EventDescriptor(
            .cancelled, "To an invitee: the invitation was withdrawn.",
            [
                DataMember("inviter", .orNull(.name)),
                DataMember("extended_data", .orNull(.text)), .reason,
            ], words: "{reason} of {inviter}[ {extended_data}]",
            make: { members in
                members.word("reason").map {
                    .cancelled(
                        inviter: members.user("inviter"),
                        extendedData: members.text("extended_data"), reason: $0)
                }
            }),
        EventDescriptor(
            .ended, "The call is over; its last event.",
            [
                DataMember("end", .named("End")), DataMember("ended_at", .time),
                DataMember("duration_ms", .time, "0: never answered"),
            ], words: "{end}[ after {duration_ms}]",
            make: {
                guard let end = $0.end("end"), let at = $0.integer("ended_at") else { return nil }
                return .ended(end, at: Moment(at), duration: $0.integer("duration_ms") ?? 0)
            }),
        EventDescriptor(
            .elsewhere, "Another device of the same user answered, rejected, took over or left.",
            [
                DataMember("what", .word(CallEvent.Elsewhere.self)),
                DataMember("device", .orNull(.name)),
            ], words: "{what}[ on {device}]",
            make: { members in
                members.word("what").map { .elsewhere($0, members.device("device")) }
            }),
        EventDescriptor(
            .transferred, "To who transferred the call, and has left it.",
            [DataMember("to", .name, "who has taken it")], words: "to {to}",
            make: { $0.user("to").map { .transferred(to: $0) } }),
        EventDescriptor(
            .removed, "To who was sent out of the call.", [DataMember("by", .name)],
            words: "by {by}",
            make: { $0.user("by").map { .removed(by: $0) } }),
        EventDescriptor(
            .failed, "To a device: its part of the call failed.", [.reason], words: "{reason}",
            make: { $0.word("reason").map { .failed($0) } }),
    ]

    static let ofCalls: [EventDescriptor] = [
        EventDescriptor(
            .mediaPhase, "How far the media is.", [DataMember("media", .named("Media"))],
            words: "{media}",
            make: { $0.word("media").map { .mediaPhase($0) } }),
        EventDescriptor(
            .mediaFlags, "Somebody switched audio or video.",
            [.user, DataMember("audio", .flag), DataMember("video", .flag)],
            words: "{user} audio {audio}, video {video}",
            make: {
                guard let user = $0.user("user"), let audio = $0.flag("audio"),
                    let video = $0.flag("video")
                else { return nil }
                return .mediaFlags(user, audio: audio, video: video)
            }),
        EventDescriptor(
            .hold, "Somebody holds the call or goes on with it.",
            [.user, DataMember("on", .flag)], words: "{user} {on}",
            make: {
                guard let user = $0.user("user"), let on = $0.flag("on") else { return nil }
                return .hold(user, on: on)
            }),
        EventDescriptor(
            .items, "The named texts changed.",
            [
                DataMember("keys", .list(.text)), DataMember("deleted", .list(.text)),
                DataMember("items", .map(.text)),
            ], words: "{items}; keys {keys}[; deleted {deleted}]",
            make: {
                .items(
                    keys: $0.texts("keys") ?? [], deleted: $0.texts("deleted") ?? [],
                    items: $0.items("items") ?? [])
            }),
        EventDescriptor(
            .signal, "Data from another participant.",
            [DataMember("from", .name), DataMember("data", .json)], words: "{data} from {from}",
            make: {
                guard let from = $0.user("from"), let data = $0.json("data") else { return nil }
                return .signal(from: from, data: data)
            }),
        EventDescriptor(
            .missed, "To a device that connects: the user was called in vain.",
            [.call, DataMember("missed", .integer(1), "missed calls not acknowledged yet")],
            words: "{missed} in all",
            make: { members in
                members.call("call").map {
                    .missed($0, count: Int(members.integer("missed") ?? 1))
                }
            }),
    ]
}

extension DataMember {
    fileprivate static let user = DataMember("user", .name)
    fileprivate static let reason = DataMember("reason", .named("ParticipantReason"))
}
