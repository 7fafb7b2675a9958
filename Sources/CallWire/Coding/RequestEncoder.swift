// The client's side: what it asks for, as messages and as HTTP bodies.

import CallModel
import JSON

/// Encodes requests. A value without state; the inverse of `WireDecoder`.
public struct RequestEncoder: Sendable {
    /// An encoder.
    public init() {}

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
        message(.hello, id: id) { hello.values.write(to: &$0) }
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

extension RequestEncoder {
    private func write(_ operation: Operation, into writer: inout JSONWriter) {
        operation.values.write(to: &writer)
    }
}

extension JSONWriter {
    mutating func given(_ key: StaticString, _ text: String?) {
        if let text { field(key, text) }
    }

    mutating func given(_ key: StaticString, _ flag: Bool?) {
        if let flag { field(key, flag) }
    }

    mutating func given(_ key: StaticString, _ push: PushText?) {
        guard let push else { return }
        object(key) {
            $0.given("title", push.title)
            $0.given("body", push.body)
            $0.given("payload", push.payload)
        }
    }
}
