// The client's side: what the server says.

import CallModel
import JSON

/// One message of a server.
public enum ServerMessage: Sendable, Equatable {
    /// The answer to the request with this id.
    case reply(MessageID?, ServerReply)
    /// An event with its number in the session.
    case event(UInt64, ServerEvent)
}

/// The answer to a request.
public enum ServerReply: Sendable, Equatable {
    /// Done; the members of `ok`.
    case ok(JSONValue)
    /// Not done. A code that this client does not know is `internal`.
    case error(Refusal)
}

/// An event as a client sees it.
public enum ServerEvent: Sendable, Equatable {
    /// An event of a call. Its call, if it has one, holds what the wire shows; the rest of
    /// `Call` has its default.
    case call(CallEvent)
    /// An event that this client does not know, which it ignores.
    case unknown(String, JSONValue)
}

/// A message that is not of this protocol.
public struct ProtocolViolation: Error, Sendable, Equatable {
    /// For a person; names what was wrong.
    public let reason: String
}

/// Decodes what a server says. A value without state; the inverse of `WireEncoder`.
public struct ServerMessageDecoder: Sendable {
    /// What the server said of its modes. One that it has not told of, such as that of an old call,
    /// allows what the default mode does.
    var modes = ModeRow.all

    /// A decoder that knows the built-in modes.
    public init() {}

    /// Decodes one text message.
    public func message(_ bytes: [UInt8]) throws(ProtocolViolation) -> ServerMessage {
        var names = LearnedNames(limit: 0)
        return try message(bytes, hearing: &names)
    }

    /// The same; what it calls people is noted in `names`.
    public func message(
        _ bytes: [UInt8], hearing names: inout LearnedNames
    ) throws(ProtocolViolation) -> ServerMessage {
        let value: JSONValue
        do {
            value = try JSONValue(parsing: bytes, limits: JSONLimits(bytes: 1 << 26))
        } catch {
            throw ProtocolViolation(reason: "not JSON: \(error)")
        }
        names.hear(value)
        if let name = value["event"]?.string, let seq = value["seq"]?.integer, seq > 0 {
            return .event(UInt64(seq), event(name, value["data"] ?? .null, bytes))
        }
        guard value.object != nil, let re = value["re"] else {
            throw ProtocolViolation(reason: "neither a reply nor an event")
        }
        if let ok = value["ok"] { return .reply(MessageID(re), .ok(ok)) }
        guard let error = value["error"] else {
            throw ProtocolViolation(reason: "a reply with neither ok nor error")
        }
        return .reply(MessageID(re), .error(Refusal(error)))
    }

    /// The call of a reply (`ok.call`), as far as the wire shows it.
    public func call(_ value: JSONValue?) -> Call? {
        guard let value, let id = value["call_id"]?.callID,
            let created = value.moment("created_at"),
            let mode = value["mode"]?.string.map({ self.mode($0) }),
            let kind = value["kind"]?.string, let timeout = value.span("timeout_ms"),
            let state: Call.State = value.word("state"), let media: Call.Media = value.word("media")
        else { return nil }
        var call = Call(
            id: id, mode: mode, kind: kind, ringTime: timeout,
            deliveryCheck: nil, createdAt: created)
        call.state = state
        call.media = media
        call.revision = UInt32(clamping: value["revision"]?.integer ?? 0)
        call.receiver = value["receiver"]?.user
        call.extendedData = value["extended_data"]?.string
        call.items = value["items"]?.items ?? []
        call.participants = value["participants"]?.array?.compactMap(Participant.init) ?? []
        call.answeredAt = value.moment("answered_at")
        call.connectedAt = value.moment("connected_at")
        call.endedAt = value.moment("ended_at")
        call.end = value["end"].flatMap(Call.End.init)
        return call.participants.isEmpty ? nil : call
    }

    private func mode(_ name: String) -> ModeRow {
        if let known = ModeRow(named: name, in: modes) { return known }
        var mode = Mode.advanced
        mode.name = name
        return ModeRow(mode)
    }

