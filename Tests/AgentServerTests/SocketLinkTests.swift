// The link by which tools find a server.

import EventLoop
import Glibc
import TestSupport
import Testing

@testable import AgentServer

@Suite struct SocketLinkTests {
    private let folder = TemporaryFolder()

    private func link(to name: String, _ log: Log = Log(descriptor: -1)) -> SocketLink? {
        SocketLink(
            from: .unix(path: "\(folder.path)/link"), to: .unix(path: "\(folder.path)/\(name)"),
            log: log)
    }

    @Test func itTakesThePlaceOfAnOldOneAndGoesWithItsServer() {
        let first = link(to: "one")
        let second = link(to: "two")
        #expect(folder.names == ["link"])
        withExtendedLifetime((first, second)) {}
    }

    @Test func aNameThatSomebodyElseHasIsSaidAndNothingStaysBehind() throws {
        mkdir("\(folder.path)/link", 0o700)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(link(to: "one", Log(format: .text, descriptor: ends[1])) == nil)
        #expect(folder.names == ["link"])
        var line = [UInt8](repeating: 0, count: 1_000)
        let count = read(ends[0], &line, line.count)
        let text = String(decoding: line[..<max(0, count)], as: UTF8.self)
        #expect(text.contains("cannot find this server") && text.contains("\(folder.path)/link"))
    }
}
