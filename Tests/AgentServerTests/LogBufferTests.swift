// The log when nobody reads it: nobody waits, and what is missing is said.

import AgentCore
import CallModel
import EventLoop
import Glibc
import JSON
import TestSupport
import Testing

@testable import AgentServer

@Suite struct LogBufferTests {
    /// A pipe that takes some 64 KiB before somebody reads.
    private final class Pipe {
        private(set) var ends: [Int32] = [-1, -1]
        var writing: Int32 { ends[1] }

        init() { precondition(pipe(&ends) == 0) }

        deinit { for end in ends { close(end) } }

        /// Bytes that wait to be read.
        var holds: Int {
            var count: Int32 = 0
            _ = ioctl(ends[0], UInt(FIONREAD), &count)
            return Int(count)
        }

        /// Reads until there were so many bytes; gives how many.
        func readAll(_ wanted: Int) -> Int {
            var chunk = [UInt8](repeating: 0, count: 65_536)
            var total = 0
            while total < wanted {
                let count = read(ends[0], &chunk, chunk.count)
                guard count > 0 else { break }
                total += count
            }
            return total
        }

        /// Lines until one contains `last`.
        func lines(until last: String) -> [String] {
            var text = ""
            var chunk = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(ends[0], &chunk, chunk.count)
                text += String(decoding: chunk[..<max(0, count)], as: UTF8.self)
                if count <= 0 || text.hasSuffix("\n") && text.contains(last) { break }
            }
            return text.split(separator: "\n").map(String.init)
        }
    }

    private func fill(_ log: Log, _ count: Int) {
        let long = String(repeating: "x", count: 1_000)
        for number in 0..<count { log.info("filler", ("number", "\(number)"), ("text", long)) }
    }

    @Test func whoeverLogsDoesNotWaitForAReaderAndIsToldWhatIsMissing() {
        let pipe = Pipe()
        let log = Log(format: .text, descriptor: pipe.writing)
        log.bufferLimit = 100_000
        fill(log, 1_000)
        #expect(log.leftOut > 700)
        // There is room again as soon as somebody reads.
        var lines = pipe.lines(until: "number=90 ")
        log.info("last")
        lines += pipe.lines(until: "last")
        let notices = lines.filter { $0.contains("lines were left out") }
        let told = notices.compactMap { line in
            line.split(separator: " ").compactMap { Int($0) }.first
        }
        #expect(told.reduce(0, +) == Int(log.leftOut))
        #expect(lines.count { $0.contains("filler") } == 1_000 - Int(log.leftOut))
        #expect(lines.last?.contains("last") == true)
    }

    @Test func aLineAtTheLimitPassesOneByteMoreDoesNot() {
        let pipe = Pipe()
        let log = LogBuffer(to: pipe.writing, limit: 4_096)
        log.add([UInt8](repeating: 0x78, count: 4_097)) { Array("\($0)\n".utf8) }
        #expect(log.leftOut == 1)
        log.flush(within: 10_000)
        log.add([UInt8](repeating: 0x78, count: 4_092) + [0x0A]) { Array("\($0)\n".utf8) }
        log.flush(within: 10_000)
        #expect(log.leftOut == 1)
        #expect(pipe.lines(until: "x").map(\.utf8.count) == [1, 4_092])
    }

    @Test func whatAFullDiskDoesNotTakeIsCounted() throws {
        let full = open("/dev/full", O_WRONLY)
        defer { close(full) }
        let log = LogBuffer(to: full)
        for _ in 0..<10 { log.add([0x78, 0x0A]) { Array("\($0)\n".utf8) } }
        log.flush(within: 10_000)
        #expect(log.leftOut == 10)
    }

    @Test func nobodyWaitsLongerThanAMomentForTheEnd() {
        let pipe = Pipe()
        let log = LogBuffer(to: pipe.writing)
        for _ in 0..<200 { log.add([UInt8](repeating: 0x0A, count: 1_000)) { _ in [] } }
        let start = Clock.bootMilliseconds()
        log.flush(within: 50)
        let took = Clock.bootMilliseconds() - start
        // Nobody has read, and a pipe does not take all of it.
        #expect(took >= 50 && took < 10_000)
        #expect(pipe.holds < 200_000)
        #expect(pipe.readAll(200_000) == 200_000)
        log.flush(within: 10_000)
        #expect(log.leftOut == 0)
    }

    @Test func whatIsAskedOfALogHoldsForAllWhoHaveIt() {
        let pipe = Pipe()
        let log = Log(format: .text, descriptor: pipe.writing)
        let copy = log
        copy.info("first")
        log.configure(level: .warn, format: .json)
        copy.info("second")
        copy.warn("third")
        log.configure(level: .debug, format: .text)
        copy.debug("fourth")
        let lines = pipe.lines(until: "fourth")
        #expect(lines.count == 3)
        #expect(lines.first?.contains(" info  first") == true)
        #expect(lines.dropFirst().first?.contains("\"message\":\"third\"") == true)
        #expect(lines.last?.contains(" debug fourth") == true)
    }
}
