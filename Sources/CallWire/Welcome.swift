// The answer to `hello`.

import CallModel
import JSON

/// What a client is told when its connection opens.
public struct Welcome: Sendable, Equatable {
    /// Who the token says that it is.
    public var user: UserID
    /// The device it named.
    public var device: DeviceID
    /// The session to resume by.
    public var session: SessionID
    /// Whether the session goes on: then the events after the last one received follow.
    public var resumed: Bool
    /// The server's clock.
    public var serverTime: Moment
    /// The server pings as often as this.
    public var pingInterval: Milliseconds
    /// How long a lost connection can be resumed.
    public var resumeWindow: Milliseconds
    /// What the server takes.
    public var limits: AnnouncedLimits
    /// Product and version.
    public var server: String
    /// The modes that a call may have, with what clients are told of each.
    public var modes: [ModeRow]
    /// The user's live calls, newest first.
    public var calls: [Call]
    /// Whether there are more of them, for `call.list`.
    public var hasMoreCalls: Bool

    /// An opening with what the server's limits say.
    public init(
        _ address: Address, session: SessionID, resumed: Bool, serverTime: Moment,
        settings: WelcomeSettings, calls: [Call] = [], hasMoreCalls: Bool = false
    ) {
        user = address.user
        device = address.device
        self.session = session
        self.resumed = resumed
        self.serverTime = serverTime
        pingInterval = settings.session.pingInterval
        resumeWindow = settings.session.resumeWindow
        limits = settings.limits
        server = settings.server
        modes = settings.modes
        self.calls = calls
        self.hasMoreCalls = hasMoreCalls
    }
}

/// What every answer to `hello` says alike.
public struct WelcomeSettings: Sendable, Equatable {
    /// Times of sessions.
    public var session: SessionLimits
    /// What the server takes.
    public var limits: AnnouncedLimits
    /// Product and version, such as `callagent/0.1.0`.
    public var server: String
    /// The modes that a call may have.
    public var modes: [ModeRow]

    /// What every answer to `hello` says alike.
    public init(
        session: SessionLimits, limits: AnnouncedLimits, server: String,
        modes: [ModeRow] = ModeRow.all
    ) {
        self.session = session
        self.limits = limits
        self.server = server
        self.modes = modes
    }
}

/// The limits that a client is told.
public struct AnnouncedLimits: Sendable, Equatable {
    /// How many people one mode lets into a call.
    public struct Room: Sendable, Equatable {
        /// The mode.
        public var mode: String
        /// Invitees of one operation.
        public var invitees: Int
        /// Pending and joined participants, the caller included.
        public var participants: Int
    }

    /// Bytes of one message.
    public var messageBytes: Int
    /// UTF-8 bytes of `extended_data`.
    public var extendedDataBytes: Int
    /// Idempotency keys kept for one user.
    public var keys: Int
    /// The default mode's room, then that of every roomier mode under its name (A11).
    public var rooms: [Room]

    /// What `limits` and `modes` come to; the first mode is the default one.
    public init(_ limits: WireLimits = WireLimits(), modes: [ModeRow] = ModeRow.all) {
        messageBytes = limits.messageBytes
        extendedDataBytes = limits.extendedDataBytes
        keys = limits.keys
        let least = modes.first?.mode.participants ?? 0
        rooms = modes.map(\.mode).enumerated()
            .filter { $0.offset == 0 || $0.element.participants > least }
            // An operator's own modes stand in `modes`: their names are not ours to choose.
            .filter { mode in Mode.all.contains { $0.name == mode.element.name } }
            .map {
                Room(
                    mode: $0.element.name, invitees: $0.element.invitees,
                    participants: $0.element.participants)
            }
    }
}

extension WireEncoder {
    /// Appends `"ok":{…}}`, the tail of the reply to `hello`.
    public func welcomeTail(_ welcome: Welcome, into writer: inout JSONWriter) {
        Self.okTail(into: &writer) {
            $0.field("user", welcome.user.text)
            $0.field("device", welcome.device.text)
            $0.field("session", welcome.session.description)
            $0.field("resumed", welcome.resumed)
            $0.field("server_time_at", welcome.serverTime)
            $0.field("ping_interval_ms", welcome.pingInterval)
            $0.field("resume_window_ms", welcome.resumeWindow)
            $0.field("limits", welcome.limits)
            $0.field("server", welcome.server)
            $0.array("modes") {
                for row in welcome.modes { $0.object { $0.members(of: row.mode) } }
            }
            $0.array("calls") {
                for call in welcome.calls { write(call, for: welcome.user, into: &$0) }
            }
            if welcome.hasMoreCalls { $0.field("calls_more", true) }
        }
    }
}

extension JSONWriter {
    fileprivate mutating func field(_ key: StaticString, _ limits: AnnouncedLimits) {
        object(key) {
            $0.field("message_bytes", limits.messageBytes)
            $0.field("extended_data_bytes", limits.extendedDataBytes)
            if let room = limits.rooms.first { $0.members(of: room) }
            $0.field("keys", limits.keys)
            for room in limits.rooms.dropFirst() {
                $0.key(text: room.mode)
                $0.object { $0.members(of: room) }
            }
        }
    }

    /// What clients are told of a mode: how many it takes, and what may be done in it by whom.
    fileprivate mutating func members(of mode: Mode) {
        field("name", mode.name)
        field("invitees", mode.invitees)
        field("participants", mode.participants)
        for (key, feature) in Mode.announcedFlags { field(key, mode.has(feature)) }
        for (key, feature) in Mode.announcedRights {
            field(key, plain: mode.right(to: feature).rawValue)
        }
    }

    private mutating func members(of room: AnnouncedLimits.Room) {
        field("invitees", room.invitees)
        field("participants", room.participants)
    }
}

extension Mode {
    fileprivate static let announcedFlags: [(StaticString, Features)] = [
        ("media", .media), ("leave", .leave), ("hold", .hold), ("items", .items),
    ]

    fileprivate static let announcedRights: [(StaticString, Features)] = [
        ("add", .add), ("join", .join), ("end", .end), ("remove", .remove),
        ("transfer", .transfer),
    ]

    /// What clients are told of a mode, as schemas describe it.
    static let announcedMembers =
        [
            SchemaMember("name", Schema.text()),
            SchemaMember("invitees", Schema.integer(0), "of one operation"),
            SchemaMember("participants", Schema.integer(0), "of one call"),
        ] + announcedFlags.map { SchemaMember("\($0.0)", Schema.flag) }
        + announcedRights.map { SchemaMember("\($0.0)", Schema.word(Right.self), "who may") }

    /// The mode that a server has told of; what it does not tell is as in `advanced`.
    init?(announced json: JSONValue) {
        guard let name = json["name"]?.string, let invitees = json["invitees"]?.integer,
            let participants = json["participants"]?.integer
        else { return nil }
        self = Mode.all.first { $0.name == name } ?? .advanced
        self.name = name
        self.invitees = Int(clamping: invitees)
        self.participants = Int(clamping: participants)
        for (key, feature) in Self.announcedFlags {
            if let isOn = json["\(key)"]?.bool { allow(feature, to: isOn ? .everybody : .nobody) }
        }
        for (key, feature) in Self.announcedRights {
            if let right: Right = json.word("\(key)") { allow(feature, to: right) }
        }
    }
}
