// Processes killed in the middle of commits: what was acknowledged is there, and nothing by halves.

import CallModel
import Glibc
import Storage
import StoreContract
import Testing

/// A `StorageRig` that writes until it is killed.
private struct Victim {
    let process: pid_t
    private let output: Int32

    /// Starts one on `directory`.
    init(directory: String, seed: UInt64) throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addclose(&actions, ends[0])
        let texts = [Self.program, "write", directory, "\(seed)"]
        let words: [UnsafeMutablePointer<CChar>?] = texts.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var child: pid_t = 0
        let code = posix_spawn(&child, Self.program, &actions, nil, words, environ)
        close(ends[1])
        process = child
        output = ends[0]
        try #require(code == 0, "cannot start \(Self.program): \(String(cString: strerror(code)))")
    }

    /// Beside the test bundle.
    private static let program: String = {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        let own = String(decoding: bytes[..<max(0, count)], as: UTF8.self)
        return own.split(separator: "/").dropLast().map { "/" + $0 }.joined() + "/StorageRig"
    }()

    /// Lets it acknowledge `count` batches and work on for about `extra` microseconds, kills it
    /// and gives the number of the last batch that it acknowledged.
    func run(until count: Int, extra: Int64) -> Int64? {
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while text.count(where: { $0 == 0x0A }) < count {
            let got = read(output, &chunk, chunk.count)
            guard got > 0 else { break }
            text += chunk[..<got]
        }
        let deadline = Self.microseconds + extra
        while Self.microseconds < deadline {}
        kill(process, SIGKILL)
        while true {
            let got = read(output, &chunk, chunk.count)
            guard got > 0 else { break }
            text += chunk[..<got]
        }
        close(output)
        var status: Int32 = 0
        waitpid(process, &status, 0)
        #expect(status & 0x7F == SIGKILL, "it ended by itself: \(status)")
        return text.split(separator: 0x0A).last.flatMap {
            Int64(String(decoding: $0, as: UTF8.self))
        }
    }

    private static var microseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }
}

@Suite struct CrashTests {
    private static var rounds: Int {
        getenv("CALLAGENT_CRASHES").flatMap { Int(String(cString: $0)) } ?? 20
    }

    @Test func whatWasAcknowledgedSurvivesAKill() throws {
        let seed = UInt64(getpid()) &* 2_654_435_761 ^ UInt64(time(nil))
        var dice = Dice(seed: seed)
        let disk = Disk()
        var committed: Int64 = 0
        for round in 1...Self.rounds {
            let victim = try Victim(directory: disk.path, seed: seed &+ UInt64(round))
            let last = victim.run(
                until: dice.number(0...25), extra: Int64(dice.number(0...8_000)))
            let context = "seed \(seed), round \(round)"
            let found = try check(disk, context)
            // One batch may have become durable without the word of it getting out.
            let acknowledged = max(last ?? 0, committed)
            #expect(found == acknowledged || found == acknowledged + 1, "\(context)")
            committed = found
        }
        #expect(committed > Int64(Self.rounds), "seed \(seed)")
    }

    /// How many keys are kept after batch `number`: the limit is per user, and seven take turns.
    private func keys(after number: Int64) -> Int {
        var count = 0
        for user in 0..<7 {
            let written = (Int(number) + 7 - user) / 7 - (user == 0 ? 1 : 0)
            count += min(1_000, written)
        }
        return count
    }

    /// Opens the store, checks that it holds batches 1 to some `n` and nothing else, tells `n`.
    private func check(_ disk: Disk, _ context: String) throws -> Int64 {
        let store = try disk.open { $0.check = .whole }
        let state = try store.wholeState(at: Moment(1))
        let number = state.newestMoment?.milliseconds ?? 0
        let reader = try store.makeReader()
        let live = Array(max(1, number - 2)..<max(1, number + 1))
        #expect(state.core.calls.map(\.createdAt.milliseconds) == live, "\(context)")
        #expect(state.core.keys.count == keys(after: number), "\(context)")
        let jobs = try reader.openPushes(after: nil, limit: 99).map(\.id.value)
        #expect(jobs == Array(max(1, number - 1)..<max(1, number + 1)), "\(context)")
        let counter = try reader.value(of: "p", key: "n", at: Moment(1)) ?? Array("0".utf8)
        #expect(String(decoding: counter, as: UTF8.self) == "\(number)", "\(context)")
        for place in max(1, number - 50)..<max(1, number + 1) {
            let call = try reader.call(CallID(high: UInt64(place) << 16, low: 1))
            #expect(call?.isLive == (place > number - 3), "\(context), call \(place)")
            let reply = try reader.reply(of: UserID("u\(place % 7)"), under: "k\(place)")
            #expect(reply?.bodyHash == UInt64(place), "\(context), key \(place)")
        }
        return number
    }
}
