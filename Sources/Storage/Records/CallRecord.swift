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
enum CallRecord {
    /// What this program writes, and the highest that it reads.
    static let version: Int64 = 1

    /// Appends the record of `call`.
    static func write(_ call: Call, to writer: inout JSONWriter) {
        writer.object {
            $0.field("v", version)
            writeHead(call, &$0)
            writeTexts(call, &$0)
            writeMoments(call, &$0)
            if let end = call.end { write(end, &$0) }
            if !call.transfers.isEmpty { writeTransfers(call, &$0) }
            if !call.removed.isEmpty {
                $0.array("removed") {
                    for user in call.removed { $0.value(user.text) }
                }
            }
            $0.object("users") {
                var before: Participant?
                for participant in call.participants {
                    ParticipantRecord.write(participant, after: before, &$0)
                    before = participant
                }
            }
        }
    }

    private static func writeHead(_ call: Call, _ writer: inout JSONWriter) {
        writer.field("mode", Int(call.mode.value))
        writer.field("kind", call.kind)
        writer.field("ring", call.ringTime)
        writer.field("created", call.createdAt.milliseconds)
        writer.field("rev", Int(call.revision))
        if call.state != .ringing { writer.field("state", plain: call.state.rawValue) }
        if call.media != .none { writer.field("media", plain: call.media.rawValue) }
        if let check = call.deliveryCheck {
            writer.field("check", true)
            if check != Invitation.usualDeliveryCheck { writer.field("check_ms", check) }
        }
        if call.isGroup { writer.field("group", true) }
    }

    private static func writeTexts(_ call: Call, _ writer: inout JSONWriter) {
        writer.present("data", call.extendedData)
        if !call.items.isEmpty {
            writer.array("items") {
                for item in call.items {
                    $0.object {
                        $0.field("key", item.key)
                        $0.field("value", item.value)
                    }
                }
            }
        }
        guard !call.views.isEmpty else { return }
        writer.array("views") {
            for view in call.views {
                $0.object {
                    $0.field("to", view.receiver.text)
                    write(view.owner, &$0)
                    $0.present("text", view.text)
                }
            }
        }
    }

    private static func write(_ owner: TextOwner, _ writer: inout JSONWriter) {
        switch owner {
        case .call: break
        case .participant(let user): writer.field("of", user.text)
        case .end: writer.field("of_end", true)
        case .transfer: writer.field("of_transfer", true)
        }
    }

    private static func writeTransfers(_ call: Call, _ writer: inout JSONWriter) {
        writer.array("transfers") {
            for transfer in call.transfers {
                $0.object {
                    $0.field("to", transfer.to.text)
                    $0.field("by", transfer.by.text)
                    $0.present("data", transfer.extendedData)
                    if transfer.isPending { $0.field("pending", true) }
                }
            }
        }
    }

    private static func writeMoments(_ call: Call, _ writer: inout JSONWriter) {
        writer.present("answered", call.answeredAt)
        writer.present("connected", call.connectedAt)
        writer.present("ended", call.endedAt)
        writer.present("media_alarm", call.mediaAlarm)
        writer.present("idle_alarm", call.idleAlarm)
    }

    private static func write(_ end: Call.End, _ writer: inout JSONWriter) {
        writer.object("end") {
            $0.field("reason", plain: end.reason.rawValue)
            $0.present("detail", end.detail?.rawValue)
            $0.present("by", end.by?.text)
            $0.present("data", end.extendedData)
        }
    }
}

extension JSONWriter {
    /// Writes a member unless there is no value.
    mutating func present(_ key: StaticString, _ value: String?) {
        if let value { field(key, value) }
    }

    /// Writes a member unless there is no value.
    mutating func present(_ key: StaticString, _ moment: Moment?) {
        if let moment { field(key, moment.milliseconds) }
    }
}
