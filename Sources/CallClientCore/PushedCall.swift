// What a push says of a call, on the phone that it woke.

import CallModel
import JSON

/// A push of a callagent server, as the app gets it. It says which call it is about, and until when
/// it matters; the server knows the present state of the call.
public struct PushedCall: Sendable, Equatable {
    /// Why the phone was woken.
    public enum Reason: String, Sendable, CaseIterable {
        /// Somebody calls.
        case invite
        /// Somebody adds the user to a call under way.
        case add
        /// The invitation was withdrawn.
        case cancel
        /// Somebody left a call that goes on.
        case leave
        /// The call ended.
        case end
        /// The ring time passed.
        case missed

        /// Whether the phone is to ring.
        public var isCall: Bool { self == .invite || self == .add }
    }

    /// The call.
    public let id: CallID
    /// See `Reason`.
    public let reason: Reason
    /// Who is woken.
    public let user: UserID
    /// Who calls, or what the app of the caller put in its place: it is for showing.
    public let caller: String
    /// What the caller is called; nil: the caller has no name.
    public let callerName: String?
    /// `audio`, `video`, or the app's own word.
    public let kind: String
    /// When it no longer matters, by the server's clock.
    public let expiresAt: Moment
    /// The same from the moment at which the server sent it, in milliseconds.
    public let expiresIn: Milliseconds

    /// What is shown as the name of the caller.
    public var shownCaller: String { callerName ?? caller }
    /// Whether the call has video.
    public var hasVideo: Bool { kind == "video" }

    /// The push in `payload`, such as `PKPushPayload.dictionaryPayload`; nil: it is none of a
    /// callagent server.
    public init?(payload: [AnyHashable: Any]) {
        self.init(
            text: { payload[$0] as? String },
            number: { name in
                let value = payload[name]
                return value as? Int64 ?? (value as? Int).map(Int64.init)
                    ?? (value as? Double).flatMap { Int64(exactly: $0) }
            })
    }

    /// The push in one JSON object; nil: it is none of a callagent server.
    public init?(json: JSONValue) {
        self.init(text: { json[$0]?.string }, number: { json[$0]?.integer })
    }

    private init?(text: (String) -> String?, number: (String) -> Int64?) {
        guard let id = text("call_id").flatMap({ CallID($0) }),
            let reason = text("kind").flatMap(Reason.init(rawValue:)),
            let user = text("user").flatMap({ UserID(checking: $0) }),
            let kind = text("call_kind"), let expiresAt = number("expires_at")
        else { return nil }
        self.id = id
        self.reason = reason
        self.user = user
        self.kind = kind
        caller = text("caller") ?? ""
        callerName = text("caller_name")
        self.expiresAt = Moment(expiresAt)
        expiresIn = number("expires_in_ms") ?? 0
    }
}
