// The same protocol over HTTP: routes, status codes, problem documents.

import CallModel
import JSON
import Testing

@testable import CallWire

@Suite struct HTTPReplyTests {
    private let encoder = WireEncoder()

    @Test func anOKIsTheObjectItself() {
        let reply = HTTPReply(tail: encoder.kept(.items([.init(key: "a", value: "1")], keys: [])))
        #expect(reply.status == 200)
        #expect(reply.contentType == "application/json")
        #expect(String(decoding: reply.body, as: UTF8.self) == #"{"items":{"a":"1"},"keys":[]}"#)
        #expect(String(decoding: HTTPReply(tail: encoder.kept(.done)).body, as: UTF8.self) == "{}")
    }

    @Test(arguments: Refusal.Code.allCases)
    func everyCodeHasItsStatus(_ code: Refusal.Code) throws {
        let wanted: [Refusal.Code: Int] = [
            .badRequest: 400, .unauthenticated: 401, .forbidden: 403, .refused: 403,
            .notInvited: 403, .notInviter: 403, .notFound: 404, .tooLarge: 413, .rateLimited: 429,
            .unavailable: 503, .internal: 500,
        ]
        let refusal = Refusal(code, "because", retryAfter: code.isRetryable ? 1_001 : nil)
        let reply = HTTPReply(tail: encoder.kept(.refused(refusal)))
        #expect(reply == HTTPReply(refusal))
        #expect(reply.status == wanted[code] ?? 409)
        #expect(reply.contentType == "application/problem+json")
        #expect(reply.retryAfter == (code.isRetryable ? 2 : nil))
        let body = try JSONValue(parsing: reply.body)
        #expect(body["status"]?.integer == Int64(reply.status))
        #expect(body["code"]?.string == code.rawValue)
        #expect(body["detail"]?.string == "because")
        #expect(body["title"]?.string == HTTPReply.phrases[reply.status])
        #expect(body["error"].map { Refusal($0) } == refusal)
    }

    @Test func aProblemDocumentHoldsTheErrorOfTheProtocol() {
        let refusal = Refusal(.badRequest, "no", detail: .field("push.title"))
        #expect(
            String(decoding: HTTPReply(refusal).body, as: UTF8.self)
                == #"{"type":"about:blank","title":"Bad Request","status":400,"detail":"no","#
                + #""code":"bad_request","error":{"code":"bad_request","message":"no","#
                + #""retryable":false,"detail":{"field":"push.title"}}}"#)
    }

    @Test func aDamagedKeptReplyIsAnInternalError() {
        #expect(HTTPReply(tail: Array("garbage".utf8)).status == 500)
    }
}

@Suite struct HTTPRouteTests {
    private func route(_ method: String, _ path: String) throws -> HTTPRoute {
        try HTTPRoute(method: method, path: path)
    }

    @Test func operationsArePostedToTheirNames() throws {
        #expect(try route("POST", "/v1/call/accept") == .operation(.accept))
        #expect(try route("POST", "/v1/call/accept_ack") == .operation(.acceptAck))
        #expect(try route("POST", "/v1/device/push_register") == .operation(.pushRegister))
        #expect(try route("POST", "/v1/bye") == .operation(.bye))
        for name in OperationName.allCases {
            guard let path = name.httpPath else { continue }
            #expect(try route("POST", path) == .operation(name))
        }
    }

    @Test func otherThingsAreRead() throws {
        #expect(try route("GET", "/v1/call/\(Sample.idText)") == .call(Sample.id))
        #expect(try route("HEAD", "/v1/call/\(Sample.idText)") == .call(Sample.id))
        #expect(try route("GET", "/v1/ws") == .socket)
        #expect(try route("GET", "/v1/openapi.json") == .openAPI)
        #expect(try route("GET", "/v1/asyncapi.json") == .asyncAPI)
        #expect(try route("GET", "/healthz") == .health)
        #expect(try route("GET", "/readyz") == .readiness)
        #expect(try route("GET", "/metrics") == .metrics)
    }

