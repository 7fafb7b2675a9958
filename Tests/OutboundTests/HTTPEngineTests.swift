// The engine against a server that misbehaves on demand.

import Foundation
import JSON
import Testing
import WebProtocols

@testable import Outbound

@Suite(.enabled(if: Python.isThere, "there is no python3"), .serialized)
struct HTTPEngineTests {
    private let double: PushDouble
    private let engine: HTTPEngine

    init() throws {
        double = try PushDouble()
        engine = try HTTPEngine(double.options)
    }

    private func echo(_ count: Int = 1, _ name: String = "echo") throws -> [OutboundRequest] {
        let url = try double.url("/try/" + name)
        var request = OutboundRequest.local("GET", url)
        request.mayRepeat = true
        // One stream at a time takes a while where the machine has other things to do.
        request.timeout = 60_000
        return Array(repeating: request, count: count)
    }

    private func server(_ command: JSONObject = [:]) throws -> JSONValue {
        try double.tell("server", command)
    }

    @Test func aRequestArrivesAsItWasMadeOverHTTP2() throws {
        var request = OutboundRequest.local(
            "PUT", try double.url("/try/echo?a=b"), body: [0, 255, 10])
        request.headers = [HTTPHeader("X-One", "1"), HTTPHeader("x-empty", "")]
        let result = try engine.run(request)
        let response = try result.get()
        #expect(response.status == 200 && response.version == 2)
        #expect(response.header("content-type") == "application/json")
        #expect(result.json?["method"] == "PUT")
        #expect(result.json?["path"] == "/try/echo?a=b")
        #expect(result.json?["body"]?.string?.unicodeScalars.map(\.value) == [0, 255, 10])
        let fields = result.json?["fields"]?.array ?? []
        let names = fields.compactMap { $0[0]?.string }
        #expect(fields.contains(["x-one", "1"]) && fields.contains(["x-empty", ""]))
        #expect(fields.contains(["user-agent", "callagent"]))
        #expect(!names.contains("content-type") && !names.contains("expect"))
        #expect(!names.contains("accept-encoding"))
    }

    @Test(arguments: ["GET", "POST", "DELETE", "PATCH", "HEAD", "PUT"])
    func everyMethodWorksOverPlainHTTP1(method: String) throws {
        let port = try #require(double.hello["plain_port"]?.integer)
        let url = try HTTPURL("http://127.0.0.1:\(port)/x")
        let body = Array((method == "GET" || method == "HEAD" ? "" : "text").utf8)
        let result = try engine.run(.local(method, url, body: body))
        #expect(result.status == 200)
        #expect((try result.get()).version == 1)
        guard method != "HEAD" else { return }
        #expect(result.json?["method"]?.string == method)
        #expect(result.json?["body"]?.string == (body.isEmpty ? "" : "text"))
    }

    @Test func manyRequestsShareFewConnections() throws {
        try double.plan("slow", ["delay": 0.2])
        let results = try engine.run(try echo(400, "slow"))
        #expect(results.allSatisfy { $0.status == 200 })
        let counters = try server()
        #expect((counters["accepted"]?.integer ?? 99) <= 4)
        #expect((counters["most_streams"]?.integer ?? 0) > 50)
        #expect(try engine.run(try echo(10)).allSatisfy { $0.status == 200 })
        #expect(try server()["accepted"] == counters["accepted"])
    }

    @Test func theServersLimitOfStreamsMayGoDownToOneAndUpAgain() throws {
        _ = try server(["streams": 1])
        #expect(try engine.run(try echo(40)).allSatisfy { $0.status == 200 })
        #expect((try server()["most_streams"]?.integer ?? 99) <= 1)
        _ = try server(["streams": 500])
        try double.plan("slow", ["delay": 0.1])
        #expect(try engine.run(try echo(60, "slow")).allSatisfy { $0.status == 200 })
        #expect((try server()["most_streams"]?.integer ?? 0) > 10)
        _ = try server(["streams": 1])
        #expect(try engine.run(try echo(40)).allSatisfy { $0.status == 200 })
    }

