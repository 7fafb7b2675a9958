// What is entered into journals is found again, in its order, and within its bounds.

import CallModel
import JSON
import Testing

@testable import AgentCore

extension Journal {
    fileprivate func asks(
        _ operation: CallModel.Operation, by address: (UserID, DeviceID), _ code: Refusal.Code?,
        in id: CallID, at now: Moment
    ) {
        let request = Request(
            id: RequestID(1), user: address.0, device: address.1, operation: operation)
        asks(request, code, in: id, at: now)
    }
}

@Suite struct JournalTests {
    private let start = Moment(1_795_000_000_000)

    private func id(_ number: Int64) -> CallID {
        CallID(high: UInt64(start.milliseconds + number) << 16, low: UInt64(number))
    }

    private func call(_ number: Int64, revision: UInt32 = 1, ended: Bool = false) -> Call {
        var call = Call(
            id: id(number), mode: .common, kind: "audio", ringTime: 60_000, deliveryCheck: nil,
            createdAt: start + number)
        call.participants = [
            Participant(user: UserID("ann"), role: .caller, state: .joined, at: start),
            Participant(
                user: UserID("bob"), role: .invitee, state: ended ? .rejected : .inviting,
                at: start),
        ]
        call.revision = revision
        if ended {
            call.state = .ended
            call.endedAt = start + number + 5
            call.end = Call.End(.rejected, by: UserID("bob"))
        }
        return call
    }

    private func entries(_ journal: Journal, _ id: CallID) -> [JSONValue] {
        guard let found = journal.found(id) else { return [] }
        return JournalText.entries(
            found.bytes, since: found.since, leftOut: found.leftOut, signals: found.signals)
    }

    private func invite(_ journal: Journal, _ number: Int64) {
        journal.asks(
            .invite(Invitation(invitees: [UserID("bob")])),
            by: (UserID("ann"), DeviceID("phone")), nil, in: id(number), at: start + number)
        journal.changed(call(number), by: ("ann", "phone"), at: start + number)
    }

    @Test func aCallOfAnEarlierProcessSaysThatThereWasABeginning() {
        let journal = Journal(begun: start + 1_000)
        // Its first change again, as of a question that is asked once more after a crash.
        journal.changed(call(1), by: ("policy", nil), at: start + 1_200)
        journal.changed(call(1, revision: 2), by: ("ann", "phone"), at: start + 1_300)
        invite(journal, 1_000)
        let found = entries(journal, id(1))
        #expect(found.map { $0["kind"]?.string } == ["note", "change", "change"])
        #expect(found[0]["at"]?.integer == (start + 1_000).milliseconds)
        #expect(journal.found(id(1))?.isWhole == false)
        #expect(entries(journal, id(1_000)).map { $0["kind"]?.string } == ["request", "change"])
        #expect(journal.found(id(1_000))?.isWhole == true)
    }

