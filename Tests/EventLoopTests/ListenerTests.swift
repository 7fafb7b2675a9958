// Addresses taken, refused and left behind.
import Foundation
import Glibc
import TestSupport
import Testing

@testable import EventLoop

@Suite struct ListenerTests {
    @Test func port0BecomesARealPort() throws {
        let rig = try Rig()
        defer { rig.close() }
        let listener = try rig.listen { _ in }
        guard case .tcp(let host, let port) = listener.endpoint else {
            Issue.record("\(listener.endpoint)")
            return
        }
        #expect(host == "127.0.0.1")
        #expect(port > 0)
    }

    @Test func asManyNewcomersMayWaitAsTheKernelAllows() throws {
        let endpoint = try NetworkAddress(parsing: "127.0.0.1:0")
        let bound = try ListeningSocket(endpoint, backlog: Listener.Options().backlog)
        defer { Glibc.close(bound.socket) }
        var info = tcp_info()
        var size = socklen_t(MemoryLayout<tcp_info>.size)
        #expect(getsockopt(bound.socket, Int32(IPPROTO_TCP), TCP_INFO, &info, &size) == 0)
        let allowed = try String(
            contentsOfFile: "/proc/sys/net/core/somaxconn", encoding: .utf8)
        // Of a socket that listens, the kernel tells here how many may wait.
        #expect(Int(allowed.dropLast()) == Int(info.tcpi_sacked))
    }

    @Test func aTakenPortIsNamed() throws {
        let rig = try Rig()
        defer { rig.close() }
        let first = try rig.listen { _ in }
        let error = #expect(throws: EventLoopError.self) {
            try rig.listen(at: first.endpoint) { _ in }
        }
        #expect(error?.kind == .addressInUse)
        #expect(error?.description == "address \(first.endpoint) is already in use")
    }

    @Test func aPortIsFreeAgainAfterCloseWithConnectionsStillThere() throws {
        let rig = try Rig()
        defer { rig.close() }
        // Somebody else on this machine may be given a port that is free.
        let isFree = try (0..<5).contains { _ in
            let first = try rig.listen { _ in rig.finish() }
            rig.connect(to: first.endpoint) { _ in }
            rig.run()
            first.close()
            return (try? rig.listen(at: first.endpoint) { _ in })?.endpoint == first.endpoint
        }
        #expect(isFree)
    }

    @Test func whomTheListenerDoesNotAdmitIsResetAndNothingIsSpentOnThem() throws {
        let rig = try Rig()
        defer { rig.close() }
        let listener = try rig.listen { _ in Issue.record("let in") }
        var asked = 0
        listener.admits = { peer in
            asked += 1
            #expect(peer.host == "127.0.0.1")
            return false
        }
        listener.began = { _ in Issue.record("nobody was admitted") }
        let client = Peer()
        client.onClosed = { _, _ in rig.finish() }
        Connector.connect(to: listener.endpoint, on: rig.loop) { result in
            switch result {
            case .success(let connection): connection.handler = client
            case .failure(let error):
                #expect(error.kind == .reset)
                rig.finish()
            }
        }
        rig.run()
        #expect(asked == 1)
    }

    @Test func newcomersAreLetInAtAPace() throws {
        let rig = try Rig()
        defer { rig.close() }
        var options = Listener.Options()
        options.acceptsPerSecond = 10
        var accepted: [Int64] = []
        let listener = try rig.listen(options: options) { _ in
            accepted.append(rig.loop.now)
            if accepted.count == 4 { rig.finish() }
        }
        let begin = rig.loop.now
        for _ in 0..<4 { rig.connect(to: listener.endpoint) { _ in } }
        rig.run()
        let last = try #require(accepted.last)
        #expect(last - begin >= 300)
    }

    @Test func anAddressOfAnotherMachineIsRefused() throws {
        let rig = try Rig()
        defer { rig.close() }
        let error = #expect(throws: EventLoopError.self) {
            try rig.listen(at: .tcp(host: "192.0.2.1", port: 0)) { _ in }
        }
        #expect(error?.kind == .addressUnavailable)
    }

    @Test func aNameIsNotAnAddressToListenAt() throws {
        let rig = try Rig()
        defer { rig.close() }
        let error = #expect(throws: EventLoopError.self) {
            try rig.listen(at: .tcp(host: "example.org", port: 1)) { _ in }
        }
        #expect(error?.kind == .invalidAddress)
    }

    @Test func aUnixSocketIsForItsOwnerOnlyAndGoesWithItsListener() throws {
        let folder = TemporaryFolder()
        let path = "\(folder.path)/own.sock"
        let rig = try Rig()
        defer { rig.close() }
        let listener = try rig.listen(at: .unix(path: path)) { _ in }
        var status = stat()
        #expect(lstat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        listener.close()
        #expect(lstat(path, &status) != 0)
    }

    @Test func aUnixSocketThatACrashLeftBehindIsReplaced() throws {
        let folder = TemporaryFolder()
        let path = "\(folder.path)/stale.sock"
        let rig = try Rig()
        defer { rig.close() }
        let crashed = try rig.listen(at: .unix(path: path)) { _ in }
        #expect(rename(path, path + ".moved") == 0)
        crashed.close()
        #expect(rename(path + ".moved", path) == 0)
        let listener = try rig.listen(at: .unix(path: path)) { _ in rig.finish() }
        rig.connect(to: listener.endpoint) { _ in }
        rig.run()
    }

    @Test func aLivingUnixSocketIsLeftAlone() throws {
        let folder = TemporaryFolder()
        let endpoint = NetworkAddress.unix(path: "\(folder.path)/alive.sock")
        let rig = try Rig()
        defer { rig.close() }
        let living = try rig.listen(at: endpoint) { _ in rig.finish() }
        let error = #expect(throws: EventLoopError.self) { try rig.listen(at: endpoint) { _ in } }
        #expect(error?.kind == .addressInUse)
        #expect(error?.description == "another process is listening at \(folder.path)/alive.sock")
        rig.connect(to: living.endpoint) { _ in }
        rig.run()
    }

    @Test func aFileInTheWayOfAUnixSocketIsKept() throws {
        let folder = TemporaryFolder()
        folder.write("precious", to: "file")
        let path = "\(folder.path)/file"
        let rig = try Rig()
        defer { rig.close() }
        let error = #expect(throws: EventLoopError.self) {
            try rig.listen(at: .unix(path: path)) { _ in }
        }
        #expect(error?.description == "\(path) exists and is not a socket")
        #expect(access(path, F_OK) == 0)
    }

    @Test func thePathOfAUnixSocketHasAtMost107Bytes() throws {
        let folder = TemporaryFolder()
        let rig = try Rig()
        defer { rig.close() }
        let stem = "\(folder.path)/"
        let longest = stem + String(repeating: "x", count: 107 - stem.utf8.count)
        _ = try rig.listen(at: .unix(path: longest)) { _ in }
        let error = #expect(throws: EventLoopError.self) {
            try rig.listen(at: .unix(path: longest + "x")) { _ in }
        }
        #expect(error?.kind == .invalidAddress)
    }

    @Test func aPauseLeavesNewcomersWaiting() throws {
        let rig = try Rig()
        defer { rig.close() }
        var accepted = 0
        var connected = false
        let listener = try rig.listen { _ in
            accepted += 1
            rig.finish()
        }
        listener.pause()
        rig.connect(to: listener.endpoint) { _ in
            connected = true
            rig.later {
                #expect(accepted == 0)
                listener.resume()
            }
        }
        rig.run()
        #expect(connected)
        #expect(accepted == 1)
    }

    @Test func aRushOfClientsIsLetInAFewPerTurn() throws {
        let rig = try Rig()
        defer { rig.close() }
        var options = Listener.Options()
        options.acceptsPerTurn = 2
        var inThisTurn = 0
        var perTurn: [Int] = []
        let listener = try rig.listen(options: options) { _ in inThisTurn += 1 }
        let clients = try (0..<5).map { _ in try bareConnection(to: listener.endpoint) }
        defer { for client in clients { close(client) } }
        rig.loop.atEndOfTurn {
            if inThisTurn > 0 { perTurn.append(inThisTurn) }
            inThisTurn = 0
            if perTurn.reduce(0, +) == 5 { rig.finish() }
        }
        rig.run()
        #expect(perTurn == [2, 2, 1])
    }

    @Test func withoutDescriptorsItRestsSaysSoAndGoesOnWhenThereAreSome() async {
        // In a process of its own: the limit would starve the other tests.
        await #expect(processExitsWith: .success) {
            try acceptWithoutDescriptors()
        }
    }

    @Test(arguments: [
        ("127.0.0.1:7600", NetworkAddress.tcp(host: "127.0.0.1", port: 7_600)),
        ("[::1]:0", .tcp(host: "::1", port: 0)),
        ("example.org:65535", .tcp(host: "example.org", port: 65_535)),
        ("unix:/run/a.sock", .unix(path: "/run/a.sock")),
    ])
    func anEndpointIsReadAndWrittenAlike(text: String, endpoint: NetworkAddress) throws {
        #expect(try NetworkAddress(parsing: text) == endpoint)
        #expect("\(endpoint)" == text)
    }

    @Test(arguments: [
        ("127.0.0.1", "has no port"), (":7600", "has no host"), ("a:65536", "'65536'"),
        ("a:+1", "'+1'"), ("::1:80", "needs brackets"), ("unix:", "has no path"), ("a:", "''"),
    ])
    func aBadEndpointSaysWhatIsWrong(text: String, problem: String) throws {
        let error = #expect(throws: EventLoopError.self) { try NetworkAddress(parsing: text) }
        #expect(error?.kind == .invalidAddress)
        #expect(try #require(error).description.contains(problem))
        #expect(try #require(error).description.contains("'\(text)'"))
    }
}

