// The guarded pattern matcher against the one of stock Lua.

import CLua
import Configuration
import Glibc
import Lua
import Testing

@testable import PolicyHost

@Suite struct PatternTests {
    /// Runs Scripts/patterns.lua, which compares 100,000 random cases, results and errors alike.
    private func compare(seed: UInt64) throws -> String {
        let folder = HostileTests.folder.dropLast("Hostile".count) + "Scripts"
        let text = try #require(Files.read("\(folder)/patterns.lua", limit: 1 << 20))
        let limits = callua_limits(
            memory: 64 << 20, coroutines: 10, coroutines_of_origin: 10, origins_of_account: 1,
            value: 1 << 20, state: 0,
            source: 1 << 20, stride: 10_000)
        let host = callua_host(context: nil, call: { _, _, _, _ in Int32(CALLUA_RAISE) })
        let vm = callua_new(limits, host, seed)
        defer { callua_free(vm) }
        #expect(callua_add_stock(vm))
        #expect(callua_seal(vm))
        let file = SourceFile(name: "patterns.lua", text: text)
        let outcome = file.load(into: vm, budget: 600_000_000_000)
        return Int(outcome.status) == CALLUA_FINISHED ? "same" : outcome.message
    }

    /// A million cases with CALLAGENT_FULL, else a fifth of them.
    @Test func agreesWithStockLuaOnAMillionRandomCases() throws {
        let isFull = getenv("CALLAGENT_FULL").map { $0.pointee != 0 } ?? false
        for seed in 1...(isFull ? 10 : 2) {
            #expect(try compare(seed: UInt64(seed)) == "same", "seed \(seed)")
        }
    }

    @Test func agreesWithStockLuaOnFreshCases() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("pattern seed \(seed)")
        #expect(try compare(seed: seed) == "same", "seed \(seed)")
    }
}
