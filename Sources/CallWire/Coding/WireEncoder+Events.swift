// Events as clients get them.

import CallModel
import JSON

extension WireEncoder {
    /// Appends `"event":"call.…","data":{…}}` for any number of sessions of `viewer`.
    public func eventTail(
        _ event: CallEvent, for viewer: UserID, into writer: inout JSONWriter
    ) {
        var text = CallText()
        eventTail(event, for: viewer, sharing: &text, into: &writer)
    }

    /// The same; a call is taken from `text` if it is that one, else left there.
    public func eventTail(
        _ event: CallEvent, for viewer: UserID, sharing text: inout CallText,
        into writer: inout JSONWriter
    ) {
        writer.startText()
        writer.field("event", plain: EventName(event.kind).rawValue)
        writer.object("data") { members(of: event, for: viewer, &text, into: &$0) }
        writer.append(UInt8(ascii: "}"))
    }

    /// Appends the members of an event's `data`, as `viewer` sees them, to an open object.
    public func members(
        of event: CallEvent, for viewer: UserID, into writer: inout JSONWriter
    ) {
        var text = CallText()
        members(of: event, for: viewer, &text, into: &writer)
    }

    private func members(
        of event: CallEvent, for viewer: UserID, _ text: inout CallText,
        into writer: inout JSONWriter
    ) {
        writer.field("call_id", event.callID)
        writer.field("revision", Int64(event.revision))
        writer.field("at", event.at)
        writer.field("actor", event.actor)
        members(of: event.kind, for: viewer, &text, into: &writer)
    }

    private func members(
        of kind: CallEvent.Kind, for viewer: UserID, _ text: inout CallText,
        into writer: inout JSONWriter
    ) {
        switch kind {
        case .created(let call):
            writer.key("call")
            text.write(call, for: viewer, by: self, into: &writer)
        case .incoming(let call, let inviter, let expiresIn):
            writer.key("call")
            text.write(call, for: viewer, by: self, into: &writer)
            writer.field("inviter", inviter.text)
            writer.field("expires_in_ms", expiresIn)
        case .changed(let changes): writer.field("changes", changes)
        case .timedOut: break
        case .cancelled(let inviter, let text, let reason):
            writer.field("inviter", inviter?.text)
            writer.field("extended_data", text)
            writer.field("reason", plain: reason.rawValue)
        case .ended(let end, let at, let duration):
            writer.key("end")
            writer.value(end)
            writer.field("ended_at", at)
            writer.field("duration_ms", duration)
        case .elsewhere(let what, let device):
            writer.field("what", plain: what.rawValue)
            writer.field("device", device?.text)
        case .failed(let reason): writer.field("reason", plain: reason.rawValue)
        case .missed(let call, let count):
            writer.key("call")
            text.write(call, for: viewer, by: self, into: &writer)
            writer.field("missed", Int64(count))
        case .mediaPhase, .mediaFlags, .hold, .items, .signal:
            writer.membersInCall(of: kind)
        }
    }
}

extension JSONWriter {
    /// The members of the events between those who are in the call.
    fileprivate mutating func membersInCall(of kind: CallEvent.Kind) {
        switch kind {
        case .mediaPhase(let media): field("media", plain: media.rawValue)
        case .mediaFlags(let user, let audio, let video):
            field("user", user.text)
            field("audio", audio)
            field("video", video)
        case .hold(let user, let on):
            field("user", user.text)
            field("on", on)
        case .items(let keys, let deleted, let items):
            field("keys", keys)
            field("deleted", deleted)
            field("items", items)
        case .signal(let from, let data):
            field("from", from.text)
            field("data", raw: data)
        case .created, .incoming, .changed, .timedOut, .cancelled, .ended, .elsewhere, .failed,
            .missed:
            break
        }
    }

    fileprivate mutating func field(_ key: StaticString, _ actor: Actor) {
        object(key) {
            switch actor {
            case .user(let user, let device):
                $0.field("user", user.text)
                $0.field("device", device.text)
            case .policy(let plugin): $0.field("policy", plugin)
            case .timer(let name): $0.field("timer", plain: name.rawValue)
            }
        }
    }

    fileprivate mutating func field(_ key: StaticString, _ changes: [CallEvent.Change]) {
        array(key) {
            for change in changes {
                $0.object {
                    $0.field("user", change.user.text)
                    $0.field("state", plain: change.state.rawValue)
                    $0.field("reason", change.reason?.rawValue)
                    $0.field("extended_data", change.extendedData)
                }
            }
        }
    }
}
