// What is counted where every request passes.

import CallModel
import Testing

@testable import AgentCore

@Suite struct FiguresTests {
    private func expectOwnNumbers<Key: Hashable & Sendable & CaseIterable>(of type: Key.Type) {
        var tally = Tally<Key>()
        for (place, key) in Key.allCases.enumerated() {
            #expect(key.casePlace == place)
            for _ in 0...place { tally.note(key) }
        }
        for (place, key) in Key.allCases.enumerated() {
            #expect(tally[key] == UInt64(place + 1), "\(key)")
        }
        let count = UInt64(Key.allCases.count)
        #expect(tally.total == count * (count + 1) / 2)
    }

    @Test func everyCaseHasANumberOfItsOwn() {
        expectOwnNumbers(of: OperationName.self)
        expectOwnNumbers(of: EventName.self)
        expectOwnNumbers(of: Refusal.Code.self)
        expectOwnNumbers(of: EndReason.self)
        expectOwnNumbers(of: LogLevel.self)
    }

    @Test func aDurationIsCountedBelowTheFirstBoundThatHoldsIt() {
        var durations = Durations([10, 100], rows: 2)
        for duration in [-5, 0, 10, 11, 100, 101] as [Milliseconds] {
            durations.note(duration, row: 1)
        }
        #expect(durations.counts(row: 0) == [0, 0, 0] && durations.sum(row: 0) == 0)
        #expect(durations.counts(row: 1) == [3, 2, 1])
        #expect(durations.sum(row: 1) == 222, "what never was adds nothing")
    }

    private func call(_ number: UInt64, answered: Moment? = nil) -> Call {
        var call = Call(
            id: CallID(high: 1, low: number), mode: .direct, kind: "audio", ringTime: 60_000,
            deliveryCheck: nil, createdAt: Moment(1_000))
        call.answeredAt = answered
        return call
    }

    @Test func aCallIsAnsweredOnceHoweverOftenItChangesInThatMoment() {
        var figures = CallFigures()
        let row = Int(ModeRow.direct.place ?? 0)
        figures.changes(call(1), at: Moment(1_000))
        for _ in 0..<3 {
            figures.changes(call(1, answered: Moment(4_000)), at: Moment(4_000))
            figures.changes(call(2, answered: Moment(4_000)), at: Moment(4_000))
        }
        figures.changes(call(1, answered: Moment(4_000)), at: Moment(5_000))
        #expect(figures.answers.sum(row: row) == 6_000)
        #expect(figures.answers.counts(row: row).reduce(0, +) == 2)
        #expect(figures.answers.counts(row: row)[2] == 2)
    }

    @Test func anEndIsCountedByModeAndReason() {
        var figures = CallFigures()
        var over = call(1)
        figures.begins(over.row)
        over.state = .ended
        over.end = Call.End(.noAnswer)
        figures.changes(over, at: Moment(2_000))
        let row = Int(ModeRow.direct.place ?? 0)
        #expect(figures.started[row] == 1 && figures.started.reduce(0, +) == 1)
        for mode in Mode.all.indices {
            for reason in EndReason.allCases {
                let isIt = mode == row && reason == .noAnswer
                #expect(figures.ended(reason, mode: mode) == (isIt ? 1 : 0))
            }
        }
    }

    @Test func aRequestIsKnownUntilItIsAnswered() {
        var requests = RequestRegistry()
        let plugins = requests.add(.policy { _ in })
        let clients = requests.add(.policy { _ in })
        requests.note(clients, .bye, at: Moment(7))
        #expect(requests.asked(plugins) == nil)
        let asked = requests.asked(clients)
        #expect(asked?.operation == .bye && asked?.at == Moment(7))
        _ = requests.remove(clients)
        #expect(requests.asked(clients) == nil)
        _ = requests.add(.policy { _ in })
        #expect(requests.asked(clients) == nil, "its place has another one")
    }
}
