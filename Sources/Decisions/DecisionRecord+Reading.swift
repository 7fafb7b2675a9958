// A decision read back from its line of JSON.

import CallModel
import JSON
import Lua
import PolicyHost
import WebProtocols

extension DecisionRecord {
    /// The decision that a line of the log tells of; nil when it tells of none.
    public init?(line: some Collection<UInt8>) {
        let bytes = Array(line)
        guard
            let json = try? JSONValue(
                parsing: bytes, limits: JSONLimits(bytes: max(1, bytes.count)))
        else { return nil }
        self.init(json)
    }

    /// The decision that `json` tells of; nil when it tells of none.
    public init?(_ json: JSONValue) {
        guard let at = json.figure("at"), let call = json["call"]?.string.flatMap({ CallID($0) }),
            let hook = json["event"]?.string.flatMap({ Hook(rawValue: $0) }),
            let user = json.user("user"), let generation = json["generation"]?.string,
            let outcome = json["decision"].flatMap({ Outcome($0) })
        else { return nil }
        let cause = json["cause"].map {
            Cause($0.user("user"), caller: $0.user("caller"))
        }
        self.init(
            hook: hook, call: call, user: user, cause: cause ?? .nobody,
            trace: json["traceparent"]?.string.flatMap { TraceParent($0) }, at: Moment(at),
            took: json.figure("took_ms") ?? 0, generation: generation,
            asked: json["asked"]?.array?.compactMap { Asked($0) } ?? [], outcome: outcome,
            input: json["input"].flatMap { DecisionInput($0, hook, call, user) })
    }
}

extension DecisionRecord.Asked {
    fileprivate init?(_ json: JSONValue) {
        guard let plugin = json["plugin"]?.string, let said = json["said"]?.string else {
            return nil
        }
        let failure = json["failure"]?.string.flatMap { Failure(rawValue: $0) }
        let verdict: DecisionRecord.Verdict =
            switch said {
            case "no opinion": .noOpinion
            case "decided": .decided
            case "quarantined": .quarantined
            case "unfit": .unfit
            case "cut short": .cutShort
            default: .failed(failure ?? .error)
            }
        self.init(
            plugin: plugin, processor: UInt64(clamping: json.figure("cpu_us") ?? 0) * 1_000,
            wall: json.figure("wall_ms") ?? 0, verdict: verdict,
            message: json["message"]?.string)
    }
}

// MARK: - What was decided

extension DecisionRecord.Outcome {
    fileprivate init?(_ json: JSONValue) {
        switch json["action"]?.string {
        case "push":
            guard let draft = json["push"]?.object.flatMap({ PushDraft($0) }) else { return nil }
            self = .push(draft)
        case "drop": self = .push(nil)
        default:
            guard let answer = Answer(json) else { return nil }
            self = .answer(answer)
        }
    }
}

extension Answer {
    fileprivate init?(_ json: JSONValue) {
        let by = json["by"]?.string ?? ""
        switch json["action"]?.string {
        case "allow": self = .allow(Allowance(json))
        case "refuse": self = .refuse(code: json["code"]?.string ?? "", by: by)
        case "data": self = .data(json["extended_data"]?.string)
        case "views": self = .views(json["views"]?.array?.compactMap { Call.View($0) } ?? [])
        case "token": self = .token([])
        case "too_large": self = .tooLarge(by: by)
        case "none": self = .token(nil)
        case "default": self = .none
        default:
            guard let decision = Decision(json) else { return nil }
            self = .invite(decision, by: by, next: Int(json.figure("next") ?? 0))
        }
    }
}

extension Allowance {
    fileprivate init(_ json: JSONValue) {
        self.init()
        timeout = json.figure("timeout_ms")
        invitees = json["invitees"]?.users
        if let data = json["extended_data"] { extendedData = .some(data.string) }
    }
}

