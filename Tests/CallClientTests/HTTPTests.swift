// One request over HTTP: the API for a woken phone, and the operator's socket.

import CallClient
import CallClientCore
import CallModel
import CallWire
import EventLoop
import JSON
import Testing
import WebProtocols

@Suite struct HTTPCallerTests {
    private func ask(
        _ caller: HTTPCaller, _ waiter: LoopWaiter, _ operation: Operation, key: String? = nil
    ) throws -> Result<JSONValue, HTTPCaller.Failure> {
        try waiter.result(of: "an answer") { caller.perform(operation, key: key, $0) }
    }

    @Test func aWokenPhoneAcceptsWithOneRequest() throws {
        let rig = try Rig()
        defer { rig.close() }
        let alice = try rig.connected("alice")
        let call = try alice.invite("bob")
        let bob = HTTPCaller(
            ServerAddress(rig.server.endpoint), token: "dev:bob", device: "phone",
            on: rig.waiter.loop)
        let ok = try ask(bob, rig.waiter, .call(call.id, .accept()), key: "k").get()
        #expect(ok["call"]?["state"] == "active")
        #expect(try alice.change(of: "bob").state == .joined)
        #expect(try ask(bob, rig.waiter, .call(call.id, .accept()), key: "k").get() == ok)
    }

    @Test func refusalsAreReadFromProblemDocuments() throws {
        let rig = try Rig()
        defer { rig.close() }
        let server = ServerAddress(rig.server.endpoint)
        let bob = HTTPCaller(server, token: "dev:bob", on: rig.waiter.loop)
        let get = Operation.call(CallID(high: 1, low: 2), .get)
        guard case .failure(.refused(let refusal)) = try ask(bob, rig.waiter, get) else {
            Issue.record("found what there is not")
            return
        }
        #expect(refusal.code == .notFound && !refusal.message.isEmpty)
        let nobody = HTTPCaller(server, token: "guess", on: rig.waiter.loop)
        guard case .failure(.refused(let other)) = try ask(nobody, rig.waiter, get) else {
            Issue.record("let in")
            return
        }
        #expect(other.code == .unauthenticated)
    }

    @Test func theTokenOfAServerSaysForWhomItActs() throws {
        let script = try Script()
        defer { script.close() }
        var users: [String?] = []
        script.server.onRequest = { request, peer in
            users.append(request.headers["X-User"])
            peer.respond(HTTPResponse(200, text: "{}"))
        }
        var caller = HTTPCaller(
            ServerAddress(script.server.endpoint), token: "server", on: script.waiter.loop)
        _ = try ask(caller, script.waiter, .list(ListQuery())).get()
        caller.user = "bob"
        _ = try ask(caller, script.waiter, .list(ListQuery())).get()
        #expect(users == [nil, "bob"])
    }

    @Test func whatIsNoCallagentIsNamed() throws {
        let script = try Script()
        defer { script.close() }
        let caller = HTTPCaller(
            ServerAddress(script.server.endpoint), token: "dev:a", on: script.waiter.loop)
        for (status, body) in [(200, "hello"), (404, "<html>"), (500, "{}")] as [(UInt16, String)] {
            script.server.onRequest = {
                $1.respond(HTTPResponse(HTTPStatus(rawValue: status), text: body))
            }
            let result = try ask(caller, script.waiter, .list(ListQuery()))
            #expect(result == .failure(.unreadable(HTTPStatus(rawValue: status))))
        }
    }
}

@Suite struct HTTPExchangeTests {
    private func get(
        _ path: String, _ server: ServerAddress, _ waiter: LoopWaiter, limit: Int64 = 5_000
    ) throws -> Result<HTTPResponse, HTTPFailure> {
        var options = HTTPExchange.Options()
        options.timeout = limit
        options.maximumBody = 1_000
        let request = HTTPRequest(.get, server.target(path))
        return try waiter.result(of: "a response") {
            HTTPExchange.send(
                request, to: server, on: waiter.loop, options: options, completion: $0)
        }
    }

    @Test func theOperatorsSocketAnswers() throws {
        let rig = try Rig()
        defer { rig.close() }
        let response = try get("/healthz", ServerAddress(rig.server.admin), rig.waiter).get()
        #expect(response.status == 200 && response.body == Array("ok\n".utf8))
    }

