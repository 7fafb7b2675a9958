// A push notification as plugins see and change it (on.push).

import CallModel
import JSON
import Lua

/// A push about to be sent, named by the shell.
public struct PushID: Hashable, Sendable {
    /// Unique within one life of a host.
    public let value: UInt64

    /// A push named `value`.
    public init(_ value: UInt64) { self.value = value }
}

/// What is about to be sent to one device.
public struct PushDraft: Sendable, Equatable {
    /// Who is woken.
    public var user: UserID
    /// `apns` (also for `apns_voip`), `fcm`, `web`, `webhook`.
    public var provider: String
    /// `voip` for what makes an iPhone ring by itself, else `alert`.
    public var kind: String
    /// Why: `invite`, `add`, `cancel`, `leave`, `end`, `missed`.
    public var reason: String
    /// The app the push is for, where the provider has that.
    public var topic: String?
    /// First line shown.
    public var title: String?
    /// Second line shown.
    public var body: String?
    /// The app's own data, if it is a JSON object.
    public var payload: JSONObject
    /// The app's own data that is no JSON object: any other JSON, or text.
    public var payloadRaw: String?
    /// Seconds after which it is not worth delivering.
    public var expiresIn: Int64
    /// A later push with the same one replaces it.
    public var collapseID: String?
    /// Whether a plugin failed, or was not asked: what it would have changed is missing.
    public var isIncomplete = false
    /// The trace of the request that led to it, for records: plugins do not see it.
    public var trace: TraceParent?

    /// A push to `user` by `provider`.
    public init(
        user: UserID, provider: String, kind: String, reason: String, expiresIn: Int64,
        payload: JSONObject = JSONObject()
    ) {
        self.user = user
        self.provider = provider
        self.kind = kind
        self.reason = reason
        self.expiresIn = expiresIn
        self.payload = payload
    }
}

extension PushDraft {
    /// The table that handlers get.
    package var table: JSONObject {
        var table: JSONObject = [
            "user": .string(user.text), "provider": .string(provider), "kind": .string(kind),
            "reason": .string(reason), "expires_in": .integer(expiresIn),
        ]
        // What is no object is no table (H93); where there is nothing, something can be put.
        if payloadRaw == nil || !payload.members.isEmpty { table["payload"] = .object(payload) }
        table["payload_raw"] = payloadRaw.map { .string($0) }
        table["topic"] = topic.map { .string($0) }
        table["title"] = title.map { .string($0) }
        table["body"] = body.map { .string($0) }
        table["collapse_id"] = collapseID.map { .string($0) }
        return table
    }

    static let fixed = ["user", "provider", "reason"]
    /// The words of `provider`, `kind` and `reason`, as types.
    static let providers = MetaFile.words(["apns", "fcm", "web", "webhook"])
    static let kinds = MetaFile.words(kindWords)
    private static let kindWords = ["voip", "alert"]
    static let reasons = MetaFile.words(["invite", "add", "cancel", "leave", "end", "missed"])
    private static let names = [
        "kind", "topic", "title", "body", "payload", "payload_raw", "expires_in", "collapse_id",
    ]

    /// In seconds; no provider keeps a push for longer.
    private static let lifetimes: ClosedRange<Int64> = 0...28 * 86_400

    /// The draft with the fields of a table that a handler returned.
    func changed(to value: LuaValue) throws(BadReturn) -> PushDraft {
        guard let pairs = value.table else {
            throw BadReturn("on.push returned \(value.typePhrase), not the push")
        }
        var draft = self
        (draft.topic, draft.title, draft.body, draft.collapseID) = (nil, nil, nil, nil)
        draft.payloadRaw = nil
        for pair in pairs {
            let name = pair.key.shown
            if Self.fixed.contains(name) {
                guard pair.value.text == table[name]?.string else {
                    throw BadReturn("push.\(name) cannot be changed")
                }
            } else {
                try draft.set(name, pair.value)
            }
        }
        guard Self.kindWords.contains(draft.kind) else {
            let hint = Suggestion.text(for: draft.kind, among: Self.kindWords)
            throw BadReturn("push.kind is 'voip' or 'alert', not '\(draft.kind)'\(hint)")
        }
        guard draft.kind == kind else {
            throw BadReturn("push.kind cannot become '\(draft.kind)': the token is for '\(kind)'")
        }
        try draft.validate()
        return draft
    }

    /// Why its payload has no room in a push; nil: it has. Much of it may be the caller's.
    var overflow: String? {
        let most = provider == "apns" && kind == "voip" ? 5_120 : 4_096
        let size = JSONValue.object(payload).bytes.count + (payloadRaw?.utf8.count ?? 0)
        return size <= most ? nil : "push.payload has \(size) bytes, over the limit of \(most)"
    }

    /// The same with the payload of `other`.
    public func carrying(payloadOf other: PushDraft) -> PushDraft {
        var draft = self
        (draft.payload, draft.payloadRaw) = (other.payload, other.payloadRaw)
        return draft
    }

    private mutating func set(_ name: String, _ value: LuaValue) throws(BadReturn) {
        switch name {
        case "kind": kind = try Self.text(value, name)
        case "topic": topic = try Self.text(value, name)
        case "title": title = try Self.text(value, name)
        case "body": body = try Self.text(value, name)
        case "payload_raw": payloadRaw = try Self.text(value, name)
        case "collapse_id": collapseID = try Self.text(value, name)
        case "expires_in":
            guard let seconds = value.integer, Self.lifetimes.contains(seconds) else {
                throw BadReturn("push.expires_in is whole seconds, 0 to 2419200 (28 days)")
            }
            expiresIn = seconds
        case "payload":
            do throws(LuaProblem) {
                guard let object = try value.json().object else {
                    throw LuaProblem("is a table with names")
                }
                payload = object
            } catch {
                throw BadReturn("push.payload: \(error.message)")
            }
        default:
            throw BadReturn(
                "unknown field 'push.\(name)'" + Suggestion.text(for: name, among: Self.names))
        }
    }

    private static func text(_ value: LuaValue, _ name: String) throws(BadReturn) -> String {
        guard let text = value.text else { throw BadReturn("push.\(name) is a string") }
        return text
    }

    /// The providers' limits that a push breaks most often.
    private func validate() throws(BadReturn) {
        for (name, text) in [("topic", topic), ("collapse_id", collapseID)] {
            guard let text, !text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { continue }
            throw BadReturn("push.\(name) is printable ASCII without space")
        }
        if provider == "apns", let id = collapseID, id.utf8.count > 64 {
            throw BadReturn("push.collapse_id has \(id.utf8.count) bytes, over the limit of 64")
        }
        guard provider == "apns", kind == "voip" else { return }
        guard reason == "invite" || reason == "add" else {
            throw BadReturn("a voip push is for incoming calls only, not for '\(reason)'")
        }
        if let topic, !topic.hasSuffix(".voip") {
            throw BadReturn("the topic of a voip push ends in \".voip\"")
        }
    }
}
