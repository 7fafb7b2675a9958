// How fast the bare core is, and how much memory a live call takes.
//
//     swift run -c release core-benchmark [LIVE-CALLS] [ROUNDS]

import CallCore
import CallModel
import Glibc

/// Time and number of one kind of input.
struct Tally {
    var nanoseconds: Int64 = 0
    var count = 0

    var each: Double { count == 0 ? 0 : Double(nanoseconds) / Double(count) }
}

/// A switchboard under load: users with one connected device each, and calls that come and go.
struct Bench {
    private var board: Switchboard
    private var now = Moment(1_800_000_000_000)
    private var requests: UInt64 = 0
    private var live: [CallID] = []
    private var oldest = 0
    private let users: [UserID]
    private let phone = DeviceID("phone")
    /// By kind of input, in order of first use.
    private(set) var tallies: [(kind: String, tally: Tally)] = []
    /// Effects seen: keeps them from being optimised away.
    private(set) var effects = 0

    /// A switchboard with `calls` live calls of mode advanced, all answered.
    init(calls: Int) {
        board = Switchboard(settings: Settings(), seed: 1, at: now)
        users = (0..<calls * 2 + 4_000).map { UserID("user-\($0)") }
        for user in users { connect(user) }
        for number in 0..<calls { start(number) }
        tallies = []
    }

    private mutating func connect(_ user: UserID) {
        requests += 1
        _ = board.handle(
            .deviceConnected(RequestID(requests), user, phone, resumed: false), at: now)
    }

    private mutating func start(_ number: Int) {
        let pair = pair(number)
        let id = invite(pair.0, pair.1)
        _ = handle(pair.1, .call(id, .ringing))
        _ = handle(pair.1, .call(id, .accept()))
        live.append(id)
    }

    private func pair(_ number: Int) -> (UserID, UserID) {
        let first = number * 2 % users.count
        return (users[first], users[(first + 1) % users.count])
    }

    private mutating func invite(_ caller: UserID, _ callee: UserID) -> CallID {
        var invitation = Invitation(invitees: [callee])
        invitation.mode = ModeIndex(1)
        for case .reply(_, .invited(let call, _, _)) in handle(caller, .invite(invitation)) {
            return call.id
        }
        fatalError("an invitation was refused")
    }

    private mutating func handle(_ user: UserID, _ operation: Operation) -> [Effect] {
        requests += 1
        let request = Request(
            id: RequestID(requests), user: user, device: phone, operation: operation)
        let effects = board.handle(.request(request), at: now)
        self.effects += effects.count
        return effects
    }

    // MARK: Rounds

    /// Whole calls: as many old ones end as new ones begin.
    mutating func round(of size: Int, first: Int) {
        var pairs: [(UserID, UserID)] = []
        var ids: [CallID] = []
        for number in first..<first + size { pairs.append(pair(number)) }
        now = now + 10
        measure("invite", size) { bench in
            for pair in pairs { ids.append(bench.invite(pair.0, pair.1)) }
        }
        measure("ringing", size) { bench in
            for (id, pair) in zip(ids, pairs) { _ = bench.handle(pair.1, .call(id, .ringing)) }
        }
        measure("accept", size) { bench in
            for (id, pair) in zip(ids, pairs) { _ = bench.handle(pair.1, .call(id, .accept())) }
        }
        measure("signal", size) { bench in
            for (id, pair) in zip(ids, pairs) {
                _ = bench.handle(pair.0, .call(id, .signal(to: pair.1, data: [0x31])))
            }
        }
        let ending = live[oldest..<oldest + size].enumerated().map {
            ($0.element, self.pair(first - live.count + oldest + $0.offset).0)
        }
        let callers = ending.map { id, fallback in board.call(id)?.caller ?? fallback }
        measure("end", size) { bench in
            for (end, caller) in zip(ending, callers) {
                _ = bench.handle(caller, .call(end.0, .end))
            }
        }
        oldest += size
        live += ids
    }

