// Measures the policy host: a decision, a chain, a canary, a reload, decisions beside reloads,
// memory.
//
// usage: policy-benchmark invite [PLUGINS] | canary | reload [PLUGINS] | latency [PLUGINS] |
//                         memory | empty | hostile FILE…
// Prints lines of key=value.

import CallModel
import Configuration
import EventLoop
import Glibc
import Lua
import PolicyHost

// MARK: What is measured

let now = Moment(1_790_000_000_000)

func generation(_ plugins: [(String, String)]) throws -> Generation {
    var plan = GenerationPlan()
    plan.answerFor = Accounts(["bob"])
    plan.plugins = plugins.map { name, text in
        let file = SourceFile(name: "\(name).lua", text: Array(text.utf8))
        return (PluginSource(name: name, main: file), PluginSetting())
    }
    return try Generation(plan, seed: 1)
}

/// The hook of the bare program (Bare): refuses a busy account, with a constant text.
let refusing = """
    local busy = { bob = true }
    on.invite(function(call)
      if busy[call.callee.id] and call.kind == "audio" then
        return reject("busy", { extended_data = '{"state":"in-call","retry_after":30}' })
      end
    end)
    """

/// The same question, answered by nobody.
let passing = """
    local busy = { carol = true }
    on.invite(function(call)
      if busy[call.callee.id] and call.kind == "audio" then return reject "busy" end
    end)
    """

/// A plugin of 200 lines.
func long(_ number: Int) -> String {
    let functions = (1...48).map {
        """
        local function step\($0)(call)
          local people = { call.caller.id, "plugin-\(number)", "step-\($0)" }
          return #people + \($0)
        end
        """
    }
    return functions.joined(separator: "\n") + """

        local steps = { step1, step2, step3 }
        on.invite(function(call)
          local sum = 0
          for _, step in ipairs(steps) do sum = sum + step(call) end
          if sum < 0 then return reject "busy" end
          state.asked = (state.asked or 0) + 1
        end)
        """
}

func question(_ number: UInt64) -> Question {
    var call = Call(
        id: CallID(high: 0x0199, low: number), mode: .advanced, kind: "audio",
        ringTime: 60_000, deliveryCheck: nil, createdAt: now)
    call.extendedData = #"{"sdp":"v=0 o=- 1 1 IN IP4 127.0.0.1 s=- c=IN IP4 127.0.0.1 t=0 0"}"#
    let ann = Participant(user: UserID("ann"), role: .caller, state: .joined, at: now)
    var bob = Participant(user: UserID("bob"), role: .invitee, state: .inviting, at: now)
    bob.invitedBy = UserID("ann")
    bob.deadlineAt = now + 60_000
    call.participants = [ann, bob]
    return Question(
        id: QuestionID(number), decideBy: now + 2_000,
        subject: .invite(call, callee: UserID("bob"), from: 0),
        facts: [
            UserFacts(UserID("ann"), calls: 0, devices: 1),
            UserFacts(UserID("bob"), calls: 0, devices: 1),
        ])
}

// MARK: Clocks