    /// The named texts of a reply (`ok.items`).
    public func items(_ value: JSONValue?) -> [Call.Item]? { value?.items }

    /// The answer to `hello`.
    public func welcome(_ ok: JSONValue) -> Welcome? {
        guard let user = ok["user"]?.user, let device = ok["device"]?.device,
            let session = ok["session"]?.string.flatMap({ SessionID($0) }),
            let resumed = ok["resumed"]?.bool, let time = ok.moment("server_time_at"),
            let calls = ok["calls"]?.array, let limits = ok["limits"]
        else { return nil }
        var times = SessionLimits()
        times.pingInterval = ok.span("ping_interval_ms") ?? times.pingInterval
        times.resumeWindow = ok.span("resume_window_ms") ?? times.resumeWindow
        let settings = WelcomeSettings(
            session: times, limits: AnnouncedLimits(limits, mode: Mode.all[0].name),
            server: ok["server"]?.string ?? "",
            modes: ok["modes"]?.array?.compactMap { Mode(announced: $0) }.map { ModeRow($0) }
                ?? ModeRow.all)
        var decoder = self
        decoder.modes = settings.modes
        return Welcome(
            Address(user, device), session: session, resumed: resumed, serverTime: time,
            settings: settings, calls: calls.compactMap { decoder.call($0) },
            hasMoreCalls: ok["calls_more"]?.bool ?? false)
    }
}

extension ServerMessageDecoder {
    private func event(_ name: String, _ data: JSONValue, _ message: [UInt8]) -> ServerEvent {
        guard let known = EventName(rawValue: name), let id = data["call_id"]?.callID,
            let revision = data["revision"]?.integer, let at = data.moment("at"),
            let actor = data["actor"].flatMap(Actor.init),
            let kind = EventDescriptor.of(known).make(
                EventJSON(data: data, message: message, decoder: self))
        else { return .unknown(name, data) }
        return .call(
            CallEvent(
                callID: id, revision: UInt32(clamping: revision), at: at, actor: actor, kind: kind))
    }
}

/// The members of an event as they arrived.
private struct EventJSON: EventMembers {
    let data: JSONValue
    let message: [UInt8]
    let decoder: ServerMessageDecoder

    func call(_ name: String) -> Call? { decoder.call(data[name]) }
    func user(_ name: String) -> UserID? { data[name]?.user }
    func device(_ name: String) -> DeviceID? { data[name]?.device }
    func text(_ name: String) -> String? { data[name]?.string }
    func flag(_ name: String) -> Bool? { data[name]?.bool }
    func integer(_ name: String) -> Int64? { data.figure(name) }
    func end(_ name: String) -> Call.End? { data[name].flatMap(Call.End.init) }

    func changes(_ name: String) -> [CallEvent.Change]? {
        data[name]?.array?.compactMap(CallEvent.Change.init)
    }

    func transfer(_ name: String) -> CallEvent.TransferOffer? {
        guard let by = data[name]?["by"]?.user else { return nil }
        return CallEvent.TransferOffer(
            by: by, extendedData: data[name]?["extended_data"]?.string)
    }

    func texts(_ name: String) -> [String]? { data[name]?.texts }
    func items(_ name: String) -> [Call.Item]? { data[name]?.items }

    func json(_ name: String) -> [UInt8]? {
        message.withUnsafeBytes { bytes in
            try? Self.member(name, of: Self.member("data", of: bytes)).map { [UInt8]($0) }
        }
    }

    private static func member(
        _ key: String, of object: UnsafeRawBufferPointer?
    ) throws(JSONError) -> UnsafeRawBufferPointer? {
        guard let object else { return nil }
        var reader = JSONReader(object)
        var found: UnsafeRawBufferPointer?
        try reader.beginObject()
        while let name = try reader.nextKey() {
            if name.string == key { found = try reader.readRaw() } else { try reader.skip() }
        }
        return found
    }
}
