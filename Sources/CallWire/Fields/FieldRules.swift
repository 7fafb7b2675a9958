// The rules of the fields that are more than one word or number.

import CallModel
import JSON

/// What fields may hold: the limits and the names of the modes. An object, because each message has
/// the decoder handed on with it.
final class FieldRules: Sendable {
    let limits: WireLimits
    let modes: [ModeRow]

    init(limits: WireLimits, modes: [ModeRow]) { (self.limits, self.modes) = (limits, modes) }

    // MARK: Lists

    /// A list of user ids.
    func users(
        _ path: String, sizes: PartialRangeFrom<Int>, from form: inout FormReader
    ) throws(Refusal) -> [UserID] {
        var users: [UserID] = []
        try form.beginArray(path)
        while try form.nextElement() {
            try checkRoom(path, users.count)
            let user = try form.user("\(path)[\(users.count)]")
            // Mostly it is one: a literal has just that room.
            if users.isEmpty { users = [user] } else { users.append(user) }
        }
        guard sizes.contains(users.count) else { throw .badField(path, "must not be empty") }
        return users
    }

    /// `end_reasons`.
    func endReasons(from form: inout FormReader) throws(Refusal) -> [EndReason] {
        var reasons: [EndReason] = []
        try form.beginArray("end_reasons")
        while try form.nextElement() {
            try checkRoom("end_reasons", reasons.count)
            reasons.append(try form.word("end_reasons[\(reasons.count)]", EndReason.self))
        }
        return reasons
    }

    /// A list of the keys of items.
    func itemKeys(_ path: String, from form: inout FormReader) throws(Refusal) -> [String] {
        var keys: [String] = []
        try form.beginArray(path)
        while try form.nextElement() {
            try checkRoom(path, keys.count)
            let place = "\(path)[\(keys.count)]"
            keys.append(try itemKey(try form.text(place), place))
        }
        return keys
    }

    private func checkRoom(_ path: String, _ count: Int) throws(Refusal) {
        guard count < limits.listEntries else {
            throw .badField(path, "must not have more than \(limits.listEntries) entries")
        }
    }

    // MARK: Items

    /// An object of named texts; of equal names the last one counts.
    func texts(_ path: String, from form: inout FormReader) throws(Refusal) -> [Call.Item] {
        var items: [Call.Item] = []
        try form.beginObject(path)
        while let name = try form.nextKey() {
            let key = try itemKey(name, path)
            let value = try form.string("\(path).\(key)", bytes: 0...limits.itemBytes)
            items.removeAll { $0.key == key }
            guard items.count < limits.items else {
                throw .badField(path, "must not have more than \(limits.items) items")
            }
            items.append(Call.Item(key: key, value: value))
        }
        return items
    }

    private func itemKey(_ text: JSONText, _ path: String) throws(Refusal) -> String {
        guard text.hasSize(in: 1...limits.itemBytes) else {
            throw .badField(path, "has a key that is not of 1-\(limits.itemBytes) bytes")
        }
        let key = text.string
        guard !key.utf8.contains(UInt8(ascii: ",")) else {
            throw .badField(path, "has a key with a comma")
        }
        return key
    }

    // MARK: Opaque data

    /// `extended_data`.
    func extendedData(from form: inout FormReader) throws(Refusal) -> String {
        let text = try form.text("extended_data")
        guard text.isWithin(limits.extendedDataBytes) else {
            throw .tooLarge("extended_data", bytes: limits.extendedDataBytes)
        }
        return text.string
    }

    /// The `data` of a signal, byte for byte.
    func signalData(from form: inout FormReader) throws(Refusal) -> [UInt8] {
        let raw = try form.raw("data")
        guard raw.count <= limits.signalBytes else {
            throw .tooLarge("data", bytes: limits.signalBytes)
        }
        return [UInt8](raw)
    }

    // MARK: Numbers and names

    /// The mode that `mode` names.
    func mode(from form: inout FormReader) throws(Refusal) -> ModeRow {
        let text = try form.text("mode")
        let name = text.raw.count <= limits.messageBytes ? text.string : ""
        if let mode = ModeRow(named: name, in: modes) { return mode }
        let names = modes.map { "'\($0.name)'" }.joined(separator: ", ")
        throw .badField("mode", "must be one of \(names)")
    }

