// A store whose files are taken away while it is open: nothing is acknowledged, nothing is lost.

import CallModel
import Glibc
import StoreContract
import Testing

@testable import Storage

@Suite struct ReplacedFileTests {
    private let disk = Disk()

    /// A directory that one process claims, and its store.
    private func open() throws -> (StateDirectory, Store) {
        let directory = try StateDirectory(claiming: disk.path)
        let store = try Store(in: directory)
        _ = try store.restore(at: start)
        try store.commit([.call(ringingCall(1))], at: start + 1)
        return (directory, store)
    }

    private func calls(_ directory: StateDirectory) throws -> Set<CallID> {
        let store = try Store(in: directory)
        return Set(try store.wholeState(at: start + 9).core.calls.map(\.id))
    }

    private func refuses(_ store: Store) {
        let error = #expect(throws: StoreError.self) {
            try store.commit([.call(ringingCall(2))], at: start + 2)
        }
        #expect(error?.kind == .replaced)
        #expect(throws: StoreError.self) {
            try store.commit([.call(ringingCall(3))], at: start + 3)
        }
    }

    @Test(arguments: ["gone", "another"])
    func aDatabaseThatIsBackGoesOn(how: String) throws {
        var (directory, store): (StateDirectory, Store?) = try open()
        rename(disk.database, disk.database + ".away")
        if how == "another" { disk.write([1, 2, 3]) }
        refuses(try #require(store))
        #expect(throws: StoreError.self) { try store?.rescue() }
        #expect(throws: StoreError.self) { _ = try Store(in: directory) }
        #expect((FileIdentity(at: disk.database) != nil) == (how == "another"))
        rename(disk.database + ".away", disk.database)
        try store?.rescue()
        store = nil
        #expect(try calls(directory).contains(callID(1)))
    }

    @Test(arguments: [true, false], [true, false])
    func aLogThatIsGoneIsCopiedWhileItCanBeRead(isReplaced: Bool, isIndex: Bool) throws {
        var (directory, store): (StateDirectory, Store?) = try open()
        let name = isIndex ? "callagent.db-shm" : "callagent.db-wal"
        unlink(disk.path + "/" + name)
        if isReplaced { disk.write([7, 7, 7], to: name) }
        refuses(try #require(store))
        try store?.rescue()
        // As long as somebody has the old one open, no new one is begun.
        let error = #expect(throws: StoreError.self) { _ = try Store(in: directory) }
        #expect(error?.kind == .busy)
        store = nil
        #expect(try calls(directory).contains(callID(1)))
    }

    @Test func aFolderThatIsBackGoesOn() throws {
        var (directory, store): (StateDirectory, Store?) = try open()
        rename(disk.path, disk.path + ".away")
        defer { rename(disk.path + ".away", disk.path) }
        #expect(throws: StoreError.self) { try store?.checkFiles() }
        #expect(throws: StoreError.self) { _ = try Store(in: directory) }
        #expect(FileIdentity(at: disk.path) == nil, "none is made anew")
        rename(disk.path + ".away", disk.path)
        try store?.rescue()
        store = nil
        #expect(try calls(directory) == [callID(1)])
    }
}
