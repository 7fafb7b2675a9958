// The log is told when somebody sets the wall clock, once each time.

import CallModel
import EventLoop
import Glibc
import Testing

@testable import AgentServer

@Suite struct ClockWatchTests {
    @Test func eachJumpIsToldOnceAndTheWayBackToo() throws {
        let loop = try EventLoop()
        defer { loop.close() }
        let nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(nowhere) }
        let log = Log(format: .text, descriptor: nowhere)
        var gap: Milliseconds = 0
        let watch = ClockWatch(loop, log: log) { gap }
        func told(at moment: Milliseconds) -> [String] {
            let before = log.newest.last
            gap = moment
            watch.look()
            return log.newest.lines(after: before, 10).found.map {
                "\($0.level) \($0.message) \($0.field("ahead_ms") ?? "")"
            }
        }
        let apart = "warn the wall clock is not the calls' clock"
        let again = "info the wall clock is the calls' clock again"
        #expect(told(at: 0).isEmpty && told(at: CoreClock.gapMax).isEmpty)
        #expect(told(at: 3_600_000) == ["\(apart) 3600000"])
        #expect(told(at: 3_599_990).isEmpty, "it drifts back, and the log knows")
        #expect(told(at: -3_600_000) == ["\(apart) -3600000"])
        #expect(told(at: 5) == ["\(again) 5"])
        #expect(told(at: 6).isEmpty)
    }
}
