// How many call rows per second a store takes, and what one costs.

import CallCore
import Glibc
import Storage

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
        var template = Array("/var/tmp/callagent-rate-XXXXXX".utf8CString)
        let path = String(cString: mkdtemp(&template))
        defer {
            for name in ["callagent.db", "callagent.db-wal", "callagent.db-shm", "lock"] {
                unlink(path + "/" + name)
            }
            rmdir(path)
        }
        var options = StoreOptions()
        options.synchronous = mode
        return try measure(Store(in: StateDirectory(claiming: path), options: options), size)
    }

    private func measure(_ store: any CallStore, _ size: Int) throws -> String {
        _ = try store.restore(at: Moment(1_795_000_000_000))
        var calls = Calls()
        var rows = 0
        let (begin, cpuBegin) = (now(CLOCK_MONOTONIC), now(CLOCK_PROCESS_CPUTIME_ID))
        while now(CLOCK_MONOTONIC) - begin < seconds {
            let batch = (0..<size).map { _ in StoreRecord.call(calls.next()) }
            try store.commit(batch, at: Moment(1_795_000_000_000))
            rows += size
        }
        let elapsed = now(CLOCK_MONOTONIC) - begin
        let cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpuBegin
        let rate = Int(Double(rows) / elapsed)
        let cost = Int(cpu / Double(rows) * 1e7)
        return "\(rate) rows/s, \(cost / 10).\(cost % 10) us CPU per row"
    }

    private func now(_ clock: clockid_t) -> Double {
        var time = timespec()
        clock_gettime(clock, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

/// An endless row of call versions; 1,000 calls are live at a time.
private struct Calls {
    private var live: [Call] = []
    private var turn = 0
    private var made: UInt64 = 0

    mutating func next() -> Call {
        if live.count < 1_000 {
            live.append(new())
            return live[live.count - 1]
        }
        turn = (turn + 1) % live.count
        live[turn].revision += 1
        switch live[turn].revision {
        case 2: live[turn].participants[1].state = .ringing
        case 3:
            live[turn].state = .active
            live[turn].answeredAt = live[turn].createdAt + 3_000
            live[turn].participants[1].state = .joined
            live[turn].participants[1].answeredAt = live[turn].createdAt + 3_000
            live[turn].participants[1].device = DeviceID("phone-1")
        case 4:
            var over = live[turn]
            over.state = .ended
            over.endedAt = over.createdAt + 60_000
            over.end = Call.End(.completed, by: over.caller)
            live[turn] = over
        default: live[turn] = new()
        }
        return live[turn]
    }

    private mutating func new() -> Call {
        made += 1
        let created = Moment(1_795_000_000_000 + Int64(made))
        var call = Call(
            id: CallID(
                high: UInt64(created.milliseconds) << 16, low: made &* 0x9E37_79B9_7F4A_7C15),
            mode: ModeIndex(1), kind: "audio", ringTime: 90_000, deliveryCheck: false,
            createdAt: created)
        call.revision = 1
        call.extendedData = #"{"type":"call","room":"\#(made)","topic":"an ordinary greeting"}"#
        let users = (UserID("user-\(made % 20_000)"), UserID("user-\(made * 7 % 20_000)x"))
        var caller = Participant(user: users.0, role: .caller, state: .joined, at: created)
        caller.device = DeviceID("tablet")
        caller.answeredAt = created
        var callee = Participant(user: users.1, role: .invitee, state: .inviting, at: created)
        callee.invitedBy = users.0
        callee.deadlineAt = created + 90_000
        call.participants = [caller, callee]
        return call
    }
}
