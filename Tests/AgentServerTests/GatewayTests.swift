// The limits of connections, of what one of them may ask, and of their time.

import AgentCore
import CallClient
import CallClientCore
import CallModel
import CallWire
import EventLoop
import JSON
import Storage
import StoreContract
import Testing
import WebProtocols

@testable import AgentServer

@Suite struct GatewayTests {
    private let nobody = CallID(high: 1, low: 1)

    /// A question that only the store can answer.
    private func question(_ id: Int) -> String {
        #"{"id":\#(id),"op":"call.get","data":{"call_id":"\#(CallID(high: 9, low: UInt64(id)))"}}"#
    }

    private func invitation(_ id: Int) -> String {
        #"{"id":\#(id),"op":"call.invite","data":{"invitees":["bob"]}}"#
    }

    // MARK: Who may connect

    @Test func oneConnectionTooManyIsCutAndOneThatGoesMakesRoom() throws {
        let rig = try GatewayRig { $0.connections = 2 }
        defer { rig.close() }
        let first = try rig.device("ann")
        _ = try rig.device("cat")
        let third = try rig.client()
        try rig.waiter.wait(for: "the end of the third") { third.isClosed }
        #expect(rig.metrics.refusedConnections == 1 && rig.gateway.links.count == 2)
        first.close()
        try rig.waiter.wait(for: "the end of the first") { rig.gateway.links.count == 1 }
        let fourth = try rig.device("bob")
        #expect(!fourth.isClosed)
    }

    @Test func allConnectionsTogetherAreBoundedToo() throws {
        let rig = try GatewayRig { $0.connections = 1 }
        defer { rig.close() }
        let first = try rig.device("bob")
        let second = try rig.client()
        try rig.waiter.wait(for: "the end of the second") { second.isClosed }
        #expect(!first.isClosed)
    }

    @Test(
        arguments: [
            (nil, "https://evil.example", true),
            (["https://app.example"], "https://app.example", true),
            (["https://app.example"], "HTTPS://App.Example", true),
            (["https://app.example/"], "https://app.example", true),
            (["https://app.example"], "https://app.example.evil", false),
            (["https://app.example"], "http://app.example", false),
            (["https://app.example"], "null", false),
            (["https://app.example"], nil, true),
            ([], "https://app.example", false),
            (["*"], "https://evil.example", true),
        ] as [([String]?, String?, Bool)])
    func pagesOfTheseOrigins(_ list: [String]?, _ origin: String?, _ isAdmitted: Bool) throws {
        var request = HTTPRequest(.get, try HTTPTarget("/v1/ws"))
        if let origin { request.headers.append("Origin", origin) }
        let peer = try #require(PeerAddress(host: "192.0.2.1"))
        #expect(Origins(list).admit(request, from: peer) == isAdmitted)
    }

    @Test(
        arguments: [
            ("http://localhost:8000", "127.0.0.1:7600", true),
            ("http://127.0.0.1:8000", "localhost", true),
            ("http://[::1]:8000", "[::1]:7600", true),
            ("https://app.localhost", "app.localhost:7600", true),
            (nil, "127.0.0.1:7600", true),
            (nil, "LOCALHOST.:7600", true),
            ("https://app.example", "127.0.0.1:7600", false),
            ("http://localhost.evil.example", "127.0.0.1:7600", false),
            ("http://127.0.0.1.evil.example", "127.0.0.1:7600", false),
            ("null", "127.0.0.1:7600", false),
            ("file://", "127.0.0.1:7600", false),
            (nil, "evil.example:7600", false),
            ("http://127.0.0.1:8000", "evil.example:7600", false),
        ] as [(String?, String, Bool)])
    func withDevelopmentTokensPagesOfThisMachine(
        _ origin: String?, _ host: String, _ isAdmitted: Bool
    ) throws {
        var request = HTTPRequest(.get, try HTTPTarget("/v1/ws"), headers: ["Host": host])
        if let origin { request.headers.append("Origin", origin) }
        let peer = try #require(PeerAddress(host: "127.0.0.1"))
        #expect(Origins.loopback.admit(request, from: peer) == isAdmitted)
        let shared = Origins.loopback.sharing(with: request)
        #expect(shared["Access-Control-Allow-Origin"] == origin && shared["Vary"] == "Origin")
    }

