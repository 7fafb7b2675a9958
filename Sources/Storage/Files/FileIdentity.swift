// Identifies a file by what it is, not by its name: while it is open, the name can be removed or
// given to another file.

import Glibc
import StoreContract

/// One file, whatever its name.
struct FileIdentity: Equatable, Sendable {
    private let device: UInt64
    private let number: UInt64

    /// The file that is called `path` now, after following links; nil: there is none.
    init?(at path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        number = UInt64(status.st_ino)
    }
}

/// Must hold whenever something is acknowledged (G81): the names of a store still stand for the
/// files that were opened.
struct OpenedFiles: Sendable {
    /// The database, for as long as the directory is claimed.
    private var database: FileIdentity?
    /// Its log, and the index of it, for as long as one connection writes.
    private var log: [String: FileIdentity] = [:]
    /// The log was copied into the database, and the file that has its name is another one.
    var isLogForeign = false

    /// Notes the database that was opened, or finds another one in its place.
    mutating func noteDatabase(at path: String) throws(StoreError) {
        if database == nil { database = FileIdentity(at: path) }
        try requireDatabase(at: path)
        isLogForeign = false
    }

    /// Notes the log of the database at `path`.
    mutating func noteLog(of path: String) {
        log = [:]
        for name in Self.logNames(of: path) { log[name] = FileIdentity(at: name) }
    }

    /// Whether a database was opened before.
    var hasDatabase: Bool { database != nil }

    /// - Throws: `replaced`, if `path` stands for another file or none.
    func requireDatabase(at path: String) throws(StoreError) {
        guard let database else { return }
        try Self.require(database, at: path)
    }

    /// - Throws: `replaced`, naming the file.
    func requireLog() throws(StoreError) {
        for (path, file) in log { try Self.require(file, at: path) }
    }

    private static func require(_ file: FileIdentity, at path: String) throws(StoreError) {
        let found = FileIdentity(at: path)
        guard found != file else { return }
        throw StoreError(
            .replaced, path: path, operation: "checking",
            detail: found == nil ? "it is gone" : "another file has its name")
    }

    static func logNames(of path: String) -> [String] { [path + "-wal", path + "-shm"] }
}
