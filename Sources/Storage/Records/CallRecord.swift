// A call as it is stored: one JSON object in which everything at its default is left out.
//
//     {"v":1,"mode":1,"kind":"audio","ring":90000,"created":1795000000000,"rev":1,
//      "users":{"alice":{"role":"caller","state":"joined","at":1795000000000},
//               "bob":{"state":"inviting","by":"alice","at":1795000000000,"until":1795000090000}}}
//
// The id is the row's key. Members that a reader does not know are passed over, so that a later
// version may add some; a change of meaning gets another `v`.

import CallModel
import JSON

/// Writes and reads stored calls.
package enum CallRecord {
    /// What this program writes, and the highest that it reads.
    static let version: Int64 = 1

    /// Appends the record of `call`.
    package static func write(_ call: Call, to writer: inout JSONWriter) {
        var record = RecordVisitor()
        swap(&record.writer, &writer)
        record.writer.beginObject()
        record.writer.field("v", version)
        call.visit(&record, for: nil)
        record.writer.endObject()
        swap(&record.writer, &writer)
    }
}

/// Writes every field that is not at its default, under its name in records.
private struct RecordVisitor: ~Copyable, CallVisitor {
    var writer = JSONWriter(capacity: 0)
    /// The participant before the one whose fields come.
    private var before: Participant?

    init() {}

    mutating func visit(_ field: CallField, _ id: CallID) {}

    /// A built-in mode is its number; any other one stands there with all that it says.
    mutating func visit(_ field: CallField, _ mode: ModeRow) {
        guard let key = field.kept else { return }
        if let place = mode.place {
            writer.field(key, Int(place))
        } else {
            writer.field("mode_row", mode.mode.text)
        }
    }

    mutating func visit(_ field: CallField, text: String?) {
        if let name = field.kept { writer.present(name, text) }
    }

    mutating func visit(_ field: CallField, word: String?, isUsual: Bool) {
        if let name = field.kept, let word, !isUsual { writer.field(name, plain: word) }
    }

    mutating func visit(_ field: CallField, _ user: UserID?) {
        if let name = field.kept { writer.present(name, user?.text) }
    }

    mutating func visit(_ field: CallField, _ device: DeviceID?) {
        if let name = field.kept { writer.present(name, device?.text) }
    }

    mutating func visit(_ field: CallField, _ flag: Bool, usual: Bool) {
        if let name = field.kept, flag != usual { writer.field(name, flag) }
    }

    mutating func visit(_ field: CallField, _ moment: Moment?) {
        if let name = field.kept { writer.present(name, moment) }
    }

    mutating func visit(_ field: CallField, time: Milliseconds?) {
        guard let name = field.kept, let time else { return }
        guard case .deliveryCheck = field else { return writer.field(name, time) }
        writer.field(name, true)
        if time != Invitation.usualDeliveryCheck { writer.field("check_ms", time) }
    }

    mutating func visit(_ field: CallField, count: Int) {
        if let name = field.kept, count != 0 { writer.field(name, count) }
    }

    mutating func visit(_ field: CallField, _ items: [Call.Item]) {
        write(field, items) {
            $1.field("key", $0.key)
            $1.field("value", $0.value)
        }
    }

    mutating func visit(_ field: CallField, _ end: Call.End?) {
        guard let name = field.kept, let end else { return }
        writer.object(name) {
            $0.field("reason", plain: end.reason.rawValue)
            $0.present("detail", end.detail?.rawValue)
            $0.present("by", end.by?.text)
            $0.present("data", end.extendedData)
        }
    }

    mutating func visit(_ field: CallField, _ views: [Call.View]) {
        write(field, views) {
            $1.field("to", $0.receiver.text)
            $1.owner($0.owner)
            $1.present("text", $0.text)
        }
    }

    mutating func visit(_ field: CallField, _ transfers: [Call.Transfer]) {
        write(field, transfers) {
            $1.field("to", $0.to.text)
            $1.field("by", $0.by.text)
            $1.present("data", $0.extendedData)
            if $0.isPending { $1.field("pending", true) }
        }
    }

    mutating func visit(_ field: CallField, _ users: [UserID]) {
        guard let name = field.kept, !users.isEmpty else { return }
        writer.array(name) {
            for user in users { $0.value(user.text) }
        }
    }

    mutating func visit(_ field: CallField, _ forks: [Call.Fork]) {
        write(field, forks) { fork, writer in
            writer.field("by", fork.by.text)
            writer.array("waiting") {
                for user in fork.waiting { $0.value(user.text) }
            }
            if let each = fork.each { writer.field("each", each) }
            writer.field("until", fork.until.milliseconds)
        }
    }

    mutating func visit(_ field: CallField, _ returns: [Call.Return]) {
        write(field, returns) {
            $1.field("user", $0.user.text)
            $1.field("at", $0.firstAt.milliseconds)
        }
    }

    /// An array of objects, of which `show` writes the members of each; nothing where it is empty.
    @inline(__always)
    private mutating func write<Element>(
        _ field: CallField, _ all: [Element], _ show: (Element, inout JSONWriter) -> Void
    ) {
        guard let name = field.kept, !all.isEmpty else { return }
        writer.array(name) {
            for one in all { $0.object { show(one, &$0) } }
        }
    }

    /// A plugin says the same to all whom a caller invites, up to 12 KB: it is written once.
    mutating func visit(_ field: CallField, _ note: PolicyNote?) {
        guard let name = field.kept, let note else { return }
        let isSame = note.push != nil && note.push == before?.policyNote?.push
        writer.object(name) {
            $0.present("plugin", note.plugin)
            $0.present("data", note.extendedData)
            if isSame {
                $0.field("same_push", true)
            } else if let push = note.push {
                PushRecord.write(push, "push", &$0)
            }
        }
    }

    mutating func visit(
        _ field: CallField, of call: Call, _ show: (Int, inout RecordVisitor) -> Void
    ) {
        guard let name = field.kept else { return }
        writer.key(name)
        writer.beginObject()
        for place in call.participants.indices {
            writer.key(text: call.participants[place].user.text)
            writer.beginObject()
            show(place, &self)
            writer.endObject()
            before = call.participants[place]
        }
        writer.endObject()
    }
}

extension JSONWriter {
    /// Writes whose text a view is of; nothing for the call's own.
    fileprivate mutating func owner(_ owner: TextOwner) {
        switch owner {
        case .call: break
        case .participant(let user): field("of", user.text)
        case .end: field("of_end", true)
        case .transfer: field("of_transfer", true)
        }
    }

    /// Writes a member unless there is no value.
    mutating func present(_ key: StaticString, _ value: String?) {
        if let value { field(key, value) }
    }

    /// Writes a member unless there is no value.
    mutating func present(_ key: StaticString, _ moment: Moment?) {
        if let moment { field(key, moment.milliseconds) }
    }
}