    @Test func aPageFromElsewhereGetsNoWebSocket() throws {
        let rig = try GatewayRig()
        defer { rig.close() }
        rig.gateway.configure(
            ServerLimits(), modes: Settings().modes, origins: Origins(["https://app.example"]))
        #expect(try rig.socket(["Origin": "https://evil.example"]).status == 403)
        #expect(try rig.socket(["Origin": "https://app.example"]).status == 101)
        #expect(try rig.socket().status == 101)
    }

    @Test func aPageMayReadTheAnswerIfItsOriginMayConnect() throws {
        var request = HTTPRequest(.get, try HTTPTarget("/v1/call/list"))
        #expect(Origins(nil).sharing(with: request).fields.isEmpty)
        #expect(Origins(["https://app.example"]).sharing(with: request)["Vary"] == "Origin")
        request.headers.append("Origin", "https://app.example")
        let field = "Access-Control-Allow-Origin"
        #expect(Origins(nil).sharing(with: request)[field] == "*")
        #expect(Origins(nil).sharing(with: request)["Vary"] == nil)
        let shared = Origins(["https://app.example"]).sharing(with: request)
        #expect(shared[field] == "https://app.example" && shared["Vary"] == "Origin")
    }

    @Test func whatAPageWasToldIsNotToldToWhoAsksNextOnTheConnection() throws {
        let rig = try GatewayRig()
        defer { rig.close() }
        let client = try rig.client()
        client.request("GET", "/healthz", "Origin: https://app.example\r\n")
        client.request("GET", "/healthz")
        try rig.waiter.wait(for: "both answers") { client.responses.count == 2 }
        #expect(client.responses.map { $0.headers["Access-Control-Allow-Origin"] } == ["*", nil])
    }

    // MARK: Time

    @Test func whoseTokenHasRunOutIsSentToGetANewOne() throws {
        let now = Clock.wallMilliseconds()
        let rig = try GatewayRig(tokens: BriefTokens(expiresAt: now + 60_000)) {
            $0.tokenLeeway = -60_000
        }
        defer { rig.close() }
        let bob = try rig.device("bob")
        rig.gateway.runHousekeeping()
        try rig.waiter.wait(for: "the close") { bob.closeCode != nil }
        #expect(bob.closeCode == 4101)
    }

    @Test func whoseTokenHasNotRunOutStays() throws {
        let now = Clock.wallMilliseconds()
        let rig = try GatewayRig(tokens: BriefTokens(expiresAt: now)) { $0.tokenLeeway = 60_000 }
        defer { rig.close() }
        let bob = try rig.device("bob")
        rig.gateway.runHousekeeping()
        bob.say(question(1))
        try rig.waiter.wait(for: "an answer") { bob.reply(to: 1) != nil }
        #expect(bob.closeCode == nil)
    }

    @Test func whoDoesNotSayHelloInTimeIsSentAwayCountedFromTheUpgrade() throws {
        let rig = try GatewayRig { $0.session.helloWithin = 0 }
        defer { rig.close() }
        let client = try rig.client()
        rig.gateway.runHousekeeping()
        client.upgrade([:])
        try rig.waiter.wait(for: "a WebSocket") { client.status == 101 }
        rig.gateway.runHousekeeping()
        try rig.waiter.wait(for: "the close") { client.closeCode != nil }
        #expect(client.closeCode == 4200)
    }