    @Test(arguments: [
        ("/v1/call/accept", "POST, OPTIONS"), ("/v1/call/\(Sample.idText)", "GET, HEAD, OPTIONS"),
        ("/v1/ws", "GET, HEAD, OPTIONS"), ("/healthz", "GET, HEAD, OPTIONS"),
        ("/", "GET, HEAD, OPTIONS"), ("/v1/client/index.js", "GET, HEAD, OPTIONS"),
    ])
    func theMethodsOfAPathCanBeAskedFor(_ path: String, _ methods: String) throws {
        #expect(try route("OPTIONS", path) == .options(allow: methods))
        #expect(throws: HTTPRoute.Failure.methodNotAllowed(allow: methods)) {
            try route("DELETE", path)
        }
    }

    @Test(arguments: [
        ("POST", "/v1/call/fly", 409), ("POST", "/v1/hello", 404), ("POST", "/v2/call/get", 404),
        ("GET", "/x", 404), ("GET", "", 404), ("GET", "/v1/call/xyz", 400),
        ("GET", "/v1/call/accept", 405), ("POST", "/healthz", 405), ("PUT", "/v1/call/end", 405),
        ("POST", "/v1/call/get/", 404), ("POST", "v1/call/get", 404),
        ("OPTIONS", "/v1/hello", 404), ("OPTIONS", "/v1/call/fly", 409),
        ("DELETE", "/v1/call/\(Sample.idText)", 405), ("POST", "/v1/call/\(Sample.idText)", 405),
    ])
    func whatIsNotThereIsSaidSo(_ method: String, _ path: String, _ status: Int) throws {
        let failure = try #require(throws: HTTPRoute.Failure.self) { try route(method, path) }
        #expect(failure.reply.status == status)
    }
}

@Suite struct ListPageTests {
    private let encoder = WireEncoder()

    private func calls(_ count: Int, text: Int = 0) -> [Call] {
        (0..<count).map { place in
            var call = Call(
                id: CallID(high: UInt64(1_000 - place), low: 7), mode: .common,
                kind: "audio", ringTime: 1, deliveryCheck: nil, createdAt: Moment(0))
            call.participants = Sample.ringing.participants
            call.extendedData = String(repeating: "x", count: text)
            return call
        }
    }

    private func page(
        _ calls: [Call], cursor: CallID? = nil, bytes: Int = 1 << 20
    ) throws -> (ids: [CallID], cursor: String?, bytes: Int) {
        var limits = WireLimits()
        limits.pageBytes = bytes
        var writer = JSONWriter()
        WireEncoder.replyHead(.integer(1), into: &writer)
        encoder.pageTail(calls, cursor: cursor, for: "alice", limits: limits, into: &writer)
        let ok = try JSONValue(parsing: writer.bytes)["ok"]
        let ids = ok?["calls"]?.array?.compactMap { $0["call_id"]?.callID }
        return (ids ?? [], ok?["cursor"]?.string, writer.bytes.count)
    }

    @Test func theLastPageHasNoCursor() throws {
        for count in [0, 1, 5] {
            let page = try page(calls(count))
            #expect(page.ids == calls(count).map(\.id))
            #expect(page.cursor == nil)
        }
    }

