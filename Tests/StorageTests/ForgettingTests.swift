// A person goes out of everything that is kept, and nobody else does.

import CallModel
import StoreContract
import Testing

@testable import Storage

@Suite struct ForgettingTests {
    private let ann = UserID("ann")
    private let gone = Forgotten(
        UserID("ann"), as: UserID("deleted:0123456789012345"), called: PersonName(checking: "Ann"))

    /// A call of ann to bob that ended, with everything that names her.
    private func call(_ later: Int64) -> Call {
        var call = ended(ringingCall(later, ["ann", "bob"]), at: start + later + 5)
        call.extendedData = "hers"
        call.participants[0].device = DeviceID("anns-phone")
        call.participants[0].extendedData = "hers too"
        call.participants[1].extendedData = "his"
        call.views = [
            Call.View(receiver: UserID("bob"), owner: .call, text: "hers, shaped"),
            Call.View(receiver: ann, owner: .participant(UserID("bob")), text: "his, shaped"),
        ]
        call.end = Call.End(.cancelled, by: ann, extendedData: "hers as well")
        return call
    }

    private func outcome(_ job: Int64, _ user: String, _ device: String) -> PushOutcome {
        PushOutcome(
            job: JobID(job), call: callID(0), address: Address(UserID(user), DeviceID(device)),
            provider: "fcm", kind: .invite, at: start + 1, result: "sent")
    }

    private func key(_ user: String) -> StoreChange {
        .key(
            KeyEntry(
                user: UserID(user), key: "k", at: start + 1,
                kept: KeptReply(bodyHash: 7, reply: Array("{}".utf8))))
    }

    @Test func aCallNamesHerNoMore() {
        let call = call(0).forgetting(gone)
        #expect(!"\(call)".contains("ann") && !"\(call)".contains("hers"))
        #expect(call.participants.map(\.user.text) == [gone.substitute.text, "bob"])
        #expect(call.participants[1].invitedBy == gone.substitute)
        #expect(call.participants[1].extendedData == "his")
        #expect(call.views.map(\.receiver) == [gone.substitute])
        #expect(call.end?.by == gone.substitute && call.end?.reason == .cancelled)
        #expect(call.endedAt == start + 5 && call.revision == self.call(0).revision)
        // Whoever is in no part of it changes nothing.
        let nobody = Forgotten(UserID("eve"), as: gone.substitute)
        #expect(self.call(0).forgetting(nobody) == self.call(0))
    }

    @Test(arguments: [
        ("ann", "deleted:0123456789012345"), ("to ann.", "to deleted:0123456789012345."),
        ("joann ann2 ann@home @ann ann-2 ann.b", "joann ann2 ann@home @ann ann-2 ann.b"),
        ("{\"ann\":\"Ann\"}", "{\"deleted:0123456789012345\":\"deleted:0123456789012345\"}"),
        ("ann,ann", "deleted:0123456789012345,deleted:0123456789012345"),
        ("Änn ann", "Änn deleted:0123456789012345"), ("", ""), ("an", "an"),
    ])
    func onlyHerWordsAreReplaced(text: String, expected: String) {
        #expect(gone.replacing(in: text) == expected)
        #expect(gone.isNamed(in: text) == (text != expected))
    }

    @Test func substitutesHaveSixteenDigits() {
        var dice = SeededGenerator(seed: 1)
        for _ in 0..<100 {
            let text = Forgotten.newSubstitute(&dice).text
            #expect(text.hasPrefix("deleted:") && text.utf8.count == 24)
            #expect(text.dropFirst(8).allSatisfy { ("0"..."9").contains($0) })
        }
    }

