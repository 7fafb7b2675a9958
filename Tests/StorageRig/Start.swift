// How long a start takes with many live calls and kept keys.

import CallModel
import Storage
import StoreContract
import TestSupport

/// Fills a store, opens it anew and times what a start does.
struct Start {
    let calls: Int
    let keys: Int

    func run() throws {
        let folder = TemporaryFolder(in: "/var/tmp")
        try fill(folder.path)
        let (begin, cpu) = (Clock.wall, Clock.cpu)
        let store = try Store(in: StateDirectory(claiming: folder.path))
        let opened = Clock.wall
        let state = try store.restore(at: moment)
        let end = Clock.wall
        let loaded = try loadCalls(of: store, upTo: state.core.lastCall)
        print(
            "\(loaded) calls, \(state.core.keys.count) keys:",
            "open and check \(milliseconds(opened - begin)) ms,",
            "restore \(milliseconds(end - opened)) ms,",
            "live calls \(milliseconds(Clock.wall - end)) ms,",
            "CPU \(milliseconds(Clock.cpu - cpu)) ms")
    }

    private func loadCalls(of store: Store, upTo last: CallID?) throws -> Int {
        guard let last else { return 0 }
        let reader = try store.makeReader()
        var query = LiveCallQuery(upTo: last, limit: 500)
        var count = 0
        repeat {
            guard case .liveCalls(let found, _) = try reader.answer(.liveCalls(query)) else {
                break
            }
            count += found.calls.count
            query.after = found.lookedUpTo
        } while query.after != nil
        return count
    }

    private let moment = Moment(1_795_000_000_000)

    private func milliseconds(_ seconds: Double) -> Int { Int(seconds * 1_000) }

    /// Leaves a filled store in `directory`, for a server to start with.
    func fill(_ directory: String) throws {
        var options = StoreOptions()
        options.synchronous = .off
        let store = try Store(in: StateDirectory(claiming: directory), options: options)
        _ = try store.restore(at: moment)
        var made = Calls(live: calls)
        for _ in 0..<(calls + 999) / 1_000 {
            let count = min(1_000, calls - made.count)
            try store.commit((0..<count).map { _ in .call(made.next()) }, at: moment)
        }
        let reply = [UInt8](repeating: 65, count: 700)
        for block in 0..<(keys + 999) / 1_000 {
            let batch = (0..<min(1_000, keys - block * 1_000)).map { place in
                StoreChange.key(
                    KeyEntry(
                        user: UserID("user-\(place * 7919 % 5_000)"),
                        key: "7d0c2f9e-51aa-4a57-9c61-\(block)-\(place)", at: moment,
                        kept: KeptReply(bodyHash: 1, reply: reply)))
            }
            try store.commit(batch, at: moment)
        }
        try store.close()
    }
}
