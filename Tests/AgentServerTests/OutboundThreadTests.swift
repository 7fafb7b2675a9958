// The outbound thread begins and ends, whenever that is.

import CallClient
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
            let begun = Clock.bootMilliseconds()
            thread.close()
            // One wake stands for the orders and for the end: who sleeps after the orders sleeps
            // for a minute.
            #expect(Clock.bootMilliseconds() - begun < 30_000, "it did not hear of its end")
        }
    }

    @Test func whatIsOrderedIsTold() throws {
        let waiter = try LoopWaiter()
        defer { waiter.loop.close() }
        var told: [UInt64] = []
        let news = try Mailbox<OutboundService.News>(on: waiter.loop) { batch in
            for case .response(let number, .failure) in batch { told.append(number) }
        }
        let service = try OutboundService(OutboundService.Settings())
        let thread = try OutboundThread(service, news: news)
        // Refused at once: nothing may reach loopback.
        let request = OutboundRequest("GET", try HTTPURL("http://127.0.0.1:9/"))
        for number in 1...UInt64(3) {
            thread.add(.fetch(number, request))
            thread.flush()
        }
        try waiter.wait(for: "three answers") { told.count == 3 }
        thread.close()
        #expect(told.sorted() == [1, 2, 3])
        news.close()
    }
}
