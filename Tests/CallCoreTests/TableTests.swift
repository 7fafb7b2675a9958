// The small tables of the core: kept keys, accounts, ids, and the one look into JSON.

import Collections
import CallModel
import Testing

@testable import CallCore

@Suite struct KeyLedgerTests {
    private let ann = UserID("ann")
    private let bob = UserID("bob")

    private func key(_ text: String, _ bodyHash: UInt64 = 7) -> IdempotencyKey {
        IdempotencyKey(text, bodyHash: bodyHash)
    }

    @Test func anotherRequestUnderAKeyIsNoRepetition() {
        var filter = FingerprintFilter(seed: 1)
        filter.insert(ann, key("k", 1), at: Moment(0))
        #expect(filter.mayContain(ann, key("k", 1)))
        #expect(!filter.mayContain(ann, key("k", 2)) && !filter.mayContain(bob, key("k", 1)))
        filter.forget(at: 100, lifetime: 100, limit: 10)
        #expect(!filter.mayContain(ann, key("k", 1)))
    }

    @Test func aKeyIsKeptForItsUserAlone() {
        var filter = FingerprintFilter(seed: 1)
        filter.insert(ann, key("k"), at: Moment(0))
        #expect(filter.mayContain(ann, "k"))
        #expect(!filter.mayContain(bob, "k"))
        #expect(!filter.mayContain(ann, "l"))
        // The border between user and key counts.
        #expect(!filter.mayContain(UserID("an"), "nk"))
    }

    @Test func keysAreForgottenWhenTheyAreTooOld() {
        var filter = FingerprintFilter(seed: 1)
        filter.insert(ann, key("old"), at: Moment(0))
        filter.insert(ann, key("new"), at: Moment(10))
        filter.forget(at: 99, lifetime: 100, limit: 10)
        #expect(filter.mayContain(ann, "old"))
        filter.forget(at: 100, lifetime: 100, limit: 10)
        #expect(!filter.mayContain(ann, "old"))
        #expect(filter.mayContain(ann, "new"))
    }

    @Test func theOldestGoFirstWhenThereAreTooMany() {
        var filter = FingerprintFilter(seed: 1)
        for number in 0..<10_000 { filter.insert(ann, key("\(number)"), at: Moment(0)) }
        filter.forget(at: 1, lifetime: 100, limit: 3)
        #expect(filter.count == 3)
        #expect(!filter.mayContain(ann, "9996"))
        #expect(filter.mayContain(ann, "9997"))
        #expect(filter.mayContain(ann, "9999"))
    }

    @Test func aKeyUsedAgainIsForgottenWithItsLastUse() {
        var filter = FingerprintFilter(seed: 1)
        filter.insert(ann, key("k"), at: Moment(0))
        filter.insert(ann, key("k"), at: Moment(50))
        filter.forget(at: 100, lifetime: 100, limit: 10)
        #expect(filter.mayContain(ann, "k"))
        filter.forget(at: 150, lifetime: 100, limit: 10)
        #expect(!filter.mayContain(ann, "k"))
    }
}

@Suite struct AccountsTests {
    @Test func namesAndPatternsAreMatched() {
        let accounts = Accounts(["support", "desk-*"])
        #expect(accounts.contains(UserID("support")))
        #expect(accounts.contains(UserID("desk-")))
        #expect(accounts.contains(UserID("desk-7")))
        #expect(!accounts.contains(UserID("desk")))
        #expect(!accounts.contains(UserID("supporter")))
        #expect(!accounts.isEmpty)
    }

    @Test func aStarIsEverybodyAndNothingIsNobody() {
        #expect(Accounts(["*"]).contains(UserID("anybody")))
        #expect(!Accounts().contains(UserID("anybody")))
        #expect(Accounts().isEmpty)
        #expect(!Accounts(["*"]).isEmpty)
    }
}

@Suite struct IdentifierTests {
    @Test func aCallIDIsWrittenAndReadAgain() throws {
        let id = CallID(high: 0x0199_AABB_CCDD_0001, low: 0x0123_4567_89AB_CDEF)
        #expect("\(id)" == "0199aabbccdd00010123456789abcdef")
        #expect(CallID("\(id)") == id)
        #expect(CallID("0".repeated(32)) == CallID(high: 0, low: 0))
    }

