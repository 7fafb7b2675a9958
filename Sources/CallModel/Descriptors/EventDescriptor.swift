// An event of the protocol, described once.

/// Every event, by its name on the wire.
public enum EventName: String, CaseIterable, Sendable {
    case created = "call.created"
    case incoming = "call.incoming"
    case changed = "call.changed"
    case timedOut = "call.timed_out"
    case cancelled = "call.cancelled"
    case ended = "call.ended"
    case elsewhere = "call.elsewhere"
    case failed = "call.failed"
    case mediaPhase = "call.media_phase"
    case mediaFlags = "call.media_flags"
    case hold = "call.hold"
    case items = "call.items"
    case signal = "call.signal"
    case missed = "call.missed"

    /// The name of what happened.
    public init(_ kind: CallEvent.Kind) {
        switch kind {
        case .created: self = .created
        case .incoming: self = .incoming
        case .changed: self = .changed
        case .timedOut: self = .timedOut
        case .cancelled: self = .cancelled
        case .ended: self = .ended
        case .elsewhere: self = .elsewhere
        case .failed: self = .failed
        case .mediaPhase: self = .mediaPhase
        case .mediaFlags: self = .mediaFlags
        case .hold: self = .hold
        case .items: self = .items
        case .signal: self = .signal
        case .missed: self = .missed
        }
    }
}

/// All that is said of one event. The documents are made of it.
public struct EventDescriptor: Sendable {
    public let name: EventName
    /// One line for people.
    public let summary: String
    /// What its data has beside `inEvery`.
    public let members: [DataMember]

    private init(_ name: EventName, _ summary: String, _ members: [DataMember] = []) {
        self.name = name
        self.summary = summary
        self.members = members
    }

    /// What the data of every event has.
    public static let inEvery = [
        .callID, DataMember("revision", .integer(1)),
        DataMember("at", .integer(0)), DataMember("actor", .named("Actor")),
    ]

    /// Every event, in the order of the names.
    public static let all: [EventDescriptor] = [
        EventDescriptor(.created, "To the caller's other devices: the call exists.", [.call]),
        EventDescriptor(
            .incoming, "To an invitee: somebody calls.",
            [
                .call, DataMember("inviter", .name),
                DataMember(
                    "expires_in_ms", .orNull(.integer(0)), "null: no ring time runs yet"),
            ]),
        EventDescriptor(
            .changed, "Participants have new states.",
            [DataMember("changes", .list(.named("Change")))]),
        EventDescriptor(.timedOut, "To an invitee: the ring time is over."),
        EventDescriptor(
            .cancelled, "To an invitee: the invitation was withdrawn.",
            [
                DataMember("inviter", .orNull(.name)),
                DataMember("extended_data", .orNull(.text)), .reason,
            ]),
        EventDescriptor(
            .ended, "The call is over; its last event.",
            [
                DataMember("end", .named("End")),
                DataMember("ended_at", .integer(0)),
                DataMember("duration_ms", .integer(0), "0: never answered"),
            ]),
        EventDescriptor(
            .elsewhere, "Another device of the same user answered, rejected, took over or left.",
            [
                DataMember("what", .word(CallEvent.Elsewhere.self)),
                DataMember("device", .orNull(.name)),
            ]),
        EventDescriptor(.failed, "To a device: its part of the call failed.", [.reason]),
        EventDescriptor(
            .mediaPhase, "How far the media is.", [DataMember("media", .named("Media"))]),
        EventDescriptor(
            .mediaFlags, "Somebody switched audio or video.",
            [.user, DataMember("audio", .flag), DataMember("video", .flag)]),
        EventDescriptor(
            .hold, "Somebody holds the call or goes on with it.",
            [.user, DataMember("on", .flag)]),
        EventDescriptor(
            .items, "The named texts changed.",
            [
                DataMember("keys", .list(.text)),
                DataMember("deleted", .list(.text)),
                DataMember("items", .map(.text)),
            ]),
        EventDescriptor(
            .signal, "Data from another participant.",
            [DataMember("from", .name), DataMember("data", .json)]),
        EventDescriptor(
            .missed, "To a device that connects: the user was called in vain.",
            [
                .call,
                DataMember("missed", .integer(1), "missed calls not acknowledged yet"),
            ]),
    ]
}

extension DataMember {
    fileprivate static let user = DataMember("user", .name)
    fileprivate static let reason = DataMember("reason", .named("ParticipantReason"))
}
