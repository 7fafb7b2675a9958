// From the bytes of one message to what the client says with them.

import CallModel
import JSON

/// Decodes clients' messages. A value without state: one decoder serves every connection.
///
/// The envelope is read, and with it every byte of the message is checked. The data is read member
/// by member into the operation, in place if the operation is named before it; no tree is built in
/// between. Wrong data is read again when all is checked: that a text is no JSON is told before
/// what is wrong in it.
public struct WireDecoder: Sendable {
    private let rules: FieldRules

    /// A decoder that keeps to `limits` and knows `modes`.
    public init(limits: WireLimits = WireLimits(), modes: [ModeRow] = ModeRow.all) {
        rules = FieldRules(limits: limits, modes: modes)
    }

    /// The limits that it keeps to.
    public var limits: WireLimits { rules.limits }

    /// Decodes one text message.
    public func message(_ bytes: UnsafeRawBufferPointer) throws(Malformed) -> ClientMessage {
        var trace: TraceParent?
        return try message(bytes, trace: &trace)
    }

    /// Decodes one text message.
    ///
    /// - Parameter trace: is set to the trace that the message names, if it does.
    public func message(
        _ bytes: UnsafeRawBufferPointer, trace: inout TraceParent?
    ) throws(Malformed) -> ClientMessage {
        let envelope: Envelope
        var known: Operation?
        var name = UnsafeRawBufferPointer(start: nil, count: 0)
        do {
            envelope = try Envelope(bytes) { op, reader in
                // Of several members `data` the last one counts.
                known = take(op, &reader)
                name = op
                return known != nil
            }
        } catch {
            throw malformed(bytes, error)
        }
        trace = envelope.traceParent
        do {
            return try message(in: envelope, known, namedBy: name)
        } catch {
            let id = try? envelope.messageID(limits)
            throw Malformed(id: id, operation: try? envelope.operation().name, refusal: error)
        }
    }

    private func malformed(_ bytes: UnsafeRawBufferPointer, _ error: JSONError) -> Malformed {
        guard error.reason.isOwnLimit else {
            let refusal = Refusal(.badRequest, "the message is not a JSON object: \(error)")
            return Malformed(id: nil, refusal: refusal, isUnparseable: true)
        }
        let envelope = RefusedEnvelope(bytes, fault: error.offset)
        let refusal = Refusal(
            .badRequest, "the message is not taken: \(error)",
            detail: envelope.field.map { .field($0) })
        return Malformed(id: try? Envelope.messageID(envelope.id, limits), refusal: refusal)
    }

    /// Decodes one text message.
    public func message(_ bytes: [UInt8]) throws(Malformed) -> ClientMessage {
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(Malformed) in try message(buffer) }
        }
        return try result.get()
    }

    /// The operation that `op` names, with the data that stands at `reader`; nil: it has to be read
    /// when the whole message is checked.
    private func take(_ op: UnsafeRawBufferPointer, _ reader: inout JSONReader) -> Operation? {
        var form = FormReader(reader)
        guard let descriptor = try? Envelope.operation(op), (try? form.isNull()) == false else {
            return nil
        }
        var values = FieldValues()
        guard (try? read(descriptor, from: &form, into: &values)) != nil,
            let operation = descriptor.make(&values)
        else { return nil }
        reader = form.reader
        return operation
    }

    private func message(
        in envelope: Envelope, _ known: Operation?, namedBy name: UnsafeRawBufferPointer
    ) throws(Refusal) -> ClientMessage {
        if envelope.isAcknowledgement { return .acknowledge(try envelope.acknowledged()) }
        let id = try envelope.messageID(limits)
        // A ping needs no id; for all other messages a missing id is the first thing that is
        // refused.
        if id == nil, envelope.mayLackID { return .ping(nil) }
        guard let id else { throw .badField("id", "is required") }
        // Of several members `op` the last one counts.
        guard let known, envelope.isNamed(by: name) else {
            return try message(id, try envelope.operation(), envelope)
        }
        let key = try envelope.keyText(limits)
        return .request(
            id, key: Self.key(key, known.descriptor, envelope.data), known)
    }

    private func message(
        _ id: MessageID, _ descriptor: OperationDescriptor, _ envelope: Envelope
    ) throws(Refusal) -> ClientMessage {
        let key = try envelope.keyText(limits)
        var values = FieldValues()
        try read(descriptor, envelope.data, into: &values)
        if let operation = descriptor.make(&values) {
            let key = Self.key(key, descriptor, envelope.data)
            return .request(id, key: key, operation)
        }
        if descriptor.name == .hello { return .hello(id, Hello(values)) }
        return descriptor.name == .ping ? .ping(id) : .bye(id)
    }
}