    @Test(arguments: ["", "0199AABBCCDD00010123456789abcdef", "0199", "g".repeated(32)])
    func anythingElseIsNoCallID(_ text: String) { #expect(CallID(text) == nil) }

    @Test func newCallIDsGrow() {
        var board = Switchboard(settings: Settings(), seed: 1, at: Moment(5))
        let ids = (0..<1_000).map { _ in board.newCallID() }
        #expect(ids == ids.sorted())
        #expect(Set(ids).count == 1_000)
        // More of them than a millisecond has room for still grow.
        #expect(ids[999].high >> 16 == 5)
    }

    @Test(arguments: [0..<0, 0..<1, 3..<20, 0..<50, 49..<100])
    func liveCallsAreFoundByTheirPlaces(_ places: Range<Int>) {
        var table = CallTable()
        for number in 0..<50 {
            // Not in the order of their places.
            let id = CallID(high: 1, low: UInt64(number * 37 % 50))
            var call = Call(
                id: id, mode: .common, kind: "audio", ringTime: 1_000, deliveryCheck: nil,
                createdAt: Moment(5))
            if id.low % 3 == 0 { call.state = .ended }
            let slot = table.open(id)
            table[slot] = call
        }
        let wanted = (0..<50).filter(places.contains).map { $0 * 37 % 50 }
        #expect(
            table.live(in: places).map(\.id.low)
                == wanted.filter { $0 % 3 != 0 }.map { UInt64($0) })
        #expect(
            table.live(in: places) { $0.id.low < 10 }.map(\.id.low)
                == wanted.filter { $0 % 3 != 0 && $0 < 10 }.map { UInt64($0) })
    }

    @Test func idsStayBehindTheNewestRestoredCall() {
        var board = Switchboard(settings: Settings(), seed: 1, at: Moment(5))
        let old = CallID(high: 9 << 16 | 3, low: 0)
        var call = Call(
            id: old, mode: .common, kind: "audio", ringTime: 1_000, deliveryCheck: nil,
            createdAt: Moment(5))
        call.participants = [
            Participant(user: UserID("a"), role: .caller, state: .joined, at: Moment(5))
        ]
        var restored = Restored()
        restored.calls = [call]
        _ = board.restore(restored, at: Moment(5))
        #expect(board.newCallID() > old)
    }

    @Test func userIDsArePrintableASCIIWithoutSpace() {
        #expect(UserID(checking: "a") != nil)
        #expect(UserID(checking: "~!".repeated(32)) != nil)
        for text in ["", " ", "a b", "ä", "a\u{7F}", "a".repeated(65)] {
            #expect(UserID(checking: text) == nil, "\(text)")
        }
    }
}

@Suite struct MemberTextTests {
    @Test(arguments: [
        (#"{"type":1}"#, "1"),
        (#"{"type": "audio" , "x":2}"#, #""audio""#),
        (#" { "a" : {"type":2}, "type" : -1.5e3 }"#, "-1.5e3"),
        (#"{"a":"\"type\":9","type":true}"#, "true"),
        (#"{"a":["type",3],"type":null}"#, "null"),
        (#"{"type":"a\"b"}"#, #""a\"b""#),
    ])
    func aScalarMemberIsFound(_ text: String, _ value: String) {
        #expect(memberText("type", of: text) == value)
    }

    @Test(arguments: [
        "", "type", "{}", #"{"a":1}"#, #"{"type":{"x":1}}"#, #"{"type":[1]}"#, #"["type",1]"#,
        #"{"a":{"type":1}}"#, #"{"a":"type"}"#, #"{"type""#, #"{"type":"#, #"{"type":"x\"#,
        #"{"type":<script>}"#, #"{"type" 1}"#,
    ])
    func anythingElseIsNoMember(_ text: String) {
        #expect(memberText("type", of: text) == nil)
    }

    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func noTextMakesItFail(_ seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        let pieces = ["{", "}", "[", "]", "\"type\"", ":", ",", "1", "\"", "\\", " ", "é", "true"]
        let text = (0..<20).map { _ in pieces.randomElement(using: &dice) ?? "" }.joined()
        _ = memberText("type", of: text)
    }
}

extension String {
    fileprivate func repeated(_ count: Int) -> String { String(repeating: self, count: count) }
}

@Suite struct PlaceIndexTests {
    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func anIndexFindsWhatTheModelFinds(_ seed: UInt64) {
        var dice = SeededGenerator(seed: seed)
        var index = HashIndex()
        var model: [Int32: UInt32] = [:]
        // Few hashes, so that many collide and gaps are closed across homes.
        let hashes: [UInt32] = (0..<40).map { _ in UInt32.random(in: 0..<64, using: &dice) }
        for step in 0..<2_000 as Range<Int32> {
            if Bool.random(using: &dice), model.count < 60 {
                let hash = hashes.randomElement(using: &dice) ?? 0
                index.insert(hash, step)
                model[step] = hash
            } else if let (place, hash) = model.min(by: { $0.key < $1.key }) {
                index.remove(hash, place)
                model[place] = nil
            }
            for (place, hash) in model {
                #expect(index.find(hash) { $0 == place } == place)
            }
            #expect(index.find(7) { _ in false } == nil)
        }
    }
}
