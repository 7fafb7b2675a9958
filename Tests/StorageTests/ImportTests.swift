// A state directory is brought into a cluster: everything that can be asked for is the same.

import CallModel
import ClusterCore
import StoreContract
import TestSupport
import Testing

@testable import ClusterStorage
@testable import Storage

@Suite struct ImportTests {
    private let folder = TemporaryFolder()

    /// Fills a state directory.
    private func fill(_ load: inout Workload) throws -> Picture {
        let rig = try Rig(folder, Kind.disk.prepare(folder.state, StoreLimits()))
        try rig.restored(at: load.now)
        for device in ["phone", "tablet"] {
            let registration = PushRegistration(provider: "fcm", token: device, environment: nil)
            load.now = load.now + 1_000
            try rig.commit(
                [
                    .registration(
                        Address(UserID("ann"), DeviceID(device)), provider: "fcm", registration)
                ], at: load.now)
        }
        for _ in 0..<150 {
            let batch = load.batch()
            try rig.commit(batch, at: load.now)
        }
        for name in ["one", "two"] {
            let file = StoredGeneration.File(path: "a.lua", source: Array(name.utf8))
            let generation = StoredGeneration(name: name, files: [file])
            try rig.commit(.generation(.activate(generation, at: load.now)), at: load.now)
        }
        try rig.commit(.generation(.rollBack(name: "one", at: load.now)), at: load.now)
        return try Picture(rig, load)
    }

    private func database(_ space: String) throws -> ClusterDatabase {
        try ClusterDatabase(at: Cluster.address.get(), space: space, patience: 20_000)
    }

    private func bringIn(to space: String) throws {
        let source = try StoreExport(of: StateDirectory(claiming: folder.state))
        try database(space).importAll(from: source)
        #expect(source.damage.text == nil)
    }

    private func rig(_ space: String) throws -> Rig {
        try Rig(folder) { told in try StoreInPlace(try Cluster.store(of: space), told: told) }
    }

    @Test(arguments: 1...UInt64(4))
    func everythingIsThereAfterwards(seed: UInt64) throws {
        var load = Workload(seed: seed)
        let before = try fill(&load)
        let space = try Cluster.newSpace()
        try bringIn(to: space)
        let rig = try rig(space)
        let state = try rig.restored(at: load.now, in: Term(owner: "b", epoch: 2))
        #expect(state.endedCleanly)
        #expect(state.lastJob == JobID(2 << 32), "its own ids begin behind all others")
        let after = try Picture(rig, load, in: Term(owner: "b", epoch: 2))
        #expect(after.withoutTerms == before.withoutTerms)
        let ann = try rig.reader.registrations(of: UserID("ann"))
        #expect(ann.map(\.address.device.text) == ["phone", "tablet"])
        #expect(ann.map(\.at) == [start + 1_000, start + 2_000])
        let marks = try rig.reader.generations()
        #expect(marks.map(\.name) == ["two", "one"] && marks[1].rolledBackAt != nil)
        #expect(try rig.reader.generation(named: "one")?.files[0].source == Array("one".utf8))
    }

    @Test func aClusterThatHasCallsOrAnOwnerTakesNoOthers() throws {
        var load = Workload(seed: 9)
        _ = try fill(&load)
        let space = try Cluster.newSpace()
        try bringIn(to: space)
        let error = #expect(throws: StoreError.self) { try bringIn(to: space) }
        #expect(error?.detail == "there are calls already")
        let owned = try Cluster.newSpace()
        _ = try Cluster.store(of: owned).restore(at: start, in: Term(owner: "a", epoch: 1))
        let other = #expect(throws: StoreError.self) { try bringIn(to: owned) }
        #expect(other?.detail == "there is a living owner")
    }

    /// Begins an import, and ends its connection when something is written.
    private func failToBringIn(to space: String) throws {
        let source = try StoreExport(of: StateDirectory(claiming: folder.state))
        let other = try PostgresConnection(to: Cluster.address.get(), patience: 20_000)
        let error = #expect(throws: StoreError.self) {
            try database(space).importAll(from: source, at: "/old") { _ in
                other.query(
                    "SELECT pg_terminate_backend(writer_pid::int) FROM space WHERE name = $1",
                    .text(space))
                _ = try? other.finish()
            }
        }
        #expect(error != nil)
    }

    private func lease(_ space: String) throws -> LeaseConnection {
        LeaseConnection(
            to: try Cluster.address.get(), of: NodeNote("b", process: "", program: ""),
            in: space, patience: 20_000)
    }

    @Test func anImportThatFailedHalfWayKeepsNodesOutAndIsDoneAnew() throws {
        var load = Workload(seed: 5)
        let before = try fill(&load)
        let space = try Cluster.newSpace()
        for _ in 0..<2 { try failToBringIn(to: space) }
        let half = try database(space).state()
        #expect(half.importing == "/old" && half.isReleased)
        let node = try lease(space)
        guard case .row(let row) = node.carryOut(.look) else { return #expect(Bool(false)) }
        #expect(row.isImporting)
        #expect(node.carryOut(.take(row, token: [1])) == .row(row), "the row says no")
        try bringIn(to: space)
        #expect(try database(space).state().importing == nil)
        let rig = try rig(space)
        let term = Term(owner: "b", epoch: 5)
        _ = try rig.restored(at: load.now, in: term)
        #expect(try Picture(rig, load, in: term).withoutTerms == before.withoutTerms)
    }

    @Test func whatAnImportLeftCanBeThrownAway() throws {
        var load = Workload(seed: 6)
        _ = try fill(&load)
        let space = try Cluster.newSpace()
        let nothing = #expect(throws: StoreError.self) { try database(space).discardImport() }
        #expect(nothing?.detail == "there is no import that did not end")
        try failToBringIn(to: space)
        try database(space).discardImport()
        #expect(try database(space).state().importing == nil)
        let grant = Grant(Term(owner: "b", epoch: 3), token: [1])
        let node = try lease(space)
        guard case .row(let row) = node.carryOut(.look) else { return #expect(Bool(false)) }
        #expect(node.carryOut(.take(row, token: [1])) == .taken(grant))
        let store = try Cluster.store(of: space) { $0.grant = grant }
        let state = try store.restore(at: load.now)
        #expect(state.core.lastCall == nil && state.timers.isEmpty)
        #expect(try store.makeReader().page(of: UserID("ann"), matching: ListQuery()).calls.isEmpty)
    }

    @Test func ofTwoImportsAtOnceOneIsRefused() throws {
        var load = Workload(seed: 7)
        _ = try fill(&load)
        let space = try Cluster.newSpace()
        let source = try StoreExport(of: StateDirectory(claiming: folder.state))
        let other = try database(space)
        var second: StoreError?
        try database(space).importAll(from: source) { _ in
            do throws(StoreError) {
                try other.discardImport()
            } catch {
                second = error
            }
        }
        #expect(second?.detail == "another import is under way")
    }
}
