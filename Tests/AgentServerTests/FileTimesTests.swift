// Files whose times are numbers that no clock has: the file system of a memory keeps any.

import CallModel
import Glibc
import TestSupport
import Testing

@testable import AgentServer

@Suite struct FileTimesTests {
    private let folder = TemporaryFolder(in: "/dev/shm")

    private func write(_ text: String, to name: String, at seconds: Int) {
        folder.write(text, to: name)
        let time = timespec(tv_sec: seconds, tv_nsec: 0)
        utimensat(AT_FDCWD, "\(folder.path)/\(name)", [time, time], 0)
    }

    @Test(arguments: [(Int.max, true), (1 << 40, true), (0, false), (Int.min, false)])
    func onlyOldFilesOfAnyTimeAreRemoved(seconds: Int, isKept: Bool) {
        write("a line\n", to: "log.1", at: seconds)
        let lines = LineFiles(
            path: "\(folder.path)/log", log: Log(level: .error),
            words: .init(cannotWrite: "cannot write", cannotOpen: "cannot open"))
        lines.retention = 1_000
        lines.removeOld()
        #expect(folder.names == (isKept ? ["log.1"] : []))
    }

    @Test(arguments: [(Int.max, true), (1 << 40, true), (0, false), (Int.min, false)])
    func journalsAreReadInFilesOfAnyTime(seconds: Int, isRead: Bool) {
        let id = CallID(high: 1_790_000_000_000 << 16, low: 1)
        let line = "{\"call\":\"\(id)\",\"since\":1790000000000,\"entries\":\"\"}\n"
        write(line, to: "journal.jsonl", at: seconds)
        #expect((JournalFiles.read(id, "\(folder.path)/journal.jsonl") != nil) == isRead)
    }
}
