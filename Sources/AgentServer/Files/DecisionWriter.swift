// Writes decisions into files, away from the loop.

import AgentCore
import Configuration
import Decisions
import EventLoop
import JSON
import PolicyHost

/// Files of JSON lines; the oldest file is deleted when there are enough. Owner: one thread, to
/// which it is handed over.
final class DecisionWriter: @unchecked Sendable {
    typealias System = LineFiles.System

    let files: LineFiles
    /// Copies of `state` that the records name. `busyStates` has those of plugins that have had
    /// their share of the newest file of `states`: a plugin that changes much takes nothing away
    /// from the others.
    let states, busyStates: LineFiles
    private let log: Log
    private var lines = JSONWriter()
    // Apart, or a busy plugin would have the copies of all others written again and again.
    private var written = NewestCopies(), busyWritten = NewestCopies()
    /// The bytes of each plugin in the newest file of `states`.
    private var shares: [String: Int] = [:]
    /// So many copies of each are known; an older one is written again.
    fileprivate static let writtenMax = 64
    /// Bytes of one file of copies, of which there are two, and two for busy plugins.
    private static let statesMax = 16 << 20
    /// The part of a file of copies that one plugin may fill.
    private static let share = 4

    /// A log in the file `path`, and in the numbered files beside it.
    init(path: String, log: Log, system: System = System()) {
        self.log = log
        files = LineFiles(
            path: path, log: log,
            words: LineFiles.Words(
                cannotWrite: "cannot write the decision log",
                cannotOpen: "cannot open the decision log"), system: system)
        let paths = StateFiles.paths(in: Deployment.folder(of: path))
        let words = LineFiles.Words(
            cannotWrite: "cannot write the states of plugins",
            cannotOpen: "cannot open the states of plugins")
        states = LineFiles(path: paths[0], log: log, words: words, system: system)
        busyStates = LineFiles(path: paths[1], log: log, words: words, system: system)
        configure(Configuration.DecisionLog())
    }

    /// Applies other sizes.
    func configure(_ limits: Configuration.DecisionLog) {
        files.limits = (limits.size, limits.files)
        states.limits = (min(Self.statesMax, limits.size), 2)
        busyStates.limits = states.limits
    }

    /// Writes `entries`; returns how many were left out because of the disk.
    func write(_ entries: [DecisionEntry]) -> Int {
        guard files.isReady() else { return entries.count }
        for entry in entries {
            writeStates(of: entry)
        }
        for entry in entries {
            lines.startText()
            entry.write(into: &lines)
            lines.append(UInt8(ascii: "\n"))
        }
        defer { lines.removeAll() }
        // A line without its end cannot be read.
        return lines.written.lines(from: files.append(lines.written))
    }

    /// Writes the copies that `entry` names first. If that fails, the decision is kept
    /// nevertheless: who looks at it is told that the copies were not recorded.
    private func writeStates(of entry: DecisionEntry) {
        guard case .decision(let record) = entry, let input = record.input else { return }
        for state in input.states ?? [] {
            guard let copy = state.copy, !written.has(copy), !busyWritten.has(copy) else {
                continue
            }
            lines.startText()
            StateFiles.write(copy, of: state.plugin, at: record.at, into: &lines)
            lines.append(UInt8(ascii: "\n"))
            let part = shares[state.plugin, default: 0] + lines.written.count
            if part > states.limits.size / Self.share {
                busyWritten.add(copy, append(to: busyStates), busyStates.moved)
            } else {
                shares[state.plugin] = part
                if written.add(copy, append(to: states), states.moved) { shares = [:] }
            }
            lines.removeAll()
        }
    }

    /// Whether all of the line was written.
    private func append(to files: LineFiles) -> Bool {
        files.append(lines.written) == lines.written.count
    }

    /// Writes and logs that decisions are missing; false: the disk does not take that either.
    func write(_ gap: DecisionGap) -> Bool {
        lines.startText()
        lines.value(gap.json)
        lines.append(UInt8(ascii: "\n"))
        defer { lines.removeAll() }
        guard append(to: files) else { return false }
        log.warn("decisions were left out of the decision log", ("count", "\(gap.count)"))
        return true
    }
}

/// The copies that were written last, into the newest file of one name.
private struct NewestCopies {
    private var ids: [UInt64] = []
    private var moved = 0

    func has(_ copy: StateCopy) -> Bool { ids.contains(copy.id) }

    /// Notes that `copy` was written, if it is there as a whole. Returns whether another file has
    /// become the newest (`moved`: how many were moved aside). Older files are deleted, so copies
    /// that are still in use must be written into the newest.
    @discardableResult
    mutating func add(_ copy: StateCopy, _ isWhole: Bool, _ moved: Int) -> Bool {
        let isMoved = moved != self.moved
        if isMoved { (ids, self.moved) = ([], moved) }
        guard isWhole else { return isMoved }
        ids.append(copy.id)
        if ids.count > DecisionWriter.writtenMax { ids.removeFirst() }
        return isMoved
    }
}
