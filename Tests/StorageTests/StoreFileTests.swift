// The directory and the file: claims, versions, damage, clean ends, readers beside the writer.

import CallModel
import Glibc
import StoreContract
import TestSupport
import Testing

@testable import Storage

@Suite struct StateDirectoryTests {
    @Test func aDatabaseThatIsALinkToThatOfAnotherDirectoryIsInUseThere() throws {
        let folder = TemporaryFolder()
        let (one, other) = ("\(folder.path)/one", "\(folder.path)/other")
        var first: StateDirectory? = try StateDirectory(claiming: one)
        try #require(first).prepareDatabase()
        try StateDirectory.make(at: other)
        #expect(symlink("\(one)/callagent.db", "\(other)/callagent.db") == 0)
        let error = #expect(throws: StoreError.self) { _ = try StateDirectory(claiming: other) }
        #expect(error?.kind == .inUse(process: getpid()) && error?.path == one)
        first = nil
        let linked = try StateDirectory(claiming: other)
        #expect(throws: StoreError.self) { _ = try StateDirectory(claiming: one) }
        withExtendedLifetime(linked) {}
    }

    @Test func aDatabaseWithTwoNamesIsRefused() throws {
        let folder = TemporaryFolder()
        let (one, other) = ("\(folder.path)/one", "\(folder.path)/other")
        let first = try StateDirectory(claiming: one)
        try first.prepareDatabase()
        try StateDirectory.make(at: other)
        #expect(link("\(one)/callagent.db", "\(other)/callagent.db") == 0)
        let error = #expect(throws: StoreError.self) { _ = try StateDirectory(claiming: other) }
        #expect(error?.path == "\(other)/callagent.db")
        #expect(error?.description.contains("hard link") == true)
        #expect(unlink("\(one)/callagent.db") == 0)
        _ = try StateDirectory(claiming: other)
        withExtendedLifetime(first) {}
    }

    @Test func aSecondStartNamesTheProcess() throws {
        let folder = TemporaryFolder()
        let first = try StateDirectory(claiming: folder.state)
        let error = #expect(throws: StoreError.self) {
            try StateDirectory(claiming: folder.state)
        }
        #expect(error?.kind == .inUse(process: getpid()))
        #expect(error?.description == "\(folder.state): in use by process \(getpid())")
        withExtendedLifetime(first) {}
    }

    @Test func theClaimEndsWithItsHolder() throws {
        let folder = TemporaryFolder()
        _ = try StateDirectory(claiming: folder.state)
        _ = try StateDirectory(claiming: folder.state)
    }

    @Test func theDirectoryIsForItsOwnerOnly() throws {
        let folder = TemporaryFolder()
        let directory = try StateDirectory(claiming: folder.state)
        var status = stat()
        #expect(stat(directory.path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o700)
    }

    @Test func whatCannotBeADirectoryIsNamed() throws {
        let folder = TemporaryFolder()
        let missing = folder.path + "/no/state"
        let error = #expect(throws: StoreError.self) { try StateDirectory(claiming: missing) }
        #expect(error?.kind == .cannotOpen)
        #expect(error?.description.contains(missing) == true)
        #expect(error?.description.contains("No such file or directory") == true)
        #expect(throws: StoreError.self) { try StateDirectory(claiming: "/dev/null") }
        let loop = folder.path + "/loop"
        #expect(symlink("loop", loop) == 0)
        let second = #expect(throws: StoreError.self) { try StateDirectory(claiming: loop) }
        // The lock in it is no link that one could delete.
        #expect(second?.description.contains("Too many levels of symbolic links") == true)
    }
}

