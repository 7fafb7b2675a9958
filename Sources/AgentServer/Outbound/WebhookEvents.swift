// Events for other systems, made of what the report hooks are told.

import CallModel
import CallWire
import JSON

/// One event of a call, as receivers of webhooks get it.
struct WebhookEvent {
    /// The protocol's name.
    let type: String
    let call: Call
    let at: Moment
    /// What it adds, as members of `data`.
    let write: (inout JSONWriter) -> Void
}

/// Gathers the reports of one input and makes events of them.
///
/// Reports of the same commit stand together: one event tells of all its changes, like
/// `call.changed` does.
struct WebhookGatherer {
    /// What one commit changed.
    private struct Group {
        let call: Call
        let at: Moment
        var changes: [(user: UserID, from: Participant.State?)] = []
        var timedOut: [UserID] = []
        var isEnded = false

        var isNew: Bool { changes.contains { $0.user == call.caller && $0.from == nil } }
    }

    private var groups: [Group] = []
    private let encoder: WireEncoder
    /// Nobody: sees every text as it was written.
    private static let nobody = UserID("")

    init(_ encoder: WireEncoder) { self.encoder = encoder }

    /// Takes note of a report.
    mutating func note(_ report: Report) {
        guard let call = report.call else { return }
        switch report.kind {
        case .participant(let user, let from, _):
            change(call, report.at) { $0.changes.append((user, from)) }
        case .timeout(let users): change(call, report.at) { $0.timedOut += users }
        case .ended: change(call, report.at) { $0.isEnded = true }
        case .accepted, .rejected, .cancelled, .undelivered, .signal, .presence: break
        }
    }

    private mutating func change(_ call: Call, _ at: Moment, _ body: (inout Group) -> Void) {
        if groups.last?.call.id != call.id || groups.last?.call.revision != call.revision {
            groups.append(Group(call: call, at: at))
        }
        body(&groups[groups.count - 1])
    }

    /// The events since the last time, in order.
    mutating func takeEvents() -> [WebhookEvent] {
        guard !groups.isEmpty else { return [] }
        defer { groups = [] }
        return groups.flatMap { events(of: $0) }
    }

    private func events(of group: Group) -> [WebhookEvent] {
        var events: [WebhookEvent] = []
        let call = group.call
        if group.isNew { events.append(event("call.created", group) { whole(call, &$0) }) }
        for change in group.changes where change.from == nil {
            guard let participant = call.participant(change.user), participant.state.isPending,
                participant.role == .invitee
            else { continue }
            events.append(
                event("call.incoming", group) {
                    $0.field("user", participant.user.text)
                    if let inviter = participant.invitedBy { $0.field("inviter", inviter.text) }
                    whole(call, &$0)
                })
        }
        if !group.isNew, !group.changes.isEmpty {
            let users = group.changes.map(\.user)
            events.append(event("call.changed", group) { Self.changes(users, call, &$0) })
        }
        return events + endings(of: group)
    }

    private func endings(of group: Group) -> [WebhookEvent] {
        var events: [WebhookEvent] = []
        let call = group.call
        if !group.timedOut.isEmpty {
            events.append(
                event("call.timed_out", group) { Self.users(group.timedOut, &$0) })
        }
        let cancelled = group.changes.filter { $0.from?.isPending == true }.map(\.user)
            .filter { call.participant($0)?.state == .cancelled }
        if let reason = cancelled.first.flatMap({ call.participant($0)?.reason }) {
            events.append(
                event("call.cancelled", group) {
                    Self.users(cancelled, &$0)
                    $0.field("reason", reason.rawValue)
                })
        }
        if group.isEnded { events.append(event("call.ended", group) { whole(call, &$0) }) }
        return events
    }

    private func event(
        _ type: String, _ group: Group, _ write: @escaping (inout JSONWriter) -> Void
    ) -> WebhookEvent {
        WebhookEvent(type: type, call: group.call, at: group.at, write: write)
    }

    private func whole(_ call: Call, _ writer: inout JSONWriter) {
        writer.key("call")
        encoder.write(call, for: Self.nobody, into: &writer)
    }

    private static func users(_ users: [UserID], _ writer: inout JSONWriter) {
        writer.array("users") {
            for user in users { $0.value(user.text) }
        }
    }

    private static func changes(_ users: [UserID], _ call: Call, _ writer: inout JSONWriter) {
        writer.array("changes") {
            for user in users {
                guard let participant = call.participant(user) else { continue }
                $0.object {
                    $0.field("user", user.text)
                    $0.field("state", participant.state.rawValue)
                    $0.field("reason", participant.reason?.rawValue)
                    $0.field("extended_data", participant.extendedData)
                }
            }
        }
    }
}

extension WebhookEvent {
    /// The body that is signed and sent.
    var body: [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0.field("type", type)
            $0.field("timestamp_at", at.milliseconds)
            $0.object("data") {
                $0.field("call_id", "\(call.id)")
                $0.field("revision", Int64(call.revision))
                $0.field("at", at.milliseconds)
                write(&$0)
            }
        }
        return writer.bytes
    }
}
