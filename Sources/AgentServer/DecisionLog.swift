// What the policies were asked, what each plugin said and what was committed: JSON lines.

import CallModel
import Glibc
import JSON
import PolicyHost

/// Keeps the decisions: the newest in memory, for `callagent explain`, and all of them in a file
/// of the state directory that is moved aside when it is full. Owner: the loop's thread.
final class DecisionLog {
    /// Bytes of one file.
    static let fileMax = 64 << 20
    /// Decisions kept in memory.
    static let kept = 10_000

    private let path: String?
    private let log: Log
    private var file: Int32 = -1
    private var size = 0
    private var pending = JSONWriter()
    /// A ring, once it is full; the oldest stands at `oldest`.
    private var records: [DecisionRecord] = []
    private var oldest = 0

    /// A log in `directory`; nil: in memory only.
    init(directory: String?, log: Log) {
        path = directory.map { $0 + "/decisions.jsonl" }
        self.log = log
        open()
    }

    deinit { if file >= 0 { close(file) } }

    /// Notes one decision; `flush` writes it.
    func note(_ record: DecisionRecord) {
        if records.count < Self.kept {
            records.append(record)
        } else {
            records[oldest] = record
            oldest = (oldest + 1) % Self.kept
        }
        guard file >= 0 else { return }
        pending.startText()
        record.write(into: &pending)
        pending.append(UInt8(ascii: "\n"))
    }

    /// Writes what was noted since the last time.
    func flush() {
        let lines = pending.written
        guard !lines.isEmpty else { return }
        let written = Glibc.write(file, lines.baseAddress, lines.count)
        if written != lines.count {
            log.warn("cannot write the decision log", ("path", path ?? ""))
        }
        size += max(0, written)
        pending.removeAll()
        if size >= Self.fileMax { moveAside() }
    }

    /// The decisions about a call, oldest first, one JSON object each.
    func lines(about call: CallID) -> [[UInt8]] {
        inOrder.filter { $0.call == call }.map(\.line)
    }

    /// The newest decisions, oldest first.
    func newest(_ count: Int) -> [[UInt8]] { inOrder.suffix(max(0, count)).map(\.line) }

    private var inOrder: [DecisionRecord] { Array(records[oldest...] + records[..<oldest]) }

    private func open() {
        guard let path else { return }
        file = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        if file < 0 { log.warn("cannot open the decision log", ("path", path)) }
        var status = stat()
        size = file >= 0 && fstat(file, &status) == 0 ? Int(status.st_size) : 0
    }

    private func moveAside() {
        guard let path else { return }
        close(file)
        rename(path, path + ".1")
        open()
    }
}

extension DecisionRecord {
    /// The record as one JSON object.
    var line: [UInt8] {
        var writer = JSONWriter()
        write(into: &writer)
        return writer.bytes
    }

    /// Writes the record as one JSON object.
    func write(into writer: inout JSONWriter) {
        writer.object {
            $0.field("at", at.milliseconds)
            $0.key("call")
            $0.value(hex: call.high, call.low)
            $0.field("event", hook.rawValue)
            $0.field("user", user.text)
            $0.field("generation", generation)
            $0.array("asked") {
                for plugin in asked { plugin.write(into: &$0) }
            }
            $0.object("decision") { answer.write(into: &$0) }
        }
    }
}

extension DecisionRecord.Asked {
    fileprivate func write(into writer: inout JSONWriter) {
        writer.object {
            $0.field("plugin", plugin)
            switch verdict {
            case .noOpinion: $0.field("said", "no opinion")
            case .decided: $0.field("said", "decided")
            case .quarantined: $0.field("said", "quarantined")
            case .failed(let failure):
                $0.field("said", "failed")
                $0.field("failure", failure.rawValue)
            }
            $0.field("wall_ms", wall)
            $0.field("cpu_us", Int64(processor / 1_000))
        }
    }
}

extension Answer {
    /// Writes the members of the decision.
    fileprivate func write(into writer: inout JSONWriter) {
        switch self {
        case .invite(let decision, let plugin, _):
            decision.write(into: &writer)
            writer.field("by", plugin)
        case .allow: writer.field("action", "allow")
        case .refuse(let code, let plugin):
            writer.field("action", "refuse")
            writer.field("code", code)
            writer.field("by", plugin)
        case .data(let text):
            writer.field("action", "data")
            writer.field("extended_data", text)
        case .views(let views):
            writer.field("action", "views")
            writer.field("count", views.count)
        case .token(let token): writer.field("action", token == nil ? "none" : "token")
        case .none: writer.field("action", "default")
        }
    }
}

extension Decision {
    fileprivate func write(into writer: inout JSONWriter) {
        switch self {
        case .accept(let wait, let data):
            writer.field("action", "accept")
            writer.field("wait_ms", wait)
            writer.field("extended_data", data)
        case .reject(let busy, let data):
            writer.field("action", "reject")
            writer.field("reason", busy ? "busy" : "declined")
            writer.field("extended_data", data)
        case .ring(let time):
            writer.field("action", "ring")
            writer.field("for_ms", time)
        case .forward(let user):
            writer.field("action", "forward")
            writer.field("to", user.text)
        }
    }
}