    @Test func aCursorIsUnderstoodWhenItComesBack() throws {
        let calls = calls(5)
        let cursor = try #require(try page(calls, cursor: calls[4].id).cursor)
        let body = Array(#"{"cursor":"\#(cursor)"}"#.utf8)
        guard case .operation(.list(let query), nil) = try WireDecoder().request(.list, body: body)
        else {
            Issue.record("the cursor is not understood")
            return
        }
        #expect(query.before == calls[4].id)
    }

    @Test func aPageStopsBeforeItGetsTooLarge() throws {
        let all = calls(100, text: 8_000)
        let first = try page(all, bytes: 100_000)
        #expect(first.bytes <= 100_000)
        #expect((10...12).contains(first.ids.count))
        #expect(first.ids == all.prefix(first.ids.count).map(\.id))
        #expect(first.cursor == first.ids.last?.description)
    }

    @Test func noPageIsBeyondAMebibyte() throws {
        var all = calls(100, text: 8_192)
        for place in all.indices {
            all[place].participants += (0..<8).map {
                var joiner = Participant(
                    user: UserID("u\($0)"), role: .joiner, state: .joined, at: Moment(0))
                joiner.extendedData = String(repeating: "\u{1}", count: 8_192)
                return joiner
            }
        }
        let page = try page(all, cursor: all[99].id)
        #expect(page.bytes <= 1 << 20)
        #expect(page.ids.count == 2)
        #expect(page.cursor == all[1].id.description)
    }

    @Test func oneCallThatIsTooMuchGoesOutAlone() throws {
        let page = try page(calls(3, text: 5_000), bytes: 1_000)
        #expect(page.ids.count == 1)
        #expect(page.cursor == page.ids.first?.description)
    }
}

@Suite struct WelcomeTests {
    private var welcome: Welcome {
        Welcome(
            Address("bob", "phone-1"), session: SessionID(high: 0x5E, low: 1), resumed: false,
            serverTime: Moment(1_795_000_000_000),
            settings: WelcomeSettings(
                session: SessionLimits(), limits: AnnouncedLimits(), server: "callagent/0.1.0",
                modes: [.group]))
    }

    private func text(_ welcome: Welcome) -> String {
        var writer = JSONWriter()
        WireEncoder.replyHead(.integer(1), into: &writer)
        WireEncoder().welcomeTail(welcome, into: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func theWelcomeIsThatOfTheProtocol() {
        #expect(
            text(welcome)
                == #"{"re":1,"ok":{"user":"bob","device":"phone-1","#
                + #""session":"000000000000005e0000000000000001","resumed":false,"#
                + #""server_time_at":1795000000000,"ping_interval_ms":25000,"#
                + #""resume_window_ms":120000,"limits":{"message_bytes":65536,"#
                + #""extended_data_bytes":2048,"invitees":9,"participants":10,"keys":1000,"#
                + #""group":{"invitees":49,"participants":50}},"server":"callagent/0.1.0","#
                + #""modes":[{"name":"group","invitees":49,"participants":50,"media":false,"#
                + #""leave":true,"hold":false,"items":false,"add":"nobody","#
                + #""join":"everybody","end":"everybody","remove":"caller","#
                + #""transfer":"nobody"}],"calls":[]}}"#)
    }

    /// What a client makes of it says the same; what it is not told is as in the built-in mode.
    @Test func modesAreToldAndUnderstood() throws {
        var own = Mode(text: "clinic like=direct ring_time=30000 transfer=caller hold=") ?? .common
        own.model = nil
        var welcome = welcome
        welcome.modes = ModeRow.all + [ModeRow(own)]
        let ok = try #require(try JSONValue(parsing: text(welcome))["ok"])
        let told = try #require(ServerMessageDecoder().welcome(ok))
        #expect(told.modes.map(\.name) == welcome.modes.map(\.name))
        #expect(told.modes.prefix(7) == ModeRow.all[...])
        let clinic = try #require(told.modes.last?.mode)
        #expect(clinic.has([.media, .items, .end]) && !clinic.has(.hold) && !clinic.has(.leave))
        #expect(clinic.right(to: .transfer) == .caller && clinic.participants == 2)
    }

    @Test func callsAreThoseThatTheUserSeesAndMayBeMore() throws {
        var full = welcome
        var call = Sample.ringing
        call.views = [Call.View(receiver: "bob", owner: .call, text: "for bob")]
        full.calls = [call]
        full.hasMoreCalls = true
        let ok = try JSONValue(parsing: text(full))["ok"]
        #expect(ok?["calls"]?[0]?["extended_data"] == "for bob")
        #expect(ok?["calls_more"] == true)
    }
}
