// Two processes that both show certificates.
import EventLoop
import Glibc
import TestSupport
import Testing

@Suite struct MutualTLSTests {
    private let folder = TemporaryFolder()

    /// What a node of this name shows and asks for, where `trusted` may come.
    private func node(
        _ name: String, trusting trusted: [TestCertificate], showing own: TestCertificate
    ) throws -> (accepting: TLSContext, connecting: TLSContext) {
        let authorities = "\(folder.path)/\(name)-authorities.pem"
        let texts = try trusted.map { try text(of: $0.certificate) }
        try write(texts.joined(), to: authorities)
        return try TLSContext.mutual(
            authorities: authorities, certificate: own.certificate, key: try text(of: own.key))
    }

    private func text(of path: String) throws -> String {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    private func write(_ text: String, to path: String) throws {
        let file = try #require(fopen(path, "w"))
        defer { fclose(file) }
        #expect(fputs(text, file) >= 0)
    }

    @Test func eachSideKnowsTheNameOfTheOther() throws {
        let rig = try Rig()
        defer { rig.close() }
        let a = try TestCertificate("a", in: folder, names: "DNS:a")
        let b = try TestCertificate("b", in: folder, names: "DNS:b,DNS:*.wild")
        var options = Listener.Options()
        options.tls = try node("a", trusting: [b], showing: a).accepting
        let (own, shown) = (options.tls, try node("b", trusting: [a], showing: b).connecting)
        let listener = try rig.listen(options: options) { connection in
            #expect(connection.peerIsNamed("b"))
            #expect(connection.peerFingerprint == shown.fingerprint)
            #expect(shown.fingerprint?.count == 32 && own?.fingerprint != shown.fingerprint)
            for name in ["a", "", "callagent test", "x.wild", "b.c"] {
                #expect(!connection.peerIsNamed(name), "\(name)")
            }
            connection.handler = Peer.echo()
            connection.send("known")
        }
        let client = Peer()
        client.onBytes = { _, bytes in
            #expect(String(decoding: bytes, as: UTF8.self) == "known")
            rig.finish()
        }
        var connecting = Connector.Options()
        connecting.tls = shown
        connecting.serverName = "a"
        rig.connect(to: listener.endpoint, options: connecting) {
            #expect($0.peerFingerprint == own?.fingerprint)
            $0.handler = client
        }
        rig.run()
    }

    @Test func whoShowsNoneOrAForeignOneIsRefused() throws {
        let rig = try Rig()
        defer { rig.close() }
        let a = try TestCertificate("a", in: folder, names: "DNS:a")
        let b = try TestCertificate("b", in: folder, names: "DNS:b")
        var reports: [String] = []
        var options = Listener.Options()
        options.tls = try node("a", trusting: [a], showing: a).accepting
        let listener = try Listener(
            at: .tcp(host: "127.0.0.1", port: 0), on: rig.loop, options: options,
            failed: { error in
                reports.append("\(error)")
                if reports.count == 2 { rig.finish() }
            }, accepted: { _ in Issue.record("accepted") })
        var foreign = Connector.Options()
        foreign.tls = try node("b", trusting: [a], showing: b).connecting
        foreign.serverName = "a"
        var silent = Connector.Options()
        silent.tls = try a.clientContext()
        silent.serverName = "a"
        for options in [foreign, silent] {
            Connector.connect(to: listener.endpoint, on: rig.loop, options: options) { result in
                // The client may be done before it is refused.
                if case .success(let connection) = result { connection.handler = Peer() }
            }
        }
        rig.run()
        #expect(reports.contains { $0.contains("certificate not accepted") })
        #expect(reports.contains { $0.contains("peer did not return a certificate") })
    }

    @Test func aKeyThatIsNoneOrAnothersIsRefusedAndNeverShown() throws {
        let a = try TestCertificate("a", in: folder, names: "DNS:a")
        let b = try TestCertificate("b", in: folder, names: "DNS:b")
        for key in ["hush-hush", "", try text(of: b.key)] {
            do throws(EventLoopError) {
                _ = try TLSContext.mutual(
                    authorities: a.certificate, certificate: a.certificate, key: key)
                Issue.record("it was taken")
            } catch {
                #expect(error.kind == .tls)
                #expect(!"\(error)".contains("hush"))
                #expect(!"\(error)".contains("BEGIN"))
            }
        }
    }
}
