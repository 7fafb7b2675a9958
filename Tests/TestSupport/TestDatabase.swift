// A private PostgreSQL for the tests of one process.
import Glibc

/// A server of PostgreSQL of its own, which ends with the process.
public final class TestDatabase: Sendable {
    /// How to connect to it, as libpq wants it.
    public let address: String

    /// The one of this process, started when it is first asked for.
    public static let shared = TestDatabase()

    private init() {
        var ends: [Int32] = [0, 0]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        socketpair(AF_UNIX, kind, 0, &ends)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        var process: pid_t = 0
        let words = [strdup("/bin/sh"), strdup("Tests/Cluster/postgres.sh"), nil]
        posix_spawn(&process, "/bin/sh", &actions, nil, words, environ)
        for word in words { free(word) }
        posix_spawn_file_actions_destroy(&actions)
        close(ends[1])
        // The other end stays open as long as this process runs: its end ends the server.
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(ends[0], &byte, 1) == 1, byte != 0x0A { line.append(byte) }
        address = String(decoding: line, as: UTF8.self)
    }
}
