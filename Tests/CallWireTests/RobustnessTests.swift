// Torn, damaged and hostile messages are refused, never misread.

import CallModel
import Testing

@testable import CallWire

@Suite struct RobustnessTests {
    private let decoder = WireDecoder()

    /// One message of every operation, from the examples.
    private static let messages: [[UInt8]] =
        (OperationTests.invitations + OperationTests.answers + OperationTests.inCall
        + OperationTests.others)
        .map { Array(#"{"id":1,"op":"\#($0.name.rawValue)","data":\#($0.data)}"#.utf8) }

    @Test func everyTornMessageIsUnparseable() throws {
        for message in Self.messages {
            for length in 0..<message.count {
                let malformed = try #require(throws: Malformed.self) {
                    try decoder.message(Array(message[..<length]))
                }
                #expect(malformed.isUnparseable)
            }
        }
    }

    @Test func aDamagedByteIsRefusedOrUnderstoodButNeverCrashes() {
        var dice = SeededGenerator(seed: 7)
        var understood = 0
        for _ in 0..<20_000 {
            var message = Self.messages[Int(dice.next() % UInt64(Self.messages.count))]
            for _ in 0...(dice.next() % 3) {
                message[Int(dice.next() % UInt64(message.count))] = UInt8(dice.next() & 0xFF)
            }
            if (try? decoder.message(message)) != nil { understood += 1 }
        }
        #expect(understood > 0 && understood < 20_000)
    }

    @Test func membersMayStandInAnyOrder() throws {
        let parts = [#""id":1"#, #""op":"call.hold""#, #""key":"k""#, #""extra":{"id":2}"#]
        let data = #""data":{"on":true,"call_id":"\#(OperationTests.idText)"}"#
        let first = try decoder.message(Array("{\((parts + [data]).joined(separator: ","))}".utf8))
        for turn in 0..<5 {
            let turned = Array((parts + [data])[turn...] + (parts + [data])[..<turn])
            let text = "{ \(turned.joined(separator: " , ")) }"
            #expect(try decoder.message(Array(text.utf8)) == first)
        }
    }

    @Test func escapedNamesAreTheSameNames() throws {
        let text = #"{"\u0069d":1,"o\u0070":"call.\u0067et","data":{"call\u005fid":"ID"}}"#
            .replacing("ID", with: OperationTests.idText)
        #expect(
            try decoder.message(Array(text.utf8))
                == .request(.integer(1), key: nil, .call(OperationTests.id, .get)))
    }

    @Test func deepNestingIsRefused() throws {
        let deep = String(repeating: "[", count: 40_000)
        let malformed = try #require(throws: Malformed.self) {
            try decoder.message(Array(#"{"id":1,"op":"ping","x":\#(deep)"#.utf8))
        }
        #expect(malformed.id == .integer(1) && malformed.refusal.detail == .field("x"))
        #expect(malformed.refusal.message.contains("more than 64 levels of nesting"))
    }

    @Test func aBodyThatIsNotJSONIsABadRequest() throws {
        for body in ["{", "[]", "x", #"{"call_id":}"#] {
            let refusal = try #require(throws: Refusal.self) {
                try decoder.request(.get, body: Array(body.utf8))
            }
            #expect(refusal.code == .badRequest)
            #expect(refusal.detail == .field("data"))
        }
        #expect(try decoder.request(.bye, body: []) == .bye)
        for name in [OperationName.hello, .ping] {
            let body = Array(#"{"token":"t","device":"d"}"#.utf8)
            let refusal = try #require(throws: Refusal.self) {
                try decoder.request(name, body: body)
            }
            #expect(refusal.code == .unsupported)
        }
    }
}
