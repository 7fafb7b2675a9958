// The engine against nghttp2's own server, a second implementation of HTTP/2.

import Foundation
import JSON
import TestSupport
import Testing

@testable import Outbound

/// Debian's nghttpd (package `nghttp2-server`) on a free port of the loopback.
private final class Nghttpd {
    static let path = ["/usr/sbin/nghttpd", "/usr/bin/nghttpd"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    let port: Int
    let engine: HTTPEngine
    private let program: Program
    private let folder = TemporaryFolder()

    /// - Parameter double: lends its certificate.
    init(_ options: [String], _ double: PushDouble) throws {
        folder.write("hello", to: "greeting")
        port = try Self.freePort()
        let keeper = Place.doubles.appending(path: "keep.py").path
        program = try Program(
            try Python.path.get(),
            [keeper, try #require(Self.path), "-d", folder.path] + options
                + ["\(port)", try double.text("key"), try double.text("certificate")])
        engine = try HTTPEngine(double.options)
        try waitUntilReady()
    }

    func request(_ method: String, _ path: String, body: [UInt8] = []) throws -> OutboundRequest {
        .local(method, try HTTPURL("https://localhost:\(port)\(path)"), body: body)
    }

    private func waitUntilReady() throws {
        let end = ContinuousClock.now + .seconds(60)
        while try engine.run(request("GET", "/greeting")).status != 200 {
            guard ContinuousClock.now < end else { throw Program.ProgramEnded(status: 1) }
            _ = engine.perform(forAtMost: 50)
        }
    }

    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
            }
        }
        guard code == 0 else { throw Program.ProgramEnded(status: Int(errno)) }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}

@Suite(
    .enabled(if: Nghttpd.path != nil, "there is no nghttpd: install nghttp2-server"),
    .enabled(if: Python.isThere, "there is no python3"), .serialized)
struct NghttpdTests {
    private let double: PushDouble

    init() throws {
        double = try PushDouble()
    }

    @Test func filesComeWholeAndWhatIsNotThereIs404() throws {
        let server = try Nghttpd([], double)
        let response = try server.engine.run(server.request("GET", "/greeting")).get()
        #expect(response.version == 2 && response.body == Array("hello".utf8))
        #expect(try server.engine.run(server.request("GET", "/nothing")).status == 404)
    }

    @Test func whatIsPostedComesBack() throws {
        let server = try Nghttpd(["--echo-upload"], double)
        for size in [1, 4_096, 60_000] {
            let body = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let response = try server.engine.run(server.request("POST", "/", body: body)).get()
            #expect(response.status == 200 && response.body == body)
        }
    }

    /// Reading them took a megabyte and 25 ms of every connection, whoever asked for it.
    @Test func theCertificatesToTrustAreReadOnceForAllConnections() throws {
        let (first, second) = (try Nghttpd([], double), try Nghttpd([], double))
        let folder = TemporaryFolder()
        var options = double.options
        let trusted = try String(
            contentsOfFile: try #require(options.trustFile), encoding: .utf8)
        folder.write(trusted, to: "trusted.pem")
        options.trustFile = "\(folder.path)/trusted.pem"
        let engine = try HTTPEngine(options)
        #expect(try engine.run(first.request("GET", "/greeting")).status == 200)
        try FileManager.default.removeItem(atPath: "\(folder.path)/trusted.pem")
        #expect(try engine.run(second.request("GET", "/greeting")).status == 200)
    }

    @Test(arguments: [1, 3, 100])
    func fiveHundredRequestsPassThroughAnyNumberOfStreams(streams: Int) throws {
        let server = try Nghttpd(["-m", "\(streams)"], double)
        let requests = try (0..<500).map { _ in
            var request = try server.request("GET", "/greeting")
            request.mayRepeat = true
            return request
        }
        let results = try server.engine.run(requests)
        #expect(results.allSatisfy { $0.status == 200 })
    }
}
