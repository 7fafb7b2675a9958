// The small values of the protocol, read from a tree: the client's side of `JSONWriter+Wire`.

import CallModel
import JSON

extension JSONValue {
    var callID: CallID? { string.flatMap { CallID($0) } }
    var user: UserID? { string.flatMap { UserID(checking: $0) } }
    var device: DeviceID? { string.flatMap { DeviceID(checking: $0) } }
    var texts: [String]? { array?.compactMap(\.string) }

    /// An object of named texts.
    var items: [Call.Item]? {
        object?.members.compactMap { member in
            member.value.string.map { Call.Item(key: member.key, value: $0) }
        }
    }

    /// The moment under `key`.
    func moment(_ key: String) -> Moment? { figure(key).map { Moment($0) } }

    /// The span of time under `key`.
    func span(_ key: String) -> Milliseconds? { figure(key).map { max($0, 0) } }

    /// The word under `key`; nil for one that is not known.
    func word<Word: RawRepresentable<String>>(_ key: String) -> Word? {
        self[key]?.string.flatMap { Word(rawValue: $0) }
    }
}

extension MessageID {
    /// The id that a reply carries back.
    init?(_ value: JSONValue) {
        if let number = value.integer {
            self = .integer(number)
        } else if let text = value.string {
            self = .text(text)
        } else {
            return nil
        }
    }
}

extension Refusal {
    /// The refusal that the object `error` of a reply or a problem document tells of.
    public init(_ error: JSONValue) {
        let name = error["code"]?.string ?? ""
        let message = error["message"]?.string ?? ""
        let code = Code(rawValue: name)
        var detail: Detail?
        if let field = error["detail"]?["field"]?.string { detail = .field(field) }
        if let word = error["detail"]?["code"]?.string { detail = .code(word) }
        if let id = error["detail"]?["call_id"]?.callID { detail = .call(id) }
        if let errors = error["detail"]?["errors"]?.array {
            detail = .errors(errors.compactMap(InviteeError.init))
        }
        self.init(
            code ?? .internal, code == nil ? "\(name): \(message)" : message, detail: detail,
            retryAfter: error.span("retry_after_ms"))
    }
}

extension InviteeError {
    /// The entry of `errors[]` that `value` is; a code that is not known counts as `refused`.
    public init?(_ value: JSONValue) {
        guard let user = value["user"]?.user else { return nil }
        self.init(user, value.word("code") ?? .refused)
    }
}

extension NamedUser {
    /// The entry of `users[]` that `value` is.
    public init?(_ value: JSONValue) {
        guard let user = value["user"]?.user else { return nil }
        self.init(user, value["name"]?.string.flatMap { PersonName(checking: $0) })
    }
}

extension Participant {
    init?(_ value: JSONValue) {
        guard let user = value["user"]?.user, let role: Role = value.word("role"),
            let state: State = value.word("state"), let invited = value.moment("invited_at")
        else { return nil }
        self.init(user: user, role: role, state: state, at: invited)
        invitedBy = value["invited_by"]?.user
        reason = value.word("reason")
        extendedData = value["extended_data"]?.string
        deadlineAt = value.moment("deadline_at")
        answeredAt = value.moment("answered_at")
        device = value["device"]?.device
        audio = value["audio"]?.bool ?? true
        video = value["video"]?.bool ?? false
        held = value["held"]?.bool ?? false
    }
}

extension Call.End {
    init?(_ value: JSONValue) {
        guard let reason: EndReason = value.word("reason") else { return nil }
        self.init(
            reason, detail: value.word("detail"), by: value["by"]?.user,
            extendedData: value["extended_data"]?.string)
    }
}

extension CallEvent.Change {
    init?(_ value: JSONValue) {
        guard let user = value["user"]?.user, let state: Participant.State = value.word("state")
        else { return nil }
        self.init(
            user, state, reason: value.word("reason"),
            extendedData: value["extended_data"]?.string)
    }
}

extension Actor {
    init?(_ value: JSONValue) {
        if let user = value["user"]?.user, let device = value["device"]?.device {
            self = .user(user, device)
        } else if let plugin = value["policy"]?.string {
            self = .policy(plugin)
        } else if let name: TimerName = value.word("timer") {
            self = .timer(name)
        } else {
            return nil
        }
    }
}

extension AnnouncedLimits {
    init(_ value: JSONValue, mode: String) {
        self.init(WireLimits(), modes: [])
        messageBytes = Int(value["message_bytes"]?.integer ?? Int64(messageBytes))
        extendedDataBytes = Int(value["extended_data_bytes"]?.integer ?? Int64(extendedDataBytes))
        keys = Int(value["keys"]?.integer ?? Int64(keys))
        rooms = [Room(mode, value)].compactMap { $0 }
        for member in value.object?.members ?? [] {
            if let room = Room(member.key, member.value) { rooms.append(room) }
        }
    }
}

extension AnnouncedLimits.Room {
    fileprivate init?(_ mode: String, _ value: JSONValue) {
        guard let invitees = value["invitees"]?.integer,
            let participants = value["participants"]?.integer
        else { return nil }
        self.init(mode: mode, invitees: Int(invitees), participants: Int(participants))
    }
}
