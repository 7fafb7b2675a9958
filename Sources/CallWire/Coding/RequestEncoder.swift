// The client's side: what it asks for, as messages and as HTTP bodies.

import CallModel
import JSON

/// Encodes requests. A value without state; the inverse of `WireDecoder`.
public struct RequestEncoder: Sendable {
    private let modeNames: [String]

    /// An encoder that knows `modes`.
    public init(modes: [Mode] = Mode.all) { modeNames = modes.map(\.name) }

    /// `{"id":1,"op":"call.accept","key":…,"data":{…}}`
    public func request(
        _ operation: Operation, id: MessageID, key: String? = nil
    ) -> [UInt8] {
        message(operation.name, id: id, key: key) { write(operation, into: &$0) }
    }

    /// A request of any name, its data as it is given: for what this client does not know yet.
    public func request(
        named name: String, data: JSONValue, id: MessageID, key: String? = nil
    ) -> [UInt8] {
        message(name, id: id, key: key) { $0.field("data", data) }
    }

    /// The body of an HTTP request, which is posted to `operation.name.httpPath`.
    public func body(_ operation: Operation) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { write(operation, into: &$0) }
        return writer.bytes
    }

    /// The first message of a connection.
    public func hello(_ hello: Hello, id: MessageID) -> [UInt8] {
        message(.hello, id: id) {
            $0.field("token", hello.token)
            $0.field("device", hello.device.text)
            if hello.wantsMissed { $0.field("missed", true) }
            guard let resume = hello.resume, let session = resume.session else { return }
            $0.object("resume") {
                $0.field("session", session.description)
                $0.field("seq", Int64(clamping: resume.seq))
            }
        }
    }

    /// Is the server there?
    public func ping(id: MessageID?) -> [UInt8] { message(.ping, id: id) { _ in } }

    /// The device logs out.
    public func bye(id: MessageID) -> [UInt8] { message(.bye, id: id) { _ in } }

    /// `{"ack":17}`: the events up to `seq` have arrived.
    public static func acknowledgement(_ seq: UInt64) -> [UInt8] {
        var writer = JSONWriter(capacity: 32)
        writer.object { $0.field("ack", Int64(clamping: seq)) }
        return writer.bytes
    }

    private func message(
        _ name: OperationName, id: MessageID?, key: String? = nil,
        _ data: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        message(name.rawValue, id: id, key: key) {
            if name != .ping, name != .bye { $0.object("data", data) }
        }
    }

    private func message(
        _ name: String, id: MessageID?, key: String?, _ data: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object {
            switch id {
            case .integer(let number): $0.field("id", number)
            case .text(let text): $0.field("id", text)
            case nil: break
            }
            $0.field("op", name)
            if let key { $0.field("key", key) }
            data(&$0)
        }
        return writer.bytes
    }
}

extension Operation {
    /// The name on the wire.
    public var name: OperationName {
        switch self {
        case .invite: .invite
        case .call(_, let action, _): action.name
        case .list: .list
        case .pushRegister: .pushRegister
        case .pushUnregister: .pushUnregister
        }
    }
}

extension CallAction {
    /// The name on the wire.
    public var name: OperationName {
        switch self {
        case .add: .add
        case .ringing: .ringing
        case .accept: .accept
        case .acceptAck: .acceptAck
        case .reject: .reject
        case .cancel: .cancel
        case .join: .join
        case .leave: .leave
        case .end: .end
        case .report: .report
        case .media: .media
        case .hold: .hold
        case .items: .items
        case .signal: .signal
        case .get: .get
        case .token: .token
        case .forward, .finish: preconditionFailure("a policy's decision is not on the wire")
        }
    }
}

extension RequestEncoder {
    /// Writes the members of the data. What equals the protocol's default is left out.
    private func write(_ operation: Operation, into writer: inout JSONWriter) {
        switch operation {
        case .invite(let invitation): write(invitation, into: &writer)
        case .call(let id, let action, let text):
            writer.field("call_id", id)
            writer.members(of: action)
            writer.given("extended_data", text)
        case .list(let query): writer.members(of: query)
        case .pushRegister(let registration): writer.members(of: registration)
        case .pushUnregister(let provider): writer.field("provider", provider)
        }
    }

