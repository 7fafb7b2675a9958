// The hostile corpus: every script in Hostile/ is stopped in time, costs one decision and leaves
// its plugin usable.

import CLua
import CallModel
import Configuration
import Glibc
import PolicyTestSupport
import Testing

@testable import PolicyHost

@Suite(.serialized) struct HostileTests {
    static let folder: String = {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        return parts.dropLast().joined(separator: "/") + "/Hostile"
    }()

    static let scripts = Files.list(folder).filter { $0.hasSuffix(".lua") }

    /// Under the thread sanitizer signals are held back.
    static let hasWatchdog = callua_has_watchdog()
    static let needsWatchdog: Set = ["collide-on-growth.lua", "mode-set-later.lua"]

    /// The promise is of what is run in earnest. Under the address sanitizer one `json.decode`,
    /// which nothing interrupts, has been seen to take 40 ms.
    static let slowdown = dlsym(nil, "__asan_init") == nil ? 1.0 : 10.0

    @Test func theCorpusIsThere() { #expect(Self.scripts.count >= 60) }

    @Test(arguments: scripts)
    func isStoppedInTimeAndLeavesThePluginUsable(_ name: String) throws {
        let text = try #require(Files.read("\(Self.folder)/\(name)", limit: 1 << 20))
        let source = String(decoding: text, as: UTF8.self)
        if Self.needsWatchdog.contains(name), !Self.hasWatchdog {
            print("not run, because this build cannot leave a run in the middle: \(name)")
            return
        }
        let expects = source.prefix { $0 != "\n" }.dropFirst("-- expects ".count)
        var spent = Double.infinity
        var limit = 0.0
        // Time in which a virtual machine has no processor counts as time of the script, so some
        // tries may fail. A script that nothing stops would fail them all.
        for _ in 0..<10 where spent > limit {
            (spent, limit) = try run(source, expects: String(expects))
        }
        if Self.hasWatchdog { #expect(spent <= limit, "\(name) took \(spent) ms") }
    }

    /// Runs the script; returns the milliseconds that this took, and may take at most.
    private func run(_ source: String, expects: String) throws -> (spent: Double, limit: Double) {
        let rig = try Rig(source) {
            $0.plugins[0].setting.limits.loadTime = 2_000
            // Filling the memory, and coming to an error, may take longer than a run may take: on a
            // busy machine, in a build for debuggers, more than half a second.
            if expects != "cpu" { $0.plugins[0].setting.limits.runTime = 2_000 }
        }
        let start = processorTime()
        let effects = rig.ask(rig.call())
        let spent = processorTime() - start

        #expect(effects.answer == Answer.none)
        try check(effects, expects: expects)
        // The plugin goes on.
        #expect(rig.invite(busy: 1) == .decided(.reject(busy: true, extendedData: nil)))
        let most = rig.host.generation.plan.plugins[0].setting.limits.runTime + 20
        return (spent, Double(most) * Self.slowdown)
    }

    private func check(_ effects: [PolicyEffect], expects: String) throws {
        let record = try #require(effects.record?.asked.first)
        let lines = effects.lines.filter { $0.hasPrefix("error: ") }
        switch expects {
        case "none": #expect(record.verdict == .noOpinion, "\(effects.lines)")
        case "cpu", "memory", "bad_return":
            let failure = try #require(Failure(rawValue: expects))
            #expect(record.verdict == .failed(failure), "\(lines.map { $0.prefix(300) })")
        default:
            #expect(record.verdict == .failed(.error), "\(lines.map { $0.prefix(300) })")
            let text = String(expects.dropFirst("error: ".count))
            let found = lines.first?.contains(text) ?? false
            #expect(found, "\(lines.map { $0.prefix(300) }), expected \(text)")
        }
    }
}
