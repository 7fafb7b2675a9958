// Encrypted connections: the server must prove who it is.

import CallClient
import CallClientCore
import EventLoop
import JSON
import TestSupport
import Testing
import WebProtocols

@Suite struct TLSTests {
    private struct Secure {
        let waiter: LoopWaiter
        let server: ScriptedServer
        let address: ServerAddress
        let certificate: TestCertificate
        let folder = TemporaryFolder()

        init() throws {
            waiter = try LoopWaiter()
            certificate = try TestCertificate("a", in: folder)
            server = try ScriptedServer(waiter, tls: try certificate.serverContext())
            address = ServerAddress(server.endpoint, isSecure: true)
        }

        func device(trusting tls: TLSContext?) -> TestDevice {
            var options = CallClient.Options(address, token: "dev:alice", device: "phone")
            options.tls = tls
            return TestDevice(options, waiter)
        }

        func close() {
            server.close()
            waiter.close()
        }
    }

    @Test func aTrustedServerIsTalkedTo() throws {
        let secure = try Secure()
        defer { secure.close() }
        let device = secure.device(trusting: try secure.certificate.clientContext())
        device.client.connect()
        try device.welcome()
        device.client.disconnect()
    }

    @Test func anUnknownServerIsNot() throws {
        let secure = try Secure()
        defer { secure.close() }
        let device = secure.device(trusting: nil)
        device.client.connect()
        guard case .network(let error) = try device.loss() else {
            Issue.record("another loss")
            return
        }
        #expect(error.description.contains("certificate"))
        #expect(secure.server.messages.isEmpty)
        device.client.disconnect()
    }

    @Test func oneRequestOverHTTPSWorksToo() throws {
        let secure = try Secure()
        defer { secure.close() }
        secure.server.onRequest = { $1.respond(HTTPResponse(200, text: "ok")) }
        var options = HTTPExchange.Options()
        options.tls = try secure.certificate.clientContext()
        let request = HTTPRequest(.get, secure.address.target("/healthz"))
        let result = try secure.waiter.result(of: "a response") {
            HTTPExchange.send(
                request, to: secure.address, on: secure.waiter.loop, options: options,
                completion: $0)
        }
        #expect(try result.get().body == Array("ok".utf8))
        options.tls = nil
        let untrusted = try secure.waiter.result(of: "a failure") {
            HTTPExchange.send(
                request, to: secure.address, on: secure.waiter.loop, options: options,
                completion: $0)
        }
        guard case .failure(.network(let error)) = untrusted else {
            Issue.record("trusted")
            return
        }
        #expect(error.description.contains("certificate"))
    }
}