    @Test(arguments: Kind.allCases)
    func herCallsAreTheSubstitutes(kind: Kind) throws {
        let rig = try Rig(kind)
        try rig.commit(
            .call(call(0)), .call(ended(ringingCall(10, ["bob", "ann"]), at: start + 20)),
            .call(ended(ringingCall(30, ["bob", "cid"]), at: start + 40)),
            .missed(ann, callID(10), at: start + 20),
            .missed(UserID("bob"), callID(0), at: start + 20),
            .push(.outcome(outcome(1, "ann", "phone"))),
            .push(.outcome(outcome(1, "ann", "tablet"))),
            .push(.outcome(outcome(1, "bob", "phone"))))
        let all = try rig.page("ann").calls
        #expect(all.map(\.id) == [callID(10), callID(0)])
        for call in all { try rig.commit(.forgotten(gone, in: call.forgetting(gone))) }
        #expect(try rig.page("ann").calls == [])
        #expect(try rig.page(gone.substitute.text).calls.map(\.id) == [callID(10), callID(0)])
        #expect(try rig.page("bob").calls.count == 3)
        #expect(try rig.reader.call(callID(0)) == call(0).forgetting(gone))
        let history = try rig.reader.history(HistoryQuery(limit: 9))
        #expect(history.calls.map(\.id) == [callID(30), callID(10), callID(0)])
        #expect(try rig.reader.missedCount(of: ann) == 0)
        #expect(try rig.reader.missedCount(of: UserID("bob")) == 1)
        let outcomes = try rig.reader.pushOutcomes(of: callID(0)).map(\.address)
        #expect(outcomes.count == 3 && !outcomes.contains { $0.user == ann })
        #expect(outcomes.contains(Address(UserID("bob"), DeviceID("phone"))))
        #expect(!outcomes.contains { $0.user == gone.substitute && $0.device.text == "phone" })
        // The second time there is nothing to do, and nothing changes.
        try rig.commit(.forgotten(gone, in: call(0).forgetting(gone)))
        #expect(try rig.page(gone.substitute.text).calls.count == 2)
        // What is not kept any more does not come back.
        let old = ended(ringingCall(50, ["ann", "bob"]), at: start + 60)
        try rig.commit(.forgotten(gone, in: old.forgetting(gone)))
        #expect(try rig.reader.call(callID(50)) == nil)
        #expect(try rig.page(gone.substitute.text).calls.count == 2)
    }

    @Test(arguments: Kind.allCases)
    func whatIsHersGoesAndWhatIsOthersStays(kind: Kind) throws {
        let rig = try Rig(kind)
        for user in ["ann", "bob"] {
            let phone = Address(UserID(user), DeviceID("phone"))
            try rig.commit(
                .registration(
                    phone, provider: "fcm",
                    PushRegistration(provider: "fcm", token: "t-\(user)", environment: nil)),
                key(user), .name(UserID(user), PersonName(checking: user), from: .server),
                .missed(UserID(user), callID(0), at: start + 1))
        }
        try rig.commit(.forget(ann))
        let reader = rig.reader
        #expect(try reader.registrations(of: ann) == [])
        #expect(try reader.registrations(of: UserID("bob")).count == 1)
        #expect(try reader.reply(of: ann, under: "k") == nil)
        #expect(try reader.reply(of: UserID("bob"), under: "k") != nil)
        #expect(try reader.names(after: nil, limit: 9).map(\.user.text) == ["bob"])
        #expect(try reader.missedCount(of: ann) == 0)
        #expect(try reader.missedCount(of: UserID("bob")) == 1)
        // She may come back, as somebody new.
        try rig.commit(key("ann"))
        #expect(try reader.reply(of: ann, under: "k") != nil)
    }

    /// The counters of keys know that hers are gone: others do not lose theirs for them.
    @Test(arguments: Kind.allCases)
    func herKeysCountNoMore(kind: Kind) throws {
        var limits = StoreLimits()
        limits.keysMax = 2
        let rig = try Rig(kind, limits: limits)
        try rig.commit(key("bob"), key("ann"))
        try rig.commit(.forget(ann))
        try rig.commit(key("cid"))
        #expect(try rig.reader.reply(of: UserID("bob"), under: "k") != nil)
        #expect(try rig.reader.reply(of: UserID("cid"), under: "k") != nil)
    }

    @Test(arguments: Kind.allCases)
    func aWebhookGoes(kind: Kind) throws {
        let rig = try Rig(kind)
        for number in 1...2 {
            try rig.commit(
                .webhook(
                    .add(
                        WebhookJob(
                            JobID(Int64(number)), endpoint: "crm", call: callID(0),
                            type: "call.ended", at: start, body: Array("{}".utf8)))))
        }
        try rig.commit(.webhook(.remove(JobID(1))))
        let left = try rig.reader.webhooks(.open, after: nil, limit: 9)
        #expect(left.map(\.job.id) == [JobID(2)])
        try rig.commit(.webhook(.remove(JobID(1))), .webhook(.remove(JobID(2))))
        #expect(try rig.reader.webhooks(.open, after: nil, limit: 9).isEmpty)
    }
}
