// Journals in files, beside those in memory.

import AgentCore
import CallModel
import Decisions
import EventLoop
import JSON
import WebProtocols

/// Has the files' thread write what was entered into journals, once a second, and reads those that
/// are no longer in memory. Owner: the loop's thread.
final class JournalKeeper {
    /// Milliseconds between two writes.
    static let writeEvery: Int64 = 1_000
    /// Files of which it is made.
    static let files = 16
    private let journal: Journal
    private let thread: FilesThread?
    let lines: LineFiles?
    private let reads: FileReads<Journal.Found?>?
    private var timer: Timer?
    /// Parts that the disk did not take in time.
    private(set) var leftOut: UInt64 = 0

    /// Keeps `journal` in `directory`; nil: in memory only.
    init(
        _ journal: Journal, in directory: String?, _ thread: FilesThread?, loop: EventLoop, log: Log
    )
        throws(EventLoopError)
    {
        self.journal = journal
        guard let directory, let thread else {
            (self.thread, lines, reads) = (nil, nil, nil)
            return
        }
        self.thread = thread
        lines = LineFiles(
            path: JournalFiles.path(in: directory), log: log,
            words: LineFiles.Words(
                cannotWrite: "cannot write the journal", cannotOpen: "cannot open the journal"))
        reads = try FileReads(thread, loop: loop)
        timer = Timer(on: loop) { [unowned self] in
            write()
            timer?.arm(after: Self.writeEvery)
        }
    }

    /// Puts other sizes into force; `file` is in bytes, nil: none is written.
    func configure(_ limits: Journal.Limits, file: Int?) {
        journal.limits = limits
        journal.isWritten = file != nil && lines != nil
        guard let lines, let file, let thread else { return }
        _ = thread.run(bytes: 0) {
            lines.limits = (max(file / Self.files, 65_536), Self.files)
        }
        if timer?.isArmed == false { timer?.arm(after: Self.writeEvery) }
    }

    /// Hands over what was entered since the last time.
    func write() {
        guard let lines, let thread, journal.isWritten else { return }
        let parts = journal.takeParts()
        guard !parts.isEmpty else { return }
        let bytes = parts.reduce(0) { $0 + $1.bytes.count + 64 }
        let hasRoom = thread.run(bytes: bytes) {
            var writer = JSONWriter(capacity: 65_536)
            for part in parts {
                writer.startText()
                writer.object {
                    $0.field("call", "\(part.call)")
                    $0.field("since", part.since.milliseconds)
                    $0.field("entries", plain: Base64.encode(part.bytes))
                }
                writer.append(UInt8(ascii: "\n"))
            }
            _ = lines.append(writer.written)
        }
        if !hasRoom { leftOut += UInt64(parts.count) }
    }

    /// The journal of a call, from memory or from the files; nil: there is none, or too many are
    /// being read.
    func find(_ id: CallID, _ done: @escaping (Journal.Found?) -> Void) {
        let inMemory = journal.found(id)
        guard inMemory?.isWhole != true, let lines, let reads else { return done(inMemory) }
        write()
        let path = lines.path
        let isUnderWay = reads.begin({ JournalFiles.read(id, path) }) { done($0 ?? inMemory) }
        if !isUnderWay { done(inMemory) }
    }

    /// Writes the rest, and ends reading.
    func close() {
        write()
        timer = nil
        reads?.close()
    }
}
