// One push to one device, as a value that plugins may shape before it is sent.

import JSON

/// Who carries a push, by the names of `device.push_register`.
public enum PushCarrier: String, Sendable, CaseIterable {
    /// Apple: a notification that is shown.
    case apns
    /// Apple: wakes the app for an incoming call, and for nothing else.
    case apnsVoIP = "apns_voip"
    /// Google: wakes the app.
    case fcm
    /// A browser (RFC 8030).
    case web
    /// The operator's own service.
    case webhook
}

/// Why a device is woken.
public enum PushKind: String, Sendable, CaseIterable {
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

    /// Whether the app is to ring. Only such a push may wake an iPhone by VoIP: an app that does
    /// not report a call for each of them is ended by the system, and after some time gets no more
    /// of them.
    public var announcesCall: Bool {
        switch self {
        case .invite, .add: true
        case .cancel, .leave, .end, .missed: false
        }
    }

    /// How long it matters at least, in milliseconds, whatever the ring time.
    var leastLifetime: Int64 {
        switch self {
        case .invite, .add: 0
        case .cancel, .leave, .end: 30_000
        case .missed: 86_400_000
        }
    }
}

/// A registration of a device.
public struct PushTarget: Sendable, Equatable {
    /// Who carries it.
    public var provider: PushCarrier
    /// The token; for `web` the subscription as JSON.
    public var token: String
    /// `sandbox` or `production`, for Apple; nil: production.
    public var environment: String?
    /// When it was registered, in milliseconds since 1970: a token that the provider declared dead
    /// before lives again. 0: not known.
    public var registeredAt: Int64

    /// A registration.
    public init(
        _ provider: PushCarrier, token: String, environment: String? = nil,
        registeredAt: Int64 = 0
    ) {
        self.provider = provider
        self.token = token
        self.environment = environment
        self.registeredAt = registeredAt
    }

    /// The registrations of one device to which a push of `kind` goes: VoIP announces only calls,
    /// and a device with VoIP needs no notification for calls.
    public static func route(_ kind: PushKind, _ targets: [PushTarget]) -> [PushTarget] {
        let hasVoIP = targets.contains { $0.provider == .apnsVoIP }
        return targets.filter { target in
            switch target.provider {
            case .apns: !(kind.announcesCall && hasVoIP)
            case .apnsVoIP: kind.announcesCall
            case .fcm, .web, .webhook: true
            }
        }
    }
}

/// What a push says, the part that plugins shape.
public struct PushContent: Sendable, Equatable {
    /// Why; a plugin cannot make an incoming call of something else.
    public var kind: PushKind
    /// The first line that is shown; nil: none.
    public var title: String?
    /// The second line that is shown; nil: none.
    public var body: String?
    /// The app's own data: members of an object stand beside ours, anything else under `payload`.
    public var payload: JSONValue?
    /// What the app gave that is no JSON object, under `payload`: any other JSON, or text.
    public var payloadRaw: String?
    /// Apple's topic; nil: the configured one.
    public var topic: String?
    /// A later push with the same one replaces an earlier one that was not shown yet.
    public var collapseID: String?
    /// How long the provider keeps it for a device out of reach, in milliseconds; 0: now or never;
    /// nil: as long as it matters.
    public var expiresIn: Int64?

    /// A push that says nothing but its kind.
    public init(_ kind: PushKind) {
        self.kind = kind
    }
}

/// The call that a push tells of.
public struct PushSubject: Sendable, Equatable {
    /// Its id.
    public var id: String
    /// Who calls.
    public var caller: String
    /// What the caller is called; nil: the caller has no name.
    public var callerName: String?
    /// `audio`, `video`, or the app's own.
    public var kind: String
    /// The name of its mode.
    public var mode: String

    /// A call of these parts.
    public init(
        id: String, caller: String, kind: String, mode: String, callerName: String? = nil
    ) {
        self.id = id
        self.caller = caller
        self.callerName = callerName
        self.kind = kind
        self.mode = mode
    }
}

/// One push to one device.
public struct PushNotice: Sendable, Equatable {
    /// The job: unique for call, device and kind.
    public var id: String
    /// The call.
    public var call: PushSubject
    /// Who is woken.
    public var user: String
    /// Where it goes.
    public var target: PushTarget
    /// What it says.
    public var content: PushContent
    /// When it no longer matters, in milliseconds since 1970.
    public internal(set) var expiresAt: Int64
    /// Why it was made.
    public let reason: PushKind
    /// Who caused it; nil: that is not known.
    public var cause: SendingCause?
    /// The `traceparent` of what caused it, for the operator's own service; nil: none.
    public var trace: String?

    /// A push with the usual content.
    ///
    /// - Parameters:
    ///   - id: unique for call, device and kind.
    ///   - ringEndsAt: the end of the ring time, in milliseconds since 1970; nil: unknown.
    ///   - now: in milliseconds since 1970.
    public init(
        id: String, _ kind: PushKind, _ call: PushSubject, for user: String,
        to target: PushTarget, ringEndsAt: Int64?, now: Int64
    ) {
        self.id = id
        self.call = call
        self.user = user
        self.target = target
        reason = kind
        expiresAt = max(ringEndsAt ?? now + 60_000, now + kind.leastLifetime)
        content = PushContent(kind)
        content.title = call.callerName ?? call.caller
        content.body = Self.usualBody(kind)
        // A notification of the same call replaces the one that rang.
        if target.provider != .apnsVoIP { content.collapseID = call.id }
    }

    private static func usualBody(_ kind: PushKind) -> String {
        switch kind {
        case .invite, .add: "Incoming call"
        case .cancel: "Call cancelled"
        case .leave: "Left the call"
        case .end: "Call ended"
        case .missed: "Missed call"
        }
    }

    /// How long the provider may keep it, in milliseconds from `now`.
    func lifetime(at now: Int64) -> Int64 { max(content.expiresIn ?? expiresAt - now, 0) }

    /// What every app gets: enough to ask for the truth, and to leave a late push alone.
    func data(at now: Int64) -> JSONObject {
        var data: JSONObject = [:]
        switch content.payload {
        case .object(let members): data = members
        case .null, nil: break
        case .some(let other): data["payload"] = other
        }
        if let raw = content.payloadRaw, data["payload"] == nil {
            let value = (try? JSONValue(parsing: raw)) ?? .string(raw)
            if !value.isNull { data["payload"] = value }
        }
        if data["caller"] == nil { data["caller"] = .string(call.caller) }
        if let name = call.callerName, data["caller_name"] == nil {
            data["caller_name"] = .string(name)
        }
        data["user"] = .string(user)
        data["call_id"] = .string(call.id)
        data["call_kind"] = .string(call.kind)
        data["call_mode"] = .string(call.mode)
        data["kind"] = .string(content.kind.rawValue)
        data["expires_at"] = .integer(expiresAt)
        data["expires_in_ms"] = .integer(max(expiresAt - now, 0))
        return data
    }

    /// The same with the lines that are shown, for an app that shows them by itself.
    func dataWithLines(at now: Int64) -> JSONObject {
        var data = data(at: now)
        if let title = content.title, data["title"] == nil { data["title"] = .string(title) }
        if let body = content.body, data["body"] == nil { data["body"] = .string(body) }
        return data
    }
}
