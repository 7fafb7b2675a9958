// Which trace has what requests, answers and timers bring about.

import CallCore
import CallModel
import Testing

@testable import AgentCore
@testable import AgentServer

@Suite struct TraceTests {
    private let first = TraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    private let second = TraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")

    /// An exchange with somebody who sends things out.
    private func start() throws -> (ExchangeRig, OutboxDouble) {
        #expect(first != nil && second != nil)
        let rig = try ExchangeRig()
        let outbox = OutboxDouble()
        rig.exchange.outbox = outbox
        var settings = Settings()
        settings.hooks = [.reports]
        settings.wakesDevices = true
        settings.answerFor = Accounts(["support", "desk"])
        rig.exchange.configure(settings)
        return (rig, outbox)
    }

    private func invite(_ users: String..., ringing: Milliseconds = 60_000) -> CallModel.Operation {
        var invitation = Invitation(invitees: users.map { UserID($0) })
        (invitation.mode, invitation.timeout) = (.advanced, ringing)
        return .invite(invitation)
    }

    private func live(_ rig: ExchangeRig) throws -> CallID {
        try #require(rig.exchange.switchboard.liveCalls.first).id
    }

    private func isAll(_ traces: [TraceParent?], _ trace: TraceParent?) -> Bool {
        !traces.isEmpty && traces.allSatisfy { $0 == trace }
    }

    @Test func aRequestLeavesItsTraceWithAllThatFollows() throws {
        let (rig, outbox) = try start()
        defer { rig.close() }
        rig.ask(invite("bob"), trace: first)
        let begun = outbox.takeTraces()
        #expect(isAll(begun.reported, first) && begun.pushed == [first])
        let id = try live(rig)
        rig.ask(.call(id, .ringing), as: "bob")
        #expect(isAll(outbox.takeTraces().reported, first), "it names none")
        rig.ask(.call(id, .accept()), as: "bob", trace: second)
        #expect(isAll(outbox.takeTraces().reported, second))
        rig.ask(.call(id, .end()))
        #expect(isAll(outbox.takeTraces().reported, second))
        #expect(rig.exchange.traces.count == 0)
    }

    @Test func theAnswerToAQuestionGoesOnInItsTrace() throws {
        let (rig, outbox) = try start()
        defer { rig.close() }
        rig.ask(invite("bob", "support"), trace: first)
        let question = try #require(rig.policies.asked.first)
        #expect(question.trace == first)
        // Others ask meanwhile, and are traced too.
        rig.ask(invite("desk"), as: "ben", trace: second)
        #expect(rig.policies.asked.last?.trace == second)
        _ = outbox.takeTraces()
        let accept = Answer.invite(.accept(wait: 0, extendedData: nil), by: "p", next: 1)
        rig.exchange.feed(.answered(question.id, accept))
        let told = outbox.takeTraces()
        #expect(isAll(told.reported, first) && isAll(told.pushed, first))
        rig.exchange.feed(.answered(try #require(rig.policies.asked.last).id, accept))
        #expect(isAll(outbox.takeTraces().reported, second))
    }

    @Test func whatNobodyAskedForGoesOnInTheTraceOfTheCall() throws {
        let (rig, outbox) = try start()
        defer { rig.close() }
        rig.ask(invite("bob"), trace: first)
        let id = try live(rig)
        rig.ask(.call(id, .add([UserID("carl")])), trace: second)
        _ = outbox.takeTraces()
        rig.exchange.feed(
            .policyRequest(
                RequestID(900), UserID("bob"), plugin: "p",
                .call(id, .reject())))
        #expect(isAll(outbox.takeTraces().reported, second))
    }

    @Test func withoutATraceThereIsNone() throws {
        let (rig, outbox) = try start()
        defer { rig.close() }
        rig.ask(invite("eve"), as: "dan", trace: first)
        _ = outbox.takeTraces()
        rig.ask(invite("bob", "support"))
        #expect(isAll(rig.policies.asked.map(\.trace), nil))
        rig.exchange.feed(.answered(try #require(rig.policies.asked.first).id, .none))
        let told = outbox.takeTraces()
        #expect(isAll(told.reported, nil) && isAll(told.pushed, nil))
    }

    @Test func nothingIsKeptOfWhatLeadsNowhere() throws {
        let (rig, _) = try start()
        defer { rig.close() }
        let other = CallID(high: 1, low: 1)
        rig.ask(invite("bob"), as: "ben")
        let id = try live(rig)
        for _ in 0..<100 {
            // A call of others, one that nobody knows, no call, and what only reads.
            rig.ask(.call(id, .accept()), as: "eve", trace: first)
            rig.ask(.call(id, .get), as: "bob", trace: first)
            rig.ask(.list(ListQuery()), trace: first)
            rig.ask(invite("alice"), trace: first)
            let number = rig.ask(.call(other, .accept()), trace: first)
            #expect(rig.exchange.traces.count <= 1, "the store is asked")
            rig.exchange.feed(.recalled(other, nil))
            #expect(number > 0 && rig.exchange.traces.count == 0)
        }
        rig.ask(.call(other, .accept()), trace: first)
        rig.fail()
        #expect(rig.exchange.traces.count == 0)
    }

    @Test func manyCallsLeaveNothingWhenTheyEnd() throws {
        let (rig, _) = try start()
        defer { rig.close() }
        for _ in 0..<300 { rig.ask(invite("bob", "support"), trace: first) }
        // Their questions, and nobody answers them.
        #expect(rig.exchange.traces.count > 0)
        for question in rig.policies.asked {
            rig.exchange.feed(.answered(question.id, .none))
        }
        let calls = rig.exchange.switchboard.liveCalls.map(\.id)
        #expect(!calls.isEmpty && rig.exchange.traces.count == calls.count)
        for call in calls { rig.ask(.call(call, .end()), trace: second) }
        #expect(rig.exchange.traces.count == 0)
    }
}
