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
        writer.field("event", plain: event.kind.name.rawValue)
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

    @inline(__always)
    private func members(
        of event: CallEvent, for viewer: UserID, _ text: inout CallText,
        into writer: inout JSONWriter
    ) {
        writer.field("call_id", event.callID)
        writer.field("revision", Int64(event.revision))
        writer.field("at", event.at)
        writer.field("actor", event.actor)
        event.kind.visit(&writer) { name, call, writer in
            writer.key(name)
            text.write(call, for: viewer, by: self, into: &writer)
        }
        if case .incoming(_, let inviter, _, _) = event.kind {
            writer.field("inviter_name", names?.name(of: inviter))
        }
    }
}

extension JSONWriter: EventVisitor {
    /// A user.
    @inline(__always)
    public mutating func member(_ name: StaticString, _ user: UserID?) { field(name, user?.text) }

    /// A device.
    @inline(__always)
    public mutating func member(_ name: StaticString, _ device: DeviceID?) {
        field(name, device?.text)
    }

    /// Any text.
    @inline(__always)
    public mutating func member(_ name: StaticString, text: String?) { field(name, text) }

    /// A word of the protocol: nothing in it is escaped.
    @inline(__always)
    public mutating func member(_ name: StaticString, word: String) { field(name, plain: word) }

    /// True or false.
    @inline(__always)
    public mutating func member(_ name: StaticString, _ flag: Bool) { field(name, flag) }

    /// A moment in milliseconds.
    @inline(__always)
    public mutating func member(_ name: StaticString, _ moment: Moment) { field(name, moment) }

    /// A length of time in milliseconds.
    @inline(__always)
    public mutating func member(_ name: StaticString, time: Milliseconds?) { field(name, time) }

    /// A number.
    @inline(__always)
    public mutating func member(_ name: StaticString, count: Int) { field(name, Int64(count)) }

    /// How a call ended.
    @inline(__always)
    public mutating func member(_ name: StaticString, _ end: Call.End) {
        key(name)
        value(end)
    }

    /// A list of texts.
    @inline(__always)
    public mutating func member(_ name: StaticString, _ texts: [String]) { field(name, texts) }

    /// Items of a call.
    @inline(__always)
    public mutating func member(_ name: StaticString, _ items: [Call.Item]) { field(name, items) }

    /// What is JSON already.
    @inline(__always)
    public mutating func member(_ name: StaticString, json: [UInt8]) { field(name, raw: json) }

    /// Whose state has changed, each as an object.
    public mutating func member(_ name: StaticString, _ changes: [CallEvent.Change]) {
        array(name) {
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

    /// Who offers a transfer, and what is said with it.
    public mutating func member(_ name: StaticString, _ offer: CallEvent.TransferOffer) {
        object(name) {
            $0.field("by", offer.by.text)
            $0.field("extended_data", offer.extendedData)
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
}
