// The scenario notation: what it reads, and what it says when something is not as written.

import AgentCore
import CallSimulator
import Foundation
import Testing

@Suite struct NotationTests {
    private func run(_ text: String) throws -> Scenario.Outcome {
        var rig = CoreRig()
        return try Scenario(named: "test", text).run(on: &rig)
    }

    private let opening = """
        with alice, bob

        alice invites bob as c1
            alice ← ok c1 ringing: alice joined, bob inviting
            bob   ← incoming c1 from alice, 90s left: alice joined, bob inviting

        """

    @Test func aConversationThatIsAsWrittenHasNoProblems() throws {
        let outcome = try run(opening)
        #expect(outcome.problems.isEmpty)
        #expect(outcome.recorded.text == opening)
    }

    @Test func anUnlistedSightIsAProblem() throws {
        let text = opening.replacing("    bob   ← incoming", with: "    dave  ← incoming")
        let outcome = try run(text)
        #expect(
            outcome.problems == [
                """
                line 3: alice invites bob as c1   (- as written, + as seen)
                    alice ← ok c1 ringing: alice joined, bob inviting
                  - dave ← incoming c1 from alice, 90s left: alice joined, bob inviting
                  + bob ← incoming c1 from alice, 90s left: alice joined, bob inviting
                """
            ])
        #expect(outcome.recorded.text == opening)
    }

    @Test func theOrderOfOneObserverCounts() throws {
        let sights = [
            "    bob   ← ok c1 active: alice joined, bob joined\n",
            "    bob   ← changed c1: bob joined\n", "    alice ← changed c1: bob joined\n",
        ]
        let text = opening + "bob accepts c1\n" + sights.joined()
        #expect(try run(text).problems.isEmpty)
        let other = opening + "bob accepts c1\n" + sights[1] + sights[0] + sights[2]
        #expect(try run(other).problems.count == 1)
    }

    @Test func theOrderBetweenObserversDoesNotCount() throws {
        let text = """
            with alice, bob
            alice invites bob as c1
                bob   ← incoming c1 from alice, 90s left: alice joined, bob inviting
                alice ← ok c1 ringing: alice joined, bob inviting

            """
        #expect(try run(text).problems.isEmpty)
    }

    @Test(arguments: [
        ("    bob ← ok", "line 1: nothing to see before the first step"),
        ("bob accepts c1", "line 1: no call is named c1"),
        ("with bob\nbob connects\n    bob sees", "line 3: expected `SOMEBODY ← WHAT THEY SEE`"),
        ("bob ends c1", "line 1: no call is named c1"),
        ("bob dances nowhere", "line 1: nobody `dances` anything"),
        ("bob accepts nowhere loudly", "line 1: expected the end of the line, found `loudly`"),
        ("bob invites", "line 1: expected a user, found the end of the line"),
        ("bob invites a mode x", "line 1: no mode is called x"),
        ("bob invites a timeout 3", "line 1: `3` is no length of time, like 30s"),
        ("bob invites a saying \"x", "line 1: a text without its closing quote"),
        ("30s go", "line 1: expected `pass`, found `go`"),
        ("setting colour red", "line 1: setting colour red: no setting is called `colour`"),
        ("policy dial allows", "line 1: policy dial allows: nobody asked the policies that"),
    ])
    func whatIsWrongWithAFileIsSaidWithItsLine(_ text: String, _ problem: String) {
        let said: String
        do {
            said = try run(text).problems.first ?? "nothing"
        } catch {
            said = "\(error)"
        }
        #expect(said == problem)
    }

    @Test func theConversationOfThePageIsAsItHappens() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../Sources/CallSimulator/CallSimulator.docc/CallSimulator.md")
        let text = try String(contentsOf: page.standardized, encoding: .utf8)
        let parts = text.components(separatedBy: "```\n")
        let outcome = try run(try #require(parts.count > 1 ? parts[1] : nil))
        #expect(outcome.problems.isEmpty)
        #expect(outcome.recorded.text == parts[1])
        for fault in PlantedFault.allCases { #expect(text.contains("| `\(fault.rawValue)` |")) }
    }

    @Test func longLinesAreWrappedAndReadAgain() throws {
        let users = (1...9).map { "participant-\($0)" }.joined(separator: ", ")
        let text = "alice invites \(users) as c1 mode advanced kind video timeout 30s\n"
        let recorded = try run(text).recorded.text
        #expect(recorded.split(separator: "\n").allSatisfy { $0.count <= 100 })
        #expect(try run(recorded).problems.isEmpty)
        #expect(try run(recorded).recorded.text == recorded)
    }
}