@Suite struct StoreFileTests {
    @Test func everythingIsThereAfterAReopen() throws {
        let disk = Disk()
        let (live, over) = (ringingCall(1), ended(ringingCall(2), at: start + 3))
        let kept = KeptReply(bodyHash: .max, reply: [1, 2])
        try disk.with { store in
            _ = try store.restore(at: start)
            try store.commit(
                [
                    .call(live), .call(over),
                    .key(KeyEntry(user: UserID("ann"), key: "k", at: start, kept: kept)),
                    .webhook(
                        .add(
                            WebhookJob(
                                JobID(41), endpoint: "e", call: live.id, type: "t", at: start,
                                body: []))),
                ], at: start + 77)
        }
        try disk.with { store in
            let state = try store.wholeState(at: start + 100)
            #expect(state.core.calls == [live])
            let mark = KeyMark(
                user: UserID("ann"), key: "k", bodyHash: kept.bodyHash, at: start)
            #expect(state.core.keys == [mark])
            #expect(state.newestMoment == start + 77)
            #expect(state.lastJob == JobID(41))
            let reader = try store.makeReader()
            #expect(try reader.call(over.id) == over)
            #expect(try reader.reply(of: UserID("ann"), under: "k") == kept)
        }
    }

    @Test func timeNeverGoesBelowTheNewestCommit() throws {
        let disk = Disk()
        try disk.with { store in
            #expect(try store.restore(at: start).newestMoment == nil)
            try store.commit([.seen(UserID("ann"), upTo: start)], at: start + 50)
            try store.commit([.seen(UserID("ann"), upTo: start)], at: start + 20)
            try store.commit([], at: start + 999)
        }
        #expect(try disk.restored().newestMoment == start + 50)
    }

    @Test func onlyAClosedStoreEndedCleanly() throws {
        let disk = Disk()
        #expect(try disk.restored().endedCleanly, "a new store")
        try disk.with { store in
            let state = try store.restore(at: start)
            #expect(!state.endedCleanly)
            try store.close()
            let error = #expect(throws: StoreError.self) {
                try store.commit([.seen(UserID("ann"), upTo: start)], at: start)
            }
            #expect(error?.kind == .notOpen)
        }
        #expect(try disk.restored().endedCleanly)
    }

    @Test func aClosedStoreLeavesOneFile() throws {
        let disk = Disk()
        try disk.with { store in
            _ = try store.restore(at: start)
            try store.commit([.call(ringingCall(1))], at: start)
            try store.close()
        }
        #expect(Set(TemporaryFolder.names(in: disk.path)) == ["callagent.db", "lock"])
    }

    @Test func aReaderSeesEachCommitAndCannotWrite() throws {
        let disk = Disk()
        let store = try disk.open()
        _ = try store.restore(at: start)
        let readers = try [store.makeReader(), store.makeReader()]
        for later in 1...20 as ClosedRange<Int64> {
            try store.commit([.call(ringingCall(later))], at: start + later)
            for reader in readers { #expect(try reader.call(callID(later)) != nil) }
        }
    }

    @Test func nothingIsCommittedBeforeTheStoreIsRestored() throws {
        let disk = Disk()
        let store = try disk.open()
        let error = #expect(throws: StoreError.self) {
            try store.commit([.call(ringingCall(1))], at: start)
        }
        #expect(error?.kind == .notOpen)
        #expect(error?.detail == "restore it first")
    }

    @Test func theFilesAreForTheirOwnerOnly() throws {
        let disk = Disk()
        let store = try disk.open()
        _ = try store.restore(at: start)
        try store.commit([.call(ringingCall(1))], at: start)
        for name in ["callagent.db", "callagent.db-wal", "callagent.db-shm", "lock"] {
            var status = stat()
            #expect(stat(disk.path + "/" + name, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600, "\(name)")
        }
    }

    /// Every commit ends one call and begins the next, so a reader sees one live call always.
    @Test func aReaderOnAnotherThreadSeesWholeCommitsOnly() async throws {
        let folder = TemporaryFolder()
        let directory = try StateDirectory(claiming: folder.state)
        var options = StoreOptions()
        options.synchronous = .off
        let store = try Store(in: directory, options: options)
        _ = try store.restore(at: start)
        try store.commit([.call(ringingCall(0))], at: start)
        let readingOptions = options
        async let states = Task.detached {
            let reader = try StoreReader(in: directory, options: readingOptions)
            var query = ListQuery()
            query.limit = 3
            var seen: [[Bool]] = []
            var newest: Int64 = 0
            while newest < 400, seen.count < 100_000 {
                let page = try reader.page(of: UserID("ann"), matching: query, bytes: .max)
                newest = page.calls.first.map { $0.createdAt - start } ?? 0
                seen.append(page.calls.map(\.isLive))
            }
            return seen
        }.value
        for later in 1...400 as ClosedRange<Int64> {
            let before = ended(ringingCall(later - 1), at: start + later)
            try store.commit([.call(before), .call(ringingCall(later))], at: start)
        }
        let seen = try await states
        #expect(seen.count < 100_000, "the reader never saw the last commit")
        for state in seen {
            #expect([[true], [true, false], [true, false, false]].contains(state))
        }
    }

    @Test func theLogDoesNotGrowWhileReadersAreIdle() throws {
        let disk = Disk()
        let store = try disk.open()
        _ = try store.restore(at: start)
        let reader = try store.makeReader()
        for later in 1...6_000 as ClosedRange<Int64> {
            try store.commit([.call(ended(ringingCall(later), at: start + later))], at: start)
            if later % 100 == 0 { _ = try reader.call(callID(later)) }
        }
        var status = stat()
        #expect(stat(disk.database + "-wal", &status) == 0)
        // 4,000 pages of 4 KiB, and the commit that is one too many.
        #expect(status.st_size < 17 << 20, "the log has \(status.st_size) bytes")
    }
}

