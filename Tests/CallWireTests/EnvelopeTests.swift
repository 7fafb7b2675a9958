// The envelope: ids, keys, acknowledgements, and what is no message at all.

import CallModel
import JSON
import Testing

@testable import CallWire

@Suite struct EnvelopeTests {
    private let decoder = WireDecoder()

    private func decode(_ text: String) throws -> ClientMessage {
        try decoder.message(Array(text.utf8))
    }

    private func malformed(_ text: String) throws -> Malformed {
        try #require(throws: Malformed.self) { try decoder.message(Array(text.utf8)) }
    }

    @Test func idsAreIntegersOrTexts() throws {
        #expect(try decode(#"{"op":"bye","id":-5}"#) == .bye(.integer(-5)))
        #expect(try decode(#"{"op":"bye","id":9223372036854775807}"#) == .bye(.integer(.max)))
        #expect(try decode(#"{"op":"bye","id":""}"#) == .bye(.text("")))
        #expect(try decode(#"{"op":"bye","id":"\u0061é"}"#) == .bye(.text("aé")))
        let long = String(repeating: "x", count: 64)
        #expect(try decode(#"{"op":"bye","id":"\#(long)"}"#) == .bye(.text(long)))
    }

    @Test(arguments: [
        "", #""id":null,"#, #""id":true,"#, #""id":1.5,"#, #""id":1.0,"#, #""id":[],"#,
        #""id":{},"#,
        #""id":9223372036854775808,"#,
        #""id":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","#,
    ])
    func aBadIDIsAnsweredWithoutOne(_ id: String) throws {
        let malformed = try malformed("{\(id)\"op\":\"call.list\"}")
        #expect(malformed.id == nil)
        #expect(malformed.refusal.code == .badRequest)
        #expect(malformed.refusal.detail == .field("id"))
        #expect(malformed.operation == .list)
        #expect(!malformed.isUnparseable)
    }

    @Test func pingAloneNeedsNoID() throws {
        #expect(try decode(#"{"op":"ping"}"#) == .ping(nil))
        #expect(try decode(#"{"op":"ping","id":null}"#) == .ping(nil))
        #expect(try decode(#"{"op":"ping","id":"p","data":{"x":1}}"#) == .ping(.text("p")))
        #expect(try malformed(#"{"op":"ping","id":1.5}"#).refusal.detail == .field("id"))
        #expect(try malformed(#"{"op":"bye"}"#).refusal.detail == .field("id"))
    }

    @Test func helloSaysWhoAndWhere() throws {
        #expect(
            try decode(#"{"id":1,"op":"hello","data":{"token":"dev:bob","device":"phone-1"}}"#)
                == .hello(.integer(1), Hello(token: "dev:bob", device: "phone-1")))
        let session = SessionID(high: 0x5E, low: 0xFF)
        let text = #"{"token":"t","device":"d","resume":{"session":"\#(session)","seq":41}}"#
        #expect(
            try decode(#"{"id":1,"op":"hello","data":\#(text)}"#)
                == .hello(
                    .integer(1),
                    Hello(token: "t", device: "d", resume: .init(session: session, seq: 41))))
    }

    @Test func aSessionThatCannotExistIsNoError() throws {
        let text = #"{"token":"t","device":"d","resume":{"session":"gone","seq":1,"x":2}}"#
        #expect(
            try decode(#"{"id":1,"op":"hello","data":\#(text)}"#)
                == .hello(
                    .integer(1),
                    Hello(token: "t", device: "d", resume: .init(session: nil, seq: 1))))
    }

