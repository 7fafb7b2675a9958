// How long a start takes with many live calls and kept keys.

import CallModel
import Storage
import TestSupport

/// Fills a store, opens it anew and times what a start does.
struct Start {
    let calls: Int
    let keys: Int

    func run() throws {
        let folder = TemporaryFolder(in: "/var/tmp")
        try fill(folder)
        let (begin, cpu) = (Clock.wall, Clock.cpu)
        let store = try Store(in: StateDirectory(claiming: folder.path))
        let opened = Clock.wall
        let state = try store.restore(at: moment)
        let end = Clock.wall
        print(
            "\(state.core.calls.count) calls, \(state.core.keys.count) keys:",
            "open and check \(milliseconds(opened - begin)) ms,",
            "restore \(milliseconds(end - opened)) ms, CPU \(milliseconds(Clock.cpu - cpu)) ms")
    }

    private let moment = Moment(1_795_000_000_000)

    private func milliseconds(_ seconds: Double) -> Int { Int(seconds * 1_000) }

    private func fill(_ folder: TemporaryFolder) throws {
        var options = StoreOptions()
        options.synchronous = .off
        let store = try Store(in: StateDirectory(claiming: folder.path), options: options)
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
