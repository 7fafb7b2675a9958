// Journals in files, beside those in memory.

import AgentCore
import CallModel
import Decisions
import EventLoop
import JSON
import WebProtocols

/// Has the files' thread write what was entered into journals, once a second, and reads those that
/// are in memory no more. Owner: the loop's thread.
final class JournalKeeper {
    /// Milliseconds between two writes.
    static let writeEvery: Int64 = 1_000
    /// Journals that are read at once.
    static let readsMax = 16
    /// Files of which it is made.
    static let files = 16
    private let journal: Journal
    private let thread: FilesThread?
    let lines: LineFiles?
    private let answers: Mailbox<Answer>?
    private var waiting: [Int: (Journal.Found?) -> Void] = [:]
    private var lastRead = 0
    private var timer: Timer?
    /// Parts that the disk did not take in time.
    private(set) var leftOut: UInt64 = 0

    private struct Answer: Sendable {
        let number: Int
        let found: Journal.Found?
    }

    /// The mailbox is made before the keeper exists.
    private final class KeeperBox { weak var keeper: JournalKeeper? }

    /// Keeps `journal` in `directory`; nil: in memory only.
    init(
        _ journal: Journal, in directory: String?, _ thread: FilesThread?, loop: EventLoop, log: Log
    )
        throws(EventLoopError)
    {
        self.journal = journal
        guard let directory, let thread else {
            (self.thread, lines, answers) = (nil, nil, nil)
            return
        }
        let box = KeeperBox()
        self.thread = thread
        lines = LineFiles(
            path: JournalFiles.path(in: directory), log: log,
            words: LineFiles.Words(
                cannotWrite: "cannot write the journal", cannotOpen: "cannot open the journal"))
        answers = try Mailbox<Answer>(on: loop) { batch in
            for answer in batch { box.keeper?.take(answer) }
        }
        box.keeper = self
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
        guard inMemory?.isWhole != true, let lines, let thread, let answers,
            waiting.count < Self.readsMax
        else { return done(inMemory) }
        write()
        lastRead += 1
        let (number, path) = (lastRead, lines.path)
        waiting[number] = { done($0 ?? inMemory) }
        let isUnderWay = thread.run(bytes: 0) {
            _ = answers.post(Answer(number: number, found: JournalFiles.read(id, path)))
        }
        if !isUnderWay { waiting.removeValue(forKey: number)?(nil) }
    }

    private func take(_ answer: Answer) {
        waiting.removeValue(forKey: answer.number)?(answer.found)
    }

    /// Writes the rest, and ends reading.
    func close() {
        write()
        timer = nil
        answers?.close()
    }
}
