// What a node has on its disk, read for somebody who asks while it stands by.

import AgentCore
import CallModel
import Configuration
import Decisions
import EventLoop
import JSON
import Lua
import StoreContract

/// Reads on a thread of its own, so that no client waits for a disk. Owner: the loop's thread.
final class OwnFiles {
    typealias Answer = Result<JSONObject, AgentError>

    private let orders = WorkerMailbox<@Sendable () -> any Sendable>()
    private let answers: Mailbox<any Sendable>
    private let thread: WorkerThread
    private let file: String?
    /// The state directory; nil: there is none.
    private let directory: String?

    /// The mailbox is made before this object exists.
    private final class Waiting {
        /// Those who wait, in the order in which they are answered.
        var callbacks: [(any Sendable) -> Void] = []
    }
    private let waiting = Waiting()

    /// What came of one order, whatever it is.
    private struct Boxed<Found: Sendable>: Sendable { let value: Found }

    /// The files of which the operator's file at `file` speaks, and those in the state directory.
    init(of file: String?, in directory: String?, on loop: EventLoop) throws(EventLoopError) {
        (self.file, self.directory) = (file, directory)
        let (orders, waiting) = (orders, waiting)
        let answers = try Mailbox<any Sendable>(on: loop) { batch in
            for answer in batch { waiting.callbacks.removeFirst()(answer) }
        }
        self.answers = answers
        thread = try WorkerThread(name: "own files", stackSize: 4 << 20, yields: true) {
            var batch: [@Sendable () -> any Sendable] = []
            while case .elements = orders.takeAll(into: &batch) {
                for order in batch { _ = answers.post(order()) }
            }
        }
    }

    /// Does `work` on the thread, and gives what came of it to `done`.
    private func run<Found: Sendable>(
        _ work: @escaping @Sendable () -> Found, _ done: @escaping (Found) -> Void
    ) {
        waiting.callbacks.append { if let found = $0 as? Boxed<Found> { done(found.value) } }
        _ = orders.post { Boxed(value: work()) }
    }

    /// Reads plugins and settings; `done` hears their texts by path, or what is wrong with them.
    func read(_ done: @escaping (Answer) -> Void) {
        let file = file
        run({ Self.read(file) }, done)
    }

    /// What this node has entered into a call's journal while it owned; nil: nothing.
    func journal(of call: CallID, _ done: @escaping ([JSONValue]?) -> Void) {
        guard let directory else { return done(nil) }
        run({ JournalFiles.entries(of: call, in: directory) }, done)
    }

    /// What its plugins have decided about a call.
    func decisions(about call: CallID, _ done: @escaping ([JSONValue]) -> Void) {
        guard let directory else { return done([]) }
        run(
            {
                DecisionFiles(directory: directory).lines(about: call).compactMap { line in
                    try? JSONValue(parsing: line, limits: JSONLimits(bytes: line.count))
                }
            }, done)
    }

    /// Ends the thread; whoever waits is not answered.
    func close() {
        orders.close()
        thread.join()
        answers.close()
    }

    private static func read(_ file: String?) -> Answer {
        do throws(AgentError) {
            let files = try Deployment.filesOnDisk(of: file)
            var texts = JSONObject()
            for file in files.files {
                guard let text = String(validating: file.source, as: UTF8.self) else {
                    throw .configuration("\(file.path): is no text in UTF-8")
                }
                texts[file.path] = .string(text)
            }
            return .success(texts)
        } catch {
            return .failure(error)
        }
    }
}

extension StoredGeneration {
    /// Files that another node has read; nil: they are no texts.
    init?(texts: JSONObject) {
        var files: [File] = []
        for member in texts.members {
            guard let text = member.value.string else { return nil }
            files.append(File(path: member.key, source: Array(text.utf8)))
        }
        self.init(name: "", files: files.sorted { $0.path < $1.path })
    }
}
