// What plugins do while the store is away: kept until it is back, or refused at once.

import AgentCore
import CallClient
import CallClientCore
import CallModel
import Configuration
import EventLoop
import Lua
import Outbound
import StoreContract
import Testing

@testable import AgentServer
@testable import PolicyHost

/// A policy thread with one plugin, on a store that answers when a test says so.
private final class BridgeRig {
    let waiter: LoopWaiter
    let store = StoreDouble()
    let exchange: Exchange
    let gateway: Gateway
    let metrics = Metrics()
    let bridge: PolicyBridge
    private let outbound: OutboundThread

    init(_ plugin: String) throws {
        waiter = try LoopWaiter()
        let (loop, log) = (waiter.loop, Log(level: .error, descriptor: -1))
        exchange = Exchange(
            Settings(), restored: StoredState(), seed: 1, limits: ServerLimits(), log: log,
            loop: loop)
        gateway = Gateway(
            exchange: exchange, loop: loop, limits: ServerLimits(), modes: Settings().modes,
            tokens: DevelopmentTokens(), log: log, metrics: metrics)
        exchange.store = store
        outbound = try OutboundThread(
            try OutboundService(OutboundService.Settings()),
            news: try Mailbox<OutboundService.News>(on: loop) { _ in })
        var plan = GenerationPlan()
        let file = SourceFile(name: "p.lua", text: Array(plugin.utf8))
        plan.plugins = [(PluginSource(name: "p", main: file), PluginSetting())]
        bridge = try PolicyBridge(
            PolicyHost(try Generation(plan, seed: 1), seed: 1), exchange: exchange,
            gateway: gateway, decisions: DecisionLog(directory: nil, log: log),
            fetches: PluginFetches(outbound), loop: loop)
    }

    /// Must be called: threads are joined and a loop is closed, not dropped.
    func close() {
        bridge.close()
        outbound.close()
        waiter.close()
    }

    func fail() {
        exchange.receive(
            .lost(StoreError(.notOpen, path: "test", operation: "commit", detail: "as planned")))
    }

    /// Asks the plugin about an invitation of bob.
    func ask() {
        let now = Moment(1_790_000_000_000)
        var call = Call(
            id: CallID(high: 1, low: 1), mode: .advanced, kind: "audio", ringTime: 60_000,
            deliveryCheck: nil, createdAt: now)
        call.participants = [
            Participant(user: UserID("ann"), role: .caller, state: .joined, at: now),
            Participant(user: UserID("bob"), role: .invitee, state: .inviting, at: now),
        ]
        exchange.policies?.ask(
            Question(
                id: QuestionID(1), decideBy: exchange.now() + 60_000,
                subject: .invite(call, callee: UserID("bob"), from: 0), facts: []))
        exchange.policies?.flush()
    }

    /// The changes of timers in the batch `number`, once the store has it.
    func timers(ofBatch number: Int) throws -> [TimerChange] {
        // What the test itself did waits for the end of a turn.
        var turn: Timer?
        turn = Timer(on: waiter.loop) { turn?.arm(after: 1) }
        turn?.arm(after: 0)
        try waiter.wait(for: "batch \(number)") { self.store.batches.count > number }
        turn = nil
        return store.batches[number].compactMap {
            if case .timer(let change) = $0 { change } else { nil }
        }
    }
}

@Suite struct PolicyBridgeTests {
    @Test func aTimerThatWasLostWithACommitIsStoredWhenTheStoreIsBack() throws {
        let rig = try BridgeRig(
            """
            timer("t", function() end)
            on.start(function() later("1h", "t") end)
            """)
        defer { rig.close() }
        rig.bridge.start([])
        let lost = try rig.timers(ofBatch: 0)
        #expect(lost.count == 1)
        rig.fail()
        rig.exchange.receive(.opened())
        #expect(try rig.timers(ofBatch: 1) == lost)
    }

    @Test func aTimerThatFiredWhileTheStoreWasAwayIsForgottenWhenItIsBack() throws {
        let rig = try BridgeRig(#"timer("t", function() count("fired") end)"#)
        defer { rig.close() }
        rig.fail()
        rig.bridge.start([
            NamedTimer(
                JobID(7), plugin: "p", name: "t", dueAt: rig.exchange.now(),
                data: Array("{}".utf8))
        ])
        try rig.waiter.wait(for: "the timer") { rig.metrics.plugins.text.contains("fired") }
        #expect(rig.store.batches.isEmpty)
        rig.exchange.receive(.opened())
        #expect(try rig.timers(ofBatch: 0) == [.remove(JobID(7))])
    }

    @Test func whatAPluginDoesToACallWhileTheStoreIsAwayIsRefusedAtOnce() throws {
        let rig = try BridgeRig(
            """
            on.invite(function(call)
              local done, trouble = call:finish("over")
              count("refused", 1, { code = trouble })
            end)
            """)
        defer { rig.close() }
        rig.bridge.start([])
        rig.fail()
        rig.ask()
        try rig.waiter.wait(for: "the refusal") {
            rig.metrics.plugins.text.contains(#"{code="unavailable""#)
        }
        #expect(rig.gateway.desk.requests.count == 0)
    }
}