extension Decision {
    fileprivate init?(_ json: JSONValue) {
        let data = json["extended_data"]?.string
        switch json["action"]?.string {
        case "accept": self = .accept(wait: json.figure("wait_ms") ?? 0, extendedData: data)
        case "reject": self = .reject(busy: json["reason"]?.string == "busy", extendedData: data)
        case "ring": self = .ring(for: json.figure("for_ms"))
        case "forward":
            // Records of earlier versions name one user.
            guard let users = json.user("to").map({ [$0] }) ?? json["to"]?.users else { return nil }
            self = .forward(users, each: json.figure("each_ms"))
        default: return nil
        }
    }
}

extension Call.View {
    fileprivate init?(_ json: JSONValue) {
        guard let receiver = json.user("receiver"), let owner = TextOwner(json) else { return nil }
        self.init(receiver: receiver, owner: owner, text: json["extended_data"]?.string)
    }
}

extension TextOwner {
    fileprivate init?(_ json: JSONValue) {
        switch json["of"]?.string {
        case "call": self = .call
        case "end": self = .end
        case "transfer": self = .transfer
        default:
            guard let user = json.user("participant") else { return nil }
            self = .participant(user)
        }
    }
}

extension PushDraft {
    fileprivate init?(_ json: JSONObject) {
        guard let user = json["user"]?.string.flatMap({ UserID(checking: $0) }) else { return nil }
        self.init(
            user: user, provider: json["provider"]?.string ?? "",
            kind: json["kind"]?.string ?? "", reason: json["reason"]?.string ?? "",
            expiresIn: JSONValue.object(json).figure("expires_in") ?? 0,
            payload: json["payload"]?.object ?? JSONObject())
        payloadRaw = json["payload_raw"]?.string
        topic = json["topic"]?.string
        title = json["title"]?.string
        body = json["body"]?.string
        collapseID = json["collapse_id"]?.string
    }
}

// MARK: - What it was decided on

extension DecisionInput {
    fileprivate convenience init?(_ json: JSONValue, _ hook: Hook, _ id: CallID, _ user: UserID) {
        guard let callJSON = json["call"], let call = Call(callJSON, id),
            let subject = Subject(json, hook, call, user)
        else { return nil }
        self.init(
            subject: subject,
            facts: callJSON["users"]?.array?.compactMap { UserFacts($0) } ?? [],
            decideIn: json.figure("decide_in_ms") ?? 0,
            wallOffset: json.figure("wall_offset_ms") ?? 0,
            dice: json["dice"]?.string.flatMap { UInt64($0, radix: 16) } ?? 0,
            vars: json["vars"]?.object?.members.map { Vars(plugin: $0.key, json: $0.value) } ?? [],
            states: json["states"]?.object?.members.map { State(plugin: $0.key, json: $0.value) },
            seen: json["seen"]?.array?.compactMap { Seen($0) } ?? [])
    }
}

extension DecisionInput.Vars {
    fileprivate init(plugin: String, json: JSONValue) {
        let writer = PlainWriter()
        writer.json(json)
        self.init(plugin: plugin, bytes: writer.copy)
    }
}

extension DecisionInput.State {
    fileprivate init(plugin: String, json: JSONValue) {
        self.init(plugin: plugin, id: json.string.flatMap { UInt64($0, radix: 16) })
    }
}

extension DecisionInput.Subject {
    fileprivate init?(_ json: JSONValue, _ hook: Hook, _ call: Call, _ user: UserID) {
        switch hook {
        case .invite:
            let from = Int(json.figure("from") ?? 0)
            self = .question(.invite(call, callee: user, from: from))
        case .dial:
            self = .question(.dial(call, user: user, invitees: json["invitees"]?.users ?? []))
        case .join: self = .question(.join(call, user: user))
        case .token: self = .question(.token(call, user: user))
        case .extendedData:
            if let data = json["data"]?.string {
                self = .question(.incomingData(call, user: user, data: data))
            } else {
                let texts = json["texts"]?.array?.compactMap { Question.OutgoingText($0) }
                self = .question(.outgoingData(call, texts ?? []))
            }
        case .push:
            guard let draft = json["push"]?.object.flatMap({ PushDraft($0) }) else { return nil }
            self = .push(draft, call)
        case .accepted, .rejected, .cancelled, .timeout, .undelivered, .participant, .ended,
            .signal, .presence, .pushFailed, .start, .stop, .pluginError:
            return nil
        }
    }
}