func nanoseconds(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

func residentBytes() -> Int {
    guard let file = fopen("/proc/self/statm", "r") else { return 0 }
    defer { fclose(file) }
    var buffer = [CChar](repeating: 0, count: 128)
    fgets(&buffer, 128, file)
    let text = String(
        decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return pages * 4_096
}

func quantile(_ share: Double, of sorted: [Int64]) -> Int64 {
    sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
}

// MARK: Measurements

/// Asks the same questions again and again; gives the nanoseconds of processor time of one.
struct Asking {
    let host: PolicyHost
    // The question is the switchboard's; it is made beforehand.
    let questions = (0..<1_000).map { question(UInt64($0)) }
    private(set) var times: [Int64] = []

    init(_ host: PolicyHost) {
        self.host = host
        for _ in 0..<20 { round() }
    }

    private func round() {
        for question in questions {
            guard !host.handle(.asked(question), at: now).isEmpty else { exit(1) }
        }
    }

    mutating func measure() {
        let begin = nanoseconds(CLOCK_THREAD_CPUTIME_ID)
        round()
        times.append((nanoseconds(CLOCK_THREAD_CPUTIME_ID) - begin) / Int64(questions.count))
    }

    var sorted: [Int64] { times.sorted() }
}

/// Processor time of one `on.invite` through so many plugins, the last of which decides.
func measureInvite(_ plugins: Int) throws {
    let chain = (1..<max(1, plugins)).map { ("p\($0)", passing) } + [("last", refusing)]
    var asking = Asking(PolicyHost(try generation(chain), seed: 1))
    for _ in 0..<100 { asking.measure() }
    let times = asking.sorted
    print("invite plugins=\(plugins) ns=\(quantile(0.5, of: times)) least_ns=\(times[0])")
}

/// The same decision without a canary, beside one that decides for others, and by one, in turns.
/// As in a server, the generation is looked up before the question is put.
func measureCanary() throws {
    let quiet = PolicyHost(try generation([("p", refusing)]), seed: 1)
    var hosts = [Asking(quiet)]
    for accounts in ["carol dave erin*", "bob"] {
        let host = PolicyHost(try generation([("p", refusing)]), seed: 1)
        guard let extent = CanaryExtent(accounts, salt: "salt") else { exit(1) }
        try host.prepareCanary(
            try generation([("p", refusing)]), CanaryOrder(extent, since: Moment(0)), at: now)
        _ = host.cut(at: now)
        hosts.append(Asking(host))
    }
    for _ in 0..<100 { for place in hosts.indices { hosts[place].measure() } }
    let medians = hosts.map { quantile(0.5, of: $0.sorted) }
    print(
        "canary none_ns=\(medians[0]) beside_ns=\(medians[1]) by_ns=\(medians[2]) "
            + "more_ns=\(max(medians[1], medians[2]) - medians[0])")
}

/// What plugins without any code take: of 200 in one generation, the bytes of one Lua state, and
/// what the process has more for it, which is also what loading used once.
func measureEmpty() throws {
    let sources = (1...200).map { ("p\($0)", "on.invite(function() end)") }
    let state = PolicyHost(try generation(sources), seed: 1).status.map(\.memory).max() ?? 0
    let floor = residentBytes()
    let kept = try (1...3).map { _ in try generation(sources) }
    let resident = (residentBytes() - floor) / (kept.count * sources.count)
    print("empty plugins=\(sources.count) bytes=\(state) resident=\(resident)")
}

/// A reload of plugins of 200 lines: from sources in memory to the swap.
func measureReload(_ count: Int) throws {
    let sources = (1...count).map { ("p\($0)", long($0)) }
    let lines = sources[0].1.split(separator: "\n", omittingEmptySubsequences: false).count
    let host = PolicyHost(try generation(sources), seed: 1)
    var times: [Int64] = []
    for number in 1...50 {
        _ = host.handle(.asked(question(UInt64(number))), at: now)
        let begin = nanoseconds(CLOCK_MONOTONIC)
        _ = try host.activate(try generation(sources), at: now)
        times.append((nanoseconds(CLOCK_MONOTONIC) - begin) / 1_000)
    }
    times.sort()
    print(
        "reload plugins=\(count) lines=\(lines) p50_us=\(quantile(0.5, of: times)) "
            + "p99_us=\(quantile(0.99, of: times))")
}

/// Makes a generation for every number in `wanted`, until it is closed.
func makeGenerations(
    of sources: [(String, String)], as wanted: WorkerMailbox<Int>,
    for ready: WorkerMailbox<Generation>
) {
    var batch: [Int] = []
    while case .elements = wanted.takeAll(into: &batch) {
        for _ in batch {
            guard let next = try? generation(sources) else { continue }
            ready.post(next)
        }
    }
}

/// Decisions at a steady pace on one thread, with and without reloads built on another.
func measureLatency(_ count: Int) throws {
    let sources = (1...count).map { ("p\($0)", long($0)) }
    for reloads in [0, 50] {
        let host = PolicyHost(try generation(sources), seed: 1)
        let ready = WorkerMailbox<Generation>()
        let wanted = WorkerMailbox<Int>()
        let warm = try WorkerThread(name: "warm", stackSize: 4 << 20) {
            makeGenerations(of: sources, as: wanted, for: ready)
        }
        var times: [Int64] = []
        var swaps = 0
        let begin = nanoseconds(CLOCK_MONOTONIC)
        // 1,000 decisions a second for five seconds; a reload every 100 of them.
        for number in 0..<5_000 {
            let due = begin + Int64(number) * 1_000_000
            while nanoseconds(CLOCK_MONOTONIC) < due { usleep(100) }
            if reloads > 0, number % (5_000 / reloads) == 0 { wanted.post(number) }
            var next: [Generation] = []
            if ready.count > 0 { _ = ready.takeAll(into: &next) }
            for generation in next { _ = try host.activate(generation, at: now) }
            swaps += next.count
            let asked = question(UInt64(number))
            _ = host.handle(.asked(asked), at: now)
            times.append((nanoseconds(CLOCK_MONOTONIC) - due) / 1_000)
        }
        wanted.close()
        warm.join()
        times.sort()
        print(
            "latency reloads=\(swaps) p50_us=\(quantile(0.5, of: times)) "
                + "p99_us=\(quantile(0.99, of: times)) worst_us=\(times[times.count - 1])")
    }
}

/// Memory after 1,000 reloads, measured against what it was after the first hundred.
func measureMemory() throws {
    let sources = (1...10).map { ("p\($0)", long($0)) }
    let host = PolicyHost(try generation(sources), seed: 1)
    var floor = 0
    var time = now
    for number in 1...1_100 {
        _ = host.handle(.asked(question(UInt64(number))), at: time)
        _ = try host.activate(try generation(sources), at: time)
        time = time + 400_000
        _ = host.handle(.deadlineReached, at: time)
        if number == 100 { floor = residentBytes() }
    }
    let grown = residentBytes() - floor
    print("memory reloads=1000 floor_kb=\(floor / 1_024) grown_kb=\(grown / 1_024)")
}

/// How long each hostile script holds the policy thread: so long waits every other call.
func measureHostile(_ paths: ArraySlice<String>) throws {
    var times: [(processor: Int64, wall: Int64, name: String)] = []
    for path in paths {
        guard let file = fopen(path, "r") else { exit(1) }
        var text = [UInt8](repeating: 0, count: 1 << 16)
        let length = fread(&text, 1, text.count, file)
        fclose(file)
        let source = String(decoding: text[..<length], as: UTF8.self)
        let host = PolicyHost(try generation([("p", source)]), seed: 1)
        let asked = question(1)
        let (processor, wall) = (
            nanoseconds(CLOCK_THREAD_CPUTIME_ID), nanoseconds(CLOCK_MONOTONIC)
        )
        _ = host.handle(.asked(asked), at: now)
        times.append(
            (
                (nanoseconds(CLOCK_THREAD_CPUTIME_ID) - processor) / 1_000,
                (nanoseconds(CLOCK_MONOTONIC) - wall) / 1_000,
                path.split(separator: "/").last.map(String.init) ?? path
            ))
    }
    times.sort { $0.processor < $1.processor }
    guard let worst = times.last, let slowest = times.map(\.wall).max() else { return }
    print(
        "hostile scripts=\(times.count) worst_cpu_us=\(worst.processor) name=\(worst.name) "
            + "worst_wall_us=\(slowest) late=\(times.count { $0.processor > 30_000 })")
}

let count = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) }
switch CommandLine.arguments.dropFirst().first {
case "invite": try measureInvite(count ?? 1)
case "canary": try measureCanary()
case "reload": try measureReload(count ?? 10)
case "latency": try measureLatency(count ?? 10)
case "memory": try measureMemory()
case "empty": try measureEmpty()
case "hostile": try measureHostile(CommandLine.arguments.dropFirst(2))
default:
    print(
        "usage: policy-benchmark invite [PLUGINS] | canary | reload [PLUGINS] | latency [PLUGINS] "
            + "| memory | empty | hostile FILE…")
    exit(2)
}
