// Parts of the management API: the audit's bodies, the newest lines of the log, jobs, hosts.

import AgentCore
import CallClient
import CallModel
import EventLoop
import JSON
import Testing
import WebProtocols

@testable import AgentServer

@Suite struct AuditBodyTests {
    private func kept(_ text: String) -> JSONValue { AuditBody.kept(of: Array(text.utf8)) }

    @Test func secretsAndFilesAreNotKept() {
        #expect(kept("") == .null)
        #expect(kept(#"{"user":"ann","jti":"7"}"#) == ["user": "ann", "jti": "***"])
        #expect(
            kept(#"{"a":[{"Token":"x","key":{"y":1}}]}"#)
                == ["a": [["Token": "***", "key": "***"]]])
        #expect(
            kept(#"{"options":{"pin":"4711","API_KEY":"a","apikey":"b","pinned":true}}"#)
                == ["options": ["pin": "***", "API_KEY": "***", "apikey": "***", "pinned": true]])
        let files = kept(#"{"files":{"plugins/a.lua":"return 1"}}"#)
        #expect(files["files"]?["plugins/a.lua"]?.string?.hasPrefix("sha256 ") == true)
        #expect(kept("{") == "1 bytes that are no JSON")
        #expect(kept("\u{0}\u{1}") == "2 bytes that are no JSON")
    }

    @Test(arguments: [1_900, 2_000, 2_048, 2_100, 200_000])
    func whatIsLongIsCut(_ count: Int) {
        let kept = kept(#"{"generation":""# + String(repeating: "é", count: count / 2) + #""}"#)
        #expect(kept.bytes.count <= AuditBody.bytesMax + 64)
    }
}

@Suite struct LogRingTests {
    @Test func theNewestLinesAreKeptAndFollowed() {
        let ring = LogRing()
        for number in 1...3 { ring.add(.info, "line \(number)", [("plugin", "p")]) }
        #expect(ring.lines(before: 4, 2).map(\.number) == [3, 2])
        #expect(ring.lines(before: 2, 2).map(\.number) == [1])
        #expect(ring.lines(before: 1, 2).isEmpty)
        #expect(ring.lines(after: 1, 10).found.map(\.number) == [2, 3])
        #expect(ring.lines(after: 0, 2).found.map(\.number) == [1, 2])
        #expect(ring.lines(after: 3, 2).found.isEmpty && !ring.lines(after: 3, 2).areMissing)
        for _ in 0..<(LogRing.most + 5) { ring.add(.warn, "more", []) }
        #expect(ring.lines(after: 1, 1).areMissing)
        #expect(ring.lines(before: .max, .max).count == LogRing.most)
    }

    @Test func longLinesTakeNoMoreThanTheirBytes() {
        let ring = LogRing()
        let long = String(repeating: "x", count: 1 << 20)
        for _ in 0..<20 { ring.add(.info, long, []) }
        #expect(ring.lines(before: .max, .max).count < 8)
        // A line that is longer than all of them together is not kept.
        ring.add(.info, String(repeating: "y", count: LogRing.bytesMax + 1), [])
        #expect(ring.lines(before: .max, .max).isEmpty)
        ring.add(.info, "short", [])
        #expect(ring.lines(before: .max, .max).map(\.message) == ["short"])
    }
}

@Suite struct ConsoleHostsTests {
    private func admits(_ listen: String, _ host: String, origin: String? = nil) throws -> Bool {
        var options = ConsoleOptions(listen: try NetworkAddress(parsing: listen))
        options.origins = ["https://ops.example.com:8443"]
        var headers: HTTPHeaders = ["Host": host]
        if let origin { headers.append("Origin", origin) }
        let request = HTTPRequest(.get, try HTTPTarget("/"), headers: headers)
        return ConsoleHosts(options).admit(request)
    }

    @Test func onlyOwnNames() throws {
        #expect(try admits("127.0.0.1:7700", "localhost:1"))
        #expect(try admits("127.0.0.1:7700", "ops.example.com"))
        #expect(try !admits("127.0.0.1:7700", "evil.example"))
        #expect(try admits("10.0.0.5:7700", "10.0.0.5:7700"))
        #expect(try !admits("10.0.0.5:7700", "localhost"), "it does not listen there")
        #expect(try !admits("10.0.0.5:7700", "10.0.0.6"))
        #expect(try admits("10.0.0.5:7700", "OPS.example.com", origin: "https://ops.example.com"))
        #expect(try !admits("10.0.0.5:7700", "10.0.0.5", origin: "https://evil.example"))
        #expect(try !admits("10.0.0.5:7700", "10.0.0.5", origin: "null"))
    }
}

@Suite struct LongPollsTests {
    private final class Rig {
        let waiter: LoopWaiter
        let polls: LongPolls
        /// The numbers of the requests that are answered.
        var answered: [Int] = []

        init() throws {
            waiter = try LoopWaiter()
            polls = LongPolls(on: waiter.loop, Pieces(on: waiter.loop))
        }

        func ask(_ numbers: Range<Int>, by name: String) {
            for number in numbers {
                polls.wait(25_000, by: name, for: { $0 ? .json(200, [:]) : nil }) { _ in
                    self.answered.append(number)
                }
            }
        }

        /// What the next look answers.
        func look() throws -> [Int] {
            let before = answered.count
            try waiter.wait(for: "a look") { [self] in answered.count > before }
            return Array(answered[before...])
        }
    }

    @Test func theNewestTakesThePlaceOfTheOldestOfTheSamePerson() throws {
        let rig = try Rig()
        defer { rig.waiter.close() }
        rig.ask(0..<1, by: "bob")
        rig.ask(1..<LongPolls.mostOfOne + 3, by: "ann")
        #expect(rig.answered.isEmpty, "those who ask anew would never rest")
        #expect(try rig.look() == [1, 2])
        rig.ask(200..<201, by: "ann")
        #expect(try rig.look() == [3])
    }

    @Test func theNewestTakesThePlaceOfTheOldestOfWhoHasMost() throws {
        let rig = try Rig()
        defer { rig.waiter.close() }
        let others = LongPolls.most / LongPolls.mostOfOne - 1
        rig.ask(0..<50, by: "bob")
        for other in 0..<others {
            rig.ask(50 + other * 100..<150 + other * 100, by: "user \(other)")
        }
        rig.ask(950..<1_000, by: "carl")
        rig.ask(1_000..<1_001, by: "ann")
        let lost = try rig.look()
        #expect(lost.count == 1 && (50..<950).contains(lost[0]) && lost[0] % 100 == 50)
    }

    @Test func noMoreThanThatIsKept() throws {
        let rig = try Rig()
        defer { rig.waiter.close() }
        rig.ask(0..<5_000, by: "ann")
        #expect(rig.answered.count == 5_000 - LongPolls.most - LongPolls.mostOfOne)
    }
}

@Suite struct CallChangesTests {
    private func call(_ number: UInt64, _ revision: UInt32) -> Call {
        var call = Call(
            id: CallID(high: number, low: 1), mode: .common, kind: "audio", ringTime: 1,
            deliveryCheck: nil, createdAt: Moment(1))
        call.revision = revision
        return call
    }

    @Test func eachCallIsToldOnceAsItIs() throws {
        let place = try GatewayRig()
        defer { place.close() }
        let changes = CallChanges(place.exchange, loop: place.waiter.loop)
        #expect(place.exchange.callChanged == nil, "without a watcher it costs nothing")
        changes.watch()
        let begin = changes.last
        for (number, revision) in [(1, 1), (2, 1), (1, 2)] as [(UInt64, UInt32)] {
            place.exchange.callChanged?(call(number, revision))
        }
        let (found, areMissing) = changes.changes(after: begin)
        #expect(found.map(\.id.high) == [2, 1] && found.map(\.revision) == [1, 2])
        #expect(!areMissing)
        #expect(changes.changes(after: begin + 2).calls.map(\.id.high) == [1])
        #expect(changes.changes(after: changes.last).calls.isEmpty)
        for number in 0..<UInt64(CallChanges.most) {
            place.exchange.callChanged?(call(number + 10, 1))
        }
        #expect(changes.changes(after: begin).areMissing)
        #expect(!changes.changes(after: begin + 3).areMissing)
        #expect(changes.changes(after: 0).calls.count == CallChanges.most)
    }
}