/// What an HTTP request asks for.
public enum BodyRequest: Sendable, Equatable {
    /// An operation for the switchboard. The key is nil where it has no meaning (B25).
    case operation(Operation, key: IdempotencyKey?)
    /// The device logs out.
    case bye
}

extension WireDecoder {
    /// Decodes the data of the operation `name`, as the body of an HTTP request carries it.
    ///
    /// - Parameters:
    ///   - body: one JSON object, or nothing for `{}`.
    ///   - key: the header `Idempotency-Key`.
    public func request(
        _ name: OperationName, body: UnsafeRawBufferPointer, key: String? = nil
    ) throws(Refusal) -> BodyRequest {
        let data = body.isEmpty ? nil : body
        if let data { try check(data) }
        if let key, !(1...limits.keyBytes).contains(key.utf8.count) {
            throw .badField("key", "must have 1-\(limits.keyBytes) bytes")
        }
        let descriptor = OperationDescriptor.of(name)
        var values = FieldValues()
        try read(descriptor, data, into: &values)
        if let operation = descriptor.make(&values) {
            return .operation(operation, key: Self.key(key, descriptor, data))
        }
        guard name == .bye else { throw .unsupported(name.rawValue) }
        return .bye
    }

    /// Decodes the data of the operation `name`, as the body of an HTTP request carries it.
    public func request(
        _ name: OperationName, body: [UInt8], key: String? = nil
    ) throws(Refusal) -> BodyRequest {
        let result = body.withUnsafeBytes { buffer in
            Result { () throws(Refusal) in try request(name, body: buffer, key: key) }
        }
        return try result.get()
    }

    private func check(_ body: UnsafeRawBufferPointer) throws(Refusal) {
        do {
            try JSONReader.check(body)
        } catch {
            throw Refusal(.badRequest, "the body is not JSON: \(error)", detail: .field("data"))
        }
    }
}

extension WireDecoder {
    /// Reads the fields of an operation in `data` into `values`, which is empty before; nil or null
    /// data has no fields.
    private func read(
        _ descriptor: OperationDescriptor, _ data: UnsafeRawBufferPointer?,
        into values: inout FieldValues
    ) throws(Refusal) {
        if var form = data.map({ FormReader($0) }), try !form.isNull() {
            return try read(descriptor, from: &form, into: &values)
        }
        try check(values, of: descriptor)
    }

    /// Reads the fields of an operation in the object that stands at `form`.
    private func read(
        _ descriptor: OperationDescriptor, from form: inout FormReader,
        into values: inout FieldValues
    ) throws(Refusal) {
        try form.beginObject("data")
        while let name = try form.nextKey() {
            guard let field = descriptor.field(name) else {
                try form.skip()
                continue
            }
            // The data of a signal may be any value, null too; elsewhere null means absent.
            if field != .data, try form.isNull() { continue }
            try values.read(field, from: &form, rules)
        }
        try check(values, of: descriptor)
    }

    private func check(
        _ values: borrowing FieldValues, of descriptor: OperationDescriptor
    ) throws(Refusal) {
        if let missing = descriptor.required.firstMissing(in: values.given) {
            throw .badField(missing.name, "is required")
        }
        if descriptor.has(.subscription) { try values.checkRegistration() }
    }

    /// The key with the hash of what it stands for, where it has a meaning.
    private static func key(
        _ text: String?, _ descriptor: @autoclosure () -> OperationDescriptor,
        _ data: UnsafeRawBufferPointer?
    ) -> IdempotencyKey? {
        guard let text else { return nil }
        let descriptor = descriptor()
        if descriptor.isReading { return nil }
        return IdempotencyKey(text, bodyHash: BodyHash.of(descriptor.name, data))
    }
}
