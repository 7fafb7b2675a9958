// An event of the protocol, described once.

import CallModel
import JSON

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
struct EventDescriptor: Sendable {
    let name: EventName
    /// One line for people.
    let summary: String
    /// What its data has beside `inEvery`.
    let members: [SchemaMember]

    private init(_ name: EventName, _ summary: String, _ members: [SchemaMember] = []) {
        self.name = name
        self.summary = summary
        self.members = members
    }

    /// What the data of every event has.
    static let inEvery = [
        .callID, SchemaMember("revision", Schema.integer(1)),
        SchemaMember("at", Schema.integer(0)), SchemaMember("actor", Schema.ref("Actor")),
    ]

    /// Every event, in the order of the names.
    static let all: [EventDescriptor] = [
        EventDescriptor(.created, "To the caller's other devices: the call exists.", [.call]),
        EventDescriptor(
            .incoming, "To an invitee: somebody calls.",
            [
                .call, SchemaMember("inviter", Schema.ref("Name")),
                SchemaMember(
                    "expires_in_ms", Schema.integer(0).orNull, "null: no ring time runs yet"),
            ]),
        EventDescriptor(
            .changed, "Participants have new states.",
            [SchemaMember("changes", Schema.list(of: Schema.ref("Change")))]),
        EventDescriptor(.timedOut, "To an invitee: the ring time is over."),
        EventDescriptor(
            .cancelled, "To an invitee: the invitation was withdrawn.",
            [
                SchemaMember("inviter", Schema.ref("Name").orNull),
                SchemaMember("extended_data", Schema.text().orNull), .reason,
            ]),
        EventDescriptor(
            .ended, "The call is over; its last event.",
            [
                SchemaMember("end", Schema.ref("End")),
                SchemaMember("ended_at", Schema.integer(0)),
                SchemaMember("duration_ms", Schema.integer(0), "0: never answered"),
            ]),
        EventDescriptor(
            .elsewhere, "Another device of the same user answered, rejected, took over or left.",
            [
                SchemaMember("what", Schema.word(CallEvent.Elsewhere.self)),
                SchemaMember("device", Schema.ref("Name").orNull),
            ]),
        EventDescriptor(.failed, "To a device: its part of the call failed.", [.reason]),
        EventDescriptor(
            .mediaPhase, "How far the media is.", [SchemaMember("media", Schema.ref("Media"))]),
        EventDescriptor(
            .mediaFlags, "Somebody switched audio or video.",
            [.user, SchemaMember("audio", Schema.flag), SchemaMember("video", Schema.flag)]),
        EventDescriptor(
            .hold, "Somebody holds the call or goes on with it.",
            [.user, SchemaMember("on", Schema.flag)]),
        EventDescriptor(
            .items, "The named texts changed.",
            [
                SchemaMember("keys", Schema.list(of: Schema.text())),
                SchemaMember("deleted", Schema.list(of: Schema.text())),
                SchemaMember("items", Schema.map(of: Schema.text())),
            ]),
        EventDescriptor(
            .signal, "Data from another participant.",
            [SchemaMember("from", Schema.ref("Name")), SchemaMember("data", Schema.anything)]),
        EventDescriptor(
            .missed, "To a device that connects: the user was called in vain.",
            [
                .call,
                SchemaMember("missed", Schema.integer(1), "missed calls not acknowledged yet"),
            ]),
    ]
}

extension SchemaMember {
    fileprivate static let user = SchemaMember("user", Schema.ref("Name"))
    fileprivate static let reason = SchemaMember("reason", Schema.ref("ParticipantReason"))
}