    @Test func acknowledgementsAreIntegers() throws {
        #expect(try decode(#"{"ack":17}"#) == .acknowledge(17))
        #expect(try decode(#"{"ack":-3,"op":null}"#) == .acknowledge(-3))
        #expect(try decode(#"{"ack":99999999999999999999}"#) == .acknowledge(.max))
        #expect(try decode(#"{"ack":-99999999999999999999}"#) == .acknowledge(.min))
        for bad in ["null", "1.5", "\"1\"", "[]", "true"] {
            let malformed = try malformed(#"{"ack":\#(bad)}"#)
            #expect(malformed.refusal.detail == .field("ack"))
            #expect(malformed.id == nil)
        }
        #expect(try malformed(#"{"id":4,"ack":"1"}"#).id == .integer(4))
    }

    @Test func withBothTheOperationWins() throws {
        #expect(try decode(#"{"ack":17,"op":"bye","id":1}"#) == .bye(.integer(1)))
        #expect(try malformed(#"{"ack":17,"op":"x","id":1}"#).refusal.code == .unsupported)
    }

    @Test(arguments: [
        "", "x", "[]", "5", "null", "\"hello\"", "{", #"{"id":1,}"#, #"{"id":1} {}"#,
        #"{"id":1,"op":"ping","data":{"x":01}}"#,
    ])
    func whatIsNoJSONObjectIsUnparseable(_ text: String) throws {
        let malformed = try malformed(text)
        #expect(malformed.isUnparseable)
        #expect(malformed.id == nil)
        #expect(malformed.refusal.code == .badRequest)
    }

    @Test(arguments: [
        (
            #"{"id":7,"op":"call.invite","data":{"extended_data":"hi \ud83d","x":1}}"#,
            "extended_data"
        ),
        (
            #"{"data":{"x":"\\\"","extended_data":"\udd1e"} , "op":"call.invite","id" : 7}"#,
            "extended_data"
        ),
        (#"{"op":"id","id":7,"data":{"id":8,"push":{"title":"\ud800"}}}"#, "push"),
        (#"{"id":7,"op":"ping","x":{"y":"\ud800"}}"#, "x"),
        (#"{"id":7,"op":"ping","\ud800":1}"#, nil),
        (#"{"id":7,"data":{"a":1,"\ud800":1}}"#, "data"),
    ])
    func jsonBeyondTheReaderIsAnsweredUnderItsID(_ text: String, _ field: String?) throws {
        let malformed = try malformed(text)
        #expect(malformed.id == .integer(7) && !malformed.isUnparseable)
        #expect(malformed.refusal.code == .badRequest)
        #expect(malformed.refusal.detail == field.map { .field($0) })
        #expect(malformed.refusal.message.contains("half of a surrogate pair at byte"))
    }

    @Test func anIDBeyondTheReaderIsNone() throws {
        for text in [#"{"id":"\ud800"}"#, #"{"id":"\ud800","op":"ping"}"#] {
            let malformed = try malformed(text)
            #expect(malformed.id == nil && malformed.refusal.detail == .field("id"))
        }
    }

    @Test func anObjectWithoutOperationLacksFirstItsIDThenTheOperation() throws {
        #expect(try malformed("{}").refusal.detail == .field("id"))
        #expect(try malformed(#"{"id":1}"#).refusal.detail == .field("op"))
        #expect(try malformed(#"{"id":1,"op":5}"#).refusal.detail == .field("op"))
        #expect(try malformed(#"{"id":1,"op":"x"}"#).refusal.message.contains("'x'"))
    }

    @Test func anUnknownOperationIsRepeatedOnlyInPart() throws {
        let name = String(repeating: "é", count: 3_000)
        let malformed = try malformed(#"{"id":1,"op":"\#(name)"}"#)
        #expect(malformed.refusal.message.utf8.count < 200)
    }

    @Test func keysComeWithAHashWhereTheyMeanSomething() throws {
        let data = #"{"call_id":"\#(OperationTests.idText)"}"#
        guard
            case .request(_, let key?, _) = try decode(
                #"{"id":1,"op":"call.end","key":"k","data":\#(data)}"#)
        else {
            Issue.record("no key")
            return
        }
        #expect(key.text == "k")
        #expect(key == IdempotencyKey("k", bodyHash: key.bodyHash))
        #expect(
            try decode(#"{"id":1,"op":"call.get","key":"k","data":\#(data)}"#)
                == .request(.integer(1), key: nil, .call(OperationTests.id, .get)))
        #expect(
            try decoder.request(.end, body: Array(data.utf8), key: "k")
                == .operation(.call(OperationTests.id, .end()), key: key))
    }

    @Test(arguments: [
        "5", "\"\"", "{}", "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
    ])
    func aBadKeyIsNamed(_ key: String) throws {
        let text = #"{"id":1,"op":"call.list","key":\#(key)}"#
        #expect(try malformed(text).refusal.detail == .field("key"))
    }

    @Test func theOrderOfMembersMeansNothing() throws {
        let data = #"{"call_id":"\#(OperationTests.id)"}"#
        let other = #"{"call_id":"\#(CallID(high: 1, low: 2))"}"#
        let wanted = ClientMessage.request(
            .integer(1), key: nil, .call(OperationTests.id, .end()))
        #expect(try decode(#"{"id":1,"op":"call.end","data": \#(data) }"#) == wanted)
        #expect(try decode(#"{"data":\#(data),"op":"call.end","id":1}"#) == wanted)
        // The last one of a name counts.
        #expect(
            try decode(#"{"id":1,"op":"call.end","data":\#(other),"data":\#(data)}"#) == wanted)
        #expect(
            try decode(#"{"id":1,"op":"call.leave","data":\#(data),"op":"call.end"}"#) == wanted)
        let taken = #"{"id":1,"op":"call.end","data":\#(data),"data":null}"#
        #expect(try malformed(taken).refusal.detail == .field("call_id"))
    }

    @Test func thatItIsNoJSONComesBeforeWhatIsWrongInIt() throws {
        let wrong = #"{"id":1,"op":"call.end","data":{"call_id":5}"#
        let refused = try malformed(wrong + "}")
        #expect(!refused.isUnparseable && refused.id == .integer(1))
        #expect(refused.refusal.detail == .field("call_id") && refused.operation == .end)
        #expect(try malformed(wrong + #","x":}"#).isUnparseable)
    }

    @Test func aBodyThatIsNullHasNoFields() throws {
        let nothing = try decoder.request(.list, body: [], key: nil)
        #expect(try decoder.request(.list, body: Array(" null".utf8), key: nil) == nothing)
        #expect(throws: Refusal.self) {
            try decoder.request(.get, body: Array("null".utf8), key: nil)
        }
    }

    @Test func aBadKeyOverHTTPIsNamed() throws {
        for key in ["", String(repeating: "x", count: 65)] {
            let refusal = try #require(throws: Refusal.self) {
                try decoder.request(.list, body: [], key: key)
            }
            #expect(refusal.detail == .field("key"))
        }
    }
}

@Suite struct BodyHashTests {
    private func hash(_ name: OperationName, _ data: String?) -> UInt64 {
        guard var data else { return BodyHash.of(name, nil) }
        return data.withUTF8 { BodyHash.of(name, UnsafeRawBufferPointer($0)) }
    }

    @Test func theHashIsOneForTheSameValues() {
        let first = hash(.invite, #"{"invitees":["bob"],"kind":"video","timeout_ms":5000}"#)
        let other = #" {"timeout_ms" : 5e3, "invitees":[ "b\u006fb" ],"kind":"video"}"#
        #expect(first == hash(.invite, other))
        #expect(hash(.list, nil) == hash(.list, "{}"))
    }

    @Test func theHashTellsBodiesAndOperationsApart() {
        let bodies = ["{}", #"{"a":1}"#, #"{"a":"1"}"#, #"{"a":[1]}"#, #"{"b":1}"#, #"{"a":null}"#]
        let hashes = bodies.flatMap { [hash(.end, $0), hash(.leave, $0)] }
        #expect(Set(hashes).count == hashes.count)
    }

    @Test func theHashNeverChanges() {
        // FNV-1a of "call.end", a zero byte and "{}": stored with keys, so fixed for ever.
        #expect(hash(.end, "{}") == 0x95F3_9C9F_E6C2_76A6)
    }

    @Test func aNumberBeyondADoubleIsHashedAsWritten() {
        #expect(hash(.signal, #"{"data":1e999}"#) == hash(.signal, #"{"data":1e999}"#))
        #expect(hash(.signal, #"{"data":1e999}"#) != hash(.signal, #"{"data":2e999}"#))
    }
}
