// Requests that are served: their parts, bodies, pipelining and limits. Each is cut everywhere.

import Testing
import WebProtocols

@Suite struct RequestParserTests {
    @Test func readsARequestWithoutBody() throws {
        let read = try request(
            "GET /v1/ws?x=1 HTTP/1.1\nHost: example.org:8080\nX-Empty:\naccept: \t a, b \t\n\n")
        #expect(read.method == .get)
        #expect(read.target.rawPath == "/v1/ws")
        #expect(read.target.rawQuery == "x=1")
        #expect(read.minorVersion == 1 && read.keepsAlive && read.body.isEmpty)
        #expect(read.headers.fields.map(\.name) == ["Host", "X-Empty", "accept"])
        #expect(read.headers["HOST"] == "example.org:8080")
        #expect(read.headers["x-empty"] == "" && read.headers["Accept"] == "a, b")
        #expect(read.headers["Other"] == nil)
    }

    @Test func readsABodyOfKnownLength() throws {
        let read = try request(
            "POST /v1/call/accept HTTP/1.1\nHost: a\nContent-Length: 5\n\nhello")
        #expect(read.method == .post && read.body == Array("hello".utf8))
    }

    @Test func readsAChunkedBodyWithExtensionsAndTrailers() throws {
        let read = try request(
            "PUT / HTTP/1.1\nHost: a\nTransfer-Encoding: Chunked\n\n"
                + "5;name=value\nhello\n00A; x=\"y\"\n world, yo\n0\nX-Trailer: dropped\n\n")
        #expect(String(decoding: read.body, as: UTF8.self) == "hello world, yo")
        #expect(read.headers["X-Trailer"] == nil)
    }

