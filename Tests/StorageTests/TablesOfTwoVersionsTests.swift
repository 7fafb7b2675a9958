// Machines are upgraded one after the other: programs of two versions use the same tables.

import CallModel
import ClusterCore
import StoreContract
import Testing

@testable import ClusterStorage
@testable import Storage

@Suite struct TablesOfTwoVersionsTests {
    private let known = ClusterSchema.current.version

    /// The program of the next version, which has one step more.
    private func next(readableFrom: Int, _ statements: String...) -> ClusterSchema {
        let step = ClusterSchema.Step(readableFrom: readableFrom, statements)
        return ClusterSchema(steps: ClusterSchema.current.steps + [step])
    }

    /// A database of its own with the tables of this program.
    private func prepared() throws -> (DatabaseAddress, PostgresConnection) {
        let address = try Cluster.newDatabase()
        let link = try PostgresConnection(to: address, patience: 20_000)
        try ClusterSchema.current.migrate(link)
        try Space.make(Space.usual, by: link)
        return (address, link)
    }

    private func node(_ name: String, at address: DatabaseAddress) -> LeaseConnection {
        LeaseConnection(
            to: address, of: NodeNote(name, process: "test:1", program: "0.1"), patience: 20_000)
    }

    @Test func tablesThatOnlyAddAreUsedByTheProgramBefore() throws {
        let (address, link) = try prepared()
        let old = node("old", at: address)
        guard case .row = old.carryOut(.look) else { throw try #require(old.trouble) }
        let later = next(
            readableFrom: known, "ALTER TABLE node ADD COLUMN colour bytea NOT NULL DEFAULT ''")
        let tables = ClusterTables(version: known + 1, readableFrom: known)
        #expect(try later.migrate(link) == tables)
        // It goes on, and one that starts now may too, and own.
        guard case .row = old.carryOut(.look) else { throw try #require(old.trouble) }
        guard case .row(let row) = node("other", at: address).carryOut(.look) else {
            return #expect(Bool(false), "it was refused")
        }
        #expect(row.isReleased)
        var options = ClusterStoreOptions()
        options.patience = 20_000
        let store = try ClusterStore(at: address, options)
        _ = try store.restore(at: start)
        try store.commit([.call(ringingCall(1))], at: start)
        #expect(try ClusterDatabase(at: address, patience: 20_000).state().tables == tables)
        // Its own `init` finds nothing to do, and takes nothing back.
        #expect(try ClusterSchema.current.migrate(link) == tables)
        #expect(try later.require(link) == tables)
    }

    @Test func tablesThatItCannotUseAreRefusedWithBothVersions() throws {
        let (address, link) = try prepared()
        link.query(
            "INSERT INTO migration (version, readable_from) VALUES ($1, $2)",
            .integer(Int64(known + 2)), .integer(Int64(known + 1)))
        try link.finish()
        let old = node("old", at: address)
        #expect(old.carryOut(.look) == .failed)
        let said = """
            \(address.name): written by a newer version (store version \(known + 2), this program \
            knows \(known)); they are for programs that know version \(known + 1): install a newer \
            callagent on this machine
            """
        #expect("\(try #require(old.trouble))" == said)
        let again = #expect(throws: StoreError.self) { try ClusterSchema.current.migrate(link) }
        #expect("\(try #require(again))" == said)
    }

    @Test func aNewerProgramSaysThatTheTablesComeFirst() throws {
        let (address, link) = try prepared()
        let later = next(readableFrom: known, "CREATE TABLE colour (id bigint)")
        let error = #expect(throws: StoreError.self) { try later.require(link) }
        #expect(error?.kind == .older(found: known, known: known + 1))
        #expect(
            "\(try #require(error))" == """
                \(address.name): written by an older version (store version \(known), this program \
                needs \(known + 1)); run callagent cluster init of this program; nodes that run go \
                on meanwhile
                """)
    }

    @Test func aStepThatTakesAwayWaitsForTheNodesThatNeedIt() throws {
        let (address, link) = try prepared()
        let before = try ClusterSchema.current.require(link)
        let old = node("old", at: address)
        guard case .row = old.carryOut(.look) else { throw try #require(old.trouble) }
        let later = next(readableFrom: known + 1, "ALTER TABLE node DROP COLUMN eligible")
        let error = #expect(throws: StoreError.self) { try later.migrate(link) }
        let line = "\(try #require(error))"
        #expect(
            line.contains(
                """
                tables of version \(known + 1) are for programs that know version \(known + 1), \
                and these running nodes do not: old (0.1); stop them first
                """), "\(line)")
        // Nothing was changed.
        #expect(try ClusterSchema.current.require(link) == before)
        guard case .row = old.carryOut(.look) else { throw try #require(old.trouble) }
        old.noteLeaving()
        try later.migrate(link)
        #expect(throws: StoreError.self) { try ClusterSchema.current.require(link) }
    }

    @Test func tablesThatDoNotSayWhoMayUseThemAreForTheirOwnProgram() throws {
        let address = try Cluster.newDatabase()
        let link = try PostgresConnection(to: address, patience: 20_000)
        // As the program of version 4 has made them.
        let four = ClusterSchema(steps: Array(ClusterSchema.current.steps.prefix(4)))
        try four.migrate(link)
        link.query("ALTER TABLE migration DROP COLUMN readable_from")
        try link.finish()
        #expect(try four.require(link) == ClusterTables(version: 4, readableFrom: 4))
        #expect(throws: StoreError.self) { try ClusterSchema.current.require(link) }
        let made = try ClusterSchema.current.migrate(link)
        #expect(made.version == known)
        #expect(throws: StoreError.self) { try four.require(link) }
    }
}
