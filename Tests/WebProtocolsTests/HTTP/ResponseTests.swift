// Responses as a server writes and as a client reads them.

import Testing
import WebProtocols

@Suite struct ResponseTests {
    private func written(_ response: HTTPResponse, answering method: HTTPMethod = .get) -> String {
        var output: [UInt8] = []
        response.write(answering: method, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    @Test func writesStatusHeadersAndBody() {
        let response = HTTPResponse(200, headers: ["X-A": "1", "x-b": "2"], body: [0x68, 0x69])
        #expect(
            written(response)
                == "HTTP/1.1 200 OK\r\nX-A: 1\r\nx-b: 2\r\nContent-Length: 2\r\n\r\nhi")
        #expect(
            written(response, answering: .head)
                == "HTTP/1.1 200 OK\r\nX-A: 1\r\nx-b: 2\r\nContent-Length: 2\r\n\r\n")
        var last = HTTPResponse(204, body: [1])
        last.keepsAlive = false
        #expect(written(last) == "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        #expect(written(HTTPResponse(599)) == "HTTP/1.1 599 \r\nContent-Length: 0\r\n\r\n")
        var output: [UInt8] = []
        HTTPResponse.writeContinue(to: &output)
        #expect(output == wire("HTTP/1.1 100 Continue\n\n"))
    }

    @Test func noValueCanBeginAnotherHeader() {
        let response = HTTPResponse(200, headers: ["X": "a\r\nSet-Cookie: b\0\u{7F}é"])
        #expect(written(response).hasPrefix("HTTP/1.1 200 OK\r\nX: a  Set-Cookie: b  é\r\nContent"))
    }

    /// The responses in `text`, which must be the same however it is cut.
    private func responses(
        in text: [UInt8], to methods: [HTTPMethod] = [], closing: Bool = false,
        limits: HTTPLimits = HTTPLimits(), sourceLocation: SourceLocation = #_sourceLocation
    ) -> Parsed<HTTPResponse> {
        func parse(_ pieces: [[UInt8]]) -> Parsed<HTTPResponse> {
            var parser = HTTPResponseParser(limits: limits)
            for method in methods { parser.expect(method) }
            var parsed = feed(pieces) { (input) throws(HTTPError) in try parser.next(&input) }
            guard closing, parsed.error == nil else { return parsed }
            do throws(HTTPError) {
                if let last = try parser.finish() { parsed.events.append(last) }
            } catch {
                parsed.error = error
            }
            return parsed
        }
        let whole = parse([text])
        for pieces in cuts(of: text) where parse(pieces) != whole {
            Issue.record(
                "differs when cut after \(pieces[0].count)", sourceLocation: sourceLocation)
        }
        return whole
    }

