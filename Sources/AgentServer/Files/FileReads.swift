// What the loop wants to read from files, and answers that come back to it.

import EventLoop

/// Reads files behind the loop's back: each read runs on the thread `searches`, behind everything
/// that was given to be written before. Owner: the loop's thread.
final class FileReads<Found: Sendable> {
    private struct Answer: Sendable {
        let number: Int
        let found: Found
    }

    /// The mailbox is made before the reads exist.
    private final class Box { weak var reads: FileReads? }

    private let files: FilesThread
    private let answers: Mailbox<Answer>
    private var waiting: [Int: (Found) -> Void] = [:]
    private var last = 0

    /// Reads of files that `files` writes.
    init(_ files: FilesThread, loop: EventLoop) throws(EventLoopError) {
        self.files = files
        let box = Box()
        answers = try Mailbox<Answer>(on: loop) { batch in
            for answer in batch { box.reads?.take(answer) }
        }
        box.reads = self
    }

    /// Has `read` carried out, and then `done` with what it found; false: too many are under way,
    /// and `done` is never called.
    func begin(_ read: @escaping @Sendable () -> Found, _ done: @escaping (Found) -> Void) -> Bool {
        guard waiting.count < FilesThread.readsMax else { return false }
        last += 1
        let (number, answers) = (last, answers)
        waiting[number] = done
        files.search { _ = answers.post(Answer(number: number, found: read())) }
        return true
    }

    private func take(_ answer: Answer) {
        waiting.removeValue(forKey: answer.number)?(answer.found)
    }

    /// Ends reading; who waits hears nothing.
    func close() { answers.close() }
}
