// Writes decisions into files, away from the loop.

import AgentCore
import Configuration
import EventLoop
import JSON

/// Files of JSON lines; the oldest file is deleted when there are enough. Owner: one thread, to
/// which it is handed over.
final class DecisionWriter: @unchecked Sendable {
    typealias System = LineFiles.System

    let files: LineFiles
    private let log: Log
    private var lines = JSONWriter()

    /// A log in the file `path`, and in the numbered files beside it.
    init(path: String, log: Log, system: System = System()) {
        self.log = log
        files = LineFiles(
            path: path, log: log,
            words: LineFiles.Words(
                cannotWrite: "cannot write the decision log",
                cannotOpen: "cannot open the decision log"), system: system)
        configure(Configuration.DecisionLog())
    }

    /// Applies other sizes.
    func configure(_ limits: Configuration.DecisionLog) {
        files.limits = (limits.size, limits.files)
    }

    /// Writes `entries`; returns how many were left out because of the disk.
    func write(_ entries: [DecisionEntry]) -> Int {
        guard files.isReady() else { return entries.count }
        for entry in entries {
            lines.startText()
            entry.write(into: &lines)
            lines.append(UInt8(ascii: "\n"))
        }
        defer { lines.removeAll() }
        // A line without its end cannot be read.
        return lines.written.lines(from: files.append(lines.written))
    }

    /// Logs that decisions are missing.
    func tellLeftOut(_ count: Int) {
        log.warn("decisions were left out of the decision log", ("count", "\(count)"))
    }
}
