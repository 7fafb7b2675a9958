// Requests that are refused, with the reason and the status of the answer.

import Testing
import WebProtocols

@Suite struct RequestRefusalTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var text: [UInt8]
        var error: HTTPError
        var status: HTTPStatus
        var testDescription: String { "\(error): \(String(decoding: text, as: UTF8.self))" }

        init(_ text: String, _ error: HTTPError, _ status: HTTPStatus = 400) {
            (self.text, self.error, self.status) = (wire(text), error, status)
        }

        init(bytes: String, _ error: HTTPError, _ status: HTTPStatus = 400) {
            (self.text, self.error, self.status) = (Array(bytes.utf8), error, status)
        }
    }

    static let startLines: [Case] = [
        Case("GET /\n\n", .badRequestLine), Case("GET\n\n", .badRequestLine),
        Case("GET  / HTTP/1.1\n\n", .badRequestLine), Case(" GET / HTTP/1.1\n\n", .badRequestLine),
        Case("GET / HTTP/1.1 \n\n", .badRequestLine),
        Case("GET /a b HTTP/1.1\n\n", .badRequestLine),
        Case("\n\nGET / HTTP/1.1\nHost: a\n\n", .badRequestLine),
        Case("GET\t/ HTTP/1.1\n\n", .badRequestLine),
        Case("G@T / HTTP/1.1\n\n", .badMethod), Case("G\0T / HTTP/1.1\n\n", .badMethod),
        Case("\"GET\" / HTTP/1.1\n\n", .badMethod),
        Case("BREW / HTTP/1.1\n\n", .unknownMethod("BREW"), 501),
        Case("get / HTTP/1.1\n\n", .unknownMethod("get"), 501),
        Case("CONNECT a:1 HTTP/1.1\n\n", .unknownMethod("CONNECT"), 501),
        Case("TRACE / HTTP/1.1\n\n", .unknownMethod("TRACE"), 501),
        Case("GET / http/1.1\n\n", .badVersion), Case("GET / HTTP/1\n\n", .badVersion),
        Case("GET / HTTP/1.10\n\n", .badVersion), Case("GET / XTTP/1.1\n\n", .badVersion),
        Case("GET / HTTP/1,1\n\n", .badVersion), Case("GET / HTTP/x.1\n\n", .badVersion),
        Case("GET / HTTP/2.0\n\n", .unsupportedVersion, 505),
        Case("GET / HTTP/0.9\n\n", .unsupportedVersion, 505),
        Case("GET / HTTP/1.2\n\n", .unsupportedVersion, 505),
        Case("PRI * HTTP/2.0\n\n", .unsupportedVersion, 505),
        Case("GET a HTTP/1.1\n\n", .badTarget), Case("GET * HTTP/1.1\n\n", .badTarget),
        Case("GET /a#b HTTP/1.1\n\n", .badTarget), Case("GET /a\0b HTTP/1.1\n\n", .badTarget),
        Case("GET /é HTTP/1.1\n\n", .badTarget), Case("GET /a\u{7F} HTTP/1.1\n\n", .badTarget),
        Case("GET ftp://a/b HTTP/1.1\n\n", .badTarget),
        Case("GET http:///b HTTP/1.1\n\n", .badTarget),
        Case("GET http://u@h/b HTTP/1.1\n\n", .badTarget),
        Case("GET a:80 HTTP/1.1\n\n", .badTarget),
        Case("GET ?x HTTP/1.1\n\n", .badTarget),
        Case("GET /%zz HTTP/1.1\n\n", .badPercentEncoding),
        Case("GET /% HTTP/1.1\n\n", .badPercentEncoding),
        Case("GET /%4 HTTP/1.1\n\n", .badPercentEncoding),
        Case("GET /%00 HTTP/1.1\n\n", .badPercentEncoding),
        Case("GET /%ff HTTP/1.1\n\n", .badPercentEncoding),
        Case("GET /?a=%e2%82 HTTP/1.1\n\n", .badPercentEncoding),
    ]

    static let headers: [Case] = [
        Case("GET / HTTP/1.1\n\n", .missingHost), Case("GET / HTTP/1.1\nX: 1\n\n", .missingHost),
        Case("GET http://a/ HTTP/1.1\n\n", .missingHost),
        Case("GET / HTTP/1.1\nHost: a\nhost: a\n\n", .badHost),
        Case("GET / HTTP/1.0\nHost: a\nHost: b\n\n", .badHost),
        Case("GET / HTTP/1.1\nHost: a b\n\n", .badHost),
        Case("GET / HTTP/1.1\nHost: a/b\n\n", .badHost),
        Case("GET / HTTP/1.1\nHost: a, b\n\n", .badHost),
        Case("GET / HTTP/1.1\nHost: u@a\n\n", .badHost),
        Case("GET / HTTP/1.1\nHost : a\n\n", .badHeaderName),
        Case("GET / HTTP/1.1\nHost\n\n", .badHeaderName),
        Case("GET / HTTP/1.1\n: a\n\n", .badHeaderName),
        Case("GET / HTTP/1.1\nHo st: a\n\n", .badHeaderName),
        Case("GET / HTTP/1.1\nHöst: a\n\n", .badHeaderName),
        Case("GET / HTTP/1.1\nH(st: a\n\n", .badHeaderName),
        Case("GET / HTTP/1.1\nX\0: a\n\n", .badHeaderName),
        Case("GET / HTTP/1.1\nHost: a\n folded\n\n", .foldedHeader),
        Case("GET / HTTP/1.1\nHost: a\n\tfolded\n\n", .foldedHeader),
        Case("GET / HTTP/1.1\n Host: a\n\n", .foldedHeader),
        Case("GET / HTTP/1.1\nX: a\0b\n\n", .badHeaderValue(name: "X")),
        Case("GET / HTTP/1.1\nX: a\u{1}b\n\n", .badHeaderValue(name: "X")),
        Case("GET / HTTP/1.1\nX: a\u{7F}\n\n", .badHeaderValue(name: "X")),
        Case(bytes: "GET / HTTP/1.1\nHost: a\r\n\r\n", .bareLineEnd),
        Case(bytes: "GET / HTTP/1.1\r\nHost: a\n\r\n", .bareLineEnd),
        Case(bytes: "GET / HTTP/1.1\r\nHost: a\r\n\n", .bareLineEnd),
        Case(bytes: "GET / HTTP/1.1\r\nX: a\rY: b\r\n\r\n", .bareLineEnd),
        Case(bytes: "GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", .bareLineEnd),
        Case(bytes: "\nGET / HTTP/1.1\r\n", .bareLineEnd),
        Case("GET / HTTP/1.1\nHost: a\nExpect: magic\n\n", .unknownExpectation, 417),
    ]

    private static func post(_ rest: String) -> String { "POST / HTTP/1.1\nHost: a\n" + rest }

    static let bodies: [Case] = [
        Case(post("Content-Length: 5\nContent-Length: 5\n\nhello"), .badContentLength),
        Case(post("Content-Length: 5\nContent-Length: 6\n\nhello"), .badContentLength),
        Case(post("Content-Length: 5, 5\n\nhello"), .badContentLength),
        Case(post("Content-Length: +5\n\nhello"), .badContentLength),
        Case(post("Content-Length: -5\n\nhello"), .badContentLength),
        Case(post("Content-Length: 0x5\n\nhello"), .badContentLength),
        Case(post("Content-Length: 5 5\n\nhello"), .badContentLength),
        Case(post("Content-Length:\n\nhello"), .badContentLength),
        Case(post("Content-Length: ٥\n\nhello"), .badContentLength),
        Case(post("Content-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n"), .ambiguousLength),
        Case(post("Transfer-Encoding: chunked\nContent-Length: 0\n\n0\n\n"), .ambiguousLength),
        Case(post("Transfer-Encoding: gzip, chunked\n\n"), .unknownTransferCoding("gzip"), 501),
        Case(post("Transfer-Encoding: identity\n\n"), .unknownTransferCoding("identity"), 501),
        Case(post("Transfer-Encoding: xchunked\n\n"), .unknownTransferCoding("xchunked"), 501),
        Case(post("Transfer-Encoding: chunked, chunked\n\n"), .badTransferEncoding),
        Case(
            post("Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n"), .badTransferEncoding
        ),
        Case(post("Transfer-Encoding:\n\n"), .badTransferEncoding),
        Case(
            post("Transfer-Encoding: chunked;q=1\n\n"), .unknownTransferCoding("chunked;q=1"), 501),
        Case("POST / HTTP/1.0\nTransfer-Encoding: chunked\n\n", .badTransferEncoding),
        Case(post("Content-Length: 65537\n\n"), .bodyTooLarge(limit: 65_536), 413),
        Case(chunks("x\n"), .badChunk), Case(chunks("\n"), .badChunk),
        Case(chunks("-1\n"), .badChunk),
        Case(chunks("+1\na\n"), .badChunk), Case(chunks("0x1\na\n"), .badChunk),
        Case(chunks(" 1\na\n"), .badChunk), Case(chunks("1 \na\n"), .badChunk),
        Case(chunks("1;\0\na\n"), .badChunk), Case(chunks(";x\na\n"), .badChunk),
        Case(chunks("1\nab\n"), .badChunk), Case(chunks("1\na1\n"), .badChunk),
        Case(chunks("0000000000000001\na\n"), .badChunk),
        Case(chunks("fffffff\n"), .bodyTooLarge(limit: 65_536), 413),
        Case(chunks("fffffffffffffff\n"), .bodyTooLarge(limit: 65_536), 413),
        Case(chunks("0\nbad trailer\n\n"), .badHeaderName),
        Case(chunks("0\n x\n\n"), .foldedHeader),
        Case(
            bytes: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n",
            .bareLineEnd),
        Case(
            bytes: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\n",
            .bareLineEnd),
    ]

    private static func chunks(_ rest: String) -> String {
        post("Transfer-Encoding: chunked\n\n" + rest)
    }

    @Test(arguments: startLines + headers + bodies)
    func refuses(_ refused: Case) {
        let parsed = requests(in: refused.text)
        #expect(parsed == Parsed(events: [], error: refused.error))
        #expect(refused.error.status == refused.status)
        #expect(!refused.error.description.isEmpty)
    }

    @Test func servesWhatCameBeforeTheRefusal() {
        let parsed = requests(in: wire("GET /1 HTTP/1.1\nHost: a\n\nGET /2\n\n"))
        #expect(parsed.requests.map(\.target.rawPath) == ["/1"])
        #expect(parsed.error == .badRequestLine)
    }

    @Test func aRefusalIsFinal() {
        var parser = HTTPRequestParser()
        let first = feed([wire("GET /\n\n")]) { (i) throws(HTTPError) in try parser.next(&i) }
        let later = feed([wire("GET / HTTP/1.1\nHost: a\n\n")]) { (i) throws(HTTPError) in
            try parser.next(&i)
        }
        #expect(first == later && later.error == .badRequestLine)
    }

    @Test func aValueThatIsNotUTF8IsRefused() {
        let text = wire("GET / HTTP/1.1\nX: ") + [0xE9] + wire("\n\n")
        #expect(requests(in: text).error == .badHeaderValue(name: "X"))
    }

    /// A request with one byte replaced is judged the same however it is cut.
    @Test func judgesEveryReplacedByteTheSameHoweverCut() {
        let text = wire(
            "POST /a%20b?c HTTP/1.1\nHost: a\nTransfer-Encoding: chunked\n\n2;x\nhi\n0\nT: t\n\n")
        for index in text.indices {
            for byte: UInt8 in [0x00, 0x09, 0x0A, 0x0D, 0x20, 0x2C, 0x31, 0x3A, 0x41, 0x7F, 0x80] {
                var changed = text
                changed[index] = byte
                let whole = requests(in: [changed])
                #expect(requests(in: changed.map { [$0] }) == whole, "byte \(byte) at \(index)")
            }
        }
    }

    @Test func answersARefusalAndCloses() {
        var output: [UInt8] = []
        HTTPError.missingHost.response.write(to: &output)
        #expect(
            output == wire(
                "HTTP/1.1 400 Bad Request\nContent-Type: text/plain; charset=utf-8\n"
                    + "Content-Length: 27\nConnection: close\n\n")
                + Array("the header Host is missing\n".utf8))
    }
}
