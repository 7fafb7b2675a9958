// The fast lane: quick questions on another thread than the host's, and whoever is too slow for it.

import CallModel
import Configuration
import JSON
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct FastLaneTests {
    /// A plugin that has shown that it is quick. What it does then is told by extended data.
    private func rig(
        _ text: String, _ others: [(String, String)] = [],
        _ change: (inout PluginLimits) -> Void = { _ in }
    ) throws -> Rig {
        let rig = try Rig([("p", text)] + others) { plan in
            for place in plan.plugins.indices {
                // A machine that is busy with others must not look like a slow plugin.
                plan.plugins[place].1.limits.runTime = 1_000
                plan.plugins[place].1.limits.laneTime = 1_000
                change(&plan.plugins[place].1.limits)
            }
        }
        for _ in 0..<20 { _ = rig.invite() }
        return rig
    }

    /// Asks about a call in the lane; nil: the lane does not take the question.
    private func askInLane(_ rig: Rig, data: String? = nil) -> [PolicyEffect]? {
        let question = Question(
            id: QuestionID(1_000 + UInt64(rig.asked)), decideBy: rig.now + 2_000,
            subject: .invite(rig.call(data: data), callee: UserID("bob"), from: 0),
            facts: [
                UserFacts(UserID("ann"), calls: 0, devices: 1),
                UserFacts(UserID("bob"), calls: 0, devices: 2),
            ],
            cause: Cause(UserID("ann")))
        guard rig.host.isQuick(.asked(question), at: rig.now) else { return nil }
        return rig.host.handleInLane(.asked(question), at: rig.now)
    }

    private static let busy = Answer.decided(.reject(busy: true, extendedData: nil))

    /// Takes far more time than the lane gives for `{"slow":true}`, far less than a run may take.
    private static let slowForSome = """
        on.invite(function(call)
          local sum = 0
          if (call.extended_data or {}).slow then for i = 1, 1000000 do sum = sum + i end end
          return reject "busy"
        end)
        """

    @Test func aFunctionOfAllThatIsNotWaitedForAnyMoreDoesNotRun() throws {
        let rig = try rig(
            """
            on.invite(function(call)
              if not call.extended_data then return reject "busy" end
              pcall(all, {
                function() error "first" end,
                function() log.info "second" end,
              })
              sleep "50ms"
              return reject "busy"
            end)
            """)
        #expect(askInLane(rig, data: "{}") != nil)
        #expect(rig.pass(10).said == [])
        #expect(rig.host.laterParts.isEmpty)
        #expect(rig.pass(50).answer == Self.busy)
    }

    @Test func aPluginHasToShowThatItIsQuick() throws {
        let rig = try Rig(#"on.invite(function() return reject "busy" end)"#)
        for _ in 0..<20 {
            #expect(askInLane(rig) == nil)
            _ = rig.invite()
        }
        #expect(askInLane(rig)?.answer == Self.busy)
    }

    @Test func aPluginThatIsOftenSlowStaysOutside() throws {
        let rig = try rig(Self.slowForSome)
        _ = rig.invite(data: #"{"slow":true}"#)
        #expect(askInLane(rig) == nil, "one of 21 runs")
        for _ in 0..<100 { _ = rig.invite() }
        #expect(askInLane(rig)?.answer == Self.busy, "one of 121 runs")
    }

    @Test func aHandlerThatTakesTooLongGoesOnWithTheHostsOwnThread() throws {
        let rig = try rig(Self.slowForSome)
        let effects = try #require(askInLane(rig, data: #"{"slow":true}"#))
        #expect(effects.isEmpty, "neither an answer nor a word that it waits")
        #expect(rig.host.nextDeadline == rig.now)
        #expect(rig.pass(0).answer == Self.busy)
        #expect(askInLane(rig) == nil, "it is out for a minute")
    }

    @Test func whoeverLeavesTheLaneIsOutForTwiceAsLongEachTime() throws {
        let rig = try rig(Self.slowForSome)
        for _ in 0..<1_000 { _ = rig.invite() }
        for minutes in [1, 2, 4] {
            _ = try #require(askInLane(rig, data: #"{"slow":true}"#))
            _ = rig.pass(Int64(minutes) * 60_000 - 1)
            #expect(askInLane(rig) == nil)
            _ = rig.pass(1)
            #expect(askInLane(rig)?.answer == Self.busy)
        }
    }

    @Test func aQuestionThatLeftTheLaneCanBeWithdrawn() throws {
        let rig = try rig(Self.slowForSome)
        let question = QuestionID(1_000 + UInt64(rig.asked))
        _ = try #require(askInLane(rig, data: #"{"slow":true}"#))
        #expect(!rig.host.isQuick(.withdrawn(question), at: rig.now), "it would run `<close>`")
        _ = rig.host.handle(.withdrawn(question), at: rig.now)
        #expect(rig.pass(10_000).answer == nil)
    }

    @Test(arguments: [
        // Where Lua cannot yield, a run goes on to its end.
        "table.sort({ 3, 1, 2 }, function(a, b) work() return a < b end)",
        "setmetatable({}, { __index = function() work() return 1 end }).x = nil",
        // A coroutine of the script would yield to the script.
        "local co = coroutine.wrap(function() work() return true end) assert(co())",
        "assert(pcall(work))",
    ])
    func whereverItIsTheAnswerComes(_ text: String) throws {
        let rig = try rig(
            """
            local function work() for i = 1, 1000000 do local _ = i end end
            on.invite(function(call)
              if (call.extended_data or {}).slow then \(text) end
              return reject "busy"
            end)
            """)
        let effects = try #require(askInLane(rig, data: #"{"slow":true}"#))
        #expect((effects + rig.pass(0)).answer == Self.busy)
    }

    @Test func aHandlerThatWaitsGoesOnLikeAnyOther() throws {
        let rig = try rig(
            """
            on.invite(function(call)
              if (call.extended_data or {}).slow then kv.get("k") end
              return reject "busy"
            end)
            """)
        let effects = try #require(askInLane(rig, data: #"{"slow":true}"#))
        #expect(effects.answer == nil && effects.request != nil)
        #expect(rig.reply(effects.wait, .value(.null)).answer == Self.busy)
        #expect(askInLane(rig) != nil, "who waits takes no time")
    }

    @Test func nothingButTheQuestionRunsInTheLane() throws {
        let rig = try rig(
            """
            on.invite(function(call)
              if (call.extended_data or {}).slow then detach(function() log.info "detached" end) end
              if (call.extended_data or {}).parts then
                all { function() log.info "a part" end }
              end
              return reject "busy"
            end)
            """)
        let detaching = try #require(askInLane(rig, data: #"{"slow":true}"#))
        #expect(detaching.answer == Self.busy && detaching.said.isEmpty)
        #expect(rig.pass(10).said == ["detached"])
        let parts = try #require(askInLane(rig, data: #"{"parts":true}"#))
        #expect(parts.answer == nil && parts.said.isEmpty)
        let later = rig.pass(10)
        #expect(later.said == ["a part"] && later.answer == Self.busy)
    }

    @Test func othersAreToldOfAFailureBehindTheLane() throws {
        let rig = try rig(
            """
            on.invite(function(call)
              if (call.extended_data or {}).bad then error "bad" end
              return reject "busy"
            end)
            """,
            [("q", #"on.plugin_error(function(e) log.info("told of " .. e.plugin) end)"#)])
        let effects = try #require(askInLane(rig, data: #"{"bad":true}"#))
        #expect(!effects.said.contains("told of p"))
        #expect(rig.host.hasLeftInLane)
        #expect(rig.host.afterLane(at: rig.now).said == ["told of p"])
        #expect(!rig.host.hasLeftInLane)
    }

    @Test func aStateThatCannotGoOnIsMadeAnewBehindTheLane() throws {
        let rig = try rig(
            """
            on.invite(function(call)
              if (call.extended_data or {}).bad then
                table.sort({ 2, 1 }, function() while true do end end)
              end
              return reject "busy"
            end)
            """)
        let effects = try #require(askInLane(rig, data: #"{"bad":true}"#))
        #expect(effects.lines.first?.contains("processor budget") == true)
        #expect(askInLane(rig) == nil, "a killed handler takes its plugin out")
        _ = rig.host.afterLane(at: rig.now)
        #expect(rig.invite() == Self.busy)
    }

    private static let wasteful = """
        on.invite(function(call)
          local t = {} for i = 1, 100 do t[i] = { i } end
          return reject "busy"
        end)
        """

    @Test func garbageIsCollectedInTheLaneWhereThatIsQuick() throws {
        let rig = try rig(Self.wasteful) { $0.laneTime = 10_000 }
        for _ in 0..<200 {
            _ = try #require(askInLane(rig))
            rig.host.collectInLane(until: .max)
            #expect(!rig.host.hasLeftInLane)
        }
        #expect(rig.memory < 256 << 10)
    }

    @Test func whatIsSlowToCollectIsLeftToTheHostsThread() throws {
        let rig = try rig(Self.wasteful) { $0.laneTime = 10_000 }
        for _ in 0..<20 { _ = try #require(askInLane(rig)) }
        let (plugin, before) = (rig.host.generation.plugins[0], rig.memory)
        var limits = plugin.setting.limits
        // Nothing is collected within half of ten microseconds.
        limits.laneTime = 10
        plugin.keep(to: limits)
        rig.host.collectInLane(until: .max)
        #expect(rig.memory == before)
        limits.laneTime = 10_000
        plugin.keep(to: limits)
        rig.host.collectInLane(until: rig.host.spent)
        #expect(rig.memory == before, "the lane's time is over")
        rig.host.collectInLane(until: .max)
        #expect(rig.memory < before / 2)
    }

    @Test func garbageOfTheLaneIsCollectedBehindIt() throws {
        let rig = try rig(Self.wasteful) { $0.laneTime = 10_000 }
        var taken = 0
        while !rig.host.hasLeftInLane, taken < 1_000 {
            _ = try #require(askInLane(rig))
            taken += 1
        }
        #expect(taken > 10 && taken < 1_000)
        let before = rig.memory
        _ = rig.host.afterLane(at: rig.now)
        #expect(rig.memory < before / 2)
        #expect(!rig.host.hasLeftInLane)
    }

    /// Each plugin has a Lua state in each generation, so what is in all of them counts.
    @Test func anEmptyStateHas40KiB() throws {
        let rig = try Rig("on.invite(function() end)")
        #expect((20 << 10...40 << 10).contains(rig.memory), "\(rig.memory) bytes")
    }

    @Test func outsideOfTheLaneLuaCollectsByItself() throws {
        let rig = try rig(
            """
            local big = {}
            for i = 1, 100000 do big[i] = i end
            on.invite(function() return big[1] == 1 and reject "busy" end)
            """)
        #expect(rig.memory > 1 << 20)
        #expect(!rig.host.hasLeftInLane)
    }

    @Test func aLargeStateStaysOutside() throws {
        let rig = try rig(
            """
            local big = {}
            for i = 1, 200000 do big[i] = i end
            on.invite(function() return big[1] == 1 and reject "busy" end)
            """)
        #expect(rig.memory > 2 << 20)
        #expect(askInLane(rig) == nil)
    }

    @Test func aPluginThatIsNotConcernedKeepsNobodyOutside() throws {
        let rig = try rig(
            #"on.invite(function() return reject "busy" end)"#,
            [("q", #"on.ended(function() end)"#)])
        #expect(askInLane(rig)?.answer == Self.busy)
    }
}

extension Rig {
    /// How often the first plugin was asked.
    fileprivate var asked: Int { host.status[0].asked }
    /// Bytes of its Lua state.
    fileprivate var memory: Int { host.status[0].memory }
}