    @Test func entriesComeInTheirOrderAlsoWithinOneMillisecond() {
        let journal = Journal()
        invite(journal, 0)
        let incoming = CallEvent(
            callID: id(0), revision: 1, at: start, actor: .user(UserID("ann"), DeviceID("phone")),
            kind: .incoming(call(0), inviter: UserID("ann"), expiresIn: nil))
        let phone = Address(UserID("bob"), DeviceID("phone"))
        journal.told(incoming, phone, 7, at: start)
        journal.acknowledged(id(0), by: phone, at: start)
        journal.changed(call(0, revision: 2, ended: true), by: ("bob", "phone"), at: start + 5)
        let found = entries(journal, id(0))
        #expect(
            found.map { $0["kind"]?.string }
                == ["request", "change", "told", "acknowledged", "change"])
        #expect(found.map { $0["n"]?.integer } == [1, 2, 3, 4, 5])
        #expect(found[0]["op"] == "call.invite" && found[0]["code"] == nil)
        #expect(found[2]["event"] == "call.incoming" && found[2]["seq"] == 7)
        #expect(found[4]["at"] == .integer(start.milliseconds + 5))
        #expect(found[4]["end"]?["reason"] == "rejected" && found[4]["end"]?["by"] == "bob")
        #expect(
            found[1]["changes"]
                == [
                    ["user": "ann", "state": "joined", "reason": nil],
                    ["user": "bob", "state": "inviting", "reason": nil],
                ])
        // Only what has changed is told again.
        #expect(found[4]["changes"] == [["user": "bob", "state": "rejected", "reason": nil]])
    }

    @Test(arguments: [1, 500, 501, 600, 601, 5_000])
    func aCallKeepsItsFirstAndLastEntries(_ count: Int) {
        let journal = Journal()
        for number in 0..<count {
            journal.asks(
                .call(id(0), .leave()), by: (UserID("u\(number)"), DeviceID("d")), nil,
                in: id(0), at: start)
        }
        let found = entries(journal, id(0))
        let notes = found.filter { $0["kind"] == "note" }
        if count <= 500 {
            #expect(found.count == count && notes.isEmpty)
        } else {
            #expect(found.count == 501 && notes.count == 1)
            #expect(notes[0]["text"] == .string("\(count - 500) entries are left out"))
            #expect(found[99]["user"] == "u99")
            #expect(found.last?["user"] == .string("u\(count - 1)"))
            #expect(found.last?["n"] == .integer(Int64(count)))
        }
        #expect((journal.found(id(0))?.bytes.count ?? 0) <= 32_768)
    }

    @Test func largeEntriesStayWithinTheBytes() {
        let journal = Journal()
        let long = String(repeating: "x", count: 64)
        for _ in 0..<2_000 {
            var answer = JournalAnswer(
                hook: "invite", user: UserID(long), plugin: long, generation: long,
                decision: String(repeating: "y", count: 300))
            answer.failure = long
            journal.changed(call(0), by: (long, long), at: start)
            journal.answered(answer, in: id(0), at: start)
        }
        #expect((journal.found(id(0))?.bytes.count ?? .max) <= 32_768)
        #expect(entries(journal, id(0)).first?["kind"] == "change")
    }

    /// A call of an earlier version may have had any number of participants. Each change of an
    /// ended call tells of all of them anew.
    @Test(arguments: [900, 901, 1_100, 3_000])
    func anEntryTellsOfAsManyParticipantsAsItHasRoomFor(_ count: Int) throws {
        let journal = Journal()
        let people = (0..<count).map { number in
            let name = String("\(number)".reversed()) + String(repeating: "~", count: 64)
            return Participant(
                user: UserID(String(name.prefix(64))), role: .invitee, state: .cancelled, at: start)
        }
        func end(_ number: Int64) {
            var ended = call(number, revision: 2, ended: true)
            ended.participants = people
            journal.changed(ended, by: ("ann", "phone"), at: start)
        }
        func ask(_ user: Int) {
            journal.asks(
                .call(id(1), .leave()), by: (UserID("u\(user)"), DeviceID("d")), nil, in: id(1),
                at: start)
        }
        end(0)
        let entry = try #require(entries(journal, id(0)).first)
        #expect(entry["changes"]?.array?.count == min(count, 900))
        #expect(entry["changes"]?.array?.last?["state"] == "cancelled")
        // Behind the first entries there is no room for so much: it is taken out, and no other.
        for user in 0..<100 { ask(user) }
        end(1)
        ask(100)
        let found = try #require(journal.found(id(1)))
        #expect(found.leftOut == 1 && found.bytes.count < 32_768)
        let users = entries(journal, id(1)).compactMap { $0["user"]?.string }
        #expect(users.first == "u0" && users.last == "u100")
    }

    @Test func endedCallsGoWhenThereAreTooManyOrTheyAreTooLarge() {
        let journal = Journal()
        journal.limits.calls = 3
        for number in 0..<5 {
            invite(journal, Int64(number))
            journal.changed(
                call(Int64(number), revision: 2, ended: true), by: ("bob", nil), at: start)
        }
        #expect((0..<5).map { journal.found(id($0)) != nil } == [false, false, true, true, true])
        // With too little memory the oldest go, live ones too: a file may have them.
        journal.limits.memory = journal.size.bytes
        invite(journal, 10)
        invite(journal, 11)
        #expect(journal.found(id(2)) == nil && journal.found(id(11)) != nil)
        #expect(journal.size.bytes <= journal.limits.memory + 1_024)
        journal.limits.memory = 1
        invite(journal, 12)
        #expect(journal.size.calls == 1 && journal.found(id(12)) != nil)
        // What goes on after that is not whole.
        journal.changed(
            call(11, revision: 2, ended: true), by: ("bob", nil), at: start)
        #expect(journal.found(id(11))?.isWhole == false)
    }

    @Test func aRequestIsNoBeginningOfAJournalThatWasDropped() {
        let journal = Journal()
        let address = (UserID("ann"), DeviceID("phone"))
        journal.asks(
            .call(id(1), .cancel([]), saying: nil), by: address, nil, in: id(1), at: start)
        #expect(journal.found(id(1))?.isWhole == false)
        invite(journal, 2)
        #expect(journal.found(id(2))?.isWhole == true)
    }

    @Test func partsForTheFileAreGivenOnce() {
        let journal = Journal()
        journal.isWritten = true
        invite(journal, 0)
        let first = journal.takeParts()
        #expect(first.count == 1 && journal.takeParts().isEmpty)
        journal.changed(call(0, revision: 2, ended: true), by: ("bob", nil), at: start)
        let second = journal.takeParts()
        let whole = first[0].bytes + second[0].bytes
        #expect(whole == journal.found(id(0))?.bytes)
        #expect(JournalText.entries(whole, since: start).count == 3)
    }

    @Test func damagedBytesAreShownAsFarAsTheyGo() throws {
        let journal = Journal()
        invite(journal, 0)
        let bytes = try #require(journal.found(id(0))?.bytes)
        for end in 0...bytes.count {
            #expect(JournalText.entries(Array(bytes[..<end]), since: start).count <= 2)
        }
        var noise = bytes
        for place in noise.indices {
            noise[place] ^= 0xA5
            _ = JournalText.entries(noise, since: start)
        }
    }

    /// A journal with an entry of every kind, in which bob has a part.
    private func full() -> Journal {
        let journal = Journal()
        journal.isWritten = true
        invite(journal, 0)
        let phone = Address(UserID("bob"), DeviceID("bobs-phone"))
        journal.told(
            CallEvent(
                callID: id(0), revision: 1, at: start, actor: .timer(.ring),
                kind: .incoming(call(0), inviter: UserID("ann"), expiresIn: nil)),
            phone, 7, at: start)
        journal.acknowledged(id(0), by: phone, at: start)
        journal.connection(of: phone, isThere: true, nil, in: [id(0)], at: start)
        journal.connection(of: phone, isThere: false, "bye", in: [id(0)], at: start)
        var answer = JournalAnswer(
            hook: "invite", user: UserID("bob"), plugin: "bob", generation: "g",
            decision: "forward")
        answer.detail = "to bob, not to bobby"
        journal.answered(answer, in: id(0), at: start)
        journal.sent(
            JournalDelivery(to: (UserID("bob"), DeviceID("bobs-phone")), "fcm", "sent"), in: id(0),
            at: start)
        journal.sent(JournalDelivery("crm", "delivered", status: "204"), in: id(0), at: start)
        journal.asks(
            .call(id(0), .accept(.init())), by: (UserID("bob"), DeviceID("bobs-phone")), .expired,
            in: id(0), at: start + 4)
        journal.changed(call(0, revision: 2, ended: true), by: ("bob", "bobs-phone"), at: start + 5)
        return journal
    }

    @Test func whoIsForgottenIsNamedNoMore() throws {
        let gone = Forgotten(UserID("bob"), as: UserID("deleted:0123456789012345"))
        let (journal, whole) = (full(), full())
        let parts = journal.takeParts()
        journal.forget(gone, in: id(0))
        let (old, new) = (entries(whole, id(0)), entries(journal, id(0)))
        #expect(Set(old.compactMap { $0["kind"]?.string }).count == 10)
        #expect(new.map { $0["kind"] } == old.map { $0["kind"] })
        #expect(new.map { $0["at"] } == old.map { $0["at"] })
        let text = new.map { "\($0)" }.joined()
        #expect(!text.contains("\"user\":\"bob\"") && !text.contains("bobs-phone"))
        #expect(text.contains("to deleted:0123456789012345, not to bobby"))
        let answered = try #require(new.first { $0["kind"] == "answered" })
        #expect(answered["plugin"] == "bob", "a plugin is no person")
        #expect(new.last?["actor"] == .string(gone.substitute.text))
        #expect(new.last?["end"]?["by"] == .string(gone.substitute.text))
        // What was handed over is not handed over again.
        #expect(parts.count == 1 && journal.takeParts().isEmpty)
        journal.changed(call(0, revision: 3, ended: true), by: ("ann", "phone"), at: start + 6)
        let more = try #require(journal.takeParts().first)
        #expect(JournalText.entries(more.bytes, since: start).count == 1)
        #expect(journal.size.bytes == 256 + (journal.found(id(0))?.bytes.count ?? 0))
    }

    @Test func damagedBytesAreForgottenAsFarAsTheyGo() throws {
        let gone = Forgotten(UserID("bob"), as: UserID("deleted:0123456789012345"))
        let bytes = try #require(full().found(id(0))?.bytes)
        for end in stride(from: 0, through: bytes.count, by: 7) {
            _ = JournalText.forgetting(gone, in: Array(bytes[..<end]))
        }
        var noise = bytes
        for place in noise.indices {
            noise[place] ^= 0xA5
            _ = JournalText.forgetting(gone, in: noise)
        }
        let nobody = Forgotten(UserID("eve"), as: gone.substitute)
        #expect(JournalText.forgetting(nobody, in: bytes) == bytes)
    }

    @Test func whoIsForgottenNeitherCameNorWasCalled() {
        let journal = Journal()
        for user in ["ann", "bob"] {
            journal.connection(
                of: Address(UserID(user), DeviceID("d")), isThere: true, nil, in: [], at: start)
            journal.noteRefused(
                .invite(Invitation(invitees: [UserID("cid")])), by: UserID(user),
                Refusal(.rateLimited, "too many"), at: start)
        }
        journal.forget(UserID("bob"))
        #expect(journal.people.connections(of: UserID("bob")).isEmpty)
        #expect(journal.people.connections(of: UserID("ann")).count == 1)
        let refused = journal.people.refused(inviting: UserID("cid"), since: start)
        #expect(refused.map(\.caller.text) == ["ann"])
        journal.forget(UserID("cid"))
        #expect(journal.people.refused(inviting: UserID("cid"), since: start).isEmpty)
    }

    @Test func entriesHaveTheTraceOfWhatLedToThemAlsoWithoutSomebody() throws {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        let trace = try #require(TraceParent(text))
        let bob = UserID("bob")
        let journal = Journal()
        for (trace, isNamed) in [(trace, true), (nil, false)] as [(TraceParent?, Bool)] {
            let number: Int64 = isNamed ? 1 : 2
            var request = Request(
                id: RequestID(1), user: UserID("ann"), device: DeviceID("phone"),
                operation: .invite(Invitation(invitees: [bob])))
            request.trace = trace
            journal.asks(request, .busy, in: id(number), at: start)
            journal.changed(call(number), by: ("ann", "phone"), at: start)
            journal.asked(
                Question(
                    id: QuestionID(1), decideBy: start,
                    subject: .invite(call(number), callee: bob, from: 0),
                    cause: Cause(bob), trace: trace), at: start)
            for address in [nil, (bob, DeviceID("tab"))] as [(user: UserID, device: DeviceID?)?] {
                var delivery = JournalDelivery(to: address, "crm", "sent", status: "200", took: 7)
                delivery.trace = trace
                if address == nil { delivery.event = "call.created" }
                journal.sent(delivery, in: id(number), at: start)
            }
            let found = entries(journal, id(number))
            let kinds = ["request", "change", "asked", "webhook", "push"]
            #expect(found.map { $0["kind"]?.string } == kinds)
            let named = [text, nil, text, text, text]
            #expect(found.map { $0["traceparent"]?.string } == named.map { isNamed ? $0 : nil })
            #expect(found[3]["event"] == "call.created" && found[4]["event"] == nil)
            journal.forget(Forgotten(bob, as: UserID("deleted:1")), in: id(number))
            let after = entries(journal, id(number))
            #expect(after.map { $0["traceparent"]?.string } == named.map { isNamed ? $0 : nil })
            #expect(after[2]["user"] == "deleted:1" && after[0]["code"] == "busy")
            #expect(after[4]["ms"] == 7 && after[3]["event"] == "call.created")
        }
    }

    @Test func oneCallerWhoIsRefusedAgainAndAgainHidesNobodyElse() {
        let journal = Journal()
        let busy = Refusal(.busy, "in a call")
        func refuse(_ caller: String, at moment: Moment) {
            let invitation = Invitation(invitees: [UserID("bob")])
            journal.noteRefused(.invite(invitation), by: UserID(caller), busy, at: moment)
        }
        let phone = Address(UserID("bob"), DeviceID("phone"))
        journal.connection(of: phone, isThere: true, nil, in: [], at: start)
        refuse("ann", at: start)
        for number in 1...Int64(PeopleJournal.most) {
            refuse("eve", at: start + number)
            journal.connection(
                of: Address(UserID("eve"), DeviceID("phone")), isThere: true, nil, in: [],
                at: start + number)
        }
        let found = journal.people.refused(inviting: UserID("bob"), since: start)
        #expect(found.first?.caller == UserID("ann"))
        #expect(found.count == 1 + PeopleJournal.share)
        #expect(found.last?.at == start + Int64(PeopleJournal.most))
        #expect(journal.people.refused(by: UserID("ann"), since: start).count == 1)
        #expect(journal.people.connections(of: UserID("bob")).count == 1)
        #expect(journal.people.connections(of: UserID("eve")).count == PeopleJournal.share)
    }

    @Test func whatNobodyMadeLeavesNoJournal() {
        let journal = Journal()
        let phone = Address(UserID("eve"), DeviceID("phone"))
        journal.acknowledged(id(1), by: phone, at: start)
        journal.sent(JournalDelivery("crm", "delivered"), in: id(1), at: start)
        #expect(journal.size.calls == 0)
        journal.noteRefused(
            .invite(Invitation(invitees: [UserID("bob")])), by: UserID("ann"),
            Refusal(.rateLimited, "too many"), at: start)
        #expect(journal.people.refused(inviting: UserID("bob"), since: start).count == 1)
        #expect(journal.people.refused(inviting: UserID("bob"), since: start + 1).isEmpty)
        #expect(journal.people.refused(inviting: UserID("carl"), since: start).isEmpty)
    }
}
