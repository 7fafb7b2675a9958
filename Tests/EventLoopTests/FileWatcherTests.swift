// Watching directories.
import EventLoop
import Glibc
import TestSupport
import Testing

@Suite struct FileWatcherTests {
    @Test func writtenReplacedAndRemovedFilesAreReportedOnceTheyRest() throws {
        let folder = TemporaryFolder()
        folder.write("1", to: "old")
        let rig = try Rig()
        defer { rig.close() }
        var reports: [[String]] = []
        let watcher = try FileWatcher(directories: [folder.path], on: rig.loop, settle: 20) {
            paths in
            reports.append(paths)
            rig.finish()
        }
        rig.later {
            folder.write("a", to: "a.lua")
            folder.write("b", to: "temporary")
            rename("\(folder.path)/temporary", "\(folder.path)/b.lua")
            unlink("\(folder.path)/old")
        }
        rig.run()
        withExtendedLifetime(watcher) {}
        let names = ["a.lua", "b.lua", "old", "temporary"]
        #expect(reports == [names.map { "\(folder.path)/\($0)" }])
    }

    @Test func aDirectoryThatDoesNotExistIsNamed() throws {
        let rig = try Rig()
        defer { rig.close() }
        let error = #expect(throws: EventLoopError.self) {
            try FileWatcher(directories: ["/nonexistent"], on: rig.loop) { _ in }
        }
        #expect(error?.description == "watching /nonexistent: No such file or directory")
    }
}
