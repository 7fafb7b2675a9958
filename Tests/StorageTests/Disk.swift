// A state directory that is opened, closed, broken and opened again.

import CallModel
import Glibc
import StoreContract
import TestSupport

@testable import Storage

/// One state directory of one test.
final class Disk {
    let folder = TemporaryFolder()
    var path: String { folder.state }
    var database: String { path + "/callagent.db" }

    /// Opens the store, claiming the directory for as long as the store lives.
    func open(
        _ schema: StoreSchema = .current, _ change: (inout StoreOptions) -> Void = { _ in }
    ) throws(StoreError) -> Store {
        var options = StoreOptions()
        options.synchronous = .off
        change(&options)
        return try Store(
            in: try StateDirectory(claiming: path), options: options, schema: schema)
    }

    /// Opens the store, hands it to `body` and lets it go.
    func with<Result>(
        _ schema: StoreSchema = .current, _ body: (Store) throws -> Result
    ) throws -> Result {
        try body(try open(schema))
    }

    /// Opens the store, tells what it restores and lets it go.
    func restored() throws -> StoredState { try with { try $0.wholeState(at: start) } }

    /// Writes `bytes` into the file `name` at `offset`, over what is there.
    func write(_ bytes: [UInt8], to name: String = "callagent.db", at offset: Int = 0) {
        mkdir(path, 0o700)
        let file = Glibc.open(path + "/" + name, O_WRONLY | O_CREAT, 0o600)
        defer { close(file) }
        precondition(pwrite(file, bytes, bytes.count, offset) == bytes.count)
    }

    func read(_ name: String = "callagent.db") -> [UInt8] {
        let file = Glibc.open(path + "/" + name, O_RDONLY)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var status = stat()
        fstat(file, &status)
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = pread(file, &bytes, bytes.count, 0)
        return Array(bytes[..<max(0, count)])
    }

    /// Makes a store of the version that `schema` leads to.
    func build(_ schema: StoreSchema) throws {
        mkdir(path, 0o700)
        let connection = try DatabaseConnection(path: database, access: .writing, faults: nil)
        try schema.migrate(connection, from: 0)
    }

    /// Runs SQL on the closed database, as another program would.
    func execute(_ sql: String) throws {
        mkdir(path, 0o700)
        let connection = try DatabaseConnection(path: database, access: .writing, faults: nil)
        try connection.execute(sql, for: "preparing a test")
    }
}