    /// Inputs that begin and end no active call.
    mutating func otherRound(of size: Int, first: Int) {
        var pairs: [(UserID, UserID)] = []
        for number in first..<first + size { pairs.append(pair(number)) }
        var ids: [CallID] = []
        for pair in pairs { ids.append(invite(pair.0, pair.1)) }
        measure("reject", size / 2) { bench in
            for (id, pair) in zip(ids, pairs).prefix(size / 2) {
                _ = bench.handle(pair.1, .call(id, .reject()))
            }
        }
        measure("cancel", size / 2) { bench in
            for (id, pair) in zip(ids, pairs).dropFirst(size / 2) {
                _ = bench.handle(pair.0, .call(id, .cancel()))
            }
        }
        for pair in pairs { end(invite(pair.0, pair.1), pair.0, after: 0) }
        measure("disconnect", size) { bench in
            for pair in pairs {
                bench.effects +=
                    bench.board.handle(
                        .deviceDisconnected(pair.0, bench.phone), at: bench.now
                    ).count
            }
        }
        measure("connect", size) { bench in
            for pair in pairs { bench.connect(pair.0) }
        }
    }

    private mutating func end(_ id: CallID, _ caller: UserID, after time: Milliseconds) {
        _ = handle(caller, .call(id, .end))
    }

    /// Rings until the ring time is over.
    mutating func timeouts(of size: Int, first: Int) {
        var invitation = Invitation(invitees: [])
        invitation.timeout = 1_000
        for number in first..<first + size {
            let pair = pair(number)
            invitation.invitees = [pair.1]
            _ = handle(pair.0, .invite(invitation))
        }
        measure("time-out", size) { bench in
            bench.now = bench.now + 1_000
            bench.effects += bench.board.handle(.deadlineReached, at: bench.now).count
        }
    }

    private mutating func measure(_ kind: String, _ count: Int, _ work: (inout Bench) -> Void) {
        let start = cpuTime()
        work(&self)
        let nanoseconds = cpuTime() - start
        let place =
            tallies.firstIndex { $0.kind == kind }
            ?? {
                tallies.append((kind, Tally()))
                return tallies.count - 1
            }()
        tallies[place].tally.nanoseconds += nanoseconds
        tallies[place].tally.count += count
    }
}

/// Nanoseconds of processor time: other processes do not count.
func cpuTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Bytes of memory that the process has touched and holds now.
func residentBytes() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 128)
    guard fgets(&line, 128, file) != nil else { return 0 }
    let fields = String(decoding: line.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(
        separator: " ")
    return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * Int(sysconf(Int32(_SC_PAGESIZE)))
}

/// Runs whole calls with `calls` live ones; nanoseconds for each call. Memory is only weighed
/// before anything was given back to the allocator: in the first run.
func run(calls: Int, rounds: Int, isFirst: Bool = false) -> Double {
    let before = residentBytes()
    var bench = Bench(calls: calls)
    let size = 1_000
    let bytes = (residentBytes() - before) / calls
    for number in 0..<rounds { bench.round(of: size, first: calls + number * size) }
    let whole = bench.tallies
    for number in 0..<max(1, rounds / 10) {
        bench.otherRound(of: size, first: calls + (rounds + number) * size)
        bench.timeouts(of: size, first: calls + (rounds + number) * size)
    }
    let weight = isFirst ? ", \(bytes) bytes each with their two users" : ""
    print("\(calls) live calls\(weight)")
    for (kind, tally) in bench.tallies {
        print("  \(kind): \(Int(tally.each)) ns  (\(tally.count))")
    }
    let time = whole.reduce(0.0) { $0 + Double($1.tally.nanoseconds) }
    let inputs = whole.reduce(0) { $0 + $1.tally.count }
    let perCall = time / Double(rounds * size)
    print("  whole calls: \(Int(perCall)) ns each, \(Int(Double(inputs) / time * 1e9)) inputs/s")
    return perCall
}

let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
let rounds = arguments.dropFirst().first ?? 100
if let calls = arguments.first {
    _ = run(calls: calls, rounds: rounds, isFirst: true)
} else {
    _ = run(calls: 100_000, rounds: rounds, isFirst: true)
    let small = run(calls: 1_000, rounds: rounds)
    let large = run(calls: 200_000, rounds: rounds)
    let difference = Int((large / small - 1) * 100)
    print("a call with 200,000 live ones costs \(difference) % more than with 1,000")
}