    @Test func whoLearnsOfTheLimitOfStreamsTooLateRepeatsWhatWasRefused() throws {
        _ = try server(["streams": 1, "greeting_delay": 1.2])
        #expect(try engine.run(try echo(40)).allSatisfy { $0.status == 200 })
        #expect(try server()["refused"]?.integer ?? 0 > 0)
    }

    @Test(arguments: ["refuse", "goaway"])
    func aStreamThatWasNotProcessedGoesToAnotherConnectionAtOnce(
        act: String
    ) throws {
        try double.plan("flaky", ["act": .string(act)], [:])
        #expect(try engine.run(try echo(1, "flaky")).allSatisfy { $0.status == 200 })
        try double.plan("flaky", ["act": .string(act)], [:])
        #expect(try engine.run(try echo(50, "flaky")).allSatisfy { $0.status == 200 })
    }

    @Test func afterGOAWAYWhatRunsIsFinishedAndWhatFollowsGoesElsewhere() throws {
        #expect(try engine.run(try echo(1)[0]).status == 200)
        try double.plan("slow", ["delay": 0.5])
        let tickets = try echo(20, "slow").map { try engine.submit($0) }
        var ends: [HTTPTicket: Int] = [:]
        let end = ContinuousClock.now + .seconds(60)
        // All of them are under way before the server says goodbye.
        while try server()["most_streams"]?.integer != 20, ContinuousClock.now < end {
            #expect(engine.perform(forAtMost: 10).isEmpty)
        }
        try double.tell("goaway")
        let later = try echo(5).map { try engine.submit($0) }
        while ends.count < 25, ContinuousClock.now < end {
            for completion in engine.perform(forAtMost: 100) {
                ends[completion.ticket] = completion.result.status
            }
        }
        #expect(tickets.allSatisfy { ends[$0] == 200 } && later.allSatisfy { ends[$0] == 200 })
    }

    @Test func aConnectionThatDiedWhileIdleIsNoticed() throws {
        #expect(try engine.run(try echo(3)).allSatisfy { $0.status == 200 })
        try double.tell("drop")
        #expect(try engine.run(try echo(3)).allSatisfy { $0.status == 200 })
    }

    @Test func aRequestThatMayNotBeRepeatedIsSentOnce() throws {
        try double.plan("lost", ["act": "lose"])
        var request = try echo(1, "lost")[0]
        #expect(try engine.run(request).failure?.kind == .connectionLost)
        #expect(try double.seen().count == 1)
        #expect(try engine.run(try echo(1)[0]).status == 200)
        _ = try double.seen()
        request.mayRepeat = false
        #expect(try engine.run(request).failure?.kind == .connectionLost)
        #expect(try double.seen().count == 1)
    }

    /// A server in trouble is not asked three times where it was asked once.
    @Test(arguments: [1, 10], ["lose", "break"])
    func aNewConnectionThatIsClosedGetsNoRequestAgain(count: Int, act: String) throws {
        // Only where an answer has come before, many are sent over one connection at once.
        #expect(try engine.run(try echo(1)[0]).status == 200)
        try double.tell("drop")
        while try server()["open"] != 0 {}
        _ = try double.seen()
        try double.plan("lost", ["act": .string(act), "delay": 0.05])
        let ends = try engine.run(try echo(count, "lost"))
        #expect(ends.allSatisfy { $0.failure?.kind == .connectionLost })
        #expect(try double.seen().count == count)
    }

    @Test(arguments: ["lose", "break"])
    func aConnectionThatServedBeforeAndIsClosedGetsItOnceMoreOnAnother(act: String) throws {
        #expect(try engine.run(try echo(1)[0]).status == 200)
        _ = try double.seen()
        try double.plan("lost", ["act": .string(act)])
        #expect(try engine.run(try echo(1, "lost")[0]).failure?.kind == .connectionLost)
        #expect(try double.seen().count == 2)
        #expect(try engine.run(try echo(1)[0]).status == 200)
        try double.plan("lost", ["act": .string(act)], [:])
        #expect(try engine.run(try echo(1, "lost")[0]).status == 200)
        #expect(try double.seen().count == 3)
    }