    private func write(_ invitation: Invitation, into writer: inout JSONWriter) {
        writer.field("invitees", invitation.invitees.map(\.text))
        if let mode = invitation.mode { writer.field("mode", modeNames[Int(mode.value)]) }
        writer.field("kind", invitation.kind)
        if let timeout = invitation.timeout { writer.field("timeout_ms", timeout) }
        switch invitation.deliveryCheck {
        case Invitation.usualDeliveryCheck: writer.field("delivery_check", true)
        case 0: writer.field("delivery_check", false)
        case let time?: writer.field("delivery_check", time)
        case nil: break
        }
        writer.given("audio", invitation.audio)
        writer.given("video", invitation.video)
        if !invitation.items.isEmpty { writer.field("items", invitation.items) }
        writer.given("push", invitation.push)
        writer.given("extended_data", invitation.extendedData)
    }
}

extension JSONWriter {
    fileprivate mutating func given(_ key: StaticString, _ text: String?) {
        if let text { field(key, text) }
    }

    fileprivate mutating func given(_ key: StaticString, _ flag: Bool?) {
        if let flag { field(key, flag) }
    }

    fileprivate mutating func given(_ key: StaticString, _ push: PushText?) {
        guard let push else { return }
        object(key) {
            $0.given("title", push.title)
            $0.given("body", push.body)
            $0.given("payload", push.payload)
        }
    }

    fileprivate mutating func members(of action: CallAction) {
        switch action {
        case .add(let invitees, let push):
            field("invitees", invitees.map(\.text))
            given("push", push)
        case .accept(let acceptance): members(of: acceptance)
        case .acceptAck(let user): field("user", user.text)
        case .reject(let busy): if busy { field("reason", literal: "busy") }
        case .cancel(let users, let push):
            if !users.isEmpty { field("users", users.map(\.text)) }
            given("push", push)
        case .report(let media): field("media", media.rawValue)
        case .media(let audio, let video), .join(let audio, let video):
            given("audio", audio)
            given("video", video)
        case .hold(let on, let force):
            field("on", on)
            if force { field("force", true) }
        case .items(let change): members(of: change)
        case .signal(let to, let data):
            given("to", to?.text)
            field("data", raw: data)
        case .leave(let push), .end(let push): given("push", push)
        case .ringing, .get, .token, .forward, .finish: break
        }
    }

    fileprivate mutating func members(of acceptance: Acceptance) {
        given("audio", acceptance.audio)
        given("video", acceptance.video)
        if acceptance.holdActive { field("hold_active", true) }
    }

    fileprivate mutating func members(of change: ItemsChange) {
        if !change.put.isEmpty { field("put", change.put) }
        if !change.delete.isEmpty { field("delete", change.delete) }
        if change.clear { field("clear", true) }
    }

    fileprivate mutating func members(of query: ListQuery) {
        field("limit", query.limit)
        given("cursor", query.before?.description)
        given("state", query.state?.rawValue)
        given("role", query.role?.rawValue)
        if !query.endReasons.isEmpty { field("end_reasons", query.endReasons.map(\.rawValue)) }
        given("kind", query.kind)
        given("peer", query.peer?.text)
        if let since = query.since { field("since_at", since) }
        if let until = query.until { field("until_at", until) }
    }

    /// A subscription is an object already; a token is text, also where it looks like an object.
    fileprivate mutating func members(of registration: PushRegistration) {
        field("provider", registration.provider)
        var token = registration.token
        let kind = token.withUTF8 { try? JSONReader.check(UnsafeRawBufferPointer($0)) }
        switch PushProvider(rawValue: registration.provider) {
        case .web? where kind == .object, .webhook? where kind == .object:
            field("subscription", raw: Array(registration.token.utf8))
        case .apns?, .apnsVoIP?, .fcm?, .web?, .webhook?, nil:
            field("token", registration.token)
        }
        given("environment", registration.environment)
    }
}