    @Test func aSocketThatIsNotThereIsAnError() throws {
        let waiter = try LoopWaiter()
        defer { waiter.close() }
        let server = ServerAddress(.unix(path: "/nonexistent/admin.sock"))
        guard case .failure(.network(let error)) = try get("/healthz", server, waiter) else {
            Issue.record("answered")
            return
        }
        #expect(error.description.contains("/nonexistent/admin.sock"))
    }

    @Test func theRequestSaysWhereItGoesAndThatItIsTheOnlyOne() throws {
        let script = try Script()
        defer { script.close() }
        var headers: HTTPHeaders = [:]
        script.server.onRequest = { request, peer in
            headers = request.headers
            peer.respond(HTTPResponse(200))
        }
        let server = ServerAddress(script.server.endpoint)
        _ = try get("/", server, script.waiter).get()
        #expect(headers["Host"] == "\(script.server.endpoint)")
        #expect(headers["Connection"] == "close")
    }

    @Test func responsesThatAreBrokenLateOrTooLongAreErrors() throws {
        let script = try Script()
        defer { script.close() }
        let server = ServerAddress(script.server.endpoint)
        script.server.onRequest = { $1.send(Array("HTTP/1.1 two hundred\r\n\r\n".utf8)) }
        #expect(try get("/", server, script.waiter) == .failure(.malformed(.badStatusLine)))
        script.server.onRequest = {
            $1.respond(HTTPResponse(200, text: String(repeating: "x", count: 1_000)))
        }
        #expect(try get("/", server, script.waiter).get().body.count == 1_000)
        script.server.onRequest = {
            $1.respond(HTTPResponse(200, text: String(repeating: "x", count: 1_001)))
        }
        #expect(
            try get("/", server, script.waiter) == .failure(.malformed(.bodyTooLarge(limit: 1_000)))
        )
        script.server.onRequest = { _, peer in peer.end() }
        #expect(try get("/", server, script.waiter) == .failure(.dropped))
        script.server.onRequest = { _, _ in }
        #expect(try get("/", server, script.waiter, limit: 60) == .failure(.timedOut(60)))
    }

    @Test func aBodyMayEndWithTheConnection() throws {
        let script = try Script()
        defer { script.close() }
        script.server.onRequest = { _, peer in
            peer.send(Array("HTTP/1.1 200 OK\r\n\r\nall of it".utf8))
            peer.end()
        }
        let response = try get("/", ServerAddress(script.server.endpoint), script.waiter).get()
        #expect(response.body == Array("all of it".utf8))
    }
}

@Suite struct ServerAddressTests {
    @Test(arguments: [
        ("127.0.0.1:7600", "ws://127.0.0.1:7600", "/v1/ws"),
        ("ws://example.com", "ws://example.com", "/v1/ws"),
        ("wss://example.com:443/", "wss://example.com", "/v1/ws"),
        ("wss://example.com/v1/ws", "wss://example.com", "/v1/ws"),
        ("https://example.com:8443/calls/v1/ws", "wss://example.com:8443/calls", "/calls/v1/ws"),
        ("HTTP://[::1]:80/a/b/", "ws://[::1]/a/b", "/a/b/v1/ws"),
        ("ws://[::1]", "ws://[::1]", "/v1/ws"),
        ("unix:/run/callagent.sock", "unix:/run/callagent.sock", "/v1/ws"),
    ])
    func addressesAreRead(_ text: String, _ description: String, _ path: String) throws {
        let address = try ServerAddress(parsing: text)
        #expect("\(address)" == description)
        #expect(address.target("/v1/ws").rawPath == path)
        #expect(try ServerAddress(parsing: "\(address)") == address)
    }

    @Test(arguments: [
        ("", "has no port"), ("example.com", "has no port"), ("ftp://x", "begins with 'ftp'"),
        ("ws://", "has no host"), ("ws://:80", "has no host"), ("ws://x:99999", "not a number"),
        ("ws://x/?a=1", "has a query"), ("ws://x?a", "has a query"), ("ws://x/%zz", "cannot stand"),
        ("unix:", "has no path"), ("::1:7600", "needs brackets"),
    ])
    func whatIsNoneSaysWhy(_ text: String, _ words: String) throws {
        let error = try #require(throws: ServerAddressError.self) {
            try ServerAddress(parsing: text)
        }
        #expect(error.description.contains(words), "\(error)")
    }
}
