// The same trouble again and again is one line now and then.

import CallModel
import Testing

@testable import AgentCore

@Suite struct RepeatedLineTests {
    @Test func theFirstOneIsToldTheOthersAreCounted() {
        var line = RepeatedLine()
        let told = (0..<5).map { line.admit("a", at: Moment(Int64($0) * 3_000)) }
        #expect(told == [0, nil, nil, nil, 3])
        let other = line.admit("b", at: Moment(12_001))
        #expect(other == 0)
    }

    @Test func itRemembersSoManyTroublesAndNoMore() {
        var line = RepeatedLine()
        for number in 0...1_000 { _ = line.admit("\(number)", at: Moment(0)) }
        let again = line.admit("0", at: Moment(1))
        #expect(again == 0)
    }
}