extension Question.OutgoingText {
    fileprivate init?(_ json: JSONValue) {
        guard let receiver = json.user("receiver"), let owner = TextOwner(json) else { return nil }
        self.init(owner: owner, receiver: receiver, data: json["data"]?.string ?? "")
    }
}

extension DecisionInput.Seen {
    fileprivate init?(_ json: JSONValue) {
        guard let plugin = json["plugin"]?.string, let request = json["request"]?.string else {
            return nil
        }
        self.init(
            plugin: plugin, request: request, after: json.figure("after_ms") ?? 0,
            reply: Self.reply(json))
    }

    private static func reply(_ json: JSONValue) -> WaitReply? {
        if let value = json["value"] { return .value(value) }
        if let facts = json["user"].flatMap({ UserFacts($0) }) { return .user(facts) }
        if let refused = json["refused"] {
            let code = refused.string.flatMap { Refusal.Code(rawValue: $0) }
            return .operation(code.map { Refusal($0, "as recorded") })
        }
        if let trouble = json["trouble"]?.string { return .trouble(trouble) }
        // A body that was too long to be kept cannot be told again.
        guard let status = json.figure("status"), let body = json["body"]?.string else {
            return nil
        }
        let headers = json["headers"]?.object?.members.map {
            HTTPHeader($0.key, $0.value.string ?? "")
        }
        return .fetched(
            FetchReply(status: Int(status), headers: headers ?? [], body: Array(body.utf8)))
    }
}

extension UserFacts {
    fileprivate init?(_ json: JSONValue) {
        guard let user = json.user("user") else { return nil }
        self.init(
            user, calls: Int(json.figure("calls") ?? 0),
            devices: Int(json.figure("devices") ?? 0), name: json["name"]?.string)
    }
}

extension Call {
    fileprivate init?(_ json: JSONValue, _ id: CallID) {
        guard let name = json["mode"]?.string,
            let mode = ModeRow(named: name) ?? Mode(text: name).map({ ModeRow($0) }),
            let created = json.figure("created_at"),
            let people = json["participants"]?.array?.compactMap({ Participant($0, created) }),
            !people.isEmpty
        else { return nil }
        self.init(
            id: id, mode: mode, kind: json["kind"]?.string ?? "audio",
            ringTime: json.figure("timeout_ms") ?? 0, deliveryCheck: nil,
            createdAt: Moment(created))
        state = json["state"]?.string.flatMap { State(rawValue: $0) } ?? .ringing
        isGroup = json["group"]?.bool ?? false
        receiver = json.user("receiver")
        extendedData = json["extended_data"]?.string
        items =
            json["items"]?.object?.members.map { Item(key: $0.key, value: $0.value.string ?? "") }
            ?? []
        participants = people
        views = json["views"]?.array?.compactMap { View($0) } ?? []
        guard let asked = json["transfers"]?.array else { return }
        transfers = asked.compactMap { transfer in
            guard let to = transfer.user("to"), let by = transfer.user("by") else { return nil }
            return Transfer(to: to, by: by, extendedData: nil)
        }
    }
}

extension Participant {
    fileprivate init?(_ json: JSONValue, _ created: Int64) {
        guard let user = json.user("user"),
            let role = json["role"]?.string.flatMap({ Role(rawValue: $0) }),
            let state = json["state"]?.string.flatMap({ State(rawValue: $0) })
        else { return nil }
        self.init(user: user, role: role, state: state, at: Moment(created))
        invitedBy = json.user("invited_by")
        deadlineAt = json.figure("deadline_at").map { Moment($0) }
        extendedData = json["extended_data"]?.string
    }
}

extension JSONValue {
    fileprivate func user(_ key: String) -> UserID? {
        self[key]?.string.flatMap { UserID(checking: $0) }
    }

    fileprivate var users: [UserID]? {
        array?.compactMap { $0.string.flatMap { UserID(checking: $0) } }
    }
}
