// HTTP: requests and responses are judged the same however they are cut.

import WebProtocols

extension Fuzzer {
    static let http = Fuzzer(
        name: "http", property: "requests and responses are judged the same however they are cut"
    ) { (random) throws(FuzzFailure) in try judgeCut(&random) { $0 } }

    static let httpCanary = Fuzzer(
        name: "http-canary", property: "finds a parser that forgets a byte where it is cut",
        mustFail: true
    ) { (random) throws(FuzzFailure) in
        try judgeCut(&random) { piece in piece.count > 9 ? Array(piece.dropLast()) : piece }
    }

    /// Judges messages whole, and in pieces as `seen` by the parser.
    private static func judgeCut(
        _ random: inout FuzzGenerator, _ seen: ([UInt8]) -> [UInt8]
    ) throws(FuzzFailure) {
        let isRequest = random.once(in: 2)
        let text = random.damage(
            HTTPTexts.message(&random, isRequest: isRequest), dictionary: HTTPTexts.words)
        let limits = random.once(in: 3) ? HTTPTexts.tightLimits : HTTPLimits()
        let pieces = random.cut(text).map(seen)
        if isRequest {
            let whole = requests(in: [text], limits)
            try expect(requests(in: pieces, limits) == whole, "another judgement when cut", text)
            for case .request(let request) in whole.events {
                try check(request, limits, text)
            }
        } else {
            let whole = responses(in: [text], limits)
            try expect(responses(in: pieces, limits) == whole, "another judgement when cut", text)
        }
    }

    /// What is accepted keeps to the limits, and is accepted again after being written.
    private static func check(
        _ request: HTTPRequest, _ limits: HTTPLimits, _ text: [UInt8]
    ) throws(FuzzFailure) {
        try expect(request.body.count <= limits.body, "a body beyond the limit", text)
        try expect(
            request.headers.fields.count <= limits.headerCount, "headers beyond the limit", text)
        _ = (request.target.query, request.keepsAlive)
        var copy = HTTPRequest(request.method, request.target, body: request.body)
        copy.headers.append("Host", "a")
        var written: [UInt8] = []
        copy.write(to: &written)
        let parsed = requests(in: [written], HTTPLimits())
        guard case .request(let read)? = parsed.events.first, parsed.error == nil else {
            throw FuzzFailure(what: "what was written is refused: \(parsed)", input: text)
        }
        let isSame = read.body == request.body && read.target == request.target
        try expect(isSame, "another request after a round trip", text)
    }
}

private struct Judgement<Event: Equatable>: Equatable {
    var events: [Event] = []
    var error: HTTPError?

    mutating func feed(
        _ piece: [UInt8], _ next: (inout UnsafeRawBufferPointer) throws(HTTPError) -> Event?
    ) {
        guard error == nil else { return }
        piece.withUnsafeBytes { buffer in
            var input = buffer
            do throws(HTTPError) {
                while let event = try next(&input) { events.append(event) }
            } catch {
                self.error = error
            }
        }
    }
}

extension Judgement<HTTPResponse> {
    fileprivate mutating func finish(_ parser: inout HTTPResponseParser) {
        guard error == nil else { return }
        do throws(HTTPError) {
            if let last = try parser.finish() { events.append(last) }
        } catch {
            self.error = error
        }
    }
}

private func requests(
    in pieces: [[UInt8]], _ limits: HTTPLimits
) -> Judgement<HTTPRequestEvent> {
    var judgement = Judgement<HTTPRequestEvent>()
    var parser = HTTPRequestParser(limits: limits)
    for piece in pieces {
        judgement.feed(piece) { (input) throws(HTTPError) in try parser.next(&input) }
    }
    return judgement
}

private func responses(in pieces: [[UInt8]], _ limits: HTTPLimits) -> Judgement<HTTPResponse> {
    var judgement = Judgement<HTTPResponse>()
    var parser = HTTPResponseParser(limits: limits)
    for piece in pieces {
        judgement.feed(piece) { (input) throws(HTTPError) in try parser.next(&input) }
    }
    judgement.finish(&parser)
    return judgement
}

private enum HTTPTexts {
    static let tightLimits = HTTPLimits(
        startLine: 24, headerBytes: 90, headerCount: 3, body: 8, chunkLine: 6)

    static let words = [
        "\r\n", "\n", "\r", " ", "\t", ":", "\0", ",", "%", "%2F", "%00", "?", "#", "HTTP/1.1",
        "HTTP/1.0", "HTTP/2.0", "Host: b\r\n", "Content-Length: 3\r\n", "Content-Length: 0\r\n",
        "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "Expect: 100-continue\r\n",
        "0\r\n\r\n", "3\r\nabc\r\n", ";x", "\u{80}", "é", "\r\n\r\n",
    ]

    static func message(_ random: inout FuzzGenerator, isRequest: Bool) -> [UInt8] {
        (0..<random.pick(1...3)).flatMap { _ in
            let start = isRequest ? requestLine(&random) : statusLine(&random)
            let fields = (0..<random.pick(0...3)).map { _ in
                random.pick([
                    "X: 1\r\n", "Connection: keep-alive\r\n", "Accept: a, b\r\n", "Y:\r\n",
                ])
            }
            return Array((start + fields.joined() + body(&random)).utf8)
        }
    }

    private static func requestLine(_ random: inout FuzzGenerator) -> String {
        let method = random.pick(["GET", "POST", "PUT", "OPTIONS", "HEAD", "TRACE"])
        let target = random.pick(["/", "/a/b?c=d", "*", "http://h/x", "/%41%C3%A9", "/a+b?x=+%20"])
        let version = random.pick(["HTTP/1.1", "HTTP/1.1", "HTTP/1.0"])
        return "\(method) \(target) \(version)\r\nHost: a\r\n"
    }

    private static func statusLine(_ random: inout FuzzGenerator) -> String {
        let status = random.pick(["100 Continue", "101 x", "200 OK", "204 None", "304 y", "404 "])
        return "HTTP/1.1 \(status)\r\n"
    }

    private static func body(_ random: inout FuzzGenerator) -> String {
        let text = String(repeating: "b", count: random.pick(0...20))
        switch random.pick(0...2) {
        case 0: return "\r\n"
        case 1: return "Content-Length: \(text.count)\r\n\r\n\(text)"
        default:
            let size = String(text.count, radix: 16)
            let chunk = text.isEmpty ? "" : "\(size)\r\n\(text)\r\n"
            return "Transfer-Encoding: chunked\r\n\r\n\(chunk)0\r\n\r\n"
        }
    }
}
