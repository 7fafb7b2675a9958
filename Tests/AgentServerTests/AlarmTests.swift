// What an operator reads of an alarm, and which end with a canary.

import ClusterCore
import PolicyHost
import Testing

@testable import AgentServer

@Suite struct AlarmTests {
    private static let all: [(alarm: Alarm, text: String, isAboutCanary: Bool)] = [
        (
            .policies(.canaryFails("3fa9", accounts: 2)),
            "the canary 3fa9 fails, and stays: 2 met it, "
                + "which is too few to take it back by itself", true
        ),
        (
            .lostCanary("3fa9", "it is not kept"),
            "the canary 3fa9 has ended: it cannot be loaded: it is not kept", true
        ),
        (
            .policies(.noWayBack("3fa9", .failures(2), refused: "no grant")),
            "the generation 3fa9 fails: its plugins failed 2 times, and there is no way back: "
                + "no grant", false
        ),
        (
            .file("callagent.lua:1: no", missingKeys: ["k1", "k2"]),
            "the operator's file does not evaluate: the server's part last in force goes on, "
                + "without the keys that were written as text: k1, k2 (callagent.lua:1: no)", false
        ),
        (
            .lossOfCommits(from: 1, to: 2),
            "acknowledged calls may be lost: the database changed from timeline 1 to 2 "
                + "without a standby in step", false
        ),
        (
            .setBack(SetBack(from: 4, to: 1)),
            "acknowledged calls may be lost: the database went back from epoch 4 to 1, as one that "
                + "is restored or a standby that was not in step", false
        ),
        (
            .lostNode("b"), "node b is lost: start it, or callagent cluster forget b", false
        ),
        (
            // An operator may call a node what they like.
            .differingNode("the canary ", ["limits", "users"]),
            "node the canary  has other settings: limits, users", false
        ),
    ]

    @Test func eachIsTextOnlyForPeople() {
        for (alarm, text, isAboutCanary) in Self.all {
            #expect("\(alarm)" == text)
            #expect(alarm.isAboutCanary == isAboutCanary)
        }
        #expect(Self.all.filter(\.alarm.isLossOfCommits).count == 2)
    }

    @Test func whyAGenerationWent() {
        #expect("\(GenerationFault.quarantine)" == "a plugin was quarantined")
        #expect("\(GenerationFault.failures(1))" == "a plugin failed")
        #expect(
            "\(GenerationFault.share(10, before: 0))"
                == "decisions for 10 % of the accounts failed, for 0 % before")
    }
}