    /// The time until the silent connection is given up counts (A20).
    @Test func aSilentCallerIsLost35SecondsAfterTheLastFrame() throws {
        let rig = try GatewayRig()
        defer { rig.close() }
        let start = Moment(1_800_000_000_000)
        rig.exchange.clock = CoreClock(standingAt: start)
        let (alice, bob) = (try rig.device("alice"), try rig.device("bob"))
        alice.say(#"{"id":1,"op":"call.invite","data":{"invitees":["bob"]}}"#)
        try rig.waiter.wait(for: "the invitation") { bob.event("call.incoming") != nil }
        for (id, second) in [(1, 25), (2, 33)] as [(Int64, Int64)] {
            rig.exchange.clock = CoreClock(standingAt: start + second * 1_000)
            bob.say(question(Int(id)))
            try rig.waiter.wait(for: "an answer") { bob.reply(to: id) != nil }
            rig.gateway.runHousekeeping()
        }
        try rig.waiter.wait(for: "the close") { alice.closeCode == 4009 }
        rig.exchange.clock = CoreClock(standingAt: start + 34_999)
        bob.say(question(3))
        try rig.waiter.wait(for: "an answer") { bob.reply(to: 3) != nil }
        #expect(bob.event("call.cancelled") == nil)
        rig.exchange.clock = CoreClock(standingAt: start + 35_000)
        bob.say(question(4))
        try rig.waiter.wait(for: "the loss") { bob.event("call.cancelled") != nil }
        #expect(bob.event("call.cancelled")?["reason"]?.string == "caller_lost")
    }

    @Test func aRequestThatDoesNotBecomeWholeIsGivenUp() throws {
        let rig = try GatewayRig {
            $0.requestWithin = 0
            $0.idleMax = 60_000
        }
        defer { rig.close() }
        let idle = try rig.client()
        idle.request("GET", "/healthz")
        try rig.waiter.wait(for: "an answer") { idle.status == 200 }
        let slow = try rig.client()
        slow.send("GET /healthz HTTP/1.1\r\nHo")
        try rig.waiter.wait(for: "the end of the slow one") {
            rig.gateway.runHousekeeping()
            return slow.isClosed
        }
        #expect(!idle.isClosed)
    }

    @Test func aConnectionThatNobodyUsesIsGivenUpButNotWhileItIsAnswered() throws {
        let store = StoreDouble()
        let rig = try GatewayRig(store: store) { $0.idleMax = 0 }
        defer { rig.close() }
        let busy = try rig.client()
        busy.request("GET", "/v1/call/\(nobody)", "Authorization: Bearer dev:bob\r\n")
        let idle = try rig.client()
        idle.request("GET", "/healthz")
        try rig.waiter.wait(for: "an answer") { idle.status == 200 }
        try rig.waiter.wait(for: "the end of the idle one") {
            rig.gateway.runHousekeeping()
            return idle.isClosed
        }
        #expect(!busy.isClosed)
        rig.exchange.receive(store.news(to: .call(nobody), .call(nil)))
        try rig.waiter.wait(for: "an answer, then the end") {
            rig.gateway.runHousekeeping()
            return busy.isClosed
        }
        #expect(busy.status == 404)
    }

    // MARK: How much

    @Test func aConnectionWithEnoughUnderWayIsReadNoFurther() throws {
        let store = StoreDouble()
        let rig = try GatewayRig(store: store) { $0.requestsUnderWay = 4 }
        defer { rig.close() }
        let bob = try rig.device("bob")
        let alice = try rig.device("alice")
        for id in 1...10 { bob.say(question(id)) }
        try rig.waiter.wait(for: "the first questions") { store.queries.count == 4 }
        alice.say(question(90))
        try rig.waiter.wait(for: "somebody else's question") { store.queries.count == 5 }
        func answer(_ id: Int) {
            let query = StoreQuery.call(CallID(high: 9, low: UInt64(id)))
            rig.exchange.receive(store.news(to: query, .call(nil)))
        }
        answer(2)
        try rig.waiter.wait(for: "the next question") { store.queries.count == 6 }
        try rig.waiter.wait(for: "the answer") { bob.reply(to: 2) != nil }
        for id in [1, 3, 4, 5, 6, 7, 8, 9, 10] {
            let query = StoreQuery.call(CallID(high: 9, low: UInt64(id)))
            try rig.waiter.wait(for: "question \(id)") { store.queries.contains(query) }
            answer(id)
        }
        try rig.waiter.wait(for: "all answers") { (1...10).allSatisfy { bob.reply(to: $0) != nil } }
    }

    @Test func aPageWeighsMoreThanOtherRequests() throws {
        let store = StoreDouble()
        let rig = try GatewayRig(store: store) { $0.requestsUnderWay = 64 }
        defer { rig.close() }
        let bob = try rig.device("bob")
        for id in 1...5 { bob.say(#"{"id":\#(id),"op":"call.list"}"#) }
        try rig.waiter.wait(for: "two pages asked for") { store.queries.count == 2 }
        rig.exchange.receive(store.news(to: store.queries[0], .page(CallPage())))
        try rig.waiter.wait(for: "the third") { store.queries.count == 3 }
    }

    @Test func pipelinedRequestsOverHTTPAreAnsweredOneAfterTheOther() throws {
        let rig = try GatewayRig()
        defer { rig.close() }
        let client = try rig.client()
        for _ in 0..<500 { client.request("GET", "/healthz") }
        client.request("GET", "/nowhere")
        try rig.waiter.wait(for: "all answers") { client.responses.count == 501 }
        #expect(client.responses.dropLast().allSatisfy { $0.status == 200 })
        #expect(client.status == 404)
    }

    @Test func oneRequestTooManyOfAUserInASecondIsRefused() throws {
        let rig = try GatewayRig(tokens: Strangers()) { $0.requestsPerSecond = 1 }
        defer { rig.close() }
        let phone = try rig.device("bob", "phone")
        let laptop = try rig.device("bob", "laptop")
        let alice = try rig.device("alice")
        phone.say(question(1))
        try rig.waiter.wait(for: "an answer") { phone.reply(to: 1) != nil }
        laptop.say(question(1))
        alice.say(question(1))
        try rig.waiter.wait(for: "answers") {
            laptop.reply(to: 1) != nil && alice.reply(to: 1) != nil
        }
        #expect(phone.refusal(of: 1) == "not_found" && alice.refusal(of: 1) == "not_found")
        let error = laptop.reply(to: 1)?["error"]
        #expect(error?["code"] == "rate_limited" && error?["retryable"] == true)
        let wait = try #require(error?["retry_after_ms"]?.integer)
        #expect((1...1_000).contains(wait))
    }

    @Test(arguments: [60_000, 1])
    func whoAsksFasterThanItMayIsReadNoFurtherForAMoment(
        _ moment: Milliseconds
    ) throws {
        let rig = try GatewayRig(tokens: Strangers()) {
            ($0.requestsPerSecond, $0.refusalsAtOnce, $0.restFor) = (1, 4, moment)
        }
        defer { rig.close() }
        let bob = try rig.device("bob")
        let alice = try rig.device("alice")
        for id in 1...40 { bob.say(question(id)) }
        let refused = { (1...40).count { bob.refusal(of: $0) == "rate_limited" } }
        try rig.waiter.wait(for: "refusals") { refused() >= 4 }
        alice.say(question(90))
        try rig.waiter.wait(for: "somebody else's answer") { alice.reply(to: 90) != nil }
        if moment == 1 {
            try rig.waiter.wait(for: "all answers") {
                (1...40).allSatisfy { bob.reply(to: $0) != nil }
            }
        } else {
            #expect(refused() == 4)
        }
    }

    @Test func whoAsksFasterThanItMayOverManyConnectionsHasNoMoreRefusals() throws {
        let rig = try GatewayRig(tokens: Strangers()) {
            ($0.requestsPerSecond, $0.refusalsAtOnce, $0.restFor) = (1, 10, 60_000)
        }
        defer { rig.close() }
        let devices = try (0..<5).map { try rig.device("bob", "device-\($0)") }
        let alice = try rig.device("alice")
        for device in devices { for id in 1...40 { device.say(question(id)) } }
        func refused() -> Int {
            devices.reduce(0) { sum, device in
                sum + (1...40).count { device.refusal(of: $0) == "rate_limited" }
            }
        }
        try rig.waiter.wait(for: "refusals") { refused() >= 10 }
        alice.say(question(90))
        try rig.waiter.wait(for: "somebody else's answer") { alice.reply(to: 90) != nil }
        #expect(refused() == 10)
    }

    @Test func whoSaysTooMuchIsReadLaterOverAllItsConnections() throws {
        let rig = try GatewayRig(tokens: Strangers()) {
            // Fifty of these long messages until the timer fires.
            ($0.restFor, $0.bytesPerSecondMax) = (60_000, 50 * 5_000 / 60)
        }
        defer { rig.close() }
        let devices = try (0..<5).map { try rig.device("bob", "device-\($0)") }
        let alice = try rig.device("alice")
        let space = String(repeating: " ", count: 5_000)
        for device in devices { for id in 1...40 { device.say(question(id) + space) } }
        func answered() -> Int {
            devices.reduce(0) { sum, device in
                sum + (1...40).count { device.reply(to: $0) != nil }
            }
        }
        try rig.waiter.wait(for: "most answers") { answered() >= 49 }
        let client = try rig.client()
        client.request("POST", "/v1/call/list", "Authorization: Bearer dev:bob\r\n", body: "{}")
        try rig.waiter.wait(for: "a refusal") { client.status == 429 }
        alice.say(question(90))
        try rig.waiter.wait(for: "somebody else's answer") { alice.reply(to: 90) != nil }
        #expect(answered() <= 51)
    }

    @Test func aLinkThatIsClosedRestsNoMore() throws {
        let rig = try GatewayRig(tokens: Strangers()) {
            // Six thousand bytes until the timer fires.
            ($0.restFor, $0.bytesPerSecondMax) = (60_000, 100)
        }
        defer { rig.close() }
        let bob = try rig.device("bob")
        bob.say(question(1) + String(repeating: " ", count: 40_000))
        try rig.waiter.wait(for: "the rest") { rig.gateway.resting.count == 1 }
        rig.gateway.endRest()
        #expect(rig.gateway.resting.count == 1, "it is not paid")
        (rig.gateway.resting.first?.client as? ClientLink)?.end()
        rig.gateway.endRest()
        #expect(rig.gateway.isOverByteRate(UserID("bob")) && rig.gateway.resting.isEmpty)
    }

    @Test func whatWasSaidTooMuchIsReadWhenItIsPaid() throws {
        let rig = try GatewayRig(tokens: Strangers()) {
            ($0.restFor, $0.bytesPerSecondMax) = (1, 5_000_000)
        }
        defer { rig.close() }
        let devices = try (0..<2).map { try rig.device("bob", "device-\($0)") }
        let space = String(repeating: " ", count: 5_000)
        for device in devices { for id in 1...40 { device.say(question(id) + space) } }
        try rig.waiter.wait(for: "all answers") {
            devices.allSatisfy { device in (1...40).allSatisfy { device.reply(to: $0) != nil } }
        }
    }

    @Test func clientsAreMovedAwayInWaves() throws {
        let rig = try GatewayRig()
        defer { rig.close() }
        let devices = try (0...100).map { try rig.device("user-\($0)") }
        rig.gateway.drain()
        #expect(rig.gateway.staying.count == 1)
        try rig.waiter.wait(for: "the second wave") {
            devices.allSatisfy { $0.closeCode == 4001 }
        }
        #expect(rig.gateway.staying.isEmpty)
    }

    // MARK: A server that cannot

    @Test func whenTheStoreIsBehindChangesAreRefusedAndQuestionsAreNot() throws {
        let store = StoreDouble()
        let rig = try GatewayRig(store: store) { $0.commitWithin = -1 }
        defer { rig.close() }
        let alice = try rig.device("alice")
        alice.say(invitation(1))
        try rig.waiter.wait(for: "the commit") { store.batches.count == 1 }
        alice.say(invitation(2))
        try rig.waiter.wait(for: "the refusal") { alice.reply(to: 2) != nil }
        #expect(alice.refusal(of: 2) == "unavailable")
        #expect(alice.reply(to: 2)?["error"]?["retry_after_ms"]?.integer == 1_000)
        alice.say(question(3))
        alice.say(#"{"id":4,"op":"ping"}"#)
        try rig.waiter.wait(for: "the ping") { alice.reply(to: 4) != nil }
        rig.exchange.receive(.committed())
        try rig.waiter.wait(for: "the answer") { alice.reply(to: 1)?["ok"] != nil }
        #expect(store.queries.count == 1)
    }

    @Test func whenTheStoreFailsRequestsAreUnavailableAndConnectionsCloseWith4001()
        throws
    {
        let store = StoreDouble()
        let rig = try GatewayRig(store: store)
        defer { rig.close() }
        let alice = try rig.device("alice")
        let http = try rig.client()
        http.request(
            "POST", "/v1/call/invite", "Authorization: Bearer dev:carol\r\n",
            body: #"{"invitees":["bob"]}"#)
        alice.say(invitation(1))
        alice.say(invitation(2))
        try rig.waiter.wait(for: "the commit") {
            !store.batches.isEmpty && rig.gateway.desk.requests.count == 3
        }
        rig.exchange.receive(
            .lost(StoreError(.notOpen, path: "test", operation: "commit")))
        try rig.waiter.wait(for: "the close") { alice.closeCode != nil && http.status != nil }
        #expect(alice.closeCode == 4001)
        #expect(alice.refusal(of: 1) == "unavailable" && alice.refusal(of: 2) == "unavailable")
        #expect(http.status == 503)
        #expect(rig.gateway.desk.sessions.count == 0 && rig.gateway.desk.requests.count == 0)
        let probe = try rig.client()
        probe.request("GET", "/readyz")
        try rig.waiter.wait(for: "readiness") { probe.status != nil }
        #expect(probe.status == 503)
        rig.exchange.receive(.opened())
        probe.request("GET", "/readyz")
        try rig.waiter.wait(for: "readiness") { probe.status == 200 }
        _ = try rig.device("alice")
    }

    @Test func aServerThatGoesAwayAnswersWhatIsUnderWayAndTakesNothingMore() throws {
        let store = StoreDouble()
        let rig = try GatewayRig(store: store)
        defer { rig.close() }
        let bob = try rig.device("bob")
        let idle = try rig.client()
        let asking = try rig.client()
        asking.request("GET", "/v1/call/\(nobody)", "Authorization: Bearer dev:bob\r\n")
        try rig.waiter.wait(for: "the question") { store.queries.count == 1 }
        rig.gateway.drain()
        try rig.waiter.wait(for: "the others' end") { bob.closeCode == 4001 && idle.isClosed }
        #expect(!asking.isClosed)
        rig.exchange.receive(store.news(to: .call(nobody), .call(nil)))
        try rig.waiter.wait(for: "the last answer") { asking.isClosed }
        #expect(asking.status == 404)
        let late = try rig.client()
        try rig.waiter.wait(for: "the late one's end") { late.isClosed }
    }
}

/// Users whose requests are counted.
struct Strangers: TokenChecker {
    func identity(in token: String, at now: Int64) throws(Refusal) -> Identity {
        Identity(user: UserID(String(token.dropFirst(4))))
    }
}