    @Test func aStreamThatIsResetOnAConnectionThatGoesOnIsSentOnceMore() throws {
        #expect(try engine.run(try echo(1)[0]).status == 200)
        _ = try double.seen()
        try double.plan("reset", ["act": "cancel"])
        #expect(try engine.run(try echo(1, "reset")[0]).failure?.kind == .connectionLost)
        #expect(try double.seen().count == 2)
    }

    /// libcurl by itself would go through all connections that are idle.
    @Test(arguments: [(0, 1), (1, 2), (5, 2)] as [(Int, Int64)])
    func overHTTP1ItIsTheSameHoweverManyConnectionsAreIdle(idle: Int, sent: Int64) throws {
        let port = try #require(double.hello["plain_port"]?.integer)
        // The first one to an origin is sent alone; those that follow make a connection each.
        for count in Set([min(idle, 1), idle]).sorted() where count > 0 {
            let fine = OutboundRequest.local(
                "GET", try HTTPURL("http://127.0.0.1:\(port)/meet-\(count)"))
            let ends = try engine.run(Array(repeating: fine, count: count))
            #expect(ends.allSatisfy { $0.status == 200 })
        }
        let lose = try HTTPURL("http://127.0.0.1:\(port)/lose")
        var request = OutboundRequest.local("POST", lose, body: [1])
        request.mayRepeat = true
        #expect(try engine.run(request).failure?.kind == .connectionLost)
        #expect(try server()["lost"]?.integer == sent)
    }

    @Test(arguments: ["lose", "reset", "truncate"])
    func aReplyThatBreaksOffIsALostConnection(act: String) throws {
        try double.plan("broken", ["act": .string(act), "delay": 0.05])
        let failure = try engine.run(try echo(1, "broken"))[0].failure
        #expect(failure?.kind == .connectionLost, "\(failure?.description ?? "none")")
        #expect(failure?.mayHaveArrived == true)
        try double.plan("broken")
        #expect(try engine.run(try echo(1)).allSatisfy { $0.status == 200 })
    }

    @Test func aServerThatNeverAnswersCostsItsTimeAndNoMore() throws {
        try double.plan("hang", ["act": "hang"])
        var request = try echo(1, "hang")[0]
        request.timeout = 200
        let before = ContinuousClock.now
        let failure = try engine.run(request).failure
        #expect(failure?.kind == .timedOut && failure?.mayHaveArrived == true)
        let elapsed = ContinuousClock.now - before
        #expect(elapsed >= .milliseconds(190) && elapsed < .seconds(3))
        #expect(try engine.run(try echo(1)).allSatisfy { $0.status == 200 })
        #expect(engine.runningCount == 0)
    }

    /// Whoever names an address for pushes would keep a processor busy with it.
    @Test func aServerThatDoesNotTakeTheBodyCostsNoProcessorTimeMeanwhile() throws {
        _ = try server(["window": 0])
        #expect(try engine.run(try echo(1))[0].status == 200, "the window is known")
        let url = try double.url("/try/echo")
        var request = OutboundRequest.local("POST", url, body: [1, 2, 3])
        request.timeout = 2_000
        let before = processorTime()
        #expect(try engine.run(request).failure?.kind == .timedOut)
        #expect(processorTime() - before < .milliseconds(400))
        // When the server does take it, it goes at once.
        request.timeout = 60_000
        let ticket = try engine.submit(request)
        var ends = engine.perform(forAtMost: 300)
        #expect(ends.isEmpty)
        _ = try server(["window": 65_535])
        while ends.isEmpty, engine.runningCount > 0 { ends = engine.perform(forAtMost: 1_000) }
        #expect(ends.first?.ticket == ticket && ends.first?.result.status == 200)
    }

    private func processorTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    @Test func aConnectionThatIsSlowToBeginCountsAsTimeOfTheRequest() throws {
        _ = try server(["greeting_delay": 0.3])
        #expect(try engine.run(try echo(1))[0].status == 200)
        _ = try server(["greeting_delay": 30])
        let other = try HTTPEngine(double.options)
        var request = try echo(1)[0]
        request.timeout = 200
        #expect(try other.run(request).failure?.kind == .timedOut)
    }