    @Test func readsResponsesOfEveryFraming() {
        let parsed = responses(
            in: wire(
                "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"
                    + "HTTP/1.1 404 \nTransfer-Encoding: chunked\n\n3\nabc\n0\n\n"
                    + "HTTP/1.1 204 No Content\nContent-Length: 7\n\n"
                    + "HTTP/1.1 200\nContent-Length: 9\n\n"
                    + "HTTP/1.0 200 Fine words\nX: y\n\nuntil the end"
            ),
            to: [.get, .post, .delete, .head, .get], closing: true)
        #expect(parsed.error == nil)
        #expect(parsed.events.map(\.status) == [200, 404, 204, 200, 200])
        #expect(
            parsed.events.map { String(decoding: $0.body, as: UTF8.self) }
                == ["hi", "abc", "", "", "until the end"])
        #expect(parsed.events.map(\.keepsAlive) == [true, true, true, true, false])
    }

    @Test func passesOverInterimResponsesButNotOver101() throws {
        let text = wire(
            "HTTP/1.1 100 Continue\n\nHTTP/1.1 103 Early Hints\nLink: x\n\n"
                + "HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\n\n")
        let parsed = responses(in: text)
        #expect(parsed.events.map(\.status) == [101])
        #expect(parsed.events[0].headers["upgrade"] == "websocket")
        var parser = HTTPResponseParser()
        try (text + [0x81, 0x00]).withUnsafeBytes { buffer in
            var input = buffer
            let response = try parser.next(&input)
            #expect(response?.status == 101)
            #expect(Array(input) == [0x81, 0x00])
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 20 OK\n\n", HTTPError.badStatusLine), ("HTTP/1.1 2000 OK\n\n", .badStatusLine),
        ("HTTP/1.1 099 OK\n\n", .badStatusLine), ("HTTP/1.1 600 OK\n\n", .badStatusLine),
        ("HTTP/1.1\n\n", .badStatusLine), ("\n\n", .badStatusLine),
        ("HTTP/1.1 20x OK\n\n", .badStatusLine),
        ("HTTP/1.1 200 O\0K\n\n", .badStatusLine), ("HTTP/2.0 200 OK\n\n", .unsupportedVersion),
        ("ICY 200 OK\n\n", .badVersion),
        ("HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 1\n\nx", .badContentLength),
        ("HTTP/1.1 200 OK\nContent-Length: 1\nTransfer-Encoding: chunked\n\nx", .ambiguousLength),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: gzip\n\nx", .unknownTransferCoding("gzip")),
        ("HTTP/1.1 200 OK\nX\n\n", .badHeaderName),
        ("HTTP/1.1 200 OK\nContent-Length: 5\n\nx", .truncated), ("HTTP/1.1 200 OK\n", .truncated),
        ("HTTP/1.1 2", .truncated),
        ("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n1\nx\n", .truncated),
    ])
    func refuses(_ text: String, _ error: HTTPError) {
        #expect(responses(in: wire(text), closing: true) == Parsed(events: [], error: error))
    }

    @Test func bodiesUntilTheEndAreTakenUpToTheirLimit() {
        let head = "HTTP/1.1 200 OK\n\n"
        let limits = HTTPLimits(body: 4)
        let fits = responses(in: wire(head + "1234"), closing: true, limits: limits)
        #expect(fits.events.first?.body.count == 4)
        let over = responses(in: wire(head + "12345"), closing: true, limits: limits)
        #expect(over.error == .bodyTooLarge(limit: 4))
    }

    @Test func nothingIsLeftWhenTheConnectionEndsBetweenResponses() {
        let parsed = responses(in: wire("HTTP/1.1 200 OK\nContent-Length: 0\n\n"), closing: true)
        #expect(parsed.events.count == 1 && parsed.error == nil)
    }

    @Test func requestsThatAreWrittenAreReadBack() throws {
        var sent = HTTPRequest(
            .post, try HTTPTarget("/v1/call/accept?a=b%20c"), headers: ["Host": "h", "X": "é"],
            body: Array("body".utf8))
        var output: [UInt8] = []
        sent.write(to: &output)
        sent.headers.append("Content-Length", "4")
        #expect(requests(in: output).events == [.request(sent)])
        output = []
        HTTPRequest(.get, try HTTPTarget("/"), headers: ["Host": "h"]).write(to: &output)
        #expect(output == wire("GET / HTTP/1.1\nHost: h\n\n"))
    }

    @Test func responsesThatAreWrittenAreReadBack() {
        for status: HTTPStatus in [200, 204, 304, 404, 503] {
            for keepsAlive in [true, false] {
                var sent = HTTPResponse(status, headers: ["X": "1"], body: [])
                if status == 200 || status == 404 { sent.body = [1, 2, 3] }
                sent.keepsAlive = keepsAlive
                var output: [UInt8] = []
                sent.write(to: &output)
                let read = responses(in: output).events
                #expect(read.count == 1 && read[0].status == status && read[0].body == sent.body)
                #expect(read[0].keepsAlive == keepsAlive && read[0].headers["x"] == "1")
            }
        }
    }
}
