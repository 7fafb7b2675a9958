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
    /// Pairs of users that had their turn.
    private var turns = 0
    private let users: [UserID]
    /// Whom everybody calls; nil: the other of the pair.
    private let account: UserID?
    private let phone = DeviceID("phone")
    /// By kind of input, in order of first use.
    private(set) var tallies: [(kind: String, tally: Tally)] = []
    /// Effects seen: keeps them from being optimised away.
    private(set) var effects = 0

    /// A switchboard with `calls` live calls of mode advanced, all answered: by as many users, or
    /// by one account, of whose invitations the policies are asked first.
    init(calls: Int, account: UserID? = nil) {
        var settings = Settings()
        settings.answerFor = Accounts(account.map { [$0.text] } ?? [])
        board = Switchboard(settings: settings, seed: 1, at: now)
        users = (0..<calls * 2 + 4_000).map { UserID("user-\($0)") }
        self.account = account
        for user in users { connect(user) }
        if let account { connect(account) }
        for pair in nextPairs(calls) { start(pair) }
        tallies = []
    }

    private mutating func connect(_ user: UserID) {
        requests += 1
        _ = board.handle(
            .deviceConnected(RequestID(requests), user, phone, resumed: false), at: now)
    }

    private mutating func start(_ pair: (UserID, UserID)) {
        let id = invite(pair.0, pair.1)
        _ = handle(pair.1, .call(id, .ringing))
        _ = handle(pair.1, .call(id, .accept()))
        live.append(id)
    }

    private mutating func nextPairs(_ count: Int) -> [(UserID, UserID)] {
        let numbers = turns..<turns + count
        turns += count
        return numbers.map { number in
            let first = number * 2 % users.count
            return (users[first], account ?? users[(first + 1) % users.count])
        }
    }

    private mutating func invite(_ caller: UserID, _ callee: UserID) -> CallID {
        var invitation = Invitation(invitees: [callee])
        invitation.mode = .advanced
        var effects = handle(caller, .invite(invitation))
        for case .consult(let question) in effects { effects += letRing(question) }
        for case .reply(_, .invited(let call, _, _)) in effects { return call.id }
        fatalError("\(caller) may not invite \(callee): \(effects)")
    }

    /// The policies leave it to the account's device.
    private mutating func letRing(_ question: Question) -> [Effect] {
        let answer = Answer.invite(.ring(for: nil), by: "desk", next: 1)
        let effects = board.handle(.answered(question.id, answer), at: now)
        self.effects += effects.count
        return effects
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
    mutating func round(of size: Int) {
        let pairs = nextPairs(size)
        var ids: [CallID] = []
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
        let ending = live[oldest..<oldest + size]
        let callers = ending.map { board.call($0)?.caller ?? pairs[0].0 }
        measure("end", size) { bench in
            for (id, caller) in zip(ending, callers) {
                _ = bench.handle(caller, .call(id, .end()))
            }
        }
        oldest += size
        live += ids
    }

    /// Inputs that begin and end no active call.
    mutating func otherRound(of size: Int) {
        let pairs = nextPairs(size)
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
        for pair in pairs { _ = handle(pair.0, .call(invite(pair.0, pair.1), .end())) }
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

    /// Rings until the ring time is over.
    mutating func timeouts(of size: Int) {
        var invitation = Invitation(invitees: [])
        invitation.timeout = 1_000
        for pair in nextPairs(size) {
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

extension Bench {
    /// Calls of a round.
    private static let size = 1_000

    private var wholeTime: Int64 { tallies.reduce(0) { $0 + $1.tally.nanoseconds } }

    /// Rounds of whole calls; nanoseconds of processor time for each call.
    mutating func wholeCalls(rounds: Int) -> Double {
        let before = wholeTime
        for _ in 0..<rounds { round(of: Self.size) }
        return Double(wholeTime - before) / Double(rounds * Self.size)
    }

    /// Prints what whole calls took until now, and what the other kinds of inputs take.
    mutating func report(_ title: String) {
        let kinds = tallies.count
        let inputs = tallies.reduce(0) { $0 + $1.tally.count }
        let each = Double(wholeTime) / Double(inputs)
        for _ in 0..<max(1, inputs / kinds / Self.size / 10) {
            otherRound(of: Self.size)
            timeouts(of: Self.size)
        }
        print(title)
        for (kind, tally) in tallies {
            print("  \(kind): \(Int(tally.each)) ns  (\(tally.count))")
        }
        let whole = Int(each * Double(kinds))
        print("  whole calls: \(whole) ns each, \(Int(1e9 / each)) inputs/s")
    }
}

/// Weighs live calls and runs whole ones. Memory can only be weighed before anything was given
/// back to the allocator, so this comes first.
func weigh(calls: Int, rounds: Int) {
    let before = residentBytes()
    var bench = Bench(calls: calls)
    let bytes = (residentBytes() - before) / calls
    _ = bench.wholeCalls(rounds: rounds)
    bench.report("\(calls) live calls, \(bytes) bytes each with their two users")
}

/// Runs whole calls with few and with many live ones in turns, so that both have the same share of
/// the machine's good and bad moments; prints by how much they differ in the median turn.
func compare(few: Int, many: Int, of account: UserID? = nil, rounds: Int) {
    let turn = 5
    var small = Bench(calls: few, account: account)
    var large = Bench(calls: many, account: account)
    var ratios: [Double] = []
    for _ in 0..<max(1, rounds / turn) {
        let cost = small.wholeCalls(rounds: turn)
        ratios.append(large.wholeCalls(rounds: turn) / cost)
    }
    ratios.sort()
    let whose = account == nil ? "" : " of one account"
    small.report("\(few) live calls\(whose)")
    large.report("\(many) live calls\(whose)")
    func percent(_ place: Int) -> Int { Int(((ratios[place] - 1) * 100).rounded()) }
    print(
        "a call with \(many) live ones\(whose) costs \(percent(ratios.count / 2)) % more than"
            + " with \(few) (median of \(ratios.count) turns: \(percent(ratios.count / 4)) to"
            + " \(percent(ratios.count * 3 / 4)) % in the middle half)")
}

let arguments = CommandLine.arguments.dropFirst().compactMap { Int($0) }
let rounds = arguments.dropFirst().first ?? 100
weigh(calls: arguments.first ?? 100_000, rounds: rounds)
if arguments.isEmpty {
    compare(few: 1_000, many: 200_000, rounds: rounds)
    compare(few: 1_000, many: 200_000, of: UserID("support"), rounds: rounds)
}
