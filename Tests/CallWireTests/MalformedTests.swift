// Every way in which a message can be wrong, and the field that the refusal names.

import CallModel
import Testing

@testable import CallWire

@Suite struct MalformedTests {
    static let id = OperationTests.idText

    /// A bad request: operation, data, the field that is named.
    struct Bad: CustomTestStringConvertible, Sendable {
        let name: String
        let data: String
        let field: String
        let code: Refusal.Code

        init(
            _ name: String, _ data: String, _ field: String, _ code: Refusal.Code = .badRequest
        ) {
            self.name = name
            self.data = data.replacing("ID", with: #""\#(MalformedTests.id)""#)
            self.field = field
            self.code = code
        }

        var testDescription: String { "\(name) \(data.prefix(60)) → \(field)" }
    }

    static func text(_ count: Int) -> String { String(repeating: "x", count: count) }
    static func users(_ count: Int) -> String {
        (0..<count).map { "\"u\($0)\"" }.joined(separator: ",")
    }
    static func items(_ count: Int) -> String {
        (0..<count).map { "\"k\($0)\":\"\"" }.joined(separator: ",")
    }

    static let invitations: [Bad] = [
        Bad("call.invite", "{}", "invitees"),
        Bad("call.invite", #"{"invitees":null}"#, "invitees"),
        Bad("call.invite", #"{"invitees":[]}"#, "invitees"),
        Bad("call.invite", #"{"invitees":"bob"}"#, "invitees"),
        Bad("call.invite", #"{"invitees":["bob",7]}"#, "invitees[1]"),
        Bad("call.invite", #"{"invitees":["bob",null]}"#, "invitees[1]"),
        Bad("call.invite", #"{"invitees":[""]}"#, "invitees[0]"),
        Bad("call.invite", #"{"invitees":["two words"]}"#, "invitees[0]"),
        Bad("call.invite", #"{"invitees":["é"]}"#, "invitees[0]"),
        Bad("call.invite", #"{"invitees":["\#(text(65))"]}"#, "invitees[0]"),
        Bad("call.invite", #"{"invitees":[\#(users(257))]}"#, "invitees"),
        Bad("call.invite", #"{"invitees":["b"],"mode":"loud"}"#, "mode"),
        Bad("call.invite", #"{"invitees":["b"],"mode":1}"#, "mode"),
        Bad("call.invite", #"{"invitees":["b"],"kind":""}"#, "kind"),
        Bad("call.invite", #"{"invitees":["b"],"kind":"\#(text(33))"}"#, "kind"),
        Bad("call.invite", #"{"invitees":["b"],"delivery_check":999}"#, "delivery_check"),
        Bad("call.invite", #"{"invitees":["b"],"delivery_check":30001}"#, "delivery_check"),
        Bad("call.invite", #"{"invitees":["b"],"delivery_check":0}"#, "delivery_check"),
        Bad("call.invite", #"{"invitees":["b"],"delivery_check":1500.5}"#, "delivery_check"),
        Bad("call.invite", #"{"invitees":["b"],"delivery_check":"5s"}"#, "delivery_check"),
        Bad("call.invite", #"{"invitees":["b"],"audio":1}"#, "audio"),
        Bad("call.join", #"{"call_id":ID,"video":"on"}"#, "video"),
        Bad("call.list", #"{"peer":"b b"}"#, "peer"),
        Bad("call.invite", #"{"invitees":["b"],"timeout_ms":999}"#, "timeout_ms"),
        Bad("call.invite", #"{"invitees":["b"],"timeout_ms":600001}"#, "timeout_ms"),
        Bad("call.invite", #"{"invitees":["b"],"timeout_ms":-1}"#, "timeout_ms"),
        Bad("call.invite", #"{"invitees":["b"],"timeout_ms":1500.5}"#, "timeout_ms"),
        Bad("call.invite", #"{"invitees":["b"],"timeout_ms":1e4}"#, "timeout_ms"),
        Bad("call.invite", #"{"invitees":["b"],"timeout_ms":"9000"}"#, "timeout_ms"),
        Bad("call.invite", #"{"invitees":["b"],"timeout_ms":99999999999999999999}"#, "timeout_ms"),
        Bad("call.invite", #"{"invitees":["b"],"extended_data":{}}"#, "extended_data"),
        Bad(
            "call.invite", #"{"invitees":["b"],"extended_data":"\#(text(2_049))"}"#,
            "extended_data", .tooLarge),
        Bad("call.invite", #"{"invitees":["b"],"delivery_check":1}"#, "delivery_check"),
        Bad("call.invite", #"{"invitees":["b"],"items":[]}"#, "items"),
        Bad("call.invite", #"{"invitees":["b"],"items":{"":"x"}}"#, "items"),
        Bad("call.invite", #"{"invitees":["b"],"items":{"a,b":"x"}}"#, "items"),
        Bad("call.invite", #"{"invitees":["b"],"items":{"\#(text(129))":"x"}}"#, "items"),
        Bad("call.invite", #"{"invitees":["b"],"items":{"k":5}}"#, "items.k"),
        Bad("call.invite", #"{"invitees":["b"],"items":{"k":"\#(text(129))"}}"#, "items.k"),
        Bad("call.invite", #"{"invitees":["b"],"items":{\#(items(11))}}"#, "items"),
        Bad("call.invite", #"{"invitees":["b"],"push":"hi"}"#, "push"),
        Bad("call.invite", #"{"invitees":["b"],"push":{"title":5}}"#, "push.title"),
        Bad("call.invite", #"{"invitees":["b"],"push":{"body":[]}}"#, "push.body"),
        Bad("call.invite", #"{"invitees":["b"],"push":{"payload":{}}}"#, "push.payload"),
        Bad(
            "call.invite", #"{"invitees":["b"],"push":{"title":"\#(text(4_097))"}}"#,
            "push.title"),
        Bad("call.add", #"{"invitees":["b"]}"#, "call_id"),
        Bad("call.add", #"{"call_id":ID}"#, "invitees"),
    ]

    static let inCall: [Bad] = [
        Bad("call.ringing", "{}", "call_id"),
        Bad("call.ringing", #"{"call_id":5}"#, "call_id"),
        Bad("call.ringing", #"{"call_id":"0199"}"#, "call_id"),
        Bad("call.ringing", #"{"call_id":"0199AABBCCDD00000123456789ABCDEF"}"#, "call_id"),
        Bad("call.accept", #"{"call_id":ID,"audio":"yes"}"#, "audio"),
        Bad("call.accept", #"{"call_id":ID,"video":0}"#, "video"),
        Bad("call.accept", #"{"call_id":ID,"hold_active":"no"}"#, "hold_active"),
        Bad(
            "call.accept", #"{"call_id":ID,"extended_data":"\#(text(2_049))"}"#,
            "extended_data", .tooLarge),
        Bad("call.accept_ack", #"{"call_id":ID}"#, "user"),
        Bad("call.accept_ack", #"{"call_id":ID,"user":"a b"}"#, "user"),
        Bad("call.reject", #"{"call_id":ID,"reason":"asleep"}"#, "reason"),
        Bad("call.reject", #"{"call_id":ID,"reason":3}"#, "reason"),
        Bad("call.cancel", #"{"call_id":ID,"users":"bob"}"#, "users"),
        Bad("call.cancel", #"{"call_id":ID,"users":["bob","\u0000"]}"#, "users[1]"),
        Bad("call.report", #"{"call_id":ID}"#, "media"),
        Bad("call.report", #"{"call_id":ID,"media":"none"}"#, "media"),
        Bad("call.media", #"{"call_id":ID,"audio":1}"#, "audio"),
        Bad("call.hold", #"{"call_id":ID}"#, "on"),
        Bad("call.hold", #"{"call_id":ID,"on":"true"}"#, "on"),
        Bad("call.hold", #"{"call_id":ID,"on":true,"force":5}"#, "force"),
        Bad("call.items", #"{"call_id":ID,"put":["a"]}"#, "put"),
        Bad("call.items", #"{"call_id":ID,"put":{"a":null}}"#, "put.a"),
        Bad("call.items", #"{"call_id":ID,"delete":{}}"#, "delete"),
        Bad("call.items", #"{"call_id":ID,"delete":["a",1]}"#, "delete[1]"),
        Bad("call.items", #"{"call_id":ID,"delete":["a,b"]}"#, "delete[0]"),
        Bad("call.items", #"{"call_id":ID,"clear":"all"}"#, "clear"),
        Bad("call.signal", #"{"call_id":ID}"#, "data"),
        Bad("call.signal", #"{"call_id":ID,"to":"","data":1}"#, "to"),
        Bad("call.signal", #"{"call_id":ID,"data":"\#(text(16_383))"}"#, "data", .tooLarge),
    ]

    private static func apple(_ token: String) -> Bad {
        Bad("device.push_register", #"{"provider":"apns","token":"\#(token)"}"#, "token")
    }

    private static func web(_ subscription: String, _ field: String) -> Bad {
        Bad(
            "device.push_register", #"{"provider":"web","subscription":\#(subscription)}"#,
            "subscription.\(field)")
    }

    private static func web(
        key: String = "BA" + String(repeating: "A", count: 85),
        secret: String = String(repeating: "A", count: 22), _ field: String
    ) -> Bad {
        let keys = #"{"p256dh":"\#(key)","auth":"\#(secret)"}"#
        return web(#"{"endpoint":"https://x.example/","keys":\#(keys)}"#, field)
    }

    static let others: [Bad] = [
        Bad("call.list", #"{"limit":0}"#, "limit"),
        Bad("call.list", #"{"limit":"5"}"#, "limit"),
        Bad("call.list", #"{"limit":5.5}"#, "limit"),
        Bad("call.list", #"{"cursor":"next"}"#, "cursor"),
        Bad("call.list", #"{"cursor":5}"#, "cursor"),
        Bad("call.list", #"{"state":"open"}"#, "state"),
        Bad("call.list", #"{"role":"boss"}"#, "role"),
        Bad("call.list", #"{"end_reasons":"busy"}"#, "end_reasons"),
        Bad("call.list", #"{"end_reasons":["busy","sad"]}"#, "end_reasons[1]"),
        Bad("call.list", #"{"since_at":-1}"#, "since_at"),
        Bad("call.list", #"{"until_at":"now"}"#, "until_at"),
        Bad("device.push_register", #"{"token":"t"}"#, "provider"),
        Bad("device.push_register", #"{"provider":"pigeon","token":"t"}"#, "provider"),
        Bad("device.push_register", #"{"provider":"apns"}"#, "token"),
        Bad("device.push_register", #"{"provider":"apns","token":""}"#, "token"),
        Bad("device.push_register", #"{"provider":"web"}"#, "subscription"),
        Bad("device.push_register", #"{"provider":"web","subscription":"x"}"#, "subscription"),
        Bad(
            "device.push_register", #"{"provider":"web","subscription":{"x":"\#(text(4_096))"}}"#,
            "subscription"),
        Bad(
            "device.push_register", #"{"provider":"web","subscription":{},"token":"t"}"#,
            "subscription"),
        Bad(
            "device.push_register", #"{"provider":"apns","token":"t","environment":"beta"}"#,
            "environment"),
        apple("a b"), apple("../a"), apple("a?b"), apple("a%20"), apple("YWI="), apple("é"),
        Bad("device.push_register", #"{"provider":"fcm","token":"a b"}"#, "token"),
        Bad("device.push_register", #"{"provider":"fcm","token":"é"}"#, "token"),
        Bad("device.push_register", #"{"provider":"web","token":"t"}"#, "subscription"),
        Bad("device.push_register", #"{"provider":"apns","subscription":{}}"#, "token"),
        Bad("device.push_register", #"{"provider":"apns_voip","subscription":{}}"#, "token"),
        Bad("device.push_register", #"{"provider":"fcm","subscription":{}}"#, "token"),
        web("{}", "endpoint"),
        web(#"{"endpoint":5}"#, "endpoint"),
        web(#"{"endpoint":"http://x.example/"}"#, "endpoint"),
        web(#"{"endpoint":"https://"}"#, "endpoint"),
        web(#"{"endpoint":"https:///x"}"#, "endpoint"),
        web(#"{"endpoint":"https://x example/"}"#, "endpoint"),
        web(#"{"endpoint":"https://x.example/"}"#, "keys.p256dh"),
        web(key: "a", "keys.p256dh"),
        web(key: "B" + text(85), "keys.p256dh"),
        web(key: "B" + text(87), "keys.p256dh"),
        web(key: "A" + text(86), "keys.p256dh"),
        web(key: "BQ" + text(85), "keys.p256dh"),
        web(key: "BA " + text(84), "keys.p256dh"),
        web(secret: text(21), "keys.auth"),
        web(secret: text(23), "keys.auth"),
        web(secret: "!" + text(21), "keys.auth"),
        Bad("device.push_unregister", "{}", "provider"),
        Bad("hello", #"{"device":"phone"}"#, "token"),
        Bad("hello", #"{"token":"t"}"#, "device"),
        Bad("hello", #"{"token":5,"device":"phone"}"#, "token"),
        Bad("hello", #"{"token":"t","device":"my phone"}"#, "device"),
        Bad("hello", #"{"token":"t","device":"d","resume":5}"#, "resume"),
        Bad("hello", #"{"token":"t","device":"d","resume":{"seq":1}}"#, "resume.session"),
        Bad("hello", #"{"token":"t","device":"d","resume":{"session":"5e"}}"#, "resume.seq"),
        Bad(
            "hello", #"{"token":"t","device":"d","resume":{"session":"5e","seq":-1}}"#,
            "resume.seq"),
        Bad("call.get", "[]", "data"),
        Bad("call.get", #""x""#, "data"),
        Bad("call.fly", "{}", "op", .unsupported),
        Bad("", "{}", "op", .unsupported),
    ]

    @Test(arguments: invitations + inCall + others)
    func aBadFieldIsNamed(_ bad: Bad) throws {
        let text = #"{"data":\#(bad.data),"op":"\#(bad.name)","id":"r"}"#
        let malformed = try #require(throws: Malformed.self) {
            try WireDecoder().message(Array(text.utf8))
        }
        #expect(malformed.refusal.code == bad.code)
        #expect(malformed.refusal.detail == .field(bad.field))
        #expect(malformed.refusal.message.contains(bad.field) || bad.field == "op")
        #expect(malformed.id == .text("r"))
        #expect(malformed.operation?.rawValue == (bad.field == "op" ? nil : bad.name))
        #expect(!malformed.isUnparseable)
    }

    @Test(arguments: inCall)
    func theSameIsNamedOverHTTP(_ bad: Bad) throws {
        let name = try #require(OperationName(rawValue: bad.name))
        let refusal = try #require(throws: Refusal.self) {
            try WireDecoder().request(name, body: Array(bad.data.utf8))
        }
        #expect(refusal.detail == .field(bad.field))
    }

    @Test func whatIsExactlyAtALimitPasses() throws {
        let decoder = WireDecoder()
        for (name, data) in [
            ("call.invite", #"{"invitees":["\#(Self.text(64))"],"kind":"\#(Self.text(32))"}"#),
            ("call.invite", #"{"invitees":[\#(Self.users(256))],"timeout_ms":1000}"#),
            ("call.invite", #"{"invitees":["b"],"timeout_ms":600000}"#),
            ("call.invite", #"{"invitees":["b"],"extended_data":"\#(Self.text(2_048))"}"#),
            ("call.invite", #"{"invitees":["b"],"push":{"title":"\#(Self.text(4_096))"}}"#),
            ("call.items", #"{"call_id":ID,"put":{\#(Self.items(10))}}"#),
            ("call.items", #"{"call_id":ID,"put":{"\#(Self.text(128))":"\#(Self.text(128))"}}"#),
            ("call.signal", #"{"call_id":ID,"data":"\#(Self.text(16_382))"}"#),
        ] {
            let data = data.replacing("ID", with: #""\#(Self.id)""#)
            _ = try decoder.message(Array(#"{"id":1,"op":"\#(name)","data":\#(data)}"#.utf8))
        }
    }

    @Test func sizesCountBytesOfTextNotOfItsSpelling() throws {
        var limits = WireLimits()
        limits.extendedDataBytes = 4
        let decoder = WireDecoder(limits: limits)
        let escaped = #"{"call_id":"\#(Self.id)","extended_data":"\u00e9\u00e9"}"#
        #expect(
            try decoder.request(.end, body: Array(escaped.utf8))
                == .operation(.call(OperationTests.id, .end(), saying: "éé"), key: nil))
        let long = #"{"call_id":"\#(Self.id)","extended_data":"ééé"}"#
        #expect(throws: Refusal.self) { try decoder.request(.end, body: Array(long.utf8)) }
    }

    @Test func extendedDataMayBeConfiguredUpToEightKibibytes() {
        var limits = WireLimits()
        limits.extendedDataBytes = 8_192
        #expect(limits.extendedDataBytes == 8_192)
        limits.extendedDataBytes = 8_193
        #expect(limits.extendedDataBytes == 8_192)
    }
}
