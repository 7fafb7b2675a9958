// The opening handshake: both sides together, and each against a peer that does it wrong.

import Testing

@testable import WebProtocols

@Suite struct HandshakeTests {
    private static let example: [(String, String)] = [
        ("Host", "server.example.com"), ("Upgrade", "websocket"), ("Connection", "Upgrade"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-WebSocket-Version", "13"),
    ]

    /// The example of RFC 6455 section 1.3 with some headers replaced, or removed when nil.
    private func request(
        _ changes: [String: String?] = [:], method: HTTPMethod = .get
    ) throws -> HTTPRequest {
        var headers = HTTPHeaders()
        for (name, value) in Self.example {
            if let value = changes[name, default: value] { headers.append(name, value) }
        }
        if let value = changes["Sec-WebSocket-Protocol"] ?? nil {
            headers.append("Sec-WebSocket-Protocol", value)
        }
        return HTTPRequest(method, try HTTPTarget("/chat"), headers: headers)
    }

    private func refusal(_ request: HTTPRequest) -> HTTPError? {
        do throws(HTTPError) {
            _ = try WebSocketAcceptance(of: request, subprotocols: [])
            return nil
        } catch {
            return error
        }
    }

    @Test func acceptsTheExampleOfTheSpecification() throws {
        let acceptance = try WebSocketAcceptance(of: request(), subprotocols: ["chat"])
        #expect(acceptance.subprotocol == nil)
        var output: [UInt8] = []
        acceptance.response.write(to: &output)
        #expect(
            output
                == wire(
                    "HTTP/1.1 101 Switching Protocols\nUpgrade: websocket\nConnection: Upgrade\n"
                        + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\n\n"))
    }

    @Test(
        arguments: [
            ("chat", "chat"), ("superchat, chat", "chat"), ("v2, v1", "v2"), ("v1,v2", "v1"),
            ("other", nil), ("CHAT", nil),
        ] as [(String, String?)])
    func choosesTheFirstSubprotocolThatIsServed(_ offered: String, _ chosen: String?) throws {
        let acceptance = try WebSocketAcceptance(
            of: request(["Sec-WebSocket-Protocol": offered]), subprotocols: ["chat", "v1", "v2"])
        #expect(acceptance.subprotocol == chosen)
        #expect(acceptance.response.headers["Sec-WebSocket-Protocol"] == chosen)
    }

    @Test func takesTheUpgradeInAnyCaseAndAmongOthers() throws {
        let changes = ["Upgrade": "h2c, WebSocket", "Connection": "keep-alive, UPGRADE"]
        #expect(refusal(try request(changes)) == nil)
    }

    @Test func refusesOtherVersionsWithTheOneItServes() throws {
        for version in ["8", "13, 8", "", "14", nil] {
            let error = refusal(try request(["Sec-WebSocket-Version": version]))
            #expect(error == .webSocketVersion)
            let response = try #require(error?.response)
            #expect(response.status == 426 && response.headers["Sec-WebSocket-Version"] == "13")
        }
    }

    @Test func refusesRequestsThatAskForNoUpgrade() throws {
        #expect(refusal(try request(["Upgrade": nil])) == .upgradeRequired)
        #expect(refusal(try request(["Upgrade": "websockets"])) == .upgradeRequired)
        var old = try request()
        old.minorVersion = 0
        #expect(refusal(old) == .upgradeRequired)
        #expect(HTTPError.upgradeRequired.response.status == 426)
        #expect(HTTPError.upgradeRequired.response.headers["Upgrade"] == "websocket")
    }

    @Test(
        arguments: [
            ["Connection": "close"], ["Connection": nil], ["Sec-WebSocket-Key": nil],
            ["Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ"], ["Sec-WebSocket-Key": ""],
            ["Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25j"],
            ["Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZR=="],
        ] as [[String: String?]])
    func refusesMalformedRequests(_ changes: [String: String?]) throws {
        #expect(refusal(try request(changes))?.status == 400)
    }

    @Test func refusesOtherMethodsAndBodies() throws {
        #expect(refusal(try request(method: .post))?.status == 400)
        var body = try request()
        body.body = [1]
        #expect(refusal(body)?.status == 400)
        var emptyBody = try request()
        emptyBody.headers.append("Transfer-Encoding", "chunked")
        #expect(refusal(emptyBody)?.status == 400)
    }

    // MARK: The client's side

    private let nonce: (UInt64, UInt64) = (0x7468_6520_7361_6D70, 0x6C65_206E_6F6E_6365)

    private func offer() throws -> WebSocketOffer {
        WebSocketOffer(
            host: "h:1", target: try HTTPTarget("/v1/ws"), nonce: nonce, subprotocols: ["a", "b"],
            headers: ["Origin": "http://h"])
    }

    @Test func bothSidesAgree() throws {
        let offer = try offer()
        var output: [UInt8] = []
        offer.request.write(to: &output)
        let read = try #require(requests(in: output).requests.first)
        #expect(
            read == offer.request && read.headers["Sec-WebSocket-Key"] == "dGhlIHNhbXBsZSBub25jZQ=="
        )
        #expect(read.headers["Origin"] == "http://h")
        let acceptance = try WebSocketAcceptance(of: read, subprotocols: ["b"])
        #expect(try offer.verify(acceptance.response) == "b")
    }

    @Test func aClientRefusesAnswersThatDoNotFit() throws {
        let offer = try offer()
        let good = try WebSocketAcceptance(of: offer.request, subprotocols: []).response
        #expect(try offer.verify(good) == nil)
        func refusal(_ change: (inout HTTPHeaders) -> Void) -> WebSocketRefusal? {
            var headers = good.headers
            change(&headers)
            do throws(WebSocketRefusal) {
                _ = try offer.verify(HTTPResponse(101, headers: headers))
                return nil
            } catch {
                return error
            }
        }
        #expect(refusal { $0 = [:] } == .noUpgrade)
        #expect(refusal { $0 = ["Upgrade": "websocket", "Connection": "upgrade"] } == .wrongAccept)
        #expect(refusal { $0.append("Sec-WebSocket-Accept", "x") } == .wrongAccept)
        #expect(refusal { $0.append("Sec-WebSocket-Protocol", "c") } == .notOffered("c"))
        #expect(refusal { $0.append("Sec-WebSocket-Extensions", "x") } == .notOffered("x"))
        #expect(throws: WebSocketRefusal.status(403)) { try offer.verify(HTTPResponse(403)) }
    }

    // MARK: SHA-1 and base64

    /// RFC 3174 section 7.3, and messages at the edges of a block.
    @Test(arguments: [
        ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
        ),
        (
            String(repeating: "a", count: 1_000_000 / 100),
            "a080cbda64850abb7b7f67ee875ba068074ff6fe"
        ),
        (String(repeating: "01234567", count: 80), "dea356a2cddd90c7a7ecedc5ebb563934f460452"),
    ])
    func digestsTheExamplesOfTheSpecification(_ message: String, _ digest: String) {
        let hex = SHA1.digest(Array(message.utf8)).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        #expect(hex.joined() == digest)
    }
}