@Suite struct RefusedStoreTests {
    private func refusal(_ disk: Disk, whole: Bool = false) -> StoreError? {
        #expect(throws: StoreError.self) {
            let store = try disk.open { $0.check = whole ? .whole : .live }
            _ = try store.restore(at: start)
        }
    }

    @Test func aFileOfSomethingElseIsNotTouched() throws {
        let disk = Disk()
        try disk.execute("CREATE TABLE diary (day TEXT); INSERT INTO diary VALUES ('today')")
        let before = disk.read()
        #expect(refusal(disk)?.kind == .foreign)
        #expect(disk.read() == before)
        #expect(refusal(disk)?.description.contains("give another state_dir") == true)
    }

    @Test func aFileThatIsNoDatabaseIsNotTouched() throws {
        let disk = Disk()
        let poem = Array(String(repeating: "not a database ", count: 400).utf8)
        disk.write(poem)
        #expect(refusal(disk)?.kind == .foreign)
        #expect(disk.read() == poem)
    }

    /// The clock of calls, or the numbers of jobs, would run over.
    @Test(arguments: ["newest", "job", "clean"])
    func aMarkThatNobodyCanHaveWrittenIsDamage(name: String) throws {
        let disk = Disk()
        try disk.with { _ = try $0.restore(at: start) }
        try disk.execute("UPDATE mark SET value = \(Int64.max) WHERE name = '\(name)'")
        let error = refusal(disk)
        #expect(error?.kind == .corrupt)
        #expect(error?.description.contains("'\(name)' is \(Int64.max)") == true)
        guard name != "job" else { return }
        let other = #expect(throws: StoreError.self) {
            _ = try StoreExport(of: StateDirectory(claiming: disk.path))
        }
        #expect(other?.kind == .corrupt, "nor is it brought into a cluster")
    }

    /// The sum with what a clock is ahead would run over, at every start.
    @Test(arguments: [Int64.min, .max])
    func numbersThatNobodyCanHaveWrittenAreBounded(moment: Int64) throws {
        let disk = Disk()
        try disk.with { _ = try $0.restore(at: start) }
        try disk.execute(
            """
            INSERT INTO webhook (id, endpoint, call, type, at, body, state, attempts, due_at)
            VALUES (1, 'crm', zeroblob(16), 'call.created', \(moment), '', 'open', \(moment),
            \(moment))
            """)
        let reader = try StoreReader(in: StateDirectory(claiming: disk.path))
        let found = try #require(try reader.webhooks(.open, after: nil, limit: 9).first)
        let far = Moment(moment < 0 ? -(1 << 53) : 1 << 53)
        #expect(found.progress.dueAt == far && found.job.at == far)
        #expect(found.progress.attempts == Int(moment < 0 ? Int32.min : .max))
    }

    /// Whoever gave the directory could have another file overwritten, as by an import of root.
    @Test func aLinkInThePlaceOfTheLockIsNotFollowed() throws {
        let folder = TemporaryFolder()
        try StateDirectory.make(at: folder.state)
        folder.write("precious", to: "other")
        #expect(symlink("../other", folder.state + "/lock") == 0)
        let error = #expect(throws: StoreError.self) {
            _ = try StateDirectory(claiming: folder.state)
        }
        #expect(error?.detail == "it is a symbolic link: delete it")
        var status = stat()
        #expect(stat(folder.path + "/other", &status) == 0 && status.st_size == 8)
    }

    /// Whoever opens it to read would wait for somebody who writes.
    @Test func aPipeInItsPlaceIsRefusedAtOnce() throws {
        let folder = TemporaryFolder()
        try StateDirectory.make(at: folder.state)
        #expect(mkfifo(StateDirectory.database(in: folder.state), 0o600) == 0)
        let error = #expect(throws: StoreError.self) {
            _ = try StoreExamination.check(folder.state)
        }
        #expect(error?.kind == .foreign)
    }

    @Test func aNewerStoreIsRefusedWithWhatToDo() throws {
        let disk = Disk()
        try disk.with { _ = try $0.restore(at: start) }
        let known = StoreSchema.current.version
        try disk.execute("PRAGMA user_version = \(known + 1)")
        let error = refusal(disk)
        #expect(error?.kind == .newer(found: known + 1, known: known))
        #expect(error?.description.contains("start that version") == true)
    }

    @Test func aDamagedRecordIsNamed() throws {
        let disk = Disk()
        try disk.with { store in
            _ = try store.restore(at: start)
            try store.commit([.call(ringingCall(1))], at: start)
        }
        try disk.execute(
            """
            UPDATE live_call SET record =
            CAST(replace(CAST(record AS TEXT), '"inviting"', '"musing"') AS BLOB)
            """)
        let error = try damage(disk)
        #expect(error?.kind == .damagedRecord)
        let wanted = #"call \#(callID(1)), field users.bob.state: unknown word "musing""#
        #expect(error?.detail.contains(wanted) == true, "\(String(describing: error))")
        #expect(error?.description.contains("keep a copy") == true)
    }

    /// What cannot be read of the live calls; a server starts nevertheless.
    private func damage(_ disk: Disk) throws -> StoreError? {
        try disk.with { store in
            let last = try #require(try store.restore(at: start).core.lastCall)
            let answer = try store.makeReader().answer(
                .liveCalls(LiveCallQuery(upTo: last, limit: 9)))
            guard case .liveCalls(_, let damage) = answer else { return nil }
            return damage.first
        }
    }

    @Test func aDamagedCallOfHistoryIsLeftOutOfPages() throws {
        let disk = Disk()
        try disk.with { store in
            _ = try store.restore(at: start)
            for later in 1...3 as ClosedRange<Int64> {
                try store.commit([.call(ended(ringingCall(later), at: start))], at: start)
            }
        }
        let old = "\"created\":\(start.milliseconds + 2),"
        try disk.execute(
            """
            UPDATE ended_call SET record = CAST(replace(CAST(record AS TEXT), '\(old)', '') AS BLOB)
            """)
        let store = try disk.open()
        let reader = try store.makeReader()
        let page = try reader.page(of: UserID("ann"), matching: ListQuery())
        #expect(page.calls.map(\.id) == [callID(3), callID(1)])
        #expect(page.damage.count == 1)
        #expect(page.damage.first?.detail == "call \(callID(2)), field created: is missing")
        #expect(throws: StoreError.self) { try reader.call(callID(2)) }
    }

    /// A store whose history fills many pages, with the page numbers of one table.
    private func filled(_ disk: Disk, pagesOf table: String) throws -> [Int] {
        try disk.with { store in
            _ = try store.restore(at: start)
            for later in 0..<400 as Range<Int64> {
                try store.commit([.call(ringingCall(later))], at: start)
                try store.commit(
                    [.call(ended(ringingCall(1_000 + later), at: start))], at: start)
            }
            try store.close()
        }
        let connection = try DatabaseConnection(path: disk.database, access: .reading, faults: nil)
        let pages = try connection.prepare(
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'", for: "a test")
        var numbers: [Int] = []
        try pages.rows(.text(table)) { row in
            numbers.append(Int(row.integer(0)))
            return true
        }
        return numbers
    }

    @Test func damageAmongLiveCallsIsFoundAtTheStart() throws {
        let disk = Disk()
        let pages = try filled(disk, pagesOf: "live_call")
        disk.write([UInt8](repeating: 0xA5, count: 64), at: (pages[1] - 1) * 4_096)
        #expect(refusal(disk)?.kind == .corrupt)
    }

    @Test func damageInHistoryDoesNotStopCallsButIsFoundByAWholeCheck() throws {
        let disk = Disk()
        let pages = try filled(disk, pagesOf: "ended_call")
        disk.write([UInt8](repeating: 0xA5, count: 64), at: (pages[1] - 1) * 4_096)
        #expect(try disk.restored().core.calls.count == 400)
        #expect(refusal(disk, whole: true)?.kind == .corrupt)
    }

    @Test func aCutFileIsRefused() throws {
        let disk = Disk()
        _ = try filled(disk, pagesOf: "live_call")
        #expect(truncate(disk.database, 5_000) == 0)
        #expect(refusal(disk)?.kind == .corrupt)
    }
}

