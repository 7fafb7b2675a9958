// Open questions are found by their id and by what they are about.

import CallModel
import Testing

@testable import CallCore

@Suite struct OpenQuestionsTests {
    private func invitee(_ user: String, _ call: UInt64) -> ParticipantKey {
        ParticipantKey(user: UserID(user), call: CallID(high: call, low: call))
    }

    @Test func aQuestionIsFoundByBothOfItsNamesUntilItIsClosed() {
        var open = OpenQuestions()
        let (bob, support) = (invitee("bob", 1), invitee("support", 1))
        #expect(open.isEmpty && open.ids.isEmpty && open[bob] == nil)
        open.open(QuestionID(1), InviteQuestion(invitee: bob, push: PushText(title: "t")))
        open.open(QuestionID(2), InviteQuestion(invitee: support, push: nil))
        #expect(!open.isEmpty && Set(open.ids) == [QuestionID(1), QuestionID(2)])
        #expect(open[bob]?.push?.title == "t" && open[support]?.push == nil)
        #expect(open[support] != nil && open[invitee("bob", 2)] == nil)
        #expect(open.close(QuestionID(1))?.invitee == bob)
        #expect(open.close(QuestionID(1)) == nil && open.close(about: bob)?.id == nil)
        #expect(open[bob] == nil && open.ids == [QuestionID(2)])
        #expect(open.close(about: support)?.id == QuestionID(2))
        #expect(open.close(QuestionID(2)) == nil && open.isEmpty)
    }

    @Test func manyQuestionsOfManyCallsAreToldApart() {
        var open = OpenQuestions()
        var dice = SeededGenerator(seed: 7)
        var expected: [QuestionID: ParticipantKey] = [:]
        for number in 1...3_000 as ClosedRange<UInt64> {
            let about = invitee("user-\(number % 7)", number / 7)
            open.open(QuestionID(number), InviteQuestion(invitee: about, push: nil))
            expected[QuestionID(number)] = about
            if dice.next() % 3 > 0, let (id, about) = expected.first {
                if dice.next() % 2 == 0 {
                    #expect(open.close(id)?.invitee == about)
                } else {
                    #expect(open.close(about: about)?.id == id)
                }
                expected[id] = nil
            }
        }
        #expect(Set(open.ids) == Set(expected.keys))
        for (id, about) in expected { #expect(open.close(about: about)?.id == id) }
        #expect(open.isEmpty)
    }
}
