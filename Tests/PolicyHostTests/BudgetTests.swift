// What counts as processor time of a run: a vm whose one host function, `work`, takes long.

import CLua
import Lua
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite struct BudgetTests {
    @Test func whatTheHostTakesLongForEndsNoRun() {
        let (outcome, _) = run("work() for i = 1, 2000000 do end", workFor: 300, budget: 200)
        #expect(Int(outcome.status) == CALLUA_FINISHED)
        #expect(outcome.nanoseconds >= 50_000_000 && outcome.nanoseconds < 200_000_000)
    }

    @Test func aProcessorThatIsTakenAwayOnceInAWhileEndsNoRun() {
        let text = "for i = 1, 3 do for j = 1, 100000 do end work() end"
        let (outcome, works) = run(text, workFor: 100, budget: 200)
        #expect(Int(outcome.status) == CALLUA_FINISHED && works == 3)
    }

    @Test func whoeverKeepsTheHostBusyIsEnded() {
        let (outcome, works) = run("while true do work() end", workFor: 5, budget: 10)
        #expect(Int(outcome.status) == CALLUA_FAILED && Int(outcome.failure) == CALLUA_CPU)
        #expect((3...4).contains(works), "each counts a quarter of the budget")
    }

    /// Loads `text` where each `work()` takes this much processor time, in milliseconds.
    private func run(
        _ text: String, workFor milliseconds: Double, budget: Double
    ) -> (outcome: callua_outcome, works: Int) {
        let bench = Bench(milliseconds: milliseconds)
        let limits = callua_limits(
            memory: 1 << 24, coroutines: 10, coroutines_of_origin: 10, origins_of_account: 1,
            value: 1 << 16, state: 0,
            source: 1 << 16, stride: 1_000)
        let host = callua_host(
            context: Unmanaged.passUnretained(bench).toOpaque(),
            call: { context, _, _, result in
                let bench = Unmanaged<Bench>.fromOpaque(context!).takeUnretainedValue()
                result!.pointee = bench.work()
                return Int32(CALLUA_RETURN)
            })
        let vm = callua_new(limits, host, 1)
        defer { callua_free(vm) }
        #expect(callua_bind(vm, "work", UInt32(CALLUA_OWN), 0) && callua_seal(vm))
        let file = SourceFile(name: "p.lua", text: Array(text.utf8))
        var outcome = file.load(into: vm, budget: UInt64(budget * 1e6))
        outcome.value = callua_bytes()
        outcome.traceback = callua_bytes()
        return (outcome, bench.works)
    }
}

/// A host that has something to do.
private final class Bench {
    private let milliseconds: Double
    private(set) var works = 0

    /// An array without values.
    private let nothing = PlainWriter()

    init(milliseconds: Double) {
        self.milliseconds = milliseconds
        nothing.list(0)
    }

    func work() -> callua_bytes {
        works += 1
        let end = processorTime() + milliseconds
        while processorTime() < end {}
        return nothing.written
    }
}