    @Test func theLongestBodyPassesAndOneByteMoreDoesNot() throws {
        var request = try echo(1, "big-100000")[0]
        request.responseLimit = 100_000
        #expect((try engine.run(request).get()).body.count == 100_000)
        request.responseLimit = 99_999
        #expect(try engine.run(request).failure?.kind == .tooLarge)
        request.responseLimit = 0
        #expect(try engine.run(request).failure?.kind == .tooLarge)
    }

    @Test func headerFieldsAreBounded() throws {
        let long = try echo(1, "headers-20000")[0]
        #expect((try engine.run(long).get()).header("x-long") != nil)
        var options = double.options
        // The name, the colon with a space, the value and the line's end.
        options.headerLimit = 20_000 + "x-long: ".utf8.count + 4
        #expect(try HTTPEngine(options).run(long).status == 200)
        options.headerLimit -= 4
        #expect(try HTTPEngine(options).run(long).failure?.kind == .tooLarge)
        var request = try echo(1, "headers-70000")[0]
        request.timeout = 1_000
        #expect(try engine.run(request).failure != nil)
    }

    @Test func aLongHeaderThatIsThereAtOnceIsReadToItsEnd() throws {
        let name = "headers-65000"
        try double.plan(name, ["delay": 0.3])
        let ticket = try engine.submit(try echo(1, name)[0])
        var ends: [HTTPCompletion] = []
        let end = ContinuousClock.now + .seconds(60)
        while try double.seen().isEmpty, ContinuousClock.now < end {
            ends += engine.perform(forAtMost: 10)
        }
        // Nothing is read before all of it is there.
        while try server()["answered"] != 1, ContinuousClock.now < end {}
        while ends.isEmpty, ContinuousClock.now < end { ends = engine.perform(forAtMost: 1_000) }
        #expect(ends.first?.ticket == ticket && ends.first?.result.status == 200)
        #expect(try ends.first?.result.get().header("x-long")?.utf8.count == 65_000)
    }

    @Test func aRedirectIsAResponseLikeOthers() throws {
        let response = try engine.run(try echo(1, "redirect")[0]).get()
        #expect(response.status == 302 && response.header("location") == "/try/echo")
    }

    @Test func aCertificateForAnotherNameAndOneThatNobodySignedAreRefused() throws {
        let wrong = OutboundRequest.local("GET", try double.url("/try/echo", port: "wrong_port"))
        let failure = try engine.run(wrong).failure
        #expect(failure?.kind == .tls && failure?.mayHaveArrived == false)
        let trusting = try HTTPEngine()
        #expect(try trusting.run(try echo(1)[0]).failure?.kind == .tls)
    }

    @Test func nobodyThereAndNoSuchNameAreToldApart() throws {
        let port = try #require(double.hello["plain_port"]?.integer)
        let nobody = OutboundRequest.local("GET", try HTTPURL("http://127.0.0.2:\(port)/"))
        let nameless = OutboundRequest.local("GET", try HTTPURL("https://no-such-name.invalid/"))
        let results = try engine.run([nobody, nameless])
        #expect(results[0].failure?.kind == .unreachable)
        #expect(results[1].failure?.kind == .unresolved)
        #expect(results[1].failure?.mayHaveArrived == false)
    }

