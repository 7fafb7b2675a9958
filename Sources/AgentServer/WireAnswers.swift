// Replies that the shell makes without the switchboard: `hello` and `call.list`.

import CallCore
import CallWire
import JSON

/// What `hello` answers (protocol.md, section 3).
struct Welcome {
    let user: UserID
    let device: DeviceID
    let session: SessionID
    let isResumed: Bool
    let at: Moment
    let calls: [Call]
    let hasMore: Bool
}

extension WireEncoder {
    /// Appends `"ok":{…}}` of a `hello`.
    func welcomeTail(
        _ welcome: Welcome, limits: WireLimits, session: SessionLimits, modes: [Mode],
        into writer: inout JSONWriter
    ) {
        writer.startText()
        writer.object("ok") {
            $0.field("user", welcome.user.text)
            $0.field("device", welcome.device.text)
            $0.field("session", welcome.session.description)
            $0.field("resumed", welcome.isResumed)
            $0.field("server_time_at", welcome.at.milliseconds)
            $0.field("ping_interval_ms", session.pingInterval)
            $0.field("resume_window_ms", session.resumeWindow)
            $0.object("limits") { announce(limits, modes, into: &$0) }
            $0.field("server", "callagent/\(Agent.version)")
            $0.array("calls") {
                for call in welcome.calls { write(call, for: welcome.user, into: &$0) }
            }
            if welcome.hasMore { $0.field("calls_more", true) }
        }
        writer.bytes.append(UInt8(ascii: "}"))
    }

    /// The limits of the default mode, and those of modes that differ (A11).
    private func announce(_ limits: WireLimits, _ modes: [Mode], into writer: inout JSONWriter) {
        writer.field("message_bytes", limits.messageBytes)
        writer.field("extended_data_bytes", limits.extendedDataBytes)
        writer.field("invitees", modes[0].invitees)
        writer.field("participants", modes[0].participants)
        writer.field("keys", limits.keys)
        for mode in modes.dropFirst()
        where !mode.isTwoParty
            && (mode.invitees, mode.participants) != (modes[0].invitees, modes[0].participants)
        {
            writer.key(text: mode.name)
            writer.object {
                $0.field("invitees", mode.invitees)
                $0.field("participants", mode.participants)
            }
        }
    }

    /// Appends `"ok":{…}}` of a `call.list`.
    func pageTail(
        _ calls: [Call], cursor: CallID?, for user: UserID, into writer: inout JSONWriter
    ) {
        writer.startText()
        writer.object("ok") {
            $0.array("calls") {
                for call in calls { write(call, for: user, into: &$0) }
            }
            if let cursor {
                $0.field("cursor", cursor.description)
            } else {
                $0.null("cursor")
            }
        }
        writer.bytes.append(UInt8(ascii: "}"))
    }
}

extension CallEvent.Kind {
    /// Whether two users may see different texts of it: it holds a whole call.
    var dependsOnViewer: Bool {
        switch self {
        case .created(let call), .incoming(let call, _, _): !call.views.isEmpty
        case .changed, .timedOut, .cancelled, .ended, .elsewhere, .failed, .mediaPhase,
            .mediaFlags, .hold, .items, .signal:
            false
        }
    }
}

extension OperationName {
    /// The name of an operation.
    init(_ operation: Operation) {
        switch operation {
        case .invite: self = .invite
        case .call(_, let action, _): self.init(action)
        case .list: self = .list
        case .pushRegister: self = .pushRegister
        case .pushUnregister: self = .pushUnregister
        }
    }

    private init(_ action: CallAction) {
        switch action {
        case .add: self = .add
        case .ringing: self = .ringing
        case .accept: self = .accept
        case .acceptAck: self = .acceptAck
        case .reject: self = .reject
        case .cancel: self = .cancel
        case .join: self = .join
        case .leave: self = .leave
        case .end: self = .end
        case .report: self = .report
        case .media: self = .media
        case .hold: self = .hold
        case .items: self = .items
        case .signal: self = .signal
        case .get: self = .get
        case .token: self = .token
        }
    }
}
