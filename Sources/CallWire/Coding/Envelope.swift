// The outermost object of a message: where its members stand.

import CallModel
import JSON

/// The members of one message, each as the bytes that it has in the input. Reading them checks the
/// whole message, so that whatever is read from the members later can only be of a wrong type.
struct Envelope {
    private var id: UnsafeRawBufferPointer?
    /// `id`, if it is an integer, as most are.
    private var number: Int64?
    private var op: UnsafeRawBufferPointer?
    private var key: UnsafeRawBufferPointer?
    /// `data`; nil when it is not there.
    private(set) var data: UnsafeRawBufferPointer?
    private var ack: UnsafeRawBufferPointer?
    /// `ack`, if it is an integer.
    private var acked: Int64?
    private var trace: UnsafeRawBufferPointer?

    /// The envelope of `message`, or an error when that is no JSON object.
    ///
    /// - Parameter takeData: takes the data of the operation named before it, and leaves the reader
    ///   behind it; false: it does not, and the data is only checked.
    init(
        _ message: UnsafeRawBufferPointer,
        _ takeData: (_ op: UnsafeRawBufferPointer, inout JSONReader) -> Bool = { _, _ in false }
    ) throws(JSONError) {
        var reader = JSONReader(message)
        try reader.beginObject()
        while let name = try reader.nextKey() {
            switch name {
            case "id":
                (id, number) = try reader.readRawOrInteger()
                if id?.first == UInt8(ascii: "n") { id = nil }
            case "op": op = try Self.member(&reader)
            case "data":
                // Whatever stands around it does not belong to it.
                _ = try reader.peek()
                let mark = reader
                if let op, takeData(op, &reader) {
                    let end = reader.offset
                    data = UnsafeRawBufferPointer(rebasing: message[mark.offset..<end])
                } else {
                    reader = mark
                    data = try Self.member(&reader)
                }
            case "key": key = try Self.member(&reader)
            case "ack": (ack, acked) = try reader.readRawOrInteger()
            case "trace": trace = try reader.readRaw()
            default: try reader.skip()
            }
        }
        try reader.expectEnd()
    }

    /// A member of the envelope; one that is null is absent.
    private static func member(
        _ reader: inout JSONReader
    ) throws(JSONError) -> UnsafeRawBufferPointer? {
        let value = try reader.readRaw()
        // No other value begins like that one.
        return value.first == UInt8(ascii: "n") ? nil : value
    }

    /// The trace that `trace` names; nil: it is not there, or malformed.
    var traceParent: TraceParent? {
        guard let trace else { return nil }
        // A well-formed one has no escapes: what stands between the quotes is the text.
        guard trace.count == TraceParent.length + 2, trace.first == UInt8(ascii: "\"") else {
            return nil
        }
        return TraceParent(UnsafeRawBufferPointer(rebasing: trace[1...TraceParent.length]))
    }

    /// Whether the message only acknowledges: with both, `op` wins (B26).
    var isAcknowledgement: Bool { op == nil && ack != nil }

    /// The number of `ack`. One beyond 64 bits is beyond everything sent.
    func acknowledged() throws(Refusal) -> Int64 {
        if let acked { return acked }
        guard let ack else { throw .badField("ack", "is required") }
        var reader = JSONReader(ack)
        do {
            return try reader.readInteger()
        } catch {
            if error.reason == .integerOutOfRange { return ack.first == 0x2D ? .min : .max }
            throw .badField("ack", error)
        }
    }

    /// `id`; nil when it is not there (B23).
    func messageID(_ limits: WireLimits) throws(Refusal) -> MessageID? {
        if let number { return .integer(number) }
        return try Self.messageID(id, limits)
    }

    /// The id whose bytes are `id`.
    static func messageID(
        _ id: UnsafeRawBufferPointer?, _ limits: WireLimits
    ) throws(Refusal) -> MessageID? {
        guard let id else { return nil }
        var form = FormReader(id)
        switch try form.kind("id") {
        case .number: return .integer(try form.integer("id"))
        case .string: return .text(try form.string("id", bytes: 0...limits.idBytes))
        case .object, .array, .bool, .null:
            throw .badField("id", "must be an integer or a string")
        }
    }

    /// Whether these bytes, which stand in the message, are those of `op`.
    func isNamed(by name: UnsafeRawBufferPointer) -> Bool { op?.baseAddress == name.baseAddress }

    /// The operation that `op` names.
    func operation() throws(Refusal) -> OperationDescriptor {
        guard let op else { throw .badField("op", "is required") }
        return try Self.operation(op)
    }

    /// The operation whose name's bytes are `op`.
    static func operation(_ op: UnsafeRawBufferPointer) throws(Refusal) -> OperationDescriptor {
        var form = FormReader(op)
        let name = try form.text("op")
        if let operation = OperationDescriptor.named(name) { return operation }
        throw .unsupported(name.string)
    }

    /// Whether this is the one request that needs no id (B23).
    var mayLackID: Bool { (try? operation())?.name == .ping }

    /// `key`; nil when it is not there.
    func keyText(_ limits: WireLimits) throws(Refusal) -> String? {
        guard let key else { return nil }
        var form = FormReader(key)
        return try form.string("key", bytes: 1...limits.keyBytes)
    }
}

extension Refusal {
    /// There is no operation `name`. Only its beginning is repeated.
    static func unsupported(_ name: String) -> Refusal {
        let shown = name.unicodeScalars.prefix(32).map(String.init).joined()
        return Refusal(.unsupported, "there is no operation '\(shown)'", detail: .field("op"))
    }
}
