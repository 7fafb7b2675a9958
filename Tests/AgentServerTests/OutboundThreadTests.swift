// The outbound thread begins and ends, whenever that is.

import EventLoop
import Outbound
import Testing

@testable import AgentServer

@Suite struct OutboundThreadTests {
    @Test func itEndsAtOnceWithOrdersBeforeItOrWithout() throws {
        let loop = try EventLoop()
        defer { loop.close() }
        let news = try Mailbox<OutboundService.News>(on: loop) { _ in }
        for number in 0..<300 {
            let service = try OutboundService(OutboundService.Settings())
            let thread = try OutboundThread(service, news: news)
            if number % 3 > 0 {
                thread.add(.use(PushServices(), []))
                thread.flush()
            }
            if number % 3 > 1 { thread.add(.stopTrying("none")) }
            thread.close()
        }
    }
}