    @Test func aGuardedRequestDoesNotReachThisMachine() throws {
        let port = try #require(double.hello["plain_port"]?.integer)
        for host in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "0", "[::ffff:127.0.0.1]"] {
            var request = OutboundRequest("GET", try HTTPURL("http://\(host):\(port)/secret"))
            let failure = try engine.run(request).failure
            #expect(failure?.kind == .refusedAddress, "\(host)")
            #expect(failure?.mayHaveArrived == false)
            request.addresses = AddressGuard(allowing: [try #require(AddressRange("10.0.0.0/8"))])
            #expect(try engine.run(request).failure?.kind == .refusedAddress)
        }
        let range = try #require(AddressRange("127.0.0.0/8"))
        var allowed = OutboundRequest("GET", try HTTPURL("http://127.0.0.1:\(port)/"))
        allowed.addresses = AddressGuard(allowing: [range])
        #expect(try engine.run(allowed).status == 200)
    }

    /// The plugin of an operator may have opened the very connection that a guest's URL wants.
    @Test func aGuardedRequestDoesNotRideOnAnothersConnection() throws {
        #expect(try engine.run(try echo(1)[0]).status == 200)
        var guest = try echo(1)[0]
        guest.addresses = .publicOnly
        #expect(try engine.run(guest).failure?.kind == .refusedAddress)
        #expect(try double.seen().count == 1)
        #expect(try server()["accepted"] == 1)
        #expect(try engine.run(try echo(1)[0]).status == 200)
    }

    @Test(arguments: [
        HTTPHeader("x-a", "b\r\nx-c: d"), HTTPHeader("x-a", "b\nc"), HTTPHeader("x a", "b"),
        HTTPHeader("", "b"), HTTPHeader("x:a", "b"), HTTPHeader("x-a", "b\u{0}c"),
    ])
    func aHeaderCannotSmuggleAnotherOneIn(header: HTTPHeader) throws {
        var request = try echo(1)[0]
        request.headers = [header]
        #expect(throws: OutboundFailure.self) { try engine.submit(request) }
        request.headers = []
        request.method = "GET / HTTP/1.1\r\nx: y"
        #expect(throws: OutboundFailure.self) { try engine.submit(request) }
    }

    @Test func aCancelledRequestHasNoCompletion() throws {
        try double.plan("hang", ["act": "hang"])
        let running = try engine.submit(try echo(1, "hang")[0])
        #expect(engine.perform(forAtMost: 50).isEmpty)
        let waiting = try engine.submit(try echo(1, "hang")[0])
        #expect(engine.cancel(running))
        #expect(engine.cancel(waiting))
        #expect(!engine.cancel(running))
        #expect(engine.runningCount == 0 && engine.waitingCount == 0)
        #expect(try engine.run(try echo(3)).allSatisfy { $0.status == 200 })
    }

    @Test func whatFindsNoPlaceInTimeIsToldSo() throws {
        var options = double.options
        options.limits.running = 1
        options.limits.waiting = 2
        let narrow = try HTTPEngine(options)
        try double.plan("hang", ["act": "hang"])
        var request = try echo(1, "hang")[0]
        _ = try narrow.submit(request)
        #expect(narrow.perform(forAtMost: 50).isEmpty)
        request.timeout = 100
        let late = try narrow.submit(request)
        _ = try narrow.submit(request)
        #expect(throws: OutboundFailure(.overloaded, "2 requests wait")) {
            try narrow.submit(request)
        }
        let first = narrow.perform(forAtMost: 2_000)
        #expect(first.contains { $0.ticket == late && $0.result.failure?.kind == .timedOut })
        #expect(first.allSatisfy { $0.result.failure?.mayHaveArrived == false })
    }

    @Test func aWakeEndsTheWaitingAlsoBeforeItBegins() throws {
        let clock = ContinuousClock()
        engine.waker.wake()
        #expect(clock.measure { _ = engine.perform(forAtMost: 10_000) } < .seconds(2))
        let waker = engine.waker
        let thread = Thread { waker.wake() }
        thread.start()
        #expect(clock.measure { _ = engine.perform(forAtMost: 10_000) } < .seconds(5))
        let idle = clock.measure { _ = engine.perform(forAtMost: 60) }
        #expect(idle >= .milliseconds(50))
    }

    @Test func aClosedEngineTakesNothingAndMayBeClosedAgain() throws {
        try double.plan("hang", ["act": "hang"])
        _ = try engine.submit(try echo(1, "hang")[0])
        _ = engine.perform(forAtMost: 20)
        engine.close()
        engine.close()
        let request = try echo(1)[0]
        #expect(throws: OutboundFailure(.closed)) { try engine.submit(request) }
        #expect(engine.perform(forAtMost: 1_000).isEmpty)
        engine.waker.wake()
    }
}
