// Events for other systems, made of the reports that plugins get too.

import CallModel
import CallWire
import JSON

/// One event of a call as webhook receivers get it: the protocol's event, and whom it concerns.
struct WebhookEvent {
    /// Whose devices are told of it by the protocol.
    enum Receivers {
        /// Everybody in the call, or its caller.
        case everybody
        /// An invitee: `user`.
        case one(UserID)
        /// Those whose part is over: `users`.
        case some([UserID])
    }

    let event: CallEvent
    let receivers: Receivers
    /// The call as it is now.
    let call: Call
    /// The cause (G71).
    let cause: Cause
    let trace: TraceParent?

    /// The protocol's name.
    var type: EventName { event.kind.name }
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
        let actor: Actor
        let cause: Cause
        let trace: TraceParent?
        var changes: [(user: UserID, from: Participant.State?)] = []
        var cancelText: String?
        var notices: [CallEvent.Kind] = []
        var isEnded = false

        var isNew: Bool { changes.contains { $0.user == call.caller && $0.from == nil } }

        func event(
            _ kind: CallEvent.Kind, to receivers: WebhookEvent.Receivers = .everybody
        ) -> WebhookEvent {
            let event = CallEvent(
                callID: call.id, revision: call.revision, at: at, actor: actor, kind: kind)
            return WebhookEvent(
                event: event, receivers: receivers, call: call, cause: cause, trace: trace)
        }
    }

    private var groups: [Group] = []
    private let encoder: WireEncoder
    /// A viewer without views of its own: sees every text as it was written.
    private static let nobody = UserID("")

    init(_ encoder: WireEncoder) { self.encoder = encoder }

    /// Takes note of a report, which belongs to `trace`.
    mutating func note(_ report: Report, _ trace: TraceParent? = nil) {
        switch report.kind {
        case .participant(let user, let from, _):
            change(report, trace) {
                $0.changes.append((user, from))
                $0.cancelText = report.cancelText
            }
        case .notice(let kind): change(report, trace) { $0.notices.append(kind) }
        case .ended: change(report, trace) { $0.isEnded = true }
        case .accepted, .rejected, .cancelled, .timeout, .undelivered, .signal, .presence: break
        }
    }

    private mutating func change(
        _ report: Report, _ trace: TraceParent?, _ body: (inout Group) -> Void
    ) {
        guard let call = report.call, let actor = report.actor else { return }
        let last = groups.last
        if last?.call.id != call.id || last?.call.revision != call.revision || last?.actor != actor
        {
            groups.append(
                Group(
                    call: call, at: report.at, actor: actor, cause: report.cause,
                    trace: trace))
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
        if group.isNew { events.append(group.event(.created(call))) }
        for change in group.changes where change.from?.isLive != true {
            guard let participant = call.participant(change.user), participant.state.isPending
            else { continue }
            let kind = CallEvent.Kind.incoming(
                call, inviter: participant.invitedBy ?? call.caller,
                expiresIn: participant.deadlineAt.map { max(0, $0 - group.at) },
                transfer: call.transfer(to: participant.user).map {
                    CallEvent.TransferOffer(by: $0.by, extendedData: $0.extendedData)
                })
            events.append(group.event(kind, to: .one(participant.user)))
        }
        let changed = group.changes.compactMap { call.participant($0.user) }
            .map { CallEvent.Change($0) }
        if !group.isNew, !changed.isEmpty { events.append(group.event(.changed(changed))) }
        events += Self.partsOver(in: group)
        events += group.notices.filter(Self.isOfTheCall).map { group.event($0) }
        if group.isEnded, let end = call.end { events.append(group.event(.ended(end, of: call))) }
        return events
    }

    /// The events of invitees whose part is over, one of each kind for all invitees that it
    /// concerns.
    private static func partsOver(in group: Group) -> [WebhookEvent] {
        var over: [(kind: CallEvent.Kind, users: [UserID])] = []
        for change in group.changes {
            guard let participant = group.call.participant(change.user),
                let kind = own(participant, from: change.from, in: group)
            else { continue }
            if let place = over.firstIndex(where: { $0.kind == kind }) {
                over[place].users.append(change.user)
            } else {
                over.append((kind, [change.user]))
            }
        }
        return over.map { group.event($0.kind, to: .some($0.users)) }
    }

    private static func own(
        _ participant: Participant, from: Participant.State?, in group: Group
    ) -> CallEvent.Kind? {
        switch participant.state {
        case .timedOut: .timedOut
        case .failed: .failed(participant.reason ?? .acceptFailed)
        case .cancelled where from?.isPending == true:
            .cancelled(
                inviter: participant.invitedBy, extendedData: group.cancelText,
                reason: participant.reason ?? .byInviter)
        case .left where participant.reason == .transferred:
            group.call.transfers.last { $0.by == participant.user }.map { .transferred(to: $0.to) }
        case .left where participant.reason == .kicked: .removed(by: group.call.caller)
        case .cancelled, .inviting, .undelivered, .ringing, .accepting, .joined, .rejected, .left:
            nil
        }
    }

    /// False: the event is only between the devices of one user.
    private static func isOfTheCall(_ kind: CallEvent.Kind) -> Bool {
        switch kind {
        case .mediaPhase, .mediaFlags, .hold, .items: true
        case .created, .incoming, .changed, .timedOut, .cancelled, .ended, .elsewhere,
            .transferred, .removed, .failed, .missed, .signal:
            false
        }
    }

    /// The signed body: `data` is that of the protocol's event. Where devices know by themselves
    /// whom it concerns, that is added.
    func body(of event: WebhookEvent) -> [UInt8] {
        var writer = JSONWriter()
        writer.object {
            $0.field("type", event.type.rawValue)
            $0.field("timestamp_at", event.event.at.milliseconds)
            $0.object("data") {
                encoder.members(of: event.event, for: Self.nobody, into: &$0)
                switch event.receivers {
                case .everybody: break
                case .one(let user): $0.field("user", user.text)
                case .some(let users):
                    $0.array("users") {
                        for user in users { $0.value(user.text) }
                    }
                }
                if case .ended = event.event.kind {
                    $0.key("call")
                    encoder.write(event.call, for: Self.nobody, into: &$0)
                }
            }
        }
        return writer.bytes
    }
}
