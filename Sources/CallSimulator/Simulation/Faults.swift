// What goes wrong in a simulated world, and how often.

import AgentCore
import CallModel

/// Faults of the simulated world, each with its chances in a thousand.
public struct Faults: Sendable, Equatable {
    /// Per message: the connection breaks, and what is under way on it is lost.
    public var cutLine = 0
    /// Per message: many connections break, and come back in another order.
    public var swizzle = 0
    /// Per message to the server: it dies at some effect of what follows, and starts again.
    public var crash = 0
    /// Per message to the server: it stands still for a while, and time jumps for it.
    public var stall = 0
    /// Per commit: the disk takes its time.
    public var slowDisk = 0
    /// Per commit: the disk fails, and nothing of the commit is stored; every other time the server
    /// dies with it.
    public var failingDisk = 0
    /// Per question: the answer comes when it no longer matters.
    public var latePolicy = 0
    /// Per question: no answer, or one to another question.
    public var brokenPolicy = 0
    /// Per HTTP request or response: it never arrives.
    public var lostHTTP = 0
    /// Per HTTP request: it arrives twice.
    public var doubledHTTP = 0
    /// Per push: it is lost, or comes twice.
    public var badPush = 0

    /// A world without faults.
    public init() {}

    /// Faults that the dice of `seed` choose: some kinds often, some rarely, some never.
    public init(seed: UInt64) {
        var dice = SeededGenerator(seed: seed ^ 0xFA01)
        func chance(_ rare: Int, _ often: Int) -> Int {
            [0, 0, rare, often].randomElement(using: &dice) ?? 0
        }
        cutLine = chance(3, 25)
        swizzle = chance(1, 4)
        crash = chance(1, 6)
        stall = chance(1, 5)
        slowDisk = chance(20, 400)
        failingDisk = chance(2, 15)
        latePolicy = chance(50, 500)
        brokenPolicy = chance(50, 500)
        lostHTTP = chance(50, 300)
        doubledHTTP = chance(50, 300)
        badPush = chance(50, 300)
    }

    /// Makes common what `planted` needs in order to show.
    mutating func bringOut(_ planted: PlantedFault) {
        switch planted {
        case .answerUnloaded, .lostPage: crash = max(crash, 20)
        case .failureOverlooked, .nobodySentAway:
            (failingDisk, slowDisk) = (max(failingDisk, 15), max(slowDisk, 400))
        case .lostKey: (doubledHTTP, crash) = (max(doubledHTTP, 300), max(crash, 6))
        case .shortReplay, .deafAfterReplacement: cutLine = max(cutLine, 25)
        case .earlyReply, .earlyEvent, .lateReplacement: slowDisk = max(slowDisk, 400)
        case .lostWithdrawal: latePolicy = max(latePolicy, 500)
        // A start forgets all sessions.
        case .sessionForEver: (crash, failingDisk) = (0, 0)
        default: break
        }
    }

    /// The faults with their chances, for a person.
    public var text: String {
        let all: [(String, Int)] = [
            ("cut line", cutLine), ("swizzle", swizzle), ("crash", crash), ("stall", stall),
            ("slow disk", slowDisk), ("failing disk", failingDisk), ("late policy", latePolicy),
            ("broken policy", brokenPolicy), ("lost HTTP", lostHTTP),
            ("doubled HTTP", doubledHTTP), ("bad push", badPush),
        ]
        let some = all.filter { $0.1 > 0 }.map { "\($0.0) \($0.1)‰" }
        return some.isEmpty ? "none" : some.joined(separator: ", ")
    }
}

extension PlantedFault {
    /// Makes common what it needs in order to show.
    func bringOut(_ settings: inout Settings) {
        switch self {
        case .jobNumberTwice: settings.wakesDevices = true
        case .sessionForEver: settings.devicesPerUser = 3
        case .lateReplacement: settings.devicesPerUser = 1
        case .questionTwice, .lostQuestion, .lostWithdrawal, .answerToAnother, .lostPluginReply:
            settings.hooks = Hooks(rawValue: 127)
        default: break
        }
    }
}
