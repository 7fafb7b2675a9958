// Examines a store without changing it: whether a process uses it, and whether it is sound.

import CallModel
import Glibc
import StoreContract

/// The state of a state directory.
public enum StoreExamination {
    /// The process that holds the directory; nil: none does, or it could not be told which.
    ///
    /// - Throws: `cannotOpen`, when it cannot be looked at.
    public static func holder(of directory: String) throws(StoreError) -> Int32? {
        let path = directory + "/lock"
        var file = open(path, O_RDWR | O_CLOEXEC)
        // A disk becomes read-only under a server that runs.
        if file < 0, errno == EROFS { file = open(path, O_RDONLY | O_CLOEXEC) }
        guard file >= 0 else {
            if errno == ENOENT { return nil }
            throw StoreError(
                .cannotOpen, path: path, operation: "looking for the process",
                detail: String(cString: strerror(errno)))
        }
        defer { close(file) }
        guard flock(file, LOCK_SH | LOCK_NB) != 0 else {
            flock(file, LOCK_UN)
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = max(0, pread(file, &bytes, bytes.count, 0))
        return Int32(String(decoding: bytes[..<count].prefix { $0 != 0x0A }, as: UTF8.self)) ?? 0
    }

    /// The result of a check of the whole file.
    public struct Verdict: Sendable, Equatable {
        /// The version of the file, and of this program.
        public let version: Int
        /// The newest version that this program knows.
        public let newest: Int
        /// Live calls in it.
        public let calls: Int
        /// Those of them that a start would leave out.
        public let damaged: DamagedCalls
        /// The newest moment that it has stored.
        public let writtenAt: Moment
    }

    /// Reads the whole file; nil: there is none, or it is empty.
    ///
    /// - Throws: what keeps a start from using it: `corrupt`, `newer`, `foreign`, `cannotOpen`.
    public static func check(_ directory: String) throws(StoreError) -> Verdict? {
        let path = StateDirectory.database(in: directory)
        guard access(path, F_OK) == 0 else { return nil }
        let connection = try DatabaseConnection(path: path, access: .reading, faults: nil)
        let version = try StoreSchema.current.examine(connection)
        guard version > 0 else { return nil }
        try Opening.quickCheck(connection, "PRAGMA integrity_check(10)")
        let (calls, damaged) = try readCalls(connection)
        let written = try connection.integer(
            "SELECT value FROM mark WHERE name = 'newest'", for: "reading the newest moment")
        return Verdict(
            version: version, newest: StoreSchema.current.version, calls: calls, damaged: damaged,
            writtenAt: Moment(written ?? 0))
    }

    /// Reads all live calls as a start does.
    private static func readCalls(
        _ connection: DatabaseConnection
    ) throws(StoreError) -> (count: Int, damaged: DamagedCalls) {
        let all = try connection.prepare(
            "SELECT id, record FROM live_call ORDER BY id", for: "reading live calls")
        var (count, damaged) = (0, DamagedCalls())
        try all.rows { (row) throws(StoreError) in
            count += 1
            do throws(StoreError) {
                _ = try connection.call(of: row, id: 0, record: 1)
            } catch {
                guard error.kind == .damagedRecord else { throw error }
                damaged.note(error)
            }
            return true
        }
        return (count, damaged)
    }
}