    @Test func readsPipelinedRequests() {
        let text = wire(
            "GET /1 HTTP/1.1\nHost: a\n\nPOST /2 HTTP/1.1\nHost: a\nContent-Length: 2\n\nhi"
                + "\nPOST /3 HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n1\nx\n0\n\n"
                + "DELETE /4 HTTP/1.0\n\n")
        let parsed = requests(in: text)
        #expect(parsed.error == nil)
        #expect(parsed.requests.map(\.target.rawPath) == ["/1", "/2", "/3", "/4"])
        #expect(
            parsed.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["", "hi", "x", ""])
    }

    @Test func leavesTheRestOfTheInputToTheNextProtocol() throws {
        let text =
            wire("GET / HTTP/1.1\nHost: a\nUpgrade: websocket\n\n") + [0x81, 0x80, 1, 2, 3, 4]
        var parser = HTTPRequestParser()
        try text.withUnsafeBytes { buffer in
            var input = buffer
            guard case .request = try parser.next(&input) else {
                Issue.record("no request")
                return
            }
            #expect(Array(input) == [0x81, 0x80, 1, 2, 3, 4])
            #expect(parser.isIdle)
        }
    }

    @Test func tellsWhetherItIsBetweenRequests() throws {
        var parser = HTTPRequestParser()
        #expect(parser.isIdle)
        _ = feed([Array("GE".utf8)]) { (input) throws(HTTPError) in try parser.next(&input) }
        #expect(!parser.isIdle)
    }

    @Test(arguments: [
        ("HTTP/1.1", "", true), ("HTTP/1.1", "Connection: close\n", false),
        ("HTTP/1.1", "Connection: foo, CLOSE\n", false),
        ("HTTP/1.1", "Connection: keep-alive\n", true),
        ("HTTP/1.0", "", false), ("HTTP/1.0", "Connection: Keep-Alive\n", true),
        ("HTTP/1.0", "Connection: keep-alive, close\n", false),
    ])
    func tellsWhetherTheConnectionGoesOn(_ version: String, _ header: String, _ keeps: Bool) throws
    {
        let read = try request("GET / \(version)\nHost: a\n\(header)\n")
        #expect(read.keepsAlive == keeps)
    }

    @Test func askedForContinueBeforeTheBody() {
        let head = "POST / HTTP/1.1\nHost: a\nExpect: 100-Continue\nContent-Length: 2\n\n"
        #expect(requests(in: [wire(head)]).events == [.continueWanted])
        let parsed = requests(in: wire(head + "ok"))
        #expect(
            parsed.events.first == .continueWanted && parsed.requests.first?.body == [0x6F, 0x6B])
        let bodyless = requests(in: wire("GET / HTTP/1.1\nHost: a\nExpect: 100-continue\n\n"))
        #expect(bodyless.events.count == 1 && bodyless.requests.count == 1)
        let old = requests(
            in: wire("POST / HTTP/1.0\nExpect: 100-continue\nContent-Length: 1\n\nx"))
        #expect(old.events.count == 1 && old.requests.count == 1)
    }

    @Test(
        arguments: [
            ("http://example.org/a?b", "/a", "b"), ("HTTPS://example.org", "/", nil),
            ("http://[::1]:80?x", "/", "x"), ("/a//b", "/a//b", nil), ("/?", "/", ""),
        ] as [(String, String, String?)])
    func reducesTargetsToTheOriginForm(_ target: String, _ path: String, _ query: String?) throws {
        let read = try request("GET \(target) HTTP/1.1\nHost: a\n\n")
        #expect(read.target.rawPath == path && read.target.rawQuery == query)
    }

    /// Who judges `Host` must not judge another name than the one that is asked for (RFC 9112
    /// section 3.2.2).
    @Test(arguments: ["HTTP/1.1\nHost: a", "HTTP/1.1\nX: y\nhost: a\nZ: z", "HTTP/1.0"])
    func theHostOfAnAbsoluteTargetIsTheHost(_ rest: String) throws {
        let read = try request("GET http://example.org:80/a \(rest)\n\n")
        #expect(read.headers.all("Host") == ["example.org:80"])
        #expect(read.headers["Z"] == (rest.contains("Z") ? "z" : nil))
    }

    @Test func asksTheServerAsAWhole() throws {
        #expect(try request("OPTIONS * HTTP/1.1\nHost: a\n\n").target.rawPath == "*")
    }

    // MARK: Limits at their edges

    @Test func requestLinesAreTakenUpToTheirLimit() {
        func line(_ count: Int) -> [UInt8] {
            let path = String(repeating: "a", count: count - "GET / HTTP/1.1".utf8.count)
            return wire("GET /\(path) HTTP/1.1\nHost: a\n\n")
        }
        #expect(requests(in: line(8192)).requests.count == 1)
        #expect(requests(in: line(8193)).error == .requestLineTooLong(limit: 8192))
        let endless = requests(in: [[UInt8](repeating: 0x41, count: 8194)])
        #expect(endless.error == .requestLineTooLong(limit: 8192))
        let small = HTTPLimits(startLine: 14)
        #expect(requests(in: line(14), limits: small).requests.count == 1)
        #expect(requests(in: line(15), limits: small).error == .requestLineTooLong(limit: 14))
    }

    @Test func headersAreTakenUpToTheirLimits() {
        func text(_ value: Int, _ more: Int = 0) -> [UInt8] {
            let lines = (0..<more).map { "X\($0): 1\n" }.joined()
            let filler = String(repeating: "v", count: value)
            return wire("GET / HTTP/1.1\nHost: a\n\(lines)X: \(filler)\n\n")
        }
        // "Host: a" and "X: " with their line ends are 9 + 5 bytes.
        let limits = HTTPLimits(headerBytes: 100)
        #expect(requests(in: text(86), limits: limits).requests.count == 1)
        #expect(requests(in: text(87), limits: limits).error == .headersTooLarge(limit: 100))
        #expect(requests(in: text(16_384 - 14)).requests.count == 1)
        #expect(requests(in: text(16_384 - 13)).error == .headersTooLarge(limit: 16_384))
        #expect(requests(in: text(1, 62)).requests.count == 1)
        #expect(requests(in: text(1, 63)).error == .tooManyHeaders(limit: 64))
    }

    /// One of HTTP/1.0 may have none; then it gets that of its target.
    @Test func theHostOfTheTargetIsAHeaderToo() {
        let limits = HTTPLimits(headerCount: 2)
        let parsed = requests(in: wire("GET http://a/ HTTP/1.0\nX: 1\n\n"), limits: limits)
        #expect(parsed.requests.first?.headers["Host"] == "a")
        let more = requests(in: wire("GET http://a/ HTTP/1.0\nX: 1\nY: 1\n\n"), limits: limits)
        #expect(more.error == .tooManyHeaders(limit: 2) && more.requests.isEmpty)
    }

    @Test func bodiesAreTakenUpToTheirLimit() {
        let limits = HTTPLimits(body: 10)
        func plain(_ count: Int) -> [UInt8] {
            wire("POST / HTTP/1.1\nHost: a\nContent-Length: \(count)\n\n")
                + [UInt8](repeating: 1, count: count)
        }
        func chunked(_ counts: [Int]) -> [UInt8] {
            let chunks = counts.map {
                String($0, radix: 16) + "\n" + String(repeating: "x", count: $0) + "\n"
            }
            return wire("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n")
                + wire(chunks.joined() + "0\n\n")
        }
        #expect(requests(in: plain(10), limits: limits).requests.first?.body.count == 10)
        #expect(requests(in: plain(11), limits: limits).error == .bodyTooLarge(limit: 10))
        #expect(requests(in: chunked([4, 6]), limits: limits).requests.first?.body.count == 10)
        #expect(requests(in: chunked([4, 7]), limits: limits).error == .bodyTooLarge(limit: 10))
        let announced = chunked([4]).dropLast(5) + wire("7\n")
        #expect(requests(in: Array(announced), limits: limits).error == .bodyTooLarge(limit: 10))
        #expect(requests(in: plain(65_536)).requests.first?.body.count == 65_536)
        #expect(requests(in: plain(65_537)).error == .bodyTooLarge(limit: 65_536))
        let long = wire("POST / HTTP/1.1\nHost: a\nContent-Length: 99999999999999999999\n\n")
        #expect(requests(in: long).error == .bodyTooLarge(limit: 65_536))
    }

    @Test func chunkLinesAndTrailersAreTakenUpToTheirLimits() {
        func text(_ line: String, _ trailer: String = "") -> [UInt8] {
            wire(
                "POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n"
                    + "\(line)\nx\n0\n\(trailer)\n"
            )
        }
        let fits = "1;" + String(repeating: "e", count: 254)
        #expect(requests(in: text(fits)).requests.count == 1)
        #expect(requests(in: text(fits + "e")).error == .badChunk)
        // (RFC 9112 section 7.1.1) They cost time, and no byte of the body tells of it.
        func extended(_ counts: [Int]) -> [UInt8] {
            let chunks = counts.map { "1;" + String(repeating: "e", count: $0 - 1) + "\nx\n" }
            return wire("POST / HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n")
                + wire(chunks.joined() + "0\n\n")
        }
        let few = HTTPLimits(headerBytes: 40)
        #expect(requests(in: extended([20, 20]), limits: few).requests.count == 1)
        #expect(
            requests(in: extended([20, 21]), limits: few).error == .chunkExtensions(limit: 40))
        let limits = HTTPLimits(headerBytes: 40, headerCount: 2)
        #expect(requests(in: text("1", "A: 1\nB: 2\n"), limits: limits).requests.count == 1)
        #expect(
            requests(in: text("1", "A: 1\nB: 2\nC: 3\n"), limits: limits).error
                == .tooManyHeaders(limit: 2))
        #expect(
            requests(in: text("1", "A: \(String(repeating: "1", count: 36))\n"), limits: limits)
                .error
                == .headersTooLarge(limit: 40))
    }
}
