// Directories that earlier versions of the server left, as data: everything in them is found.

import CallModel
import Glibc
import JSON
import StoreContract
import Testing

@testable import Storage

/// What the server of one store version kept, and what of it a test must find.
private struct OldDirectory {
    let sql: String
    let expected: JSONObject

    init(version: Int) throws {
        let folder = #filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined()
        let path = "\(folder)/Data/version\(version)"
        sql = try Self.text(of: path + ".sql")
        expected = try #require(try JSONValue(parsing: Self.text(of: path + ".json")).object)
    }

    private static func text(of path: String) throws -> String {
        let file = try #require(fopen(path, "r"), "no \(path)")
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    /// The ids of a list, or the names of an object's members.
    func ids(_ name: String) throws -> Set<CallID> {
        let value = try #require(expected[name])
        let texts = value.array?.compactMap(\.string) ?? value.object?.members.map(\.key) ?? []
        return Set(texts.compactMap { CallID($0) })
    }

    func rows(_ table: String) throws -> Int {
        let rows = try #require(expected["rows"]?.object)
        return Int(try #require(rows[table]?.integer))
    }
}

@Suite struct OldDirectoryTests {
    /// Builds the file as it was, its rows still in the log if the server was killed.
    private func build(_ old: OldDirectory, on disk: Disk, killed: Bool) throws {
        try disk.build(StoreSchema(steps: []))
        let ending = killed ? "0" : "1"
        try disk.execute(
            old.sql + "UPDATE mark SET value = \(ending) WHERE name = 'clean';")
    }

    @Test(arguments: [4], [true, false])
    func everythingIsFound(version: Int, killed: Bool) throws {
        let old = try OldDirectory(version: version)
        let disk = Disk()
        try build(old, on: disk, killed: killed)
        let store = try disk.open()
        let state = try store.wholeState(at: Moment(1_795_393_149_000))
        #expect(state.endedCleanly == !killed)
        #expect(Set(state.core.calls.map(\.id)) == (try old.ids("live")))
        #expect(state.core.keys.count == (try old.rows("kept_reply")))
        #expect(state.timers.count == (try old.rows("timer")))
        #expect(state.lastJob == JobID(36))
        try checkHistory(try store.makeReader(), old)
        try checkJobs(try store.makeReader(), old)
        try checkPlugins(try store.makeReader(), old)
    }

    private func checkHistory(_ reader: any CallReader, _ old: OldDirectory) throws {
        let over = try old.ids("over")
        let page = try reader.page(of: UserID("fay"), matching: ListQuery())
        #expect(Set(page.calls.map(\.id)) == over)
        for id in over { #expect(try reader.call(id)?.end != nil) }
        #expect(try reader.missedCalls(of: UserID("hal"), limit: 9).count == 1)
        let keys = try #require(old.expected["keys"]?.object)
        for member in keys.members {
            let kept = try #require(try reader.reply(of: UserID("ann"), under: member.key))
            let id = try #require(member.value.string)
            #expect(String(decoding: kept.reply, as: UTF8.self).contains(id))
        }
    }

    private func checkJobs(_ reader: any CallReader, _ old: OldDirectory) throws {
        for user in ["bob", "cid", "dan"] {
            #expect(try reader.registrations(of: UserID(user)).count == 1)
        }
        #expect(try reader.openPushes(after: nil, limit: 99).count == old.rows("push_job"))
        let webhooks = try [WebhookProgress.State.open, .delivered, .failed].map {
            try reader.webhooks($0, after: nil, limit: 99).count
        }
        #expect(webhooks.reduce(0, +) == (try old.rows("webhook")))
    }

    private func checkPlugins(_ reader: any CallReader, _ old: OldDirectory) throws {
        let now = Moment(1_795_393_149_000)
        #expect(try reader.value(of: "desk", key: "asked", at: now) == Array("4".utf8))
        #expect(try reader.keys(of: "", prefix: "revoked ", limit: 9, at: now).count == 3)
        #expect(try reader.value(of: "@webhooks", key: "gone", at: now) != nil)
        let marks = try reader.generations()
        #expect(marks.count == (try old.rows("generation")))
        let files = try marks.map { try reader.generation(named: $0.name)?.files.count ?? 0 }
        #expect(files.reduce(0, +) == (try old.rows("generation_file")))
        #expect(marks.filter { $0.rolledBackAt != nil }.count == 1)
    }
}
