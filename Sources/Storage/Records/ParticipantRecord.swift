// The participants of stored calls, as they are read; `CallRecord` writes them.

import CallModel
import JSON

/// One member of a record's `users`.
enum ParticipantRecord {
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
