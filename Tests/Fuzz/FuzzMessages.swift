// The client protocol: what is understood can be said again, what is refused names its field.

import CallModel
import CallWire
import JSON

extension Fuzzer {
    static let messages = Fuzzer(
        name: "messages",
        property: "a request survives being written again, a refusal names what was wrong"
    ) { (random) throws(FuzzFailure) in try survive(&random) { $0 } }

    static let messagesCanary = Fuzzer(
        name: "messages-canary", property: "finds a client that forgets who is invited",
        mustFail: true
    ) { (random) throws(FuzzFailure) in
        try survive(&random) { operation in
            guard case .invite(var invitation) = operation else { return operation }
            invitation.invitees = [UserID("bob")]
            return .invite(invitation)
        }
    }

    /// Judges a message, and once more what a client writes who has `seen` it.
    private static func survive(
        _ random: inout FuzzGenerator, _ seen: (Operation) -> Operation
    ) throws(FuzzFailure) {
        let text = random.damage(
            Array(MessageTexts.message(&random).utf8), dictionary: MessageTexts.words)
        switch decode(text) {
        case .success(let message): try checkAgain(message, text, seen)
        case .failure(let malformed): try check(malformed, text)
        }
        // Whatever comes from a server, a client at least survives it.
        _ = try? ServerMessageDecoder().message(text)
    }

    private static func decode(_ text: [UInt8]) -> Result<ClientMessage, Malformed> {
        Result { () throws(Malformed) in try WireDecoder().message(text) }
    }

    /// Writes `message` as a client would, and reads that.
    private static func checkAgain(
        _ message: ClientMessage, _ text: [UInt8], _ seen: (Operation) -> Operation
    ) throws(FuzzFailure) {
        let encoder = RequestEncoder()
        var wanted = message
        let again: [UInt8]
        switch message {
        case .hello(let id, var hello):
            if hello.resume?.session == nil { hello.resume = nil }
            wanted = .hello(id, hello)
            again = encoder.hello(hello, id: id)
        case .ping(let id): again = encoder.ping(id: id)
        case .bye(let id): again = encoder.bye(id: id)
        case .acknowledge(let seq):
            guard seq >= 0 else { return }
            again = RequestEncoder.acknowledgement(UInt64(seq))
        case .request(let id, _, let operation):
            wanted = .request(id, key: nil, operation)
            again = encoder.request(seen(operation), id: id)
        }
        guard case .success(let copy) = decode(again) else {
            throw FuzzFailure(what: "what was written is refused", input: text)
        }
        try expect(copy == wanted, "another message after a round trip: \(copy)", text)
    }

    private static func check(_ malformed: Malformed, _ text: [UInt8]) throws(FuzzFailure) {
        let refusal = malformed.refusal
        let code = refusal.code
        let isKnown = code == .badRequest || code == .unsupported || code == .tooLarge
        try expect(isKnown, "an unexpected code: \(refusal)", text)
        if malformed.isUnparseable {
            let isObject = (try? JSONValue(parsing: text))?.object != nil
            try expect(!isObject, "an object is called unparseable: \(refusal)", text)
            return
        }
        guard case .field = refusal.detail else {
            // A name of a field itself may be at fault.
            let isWhole = refusal.message.contains("the message is not taken")
            return try expect(isWhole, "no field is named: \(refusal)", text)
        }
        try expect(refusal.message.utf8.count < 1_000, "a long message: \(refusal)", text)
    }
}

private enum MessageTexts {
    static let words =
        fields.map { "\"\($0)\":" } + OperationName.allCases.map { "\"\($0.rawValue)\"" }
        + ["{", "}", "[", "]", ",", "\"", "\\u0000", "null", "1.5", "-1", "1e3", "\"ack\":7"]

    private static let fields = [
        "call_id", "user", "to", "invitees", "users", "mode", "kind", "timeout_ms",
        "extended_data", "delivery_check", "items", "push", "audio", "video", "hold_active",
        "reason", "media", "on", "force", "put", "delete", "clear", "data", "limit", "cursor",
        "state", "role", "end_reasons", "since_at", "until_at", "provider", "token",
        "subscription", "environment", "device", "resume", "title", "body", "payload", "session",
        "seq",
    ]

    static func message(_ random: inout FuzzGenerator) -> String {
        let name = random.pick(OperationName.allCases.map(\.rawValue))
        var members = ["\"op\":\"\(name)\"", "\"data\":\(object(&random, depth: 2))"]
        if !random.once(in: 20) { members.append("\"id\":\(id(&random))") }
        if random.once(in: 4) { members.append("\"key\":\(value(&random, depth: 0))") }
        if random.once(in: 10) { members.append("\"ack\":\(value(&random, depth: 0))") }
        members.shuffle(using: &random)
        return "{\(members.joined(separator: random.pick([",", " , ", ",\n"])))}"
    }

    private static func id(_ random: inout FuzzGenerator) -> String {
        random.pick(["1", "-7", "\"a\"", "\"\\u00e9\"", "0", "9223372036854775807", "1.5", "null"])
    }

    /// An object with many of the fields, so that most operations find theirs.
    private static func object(_ random: inout FuzzGenerator, depth: Int) -> String {
        var members: [String] = []
        for field in fields where random.once(in: depth == 2 ? 2 : 10) {
            let isUsual = !random.once(in: 12)
            let value = isUsual ? usual(field, &random, depth) : value(&random, depth: depth)
            members.append("\"\(field)\":\(value)")
        }
        return "{\(members.joined(separator: ","))}"
    }

    /// A value that the field may have, most of the time.
    private static func usual(
        _ field: String, _ random: inout FuzzGenerator, _ depth: Int
    ) -> String {
        switch field {
        case "call_id", "cursor": "\"0199aabbccdd00000123456789abcdef\""
        case "invitees", "users": random.pick(["[\"bob\"]", "[\"a\",\"b\"]"])
        case "mode": random.pick(["\"common\"", "\"direct\"", "\"group\""])
        case "timeout_ms": random.pick(["0", "1000", "600000"])
        case "items", "put": random.pick(["{}", "{\"a\":\"1\",\"b\":\"\\n\"}"])
        case "delete": "[\"a\"]"
        case "push": "{\"title\":\"t\",\"payload\":\"{}\"}"
        case "audio", "video", "delivery_check", "hold_active", "on", "force", "clear":
            random.pick(["true", "false"])
        case "reason": random.pick(["\"busy\"", "\"declined\""])
        case "media": random.pick(["\"connected\"", "\"lost\""])
        case "state": "\"ended\""
        case "role": "\"invitee\""
        case "end_reasons": "[\"busy\",\"no_answer\"]"
        case "since_at", "until_at", "limit", "seq": random.pick(["1", "50", "1795000000000"])
        case "provider": random.pick(["\"apns\"", "\"web\""])
        case "environment": "\"sandbox\""
        case "subscription": "{\"endpoint\":\"https://x\"}"
        case "session": "\"0000000000000001000000000000000a\""
        case "resume", "data": depth > 0 ? object(&random, depth: depth - 1) : "{}"
        default: random.pick(["\"bob\"", "\"x\\ty\"", "\"é\"", "\"{}\""])
        }
    }

    private static func value(_ random: inout FuzzGenerator, depth: Int) -> String {
        if depth > 0, random.once(in: 3) { return object(&random, depth: depth - 1) }
        return random.pick([
            "null", "true", "1", "-1", "1.5", "\"\"", "\"bob\"", "[]", "[1]", "[\"a b\"]", "{}",
            "\"\(String(repeating: "x", count: random.pick(0...140)))\"", "18446744073709551616",
        ])
    }
}
