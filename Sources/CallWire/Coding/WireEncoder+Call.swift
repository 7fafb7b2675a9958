// The call object as clients get it.

import CallModel
import JSON

extension WireEncoder {
    /// Writes `call` as `viewer` sees it. What has not happened is null.
    public func write(_ call: Call, for viewer: UserID, into writer: inout JSONWriter) {
        writer.object { call.visit(&$0, for: viewer, names: names) }
    }
}

extension JSONWriter {
    /// Writes how a call ended.
    mutating func value(_ end: Call.End) {
        object {
            $0.field("reason", plain: end.reason.rawValue)
            $0.field("detail", end.detail?.rawValue)
            $0.field("by", end.by?.text)
            $0.field("extended_data", end.extendedData)
        }
    }
}

/// Every field that clients are shown, at its default too. All of this is inlined where a call is
/// visited: there it is known which field it is, and what that is called.
extension JSONWriter: CallVisitor {
    /// An identifier of a call.
    @inline(__always)
    public mutating func visit(_ field: CallField, _ id: CallID) {
        if let name = field.shown { self.field(name, id) }
    }

    /// The name of a mode.
    @inline(__always)
    public mutating func visit(_ field: CallField, _ mode: ModeRow) {
        if let key = field.shown { self.field(key, plain: mode.name) }
    }

    /// Any text.
    @inline(__always)
    public mutating func visit(_ field: CallField, text: String?) {
        if let name = field.shown { self.field(name, text) }
    }

    /// A word of the protocol: nothing in it is escaped.
    @inline(__always)
    public mutating func visit(_ field: CallField, word: String?, isUsual: Bool) {
        guard let name = field.shown else { return }
        if let word { self.field(name, plain: word) } else { null(name) }
    }

    /// A user.
    @inline(__always)
    public mutating func visit(_ field: CallField, _ user: UserID?) {
        if let name = field.shown { self.field(name, user?.text) }
    }

    /// A device.
    @inline(__always)
    public mutating func visit(_ field: CallField, _ device: DeviceID?) {
        if let name = field.shown { self.field(name, device?.text) }
    }

    /// True or false, also where it is usual.
    @inline(__always)
    public mutating func visit(_ field: CallField, _ flag: Bool, usual: Bool) {
        if let name = field.shown { self.field(name, flag) }
    }

    /// A moment in milliseconds.
    @inline(__always)
    public mutating func visit(_ field: CallField, _ moment: Moment?) {
        if let name = field.shown { self.field(name, moment) }
    }

    /// A length of time in milliseconds.
    @inline(__always)
    public mutating func visit(_ field: CallField, time: Milliseconds?) {
        if let name = field.shown { self.field(name, time) }
    }

    /// A number.
    @inline(__always)
    public mutating func visit(_ field: CallField, count: Int) {
        if let name = field.shown { self.field(name, Int64(count)) }
    }

    /// The items of a call.
    @inline(__always)
    public mutating func visit(_ field: CallField, _ items: [Call.Item]) {
        if let name = field.shown { self.field(name, items) }
    }

    /// How a call ended; null while it lives.
    @inline(__always)
    public mutating func visit(_ field: CallField, _ end: Call.End?) {
        guard let name = field.shown else { return }
        key(name)
        if let end { value(end) } else { null() }
    }

    /// Each participant as an object.
    @inline(__always)
    public mutating func visit(
        _ field: CallField, of call: Call, _ show: (Int, inout JSONWriter) -> Void
    ) {
        guard let name = field.shown else { return }
        array(name) {
            for place in call.participants.indices { $0.object { show(place, &$0) } }
        }
    }

    // What clients are not shown.

    /// Clients are not shown it.
    public mutating func visit(_ field: CallField, _ views: [Call.View]) {}
    /// Clients are not shown it.
    public mutating func visit(_ field: CallField, _ transfers: [Call.Transfer]) {}
    /// Clients are not shown it.
    public mutating func visit(_ field: CallField, _ users: [UserID]) {}
    /// Clients are not shown it.
    public mutating func visit(_ field: CallField, _ forks: [Call.Fork]) {}
    /// Clients are not shown it.
    public mutating func visit(_ field: CallField, _ returns: [Call.Return]) {}
    /// Clients are not shown it.
    public mutating func visit(_ field: CallField, _ note: PolicyNote?) {}
}