@Suite struct MigrationTests {
    /// The schema with one more step, as a later version may have.
    private var later: StoreSchema {
        StoreSchema(
            steps: StoreSchema.current.steps + [
                "ALTER TABLE push_job ADD COLUMN topic TEXT; CREATE TABLE voicemail (id BLOB);"
            ])
    }

    private func migrate(_ disk: Disk, to schema: StoreSchema) throws {
        _ = try Opening.writer(at: disk.database, StoreOptions(), schema)
    }

    private func version(_ disk: Disk) throws -> Int64? {
        try DatabaseConnection(path: disk.database, access: .reading, faults: nil)
            .integer("PRAGMA user_version", for: "a test")
    }

    @Test(arguments: 0...StoreSchema.current.version)
    func aStoreOfEachOlderVersionOpens(version: Int) throws {
        let disk = Disk()
        try disk.build(StoreSchema(steps: Array(StoreSchema.current.steps.prefix(version))))
        try disk.with { store in
            _ = try store.restore(at: start)
            try store.commit([.call(ringingCall(1))], at: start)
        }
        #expect(try self.version(disk) == Int64(StoreSchema.current.version))
        #expect(try disk.restored().core.calls == [ringingCall(1)])
    }

    @Test func aLaterVersionKeepsWhatThisOneWrote() throws {
        let disk = Disk()
        try disk.with { store in
            _ = try store.restore(at: start)
            try store.commit([.call(ringingCall(1))], at: start)
        }
        try migrate(disk, to: later)
        #expect(try version(disk) == Int64(later.version))
        let connection = try DatabaseConnection(path: disk.database, access: .reading, faults: nil)
        #expect(try connection.integer("SELECT count(*) FROM live_call", for: "a test") == 1)
        #expect(try connection.integer("SELECT count(topic) FROM push_job", for: "a test") == 0)
        let error = #expect(throws: StoreError.self) { try disk.open() }
        #expect(error?.kind == .newer(found: later.version, known: later.version - 1))
    }

    @Test func aStepThatFailsChangesNothing() throws {
        let disk = Disk()
        try disk.with { store in
            _ = try store.restore(at: start)
            try store.commit([.call(ringingCall(1))], at: start)
        }
        let broken = StoreSchema(
            steps: StoreSchema.current.steps + [
                "CREATE TABLE half (id BLOB); INSERT INTO nowhere VALUES (1);"
            ])
        let error = #expect(throws: StoreError.self) { try migrate(disk, to: broken) }
        #expect(error?.operation == "migrating to store version \(broken.version)")
        #expect(try version(disk) == Int64(StoreSchema.current.version))
        #expect(try disk.restored().core.calls == [ringingCall(1)])
    }
}
