// Reads stored calls.

import CallModel
import JSON

extension CallRecord {
    /// The call `id` of the record `bytes`.
    package static func read(
        _ bytes: UnsafeRawBufferPointer, id: CallID
    ) throws(RecordDamage) -> Call {
        var reader = RecordReader(bytes)
        var draft = CallDraft()
        try reader.members { (reader, name) throws(RecordDamage) in
            try draft.read(name, from: &reader)
        }
        try reader.end()
        return try draft.call(id: id, reader)
    }
}

/// A call while it is read; its members may come in any order.
private struct CallDraft {
    var version: Int64?
    var mode: ModeRow?
    var kind: String?
    var ringTime: Milliseconds?
    var createdAt: Moment?
    var isChecked = false
    var deliveryCheck = Invitation.usualDeliveryCheck
    var state = Call.State.ringing
    var media = Call.Media.none
    var isGroup = false
    var revision: UInt32 = 0
    var extendedData: String?
    var items: [Call.Item] = []
    var views: [Call.View] = []
    var participants: [Participant] = []
    var answeredAt: Moment?
    var connectedAt: Moment?
    var endedAt: Moment?
    var mediaAlarm: Moment?
    var idleAlarm: Moment?
    var end: Call.End?
    var transfers: [Call.Transfer] = []
    var removed: [UserID] = []
    var forks: [Call.Fork] = []
    var receiver: UserID?
    var returns: [Call.Return] = []

    /// Reads the member `name`; false: unknown, left unread.
    mutating func read(
        _ name: JSONText, from reader: inout RecordReader
    ) throws(RecordDamage) -> Bool {
        switch name {
        case "v": version = try reader.integer()
        case "mode": mode = try readMode(from: &reader)
        case "mode_row": mode = try readRow(from: &reader)
        case "kind": kind = try reader.text()
        case "ring": ringTime = try reader.time()
        case "created": createdAt = try reader.moment()
        case "rev": revision = try reader.integer(as: UInt32.self)
        case "state": state = try reader.word(of: Call.State.self)
        case "media": media = try reader.word(of: Call.Media.self)
        case "check": isChecked = try reader.flag()
        case "check_ms": deliveryCheck = try reader.time()
        case "group": isGroup = try reader.flag()
        case "users": try readParticipants(from: &reader)
        default: return try readMore(name, from: &reader)
        }
        return true
    }

    private mutating func readMore(
        _ name: JSONText, from reader: inout RecordReader
    ) throws(RecordDamage) -> Bool {
        switch name {
        case "data": extendedData = try reader.text()
        case "items": try readItems(from: &reader)
        case "views": try readViews(from: &reader)
        case "answered": answeredAt = try reader.moment()
        case "connected": connectedAt = try reader.moment()
        case "ended": endedAt = try reader.moment()
        case "media_alarm": mediaAlarm = try reader.moment()
        case "idle_alarm": idleAlarm = try reader.moment()
        case "end": end = try readEnd(from: &reader)
        case "transfers": try readTransfers(from: &reader)
        case "removed": removed = try readUsers(from: &reader)
        case "receiver": receiver = UserID(try reader.text())
        case "forks": try readForks(from: &reader)
        case "returns": try readReturns(from: &reader)
        default: return false
        }
        return true
    }

    /// A mode that is not built in, with all that it says: the call keeps it, also when no file
    /// names it any more.
    private func readRow(from reader: inout RecordReader) throws(RecordDamage) -> ModeRow {
        let text = try reader.text()
        if let mode = Mode(text: text) { return ModeRow(mode) }
        throw reader.damage("'\(text.prefix(200))' is no mode")
    }

    private func readMode(from reader: inout RecordReader) throws(RecordDamage) -> ModeRow {
        let number = try reader.integer(as: UInt8.self)
        guard number < Mode.all.count else {
            throw reader.damage("no mode has the number \(number)")
        }
        return ModeRow.all[Int(number)]
    }

    private mutating func readItems(from reader: inout RecordReader) throws(RecordDamage) {
        try reader.elements { (reader) throws(RecordDamage) in
            var (key, value): (String?, String?)
            try reader.members { (reader, name) throws(RecordDamage) in
                switch name {
                case "key": key = try reader.text()
                case "value": value = try reader.text()
                default: return false
                }
                return true
            }
            guard let key else { throw reader.damage("is missing", at: "key") }
            guard let value else { throw reader.damage("is missing", at: "value") }
            items.append(Call.Item(key: key, value: value))
        }
    }

    private mutating func readReturns(from reader: inout RecordReader) throws(RecordDamage) {
        try reader.elements { (reader) throws(RecordDamage) in
            var (user, at): (String?, Moment?)
            try reader.members { (reader, name) throws(RecordDamage) in
                switch name {
                case "user": user = try reader.text()
                case "at": at = try reader.moment()
                default: return false
                }
                return true
            }
            guard let user else { throw reader.damage("is missing", at: "user") }
            guard let at else { throw reader.damage("is missing", at: "at") }
            returns.append(Call.Return(UserID(user), firstAt: at))
        }
    }