private func acceptWithoutDescriptors() throws {
    let rig = try Rig()
    defer { rig.close() }
    var accepted = 0
    var failures: [EventLoopError] = []
    var turns = 0
    var options = Listener.Options()
    options.retryAfter = 20
    let listener = try Listener(
        at: .tcp(host: "127.0.0.1", port: 0), on: rig.loop, options: options,
        failed: { failures.append($0) },
        accepted: { _ in
            accepted += 1
            if accepted == 3 { rig.finish() }
        })
    let clients = try (0..<3).map { _ in try bareConnection(to: listener.endpoint) }
    let free = dup(clients[0])
    close(free)
    let before = limitDescriptors(to: UInt(free) + 1)
    let relief = Timer(on: rig.loop) { _ = limitDescriptors(to: before) }
    relief.arm(after: 100)
    rig.loop.atEndOfTurn { turns += 1 }
    rig.run()
    require(accepted == 3, "accepted \(accepted)")
    require(!failures.isEmpty && failures.count <= 6, "\(failures)")
    require(failures.allSatisfy { $0.kind == .outOfDescriptors }, "\(failures)")
    require(turns < 30, "\(turns) turns")
}

/// Returns the limit that was.
private func limitDescriptors(to count: UInt) -> UInt {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    let before = limit.rlim_cur
    limit.rlim_cur = count
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    return before
}

/// For a test in a process of its own, which fails by ending badly.
private func require(_ isTrue: Bool, _ otherwise: @autoclosure () -> String) {
    precondition(isTrue, otherwise())
}
