// How many call rows per second a store takes, and what one costs.

import CallModel
import Storage
import StoreContract
import TestSupport

/// Commits two-party calls in batches: each call is stored three times while it lives (created,
/// ringing, active) and once when it ends, as in real life.
struct Rate {
    let seconds: Double

    func run() throws {
        for mode in [StoreOptions.Synchronous.full, .normal, .off] {
            for size in [1, 10, 100, 1_000] {
                let figure = try measure(size, mode)
                print("synchronous=\(mode.rawValue) batch=\(size): \(figure)")
            }
        }
        print("memory batch=100: \(try measure(MemoryStore(), 100))")
    }

    private func measure(_ size: Int, _ mode: StoreOptions.Synchronous) throws -> String {
        let folder = TemporaryFolder(in: "/var/tmp")
        var options = StoreOptions()
        options.synchronous = mode
        return try measure(
            Store(in: StateDirectory(claiming: folder.path), options: options), size)
    }

    private func measure(_ store: any CallStore, _ size: Int) throws -> String {
        _ = try store.restore(at: Moment(1_795_000_000_000))
        var calls = Calls(live: 1_000)
        var rows = 0
        var slowest = 0.0
        let (begin, cpuBegin) = (Clock.wall, Clock.cpu)
        while Clock.wall - begin < seconds {
            let batch = (0..<size).map { _ in StoreChange.call(calls.next()) }
            let before = Clock.wall
            try store.commit(batch, at: Moment(1_795_000_000_000))
            slowest = max(slowest, Clock.wall - before)
            rows += size
        }
        let elapsed = Clock.wall - begin
        let cpu = Clock.cpu - cpuBegin
        let rate = Int(Double(rows) / elapsed)
        let cost = Int(cpu / Double(rows) * 1e7)
        return "\(rate) rows/s, \(cost / 10).\(cost % 10) us CPU per row, "
            + "slowest commit \(Int(slowest * 1_000)) ms"
    }
}