    /// `timeout_ms`; 0 means the mode's own ring time (A14).
    func timeout(from form: inout FormReader) throws(Refusal) -> Milliseconds? {
        let value = try form.integer("timeout_ms")
        guard value != 0 else { return nil }
        guard limits.timeout.contains(value) else {
            let (low, high) = (limits.timeout.lowerBound, limits.timeout.upperBound)
            throw .badField("timeout_ms", "must be 0 or \(low)-\(high)")
        }
        return value
    }

    /// `delivery_check`: `true`, `false` or milliseconds (H91); 0: none.
    func deliveryCheck(from form: inout FormReader) throws(Refusal) -> Milliseconds {
        if case .bool = try form.kind("delivery_check") {
            return try form.flag("delivery_check") ? Invitation.usualDeliveryCheck : 0
        }
        let value = try form.integer("delivery_check")
        guard limits.deliveryCheck.contains(value) else {
            let (low, high) = (limits.deliveryCheck.lowerBound, limits.deliveryCheck.upperBound)
            throw .badField("delivery_check", "must be true, false or \(low)-\(high)")
        }
        return value
    }

    /// `limit`; a larger one is clamped (D46).
    func pageLimit(from form: inout FormReader) throws(Refusal) -> Int {
        let value = try form.integer("limit")
        guard value >= 1 else { throw .badField("limit", "must be at least 1") }
        return Int(min(value, Int64(limits.pageCalls)))
    }

    /// A moment.
    func moment(_ path: String, from form: inout FormReader) throws(Refusal) -> Moment {
        let value = try form.integer(path)
        guard value >= 0 else { throw .badField(path, "must not be negative") }
        return Moment(value)
    }

    /// The place in a list that an earlier page ended at.
    func cursor(from form: inout FormReader) throws(Refusal) -> CallID {
        if let id = CallID(hex: try form.text("cursor")) { return id }
        throw .badField("cursor", "must be the cursor of an earlier page")
    }

    /// `name`; nil: it is empty.
    func personName(from form: inout FormReader) throws(Refusal) -> PersonName? {
        let text = try form.string("name", bytes: 0...PersonName.bytesMax)
        guard !text.isEmpty else { return nil }
        guard let name = PersonName(checking: text) else {
            throw .badField(
                "name", "must be text on one line that can be seen, without overrides of direction")
        }
        return name
    }

    // MARK: Push

    /// `push`.
    func pushText(from form: inout FormReader) throws(Refusal) -> PushText {
        var push = PushText()
        try form.beginObject("push")
        while let key = try form.nextKey() {
            if try form.isNull() { continue }
            switch key {
            case "title": push.title = try pushLine("push.title", from: &form)
            case "body": push.body = try pushLine("push.body", from: &form)
            case "payload": push.payload = try pushLine("push.payload", from: &form)
            default: try form.skip()
            }
        }
        return push
    }

    private func pushLine(_ path: String, from form: inout FormReader) throws(Refusal) -> String {
        try form.string(path, bytes: 0...limits.pushTextBytes)
    }

    /// The `token` of `hello` or of a push registration.
    func token(from form: inout FormReader) throws(Refusal) -> String {
        try form.string("token", bytes: 1...limits.tokenBytes)
    }

    /// A push subscription: the object as it was written.
    func subscription(from form: inout FormReader) throws(Refusal) -> String {
        let kind = try form.kind("subscription")
        guard kind == .object else {
            throw .badField("subscription", "must be an object, not \(kind)")
        }
        let raw = try form.raw("subscription")
        guard raw.count <= limits.subscriptionBytes else {
            throw .badField("subscription", "has more than \(limits.subscriptionBytes) bytes")
        }
        return String(decoding: raw, as: UTF8.self)
    }

    // MARK: Session

    /// `resume`.
    func resume(from form: inout FormReader) throws(Refusal) -> ResumePoint {
        var session: String?
        var seq: Int64?
        try form.beginObject("resume")
        while let key = try form.nextKey() {
            switch key {
            case "session": session = try form.text("resume.session").string
            case "seq": seq = try form.integer("resume.seq")
            default: try form.skip()
            }
        }
        guard let session else { throw .badField("resume.session", "is required") }
        guard let seq else { throw .badField("resume.seq", "is required") }
        guard seq >= 0 else { throw .badField("resume.seq", "must not be negative") }
        return ResumePoint(session: session, seq: UInt64(seq))
    }
}
