// What is stored of a call is all of it, and damage is named.

import CallModel
import JSON
import Testing

@testable import Storage

private func record(_ call: Call) -> [UInt8] {
    var writer = JSONWriter()
    CallRecord.write(call, to: &writer)
    return writer.bytes
}

private func read(_ bytes: [UInt8], id: CallID = callID(0)) throws(RecordDamage) -> Call {
    let result: Result<Call, RecordDamage> = bytes.withUnsafeBytes { bytes in
        do throws(RecordDamage) {
            return .success(try CallRecord.read(bytes, id: id))
        } catch {
            return .failure(error)
        }
    }
    return try result.get()
}

private func read(_ text: String) throws(RecordDamage) -> Call { try read(Array(text.utf8)) }

@Suite struct CallRecordTests {
    @Test(arguments: 1...UInt64(20))
    func everyCallReadsBackAsItWas(seed: UInt64) throws {
        var dice = Dice(seed: seed)
        for _ in 0..<200 {
            let call = dice.call()
            #expect(try read(record(call), id: call.id) == call, "seed \(seed)")
        }
    }

    @Test func aPlainCallIsSmall() {
        #expect(record(ringingCall(0)).count < 250)
    }

    @Test func whatPushesShowToAllIsWrittenOnce() throws {
        var call = ringingCall(0)
        let text = PushText(title: "Alice", payload: String(repeating: "x", count: 8_000))
        for index in 0..<9 {
            var invitee = Participant(
                user: UserID("guest\(index)"), role: .invitee, state: .inviting, at: Moment(5))
            invitee.keep(push: index == 4 ? PushText(title: "Bob") : text)
            call.participants.append(invitee)
        }
        let bytes = record(call)
        // Once before the fifth and once behind it.
        #expect(bytes.count < 20_000)
        #expect(try read(bytes, id: call.id) == call)
    }

    @Test func membersOfALaterVersionArePassedOver() throws {
        let call = ringingCall(0)
        var text = String(decoding: record(call), as: UTF8.self)
        text = text.replacing("{\"v\":1,", with: "{\"later\":{\"a\":[1,{}]},\"v\":1,")
        text = text.replacing("\"bob\":{", with: "\"bob\":{\"mood\":\"good\",")
        #expect(text.contains("mood"))
        #expect(try read(text) == call)
    }

    @Test func membersMayComeInAnyOrder() throws {
        let text = """
            {"users":{"ann":{"at":5,"state":"joined","role":"caller"}},
            "created":5,"ring":1000,"kind":"audio","mode":0,"v":1}
            """
        let call = try read(text)
        #expect(call.caller == UserID("ann"))
        #expect(call.createdAt == Moment(5))
    }

    @Test(arguments: [
        ("", "", "the text ends too early at byte 0"),
        ("[]", "", "expected an object but found an array at byte 0"),
        (#"{"v":2,"mode":0,"kind":"a"}"#, "v", "record version 2 is newer than this program"),
        (#"{"mode":0}"#, "v", "is missing"),
        (#"{"v":1,"kind":"a"}"#, "mode", "is missing"),
        (#"{"v":1,"mode":256}"#, "mode", "256 is out of range"),
        (#"{"v":1,"mode":7}"#, "mode", "no mode has the number 7"),
        (#"{"v":1,"ring":-1}"#, "ring", "-1 is out of range"),
        (#"{"v":1,"created":9007199254740992}"#, "created", "9007199254740992 is out of range"),
        (#"{"users":{"bob":{"at":-1}}}"#, "users.bob.at", "-1 is out of range"),
        (#"{"v":1,"mode":0,"kind":7}"#, "kind", "expected a string but found a number at byte 23"),
        (#"{"v":1,"state":"dead"}"#, "state", #"unknown word "dead""#),
        (#"{"v":1,"mode":0,"kind":"a","ring":1,"created":1}"#, "users", "are missing"),
        (#"{"users":{"bob":{"at":1,"state":"gone"}}}"#, "users.bob.state", #"unknown word "gone""#),
        (#"{"users":{"bob":{"at":1}}}"#, "users.bob.state", "is missing"),
        (#"{"users":{"bob":{"state":"left"}}}"#, "users.bob.at", "is missing"),
        (#"{"items":[{"key":"k"}]}"#, "items.value", "is missing"),
        (#"{"views":[{"text":"k"}]}"#, "views.to", "is missing"),
        (#"{"end":{"by":"bob"}}"#, "end.reason", "is missing"),
        (#"{"v":1} {"#, "", "expected the end of the text but found '{' at byte 8"),
    ])
    func damageNamesTheField(text: String, field: String, problem: String) {
        #expect(throws: RecordDamage(field: field, problem: problem)) { try read(text) }
    }

    @Test func aRecordCutAnywhereIsRefused() {
        var dice = Dice(seed: 7)
        let whole = record(dice.call(participants: 2...2))
        for length in 0..<whole.count {
            #expect(throws: RecordDamage.self) { try read(Array(whole[..<length])) }
        }
    }

    /// Whatever the damage: it is named, or what is read is a call that can be stored again.
    @Test(arguments: 1...UInt64(20))
    func flippedBytesAreRefusedOrReadAsACall(seed: UInt64) throws {
        var dice = Dice(seed: seed)
        let whole = record(dice.call())
        var refused = 0
        for _ in 0..<300 {
            var bytes = whole
            for _ in 0..<dice.number(1...3) {
                bytes[dice.number(0...bytes.count - 1)] = UInt8(dice.number(0...255))
            }
            do throws(RecordDamage) {
                let call = try read(bytes)
                #expect(try read(record(call)) == call, "seed \(seed): \(bytes)")
            } catch {
                refused += 1
                #expect(!error.problem.isEmpty)
            }
        }
        #expect(refused > 100, "most flips break the text")
    }
}

@Suite struct PushRecordTests {
    @Test func everyJobReadsBackAsItWas() throws {
        var dice = Dice(seed: 3)
        for _ in 0..<500 {
            let job = dice.pushJob()
            var writer = JSONWriter()
            PushRecord.write(job, to: &writer)
            let back = writer.bytes.withUnsafeBytes { try? PushRecord.read($0, call: job.callID) }
            #expect(back == job)
        }
    }
}
