// Every participant's state × every trigger × every mode against the table.

import CallCore
import CallModel
import Foundation
import Testing

@Suite struct TransitionTests {
    @Test(arguments: TransitionTable.all)
    func everyStateInEveryModeDoesWhatTheTableSays(_ table: TransitionTable) throws {
        for mode in Mode.all {
            for situation in table.part.situations {
                let expected = try #require(table.cell(from: situation, mode: mode.name))
                let seen = Trial.run(table.trigger, from: situation, of: table.part, mode)
                #expect(seen == expected, "\(table.trigger) of \(situation) in \(mode.name)")
            }
        }
    }

    @Test func theTableTellsAboutEveryStateOnce() {
        for table in TransitionTable.all {
            let told = table.rows.flatMap(\.situations)
            #expect(told.sorted() == table.part.situations.sorted(), "\(table)")
            #expect(table.rows.allSatisfy { $0.cells.count == table.columns.count }, "\(table)")
        }
    }

    @Test func everyTriggerHasATableForEveryPart() {
        for part in TransitionTable.Part.allCases {
            let triggers = TransitionTable.all.filter { $0.part == part }.map(\.trigger)
            #expect(Set(triggers).count == triggers.count)
            #expect(triggers.sorted() == Trial.triggers(of: part).sorted(), "\(part)")
        }
    }

    @Test func thePageOfTheDocumentationIsFresh() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/CallCore/CallCore.docc/Transitions.md")
        if ScenarioTests.isRecording {
            try TransitionTable.page.write(to: page, atomically: true, encoding: .utf8)
            Issue.record("the page was written: read it, then run again")
        }
        let written = try String(contentsOf: page, encoding: .utf8)
        #expect(written == TransitionTable.page, "stale: run with CALLAGENT_RECORD=1")
    }
}
