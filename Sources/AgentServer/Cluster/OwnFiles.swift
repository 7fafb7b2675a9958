// The plugins and settings that a node has on its disk, for a reload that it asks the owner for.

import Configuration
import EventLoop
import JSON
import Lua
import StoreContract

/// Reads them on a thread of its own, so that no client waits for a disk. Owner: the loop's thread.
final class OwnFiles {
    typealias Answer = Result<JSONObject, AgentError>

    private let orders = WorkerMailbox<Void>()
    private let answers: Mailbox<Answer>
    private let thread: WorkerThread

    /// The mailbox is made before this object exists.
    private final class Waiting {
        /// Those who wait, in the order in which they are answered.
        var callbacks: [(Answer) -> Void] = []
    }
    private let waiting = Waiting()

    /// The files of which the operator's file at `file` speaks.
    init(of file: String?, on loop: EventLoop) throws(EventLoopError) {
        let (orders, waiting) = (orders, waiting)
        let answers = try Mailbox<Answer>(on: loop) { batch in
            for answer in batch { waiting.callbacks.removeFirst()(answer) }
        }
        self.answers = answers
        thread = try WorkerThread(name: "own files", stackSize: 4 << 20, yields: true) {
            var batch: [Void] = []
            while case .elements = orders.takeAll(into: &batch) {
                for _ in batch { _ = answers.post(Self.read(file)) }
            }
        }
    }

    /// Reads them; `done` hears their texts by path, or what is wrong with them.
    func read(_ done: @escaping (Answer) -> Void) {
        waiting.callbacks.append(done)
        _ = orders.post(())
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
