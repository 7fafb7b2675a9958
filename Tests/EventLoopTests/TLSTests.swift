// TLS over real loopback sockets.
import COpenSSL
import EventLoop
import Glibc
import TestSupport
import Testing

@Suite struct TLSTests {
    private func secure(_ certificate: TestCertificate) throws -> Listener.Options {
        var options = Listener.Options()
        options.tls = try certificate.serverContext()
        return options
    }

    private func trusting(_ certificate: TestCertificate) throws -> Connector.Options {
        var options = Connector.Options()
        options.tls = try certificate.clientContext()
        return options
    }

    private func port(of listener: Listener) throws -> UInt16 {
        guard case .tcp(_, let port) = listener.endpoint else { throw CancellationError() }
        return port
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func tlsBringsEveryByteBack(host: String) throws {
        let rig = try Rig()
        defer { rig.close() }
        let folder = TemporaryFolder()
        let certificate = try TestCertificate("a", in: folder)
        let listener = try rig.listen(options: try secure(certificate)) { connection in
            connection.handler = Peer.echo()
        }
        let client = Peer()
        var heard = ""
        client.onBytes = { connection, bytes in
            heard += String(decoding: bytes, as: UTF8.self)
            if heard == "hello again" { connection.close() }
        }
        client.onClosed = { _, error in
            #expect(error == nil)
            rig.finish()
        }
        let endpoint = NetworkAddress.tcp(host: host, port: try port(of: listener))
        rig.connect(to: endpoint, options: try trusting(certificate)) { connection in
            connection.handler = client
            connection.send("hello")
            connection.send(" again")
        }
        rig.run()
        #expect(heard == "hello again")
        #expect(listener.handshakes == 0)
    }

    @Test func aUnixSocketCanSpeakTLSToo() throws {
        let rig = try Rig()
        defer { rig.close() }
        let folder = TemporaryFolder()
        let certificate = try TestCertificate("a", in: folder)
        let endpoint = NetworkAddress.unix(path: "\(folder.path)/tls.sock")
        _ = try rig.listen(at: endpoint, options: try secure(certificate)) { connection in
            connection.send("over TLS")
            connection.close()
        }
        let client = Peer()
        client.onBytes = { _, bytes in
            #expect(String(decoding: bytes, as: UTF8.self) == "over TLS")
            rig.finish()
        }
        rig.connect(to: endpoint, options: try trusting(certificate)) { $0.handler = client }
        rig.run()
    }

    @Test func aSlowReaderOverTLSLosesNothing() throws {
        let rig = try Rig()
        defer { rig.close() }
        let folder = TemporaryFolder()
        let certificate = try TestCertificate("a", in: folder)
        let total = 8 << 20
        let source = Source(total: total)
        let listener = try rig.listen(options: try secure(certificate)) { source.feed($0) }
        let sink = Sink(rig)
        rig.connect(to: listener.endpoint, options: try trusting(certificate)) { $0.handler = sink }
        rig.run(limit: 60_000)
        #expect(sink.received == total)
        #expect(sink.wrong == 0)
        #expect(source.mostUnsent <= Source.highWater + 65_536)
    }

    @Test func aCertificateThatNobodyTrustsIsRefusedOnBothSides() throws {
        let rig = try Rig()
        defer { rig.close() }
        let folder = TemporaryFolder()
        let shown = try TestCertificate("shown", in: folder)
        let other = try TestCertificate("other", in: folder)
        var reports: [EventLoopError] = []
        func report(_ error: EventLoopError) {
            reports.append(error)
            if reports.count == 2 { rig.finish() }
        }
        let listener = try Listener(
            at: .tcp(host: "127.0.0.1", port: 0), on: rig.loop, options: try secure(shown),
            failed: report, accepted: { _ in Issue.record("accepted") })
        Connector.connect(to: listener.endpoint, on: rig.loop, options: try trusting(other)) {
            if case .failure(let error) = $0 { report(error) } else { Issue.record("connected") }
        }
        rig.run()
        #expect(reports.count == 2)
        #expect(reports.allSatisfy { $0.kind == .tls })
        let words = "certificate not accepted: self-signed certificate"
        #expect(reports.contains { $0.description.hasSuffix(words) })
    }

    @Test func aCertificateForAnotherNameIsRefused() throws {
        let rig = try Rig()
        defer { rig.close() }
        let folder = TemporaryFolder()
        let certificate = try TestCertificate("a", in: folder, names: "DNS:example.org")
        let listener = try Listener(
            at: .tcp(host: "127.0.0.1", port: 0), on: rig.loop, options: try secure(certificate),
            failed: { _ in }, accepted: { _ in })
        var options = try trusting(certificate)
        var failure: EventLoopError?
        Connector.connect(to: listener.endpoint, on: rig.loop, options: options) { result in
            if case .failure(let error) = result { failure = error }
            rig.finish()
        }
        rig.run()
        #expect(failure?.kind == .tls)
        #expect(failure?.description.contains("IP address mismatch") == true)
        options.serverName = "example.org"
        rig.connect(to: listener.endpoint, options: options) { _ in rig.finish() }
        rig.run()
    }

    @Test func afterAReloadNewcomersSeeTheNewCertificateOthersGoOn() throws {
        let rig = try Rig()
        defer { rig.close() }
        let folder = TemporaryFolder()
        let old = try TestCertificate("old", in: folder)
        let new = try TestCertificate("new", in: folder)
        let listener = try rig.listen(options: try secure(old)) { $0.handler = Peer.echo() }
        var first: Connection?
        rig.connect(to: listener.endpoint, options: try trusting(old)) { connection in
            first = connection
            rig.finish()
        }
        rig.run()
        listener.tls = try new.serverContext()
        rig.connect(to: listener.endpoint, options: try trusting(new)) { _ in rig.finish() }
        rig.run()
        let client = Peer()
        client.onBytes = { _, bytes in
            #expect(String(decoding: bytes, as: UTF8.self) == "still here")
            rig.finish()
        }
        first?.handler = client
        first?.send("still here")
        rig.run()
    }

    @Test(arguments: [
        (ForeignClient(), "TLSv1.3 "),
        (ForeignClient(newestVersion: TLS1_2_VERSION), "TLSv1.2 "),
        (ForeignClient(newestVersion: TLS1_1_VERSION), "tlsv1 alert protocol version"),
        (ForeignClient(protocols: Array("\u{2}h2\u{8}http/1.1".utf8)), "TLSv1.3 http/1.1"),
        (ForeignClient(protocols: Array("\u{2}h2".utf8)), "tlsv1 alert no application protocol"),
    ])
    func versionsAndProtocolsAreChosenOrRefused(client: ForeignClient, outcome: String)
        throws
    {
        let rig = try Rig()
        defer { rig.close() }
        let folder = TemporaryFolder()
        let options = try secure(try TestCertificate("a", in: folder))
        let listener = try Listener(
            at: .tcp(host: "127.0.0.1", port: 0), on: rig.loop, options: options,
            failed: { #expect($0.kind == .tls) }, accepted: { $0.handler = Peer.echo() })
        let port = try port(of: listener)
        let results = try Mailbox<String>(on: rig.loop) { texts in
            #expect(texts == [outcome])
            rig.finish()
        }
        let thread = try WorkerThread(name: "foreign") {
            results.post(client.shakeHands(port: port))
        }
        rig.run()
        thread.join()
    }

    @Test func whatIsNoTLSIsReportedAndClosed() throws {
        let rig = try Rig()
        defer { rig.close() }
        let folder = TemporaryFolder()
        var reports: [EventLoopError] = []
        let options = try secure(try TestCertificate("a", in: folder))
        let listener = try Listener(
            at: .tcp(host: "127.0.0.1", port: 0), on: rig.loop, options: options,
            failed: { error in
                reports.append(error)
                rig.finish()
            }, accepted: { _ in Issue.record("accepted") })
        rig.connect(to: listener.endpoint) { $0.send("GET / HTTP/1.1\r\n\r\n") }
        rig.run()
        #expect(reports.first?.kind == .tls)
        #expect(reports.first?.description.hasSuffix(": http request") == true)
    }

    @Test func aSilentClientIsDroppedWhenItsTimeIsOver() throws {
        let rig = try Rig()
        defer { rig.close() }
        let folder = TemporaryFolder()
        var options = try secure(try TestCertificate("a", in: folder))
        options.handshakeTimeout = 50
        var failure: EventLoopError?
        let began = rig.loop.now
        let listener = try Listener(
            at: .tcp(host: "127.0.0.1", port: 0), on: rig.loop, options: options,
            failed: { error in
                failure = error
                rig.finish()
            }, accepted: { _ in Issue.record("accepted") })
        let descriptor = try bareConnection(to: listener.endpoint)
        rig.run()
        close(descriptor)
        #expect(failure?.kind == .timedOut)
        #expect(rig.loop.now - began >= 50)
        #expect(listener.handshakes == 0)
    }

    @Test func aServerThatNeverAnswersCostsTheClientItsTimeLimit() throws {
        let rig = try Rig()
        defer { rig.close() }
        let folder = TemporaryFolder()
        let listener = try rig.listen { $0.handler = Peer() }
        var options = try trusting(try TestCertificate("a", in: folder))
        options.timeout = 50
        var failure: EventLoopError?
        Connector.connect(to: listener.endpoint, on: rig.loop, options: options) { result in
            if case .failure(let error) = result { failure = error }
            rig.finish()
        }
        rig.run()
        #expect(failure?.kind == .timedOut)
    }

    @Test func bytesHeldByAPausedSessionComeAfterTheResume() throws {
        let rig = try Rig()
        defer { rig.close() }
        let folder = TemporaryFolder()
        let certificate = try TestCertificate("a", in: folder)
        let listener = try rig.listen(options: try secure(certificate)) { connection in
            connection.send([UInt8](repeating: 7, count: 1 << 20))
            connection.close()
        }
        let sink = Sink(rig)
        sink.expected = { _ in 7 }
        rig.connect(to: listener.endpoint, options: try trusting(certificate)) { connection in
            connection.pauseReading()
            connection.handler = sink
            rig.later { connection.resumeReading() }
        }
        rig.run()
        #expect(sink.received == 1 << 20)
        #expect(sink.wrong == 0)
    }
}

@Suite struct TLSContextTests {
    private func failure(certificate: String, key: String) -> EventLoopError? {
        #expect(throws: EventLoopError.self) {
            _ = try TLSContext.server(certificate: certificate, key: key)
        }
    }

    @Test func aMissingFileIsNamed() throws {
        let folder = TemporaryFolder()
        let good = try TestCertificate("good", in: folder)
        let absent = "\(folder.path)/absent"
        #expect(
            failure(certificate: absent, key: good.key)?.description
                == "TLS certificate \(absent): No such file or directory")
        #expect(
            failure(certificate: good.certificate, key: absent)?.description
                == "TLS key \(absent): No such file or directory")
        let error = #expect(throws: EventLoopError.self) {
            _ = try TLSContext.client(authorities: absent)
        }
        #expect(error?.description == "TLS authorities \(absent): No such file or directory")
    }

    @Test func aFileThatIsNoPEMIsNamed() throws {
        let folder = TemporaryFolder()
        let good = try TestCertificate("good", in: folder)
        folder.write("rubbish", to: "rubbish")
        let bad = "\(folder.path)/rubbish"
        #expect(
            failure(certificate: bad, key: good.key)?.description
                == "TLS file \(bad) has no certificate in PEM form")
        #expect(
            failure(certificate: good.certificate, key: bad)?.description
                == "TLS file \(bad) has no private key in PEM form")
        let error = #expect(throws: EventLoopError.self) {
            _ = try TLSContext.client(authorities: bad)
        }
        #expect(error?.description == "TLS file \(bad) has no certificate in PEM form")
    }

    @Test func aKeyOfAnotherCertificateIsNamed() throws {
        let folder = TemporaryFolder()
        let good = try TestCertificate("good", in: folder)
        let other = try TestCertificate("other", in: folder)
        #expect(
            failure(certificate: good.certificate, key: other.key)?.description
                == "TLS file \(other.key) does not belong to the certificate \(good.certificate)")
    }

    @Test func anEncryptedKeyIsRefusedWithoutAsking() throws {
        let folder = TemporaryFolder()
        let locked = try TestCertificate("locked", in: folder, passPhrase: "secret")
        let error = failure(certificate: locked.certificate, key: locked.key)
        #expect(error?.kind == .tls)
        #expect(error?.description.contains("is encrypted") == true)
    }

    /// Whether the system has any is its own matter.
    @Test func withoutAFileTheSystemsAuthoritiesAreAskedFor() throws {
        #expect(try TLSContext.client().fingerprint == nil, "a client shows no certificate")
    }
}
