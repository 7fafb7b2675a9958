// Outgoing connections that fail, each with its reason.
import EventLoop
import Glibc
import Testing

@Suite struct ConnectorTests {
    private func failure(
        of endpoint: NetworkAddress, options: Connector.Options = Connector.Options(), on rig: Rig
    ) -> EventLoopError? {
        var failure: EventLoopError?
        var hasReturned = false
        Connector.connect(to: endpoint, on: rig.loop, options: options) { result in
            #expect(hasReturned)
            switch result {
            case .success: Issue.record("connected to \(endpoint)")
            case .failure(let error): failure = error
            }
            rig.finish()
        }
        hasReturned = true
        rig.run()
        return failure
    }

    @Test func nobodyListens() throws {
        let rig = try Rig()
        defer { rig.close() }
        let listener = try rig.listen { _ in }
        let endpoint = listener.endpoint
        listener.close()
        let error = failure(of: endpoint, on: rig)
        #expect(error?.kind == .refused)
        #expect(error?.description == "connecting to \(endpoint): Connection refused")
    }

    @Test func thereIsNoSuchUnixSocket() throws {
        let rig = try Rig()
        defer { rig.close() }
        let error = failure(of: .unix(path: "/nonexistent/socket"), on: rig)
        #expect(error?.kind == .system)
        let words = "connecting to unix:/nonexistent/socket: No such file or directory"
        #expect(error?.description == words)
    }

    @Test func aNameWithoutAnAddress() throws {
        let rig = try Rig()
        defer { rig.close() }
        let error = failure(of: .tcp(host: "no-such-name.invalid", port: 1), on: rig)
        #expect(error?.kind == .nameNotFound)
        #expect(error?.subject == "no-such-name.invalid")
    }

    @Test func aLoopThatEndsCallsALookUpOff() throws {
        let rig = try Rig()
        var error: EventLoopError?
        let endpoint = NetworkAddress.tcp(host: "no-such-name.invalid", port: 1)
        Connector.connect(to: endpoint, on: rig.loop) { result in
            if case .failure(let why) = result { error = why }
        }
        rig.close()
        #expect(error?.kind == .cancelled)
    }

    @Test func theNextAddressOfANameIsTried() throws {
        let rig = try Rig()
        defer { rig.close() }
        let listener = try rig.listen(at: .tcp(host: "::1", port: 0)) { _ in rig.finish() }
        guard case .tcp(_, let port) = listener.endpoint else { return }
        rig.connect(to: .tcp(host: "localhost", port: port)) { connection in
            #expect(connection.peer.host == "::1")
        }
        rig.run()
    }

    @Test func aPeerThatDoesNotAnswerCostsItsTimeLimit() throws {
        let rig = try Rig()
        defer { rig.close() }
        var options = Listener.Options()
        options.backlog = 0
        let listener = try rig.listen(options: options) { _ in }
        listener.pause()
        // The backlog takes one connection; the kernel leaves the others without an answer.
        let fillers = try (0..<2).map { _ in try fill(listener.endpoint) }
        defer { for filler in fillers { Glibc.close(filler) } }
        var limit = Connector.Options()
        limit.timeout = 50
        let error = failure(of: listener.endpoint, options: limit, on: rig)
        #expect(error?.kind == .timedOut)
        let words = "connecting to \(listener.endpoint) took longer than 50 ms"
        #expect(error?.description == words)
    }

    private func fill(_ endpoint: NetworkAddress) throws -> Int32 {
        guard case .tcp(_, let port) = endpoint else { throw CancellationError() }
        let type = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_INET, type, 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        return descriptor
    }

    @Test func aCancelledAttemptSaysNothing() throws {
        let rig = try Rig()
        defer { rig.close() }
        let listener = try rig.listen { _ in }
        let attempt = Connector.connect(to: listener.endpoint, on: rig.loop) { _ in
            Issue.record("completed")
        }
        attempt.cancel()
        rig.connect(to: listener.endpoint) { _ in rig.finish() }
        rig.run()
    }

    @Test func theEndOfTheLoopEndsAnAttempt() throws {
        var error: EventLoopError?
        do {
            let rig = try Rig()
            defer { rig.close() }
            let listener = try rig.listen { _ in }
            listener.pause()
            Connector.connect(to: listener.endpoint, on: rig.loop) { result in
                if case .failure(let reason) = result { error = reason }
            }
        }
        #expect(error?.kind == .cancelled)
    }
}