    private mutating func readTransfers(from reader: inout RecordReader) throws(RecordDamage) {
        try reader.elements { (reader) throws(RecordDamage) in
            var (to, by, data): (String?, String?, String?)
            var isPending = false
            try reader.members { (reader, name) throws(RecordDamage) in
                switch name {
                case "to": to = try reader.text()
                case "by": by = try reader.text()
                case "data": data = try reader.text()
                case "pending": isPending = try reader.flag()
                default: return false
                }
                return true
            }
            guard let to else { throw reader.damage("is missing", at: "to") }
            guard let by else { throw reader.damage("is missing", at: "by") }
            transfers.append(
                Call.Transfer(
                    to: UserID(to), by: UserID(by), extendedData: data, isPending: isPending))
        }
    }

    private func readUsers(from reader: inout RecordReader) throws(RecordDamage) -> [UserID] {
        var users: [UserID] = []
        try reader.elements { (reader) throws(RecordDamage) in
            users.append(UserID(try reader.text()))
        }
        return users
    }

    private mutating func readForks(from reader: inout RecordReader) throws(RecordDamage) {
        try reader.elements { (reader) throws(RecordDamage) in
            var (by, each, until): (String?, Milliseconds?, Moment?)
            var waiting: [UserID] = []
            try reader.members { (reader, name) throws(RecordDamage) in
                switch name {
                case "by": by = try reader.text()
                case "waiting": waiting = try readUsers(from: &reader)
                case "each": each = try reader.time()
                case "until": until = try reader.moment()
                default: return false
                }
                return true
            }
            guard let by else { throw reader.damage("is missing", at: "by") }
            guard let until else { throw reader.damage("is missing", at: "until") }
            forks.append(
                Call.Fork(by: UserID(by), waiting: waiting, each: each, until: until))
        }
    }

    private mutating func readViews(from reader: inout RecordReader) throws(RecordDamage) {
        try reader.elements { (reader) throws(RecordDamage) in
            var (to, text): (String?, String?)
            var owner = TextOwner.call
            try reader.members { (reader, name) throws(RecordDamage) in
                switch name {
                case "to": to = try reader.text()
                case "of": owner = .participant(UserID(try reader.text()))
                case "of_end": if try reader.flag() { owner = .end }
                case "of_transfer": if try reader.flag() { owner = .transfer }
                case "text": text = try reader.text()
                default: return false
                }
                return true
            }
            guard let to else { throw reader.damage("is missing", at: "to") }
            views.append(Call.View(receiver: UserID(to), owner: owner, text: text))
        }
    }

    private func readEnd(from reader: inout RecordReader) throws(RecordDamage) -> Call.End {
        var (reason, detail): (EndReason?, EndDetail?)
        var (by, data): (String?, String?)
        try reader.members { (reader, name) throws(RecordDamage) in
            switch name {
            case "reason": reason = try reader.word(of: EndReason.self)
            case "detail": detail = try reader.word(of: EndDetail.self)
            case "by": by = try reader.text()
            case "data": data = try reader.text()
            default: return false
            }
            return true
        }
        guard let reason else { throw reader.damage("is missing", at: "reason") }
        return Call.End(reason, detail: detail, by: by.map { UserID($0) }, extendedData: data)
    }

    private mutating func readParticipants(
        from reader: inout RecordReader
    ) throws(RecordDamage) {
        try reader.members { (reader, name) throws(RecordDamage) in
            let user = UserID(name.string)
            let before = participants.last
            participants.append(try ParticipantRecord.read(user, after: before, from: &reader))
            return true
        }
    }

    /// The call, if everything that it needs was there.
    func call(id: CallID, _ reader: RecordReader) throws(RecordDamage) -> Call {
        guard let version else { throw reader.damage("is missing", at: "v") }
        guard version <= CallRecord.version else {
            throw reader.damage("record version \(version) is newer than this program", at: "v")
        }
        guard let mode else { throw reader.damage("is missing", at: "mode") }
        guard let kind else { throw reader.damage("is missing", at: "kind") }
        guard let ringTime else { throw reader.damage("is missing", at: "ring") }
        guard let createdAt else { throw reader.damage("is missing", at: "created") }
        guard !participants.isEmpty else { throw reader.damage("are missing", at: "users") }
        guard (end != nil) == (state == .ended) else {
            throw reader.damage("does not fit the state \(state.rawValue)", at: "end")
        }
        var call = Call(
            id: id, mode: mode, kind: kind, ringTime: ringTime,
            deliveryCheck: isChecked ? deliveryCheck : nil, createdAt: createdAt)
        fill(&call)
        return call
    }

    private func fill(_ call: inout Call) {
        call.state = state
        call.media = media
        call.isGroup = isGroup
        call.revision = revision
        call.extendedData = extendedData
        call.items = items
        call.views = views
        call.participants = participants
        call.answeredAt = answeredAt
        call.connectedAt = connectedAt
        call.endedAt = endedAt
        call.mediaAlarm = mediaAlarm
        call.idleAlarm = idleAlarm
        if !transfers.isEmpty { call.transfers = transfers }
        if !removed.isEmpty { call.removed = removed }
        if !forks.isEmpty { call.forks = forks }
        if let receiver { call.receiver = receiver }
        if !returns.isEmpty { call.returns = returns }
        call.end = end
    }
}
