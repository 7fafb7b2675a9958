// An event of the protocol, described once.

/// All that is said of one event. Encoding and decoding, the documents and the notation of
/// scenarios are made of it; what it has, and in which order, `CallEvent.Kind.visit` hands over.
public struct EventDescriptor: Sendable {
    public let name: EventName
    /// One line for people.
    public let summary: String
    /// What its data has beside `inEvery`.
    public let members: [DataMember]
    /// How scenarios say it: `{member}` stands for a member's value, and what is in brackets is
    /// left out where the member in it has none.
    public let words: String
    /// Makes the event of its members; nil: one is missing or not known.
    public let make: @Sendable (any EventMembers) -> CallEvent.Kind?

    private init(
        _ name: EventName, _ summary: String, _ members: [DataMember] = [], words: String,
        make: @escaping @Sendable (any EventMembers) -> CallEvent.Kind?
    ) {
        self.name = name
        self.summary = summary
        self.members = members
        self.words = words
        self.make = make
    }

    /// What the data of every event has.
    public static let inEvery: [DataMember] = [
        .callID, DataMember("revision", .integer(1)), DataMember("at", .time),
        DataMember("actor", .named("Actor")),
    ]

    /// Every event, in the order of the names.
    public static let all = ofInvitations + ofCalls

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// The event `name`.
    public static func of(_ name: EventName) -> EventDescriptor {
        guard let found = byName[name] else { preconditionFailure("\(name) is not described") }
        return found
    }
}

extension EventDescriptor {
    private static let ofInvitations: [EventDescriptor] = [
        EventDescriptor(
            .created, "To the caller's other devices: the call exists.", [.call], words: "{call}",
            make: { $0.call("call").map { .created($0) } }),
        EventDescriptor(
            .incoming, "To an invitee: somebody calls.",
            [
                .call, DataMember("inviter", .name),
                DataMember("expires_in_ms", .orNull(.time), "null: no ring time runs yet"),
            ], words: "{call}",
            make: {
                guard let call = $0.call("call"), let inviter = $0.user("inviter") else {
                    return nil
                }
                return .incoming(call, inviter: inviter, expiresIn: $0.integer("expires_in_ms"))
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
            .failed, "To a device: its part of the call failed.", [.reason], words: "{reason}",
            make: { $0.word("reason").map { .failed($0) } }),
    ]

    private static let ofCalls: [EventDescriptor] = [
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
