// The participants of stored calls: each field is written and read in this file.

import CallModel
import JSON

/// One member of a record's `users`.
enum ParticipantRecord {
    // MARK: Writing

    /// Writes the part of a participant, whose record stands behind that of `before`.
    static func write(
        _ participant: Participant, after before: Participant?, _ writer: inout JSONWriter
    ) {
        writer.key(text: participant.user.text)
        writer.object {
            if participant.role != .invitee { $0.field("role", plain: participant.role.rawValue) }
            $0.field("state", plain: participant.state.rawValue)
            $0.present("reason", participant.reason?.rawValue)
            $0.present("by", participant.invitedBy?.text)
            $0.present("data", participant.extendedData)
            $0.present("device", participant.device?.text)
            $0.field("at", participant.invitedAt.milliseconds)
            $0.present("until", participant.deadlineAt)
            $0.present("answered", participant.answeredAt)
            writeFlags(participant, &$0)
            writePolicy(participant, &$0)
            guard let note = participant.policyNote else { return }
            write(note, after: before?.policyNote, &$0)
        }
    }

    private static func writeFlags(_ participant: Participant, _ writer: inout JSONWriter) {
        if !participant.audio { writer.field("audio", false) }
        if participant.video { writer.field("video", true) }
        if participant.held { writer.field("held", true) }
        if participant.mediaConnected { writer.field("media", true) }
        if participant.wasConnected { writer.field("was_connected", true) }
        writer.present("delivery_alarm", participant.deliveryAlarm)
    }

    private static func writePolicy(_ participant: Participant, _ writer: inout JSONWriter) {
        if participant.isAnsweredFor { writer.field("answered_for", true) }
        if participant.hops != 0 { writer.field("hops", Int(participant.hops)) }
        if participant.askFrom != 0 { writer.field("ask_from", Int(participant.askFrom)) }
        if participant.begunBy != 0 { writer.field("begun_by", Int(participant.begunBy)) }
        if participant.asking != .nothing {
            writer.field("asking", plain: participant.asking.rawValue)
        }
        writer.present("policy_alarm", participant.policyAlarm)
    }

    /// A plugin gives the same text, up to 12 KB, to all invitees of a caller: it is written once.
    private static func write(
        _ note: PolicyNote, after before: PolicyNote?, _ writer: inout JSONWriter
    ) {
        writer.object("waiting") {
            $0.present("plugin", note.plugin)
            $0.present("data", note.extendedData)
            guard let push = note.push else { return }
            if push == before?.push {
                $0.field("same_push", true)
            } else {
                PushRecord.write(push, "push", &$0)
            }
        }
    }

    // MARK: Reading

    /// Reads the part of `user`, whose record stands behind that of `before`.
    static func read(
        _ user: UserID, after before: Participant?, from reader: inout RecordReader
    ) throws(RecordDamage) -> Participant {
        var participant = Participant(
            user: user, role: .invitee, state: .inviting, at: Moment(0))
        var (hasState, hasMoment) = (false, false)
        try reader.members { (reader, name) throws(RecordDamage) in
            switch name {
            case "state":
                participant.state = try reader.word(of: Participant.State.self)
                hasState = true
            case "at":
                participant.invitedAt = try reader.moment()
                hasMoment = true
            case "waiting":
                participant.policyNote = try readNote(after: before?.policyNote, from: &reader)
            default: return try readMore(name, of: &participant, from: &reader)
            }
            return true
        }
        guard hasState else { throw reader.damage("is missing", at: "state") }
        guard hasMoment else { throw reader.damage("is missing", at: "at") }
        return participant
    }

    private static func readMore(
        _ name: JSONText, of participant: inout Participant, from reader: inout RecordReader
    ) throws(RecordDamage) -> Bool {
        switch name {
        case "role": participant.role = try reader.word(of: Participant.Role.self)
        case "reason": participant.reason = try reader.word(of: Participant.Reason.self)
        case "by": participant.invitedBy = UserID(try reader.text())
        case "data": participant.extendedData = try reader.text()
        case "device": participant.device = DeviceID(try reader.text())
        case "until": participant.deadlineAt = try reader.moment()
        case "answered": participant.answeredAt = try reader.moment()
        case "audio": participant.audio = try reader.flag()
        case "video": participant.video = try reader.flag()
        case "held": participant.held = try reader.flag()
        case "media": participant.mediaConnected = try reader.flag()
        case "was_connected": participant.wasConnected = try reader.flag()
        case "delivery_alarm": participant.deliveryAlarm = try reader.moment()
        default: return try readPolicy(name, of: &participant, from: &reader)
        }
        return true
    }

    private static func readPolicy(
        _ name: JSONText, of participant: inout Participant, from reader: inout RecordReader
    ) throws(RecordDamage) -> Bool {
        switch name {
        case "answered_for": participant.isAnsweredFor = try reader.flag()
        case "hops": participant.hops = try reader.integer(as: UInt8.self)
        case "ask_from": participant.askFrom = try reader.integer(as: UInt8.self)
        case "begun_by": participant.begunBy = try reader.integer(as: UInt16.self)
        case "asking": participant.asking = try reader.word(of: Participant.Asking.self)
        case "policy_alarm": participant.policyAlarm = try reader.moment()
        default: return false
        }
        return true
    }

    private static func readNote(
        after before: PolicyNote?, from reader: inout RecordReader
    ) throws(RecordDamage) -> PolicyNote {
        var (plugin, data, push): (String?, String?, PushText?)
        try reader.members { (reader, name) throws(RecordDamage) in
            switch name {
            case "plugin": plugin = try reader.text()
            case "data": data = try reader.text()
            case "push": push = try PushRecord.readText(from: &reader)
            case "same_push": if try reader.flag() { push = before?.push }
            default: return false
            }
            return true
        }
        return PolicyNote(plugin: plugin, extendedData: data, push: push)
    }
}
