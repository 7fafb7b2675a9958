// What the policies were asked, what each plugin said and what was committed: JSON lines.

import CallModel
import EventLoop
import Glibc
import JSON
import PolicyHost

/// Keeps the decisions: the newest in memory, for `callagent trace` and a reload, and all of them
/// in files of the state directory, of which the oldest goes when there are enough. Owner: the
/// loop's thread.
final class DecisionLog {
    /// Decisions kept in memory.
    static let kept = 1_000
    /// Decisions kept with what is needed to ask again, which is most of their memory, where there
    /// are no files that have it.
    static let keptInputs = 250

    /// What a log has of the system; tests put theirs in the place.
    struct System {
        /// Milliseconds since the machine started.
        var now: () -> Int64 = { Clock.bootMilliseconds() }
        /// Writes to a file, and gives how much of it was written.
        var write: (Int32, UnsafeRawBufferPointer) -> Int = {
            Glibc.write($0, $1.baseAddress, $1.count)
        }
    }

    private let path: String?
    private let log: Log
    private let system: System
    private var limits = Configuration.DecisionLog()
    private var file: Int32 = -1
    private var size = 0
    /// The file ends within a line, which whatever follows must not make longer.
    private var isTorn = false
    /// When a file that could not be opened is tried again.
    private var opensAgainAt: Int64 = 0
    private var repeated = RepeatedLine()
    private var pending = JSONWriter()
    /// The newest entries; number `n` is at `(n - 1) % kept`.
    private var ring: [DecisionEntry] = []
    /// The number of the newest entry.
    private var last = 0
    private var traces: [Trace] = []
    private var traceTimer: Timer?

    /// Somebody who waits for the next decisions.
    private struct Trace {
        let after: Int
        let filter: DecisionFilter
        let deadline: Int64
        let respond: (DecisionPage) -> Void
    }

    /// A log in `directory`; nil: in memory only.
    init(directory: String?, log: Log, loop: EventLoop, system: System = System()) {
        path = directory.map { DecisionFiles.path(in: $0) }
        self.log = log
        self.system = system
        open()
        traceTimer = Timer(on: loop) { [unowned self] in answerTraces() }
    }

    deinit { if file >= 0 { close(file) } }

    /// Puts other sizes into force.
    func configure(_ limits: Configuration.DecisionLog) { self.limits = limits }

    /// Notes one decision; `flush` writes it.
    func note(_ entry: DecisionEntry) {
        guard file >= 0 else {
            keep(entry)
            let old = last - Self.keptInputs
            if old > 0 { ring[(old - 1) % Self.kept].dropInput() }
            return
        }
        pending.startText()
        entry.write(into: &pending)
        pending.append(UInt8(ascii: "\n"))
        var entry = entry
        // Those who follow along are shown it at the end of this turn.
        if traces.isEmpty { entry.dropInput() }
        keep(entry)
    }

    private func keep(_ entry: DecisionEntry) {
        if ring.count < Self.kept {
            ring.append(entry)
        } else {
            ring[last % Self.kept] = entry
        }
        last += 1
    }

    /// Writes what was noted since the last time, and tells those who wait for it.
    func flush() {
        if file >= 0 { write() } else { openAgain() }
        if !traces.isEmpty { answerTraces() }
    }

    /// The entries about a call, oldest first.
    func entries(about call: CallID) -> [DecisionEntry] {
        newest(Self.kept).filter { $0.call == call }
    }

    /// The newest entries, oldest first.
    func newest(_ count: Int) -> [DecisionEntry] {
        let number = max(0, min(count, ring.count))
        return (last - number..<last).map { ring[$0 % Self.kept] }
    }

    /// The newest decisions with what is needed to ask again, oldest first.
    var records: [DecisionRecord] {
        newest(Self.keptInputs).compactMap {
            if case .decision(let record) = $0 { record } else { nil }
        }
    }

    // MARK: Following along

    /// How long a trace waits for something to tell, in milliseconds.
    static let patience: Int64 = 20_000

    /// Answers with the entries after number `after` as soon as there is one that `filter` lets
    /// through, or with none after a while; nil: with those that come from now on.
    func trace(
        after: Int?, _ filter: DecisionFilter, _ respond: @escaping (DecisionPage) -> Void
    ) {
        let deadline = Clock.bootMilliseconds() + Self.patience
        traces.append(
            Trace(after: after ?? last, filter: filter, deadline: deadline, respond: respond))
        answerTraces()
    }

    private func answerTraces() {
        let now = Clock.bootMilliseconds()
        let waiting = traces
        traces = []
        for trace in waiting {
            let page = page(after: trace.after, trace.filter)
            if page.entries.isEmpty, trace.deadline > now {
                traces.append(trace)
            } else {
                trace.respond(page)
            }
        }
        if let next = traces.map(\.deadline).min() { traceTimer?.arm(at: next) }
    }

    private func page(after: Int, _ filter: DecisionFilter) -> DecisionPage {
        // A number from an earlier life of the process is none of ours.
        let wanted = (0...last).contains(after) ? last - after : ring.count
        let found = newest(wanted)
        return DecisionPage(
            next: last, missed: wanted - found.count, entries: found.filter { filter.admits($0) })
    }

    // MARK: The files

    private func write() {
        let lines = pending.written
        guard !lines.isEmpty else { return }
        if isTorn { withUnsafeBytes(of: UInt8(ascii: "\n")) { write($0) } }
        if !isTorn { write(lines) }
        pending.removeAll()
        if size >= limits.size { moveAside() }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) {
        let written = max(0, system.write(file, bytes))
        size += written
        if written > 0 { isTorn = bytes[written - 1] != UInt8(ascii: "\n") }
        if written < bytes.count { warn("cannot write the decision log") }
    }

    private func warn(_ text: StaticString) {
        guard let left = repeated.admit("\(text)", at: Moment(system.now())) else { return }
        log.warn(text, ("path", path ?? ""), ("like_it", "\(left)"))
    }

    private func openAgain() {
        guard path != nil, system.now() >= opensAgainAt else { return }
        open()
    }

    /// How long a file that could not be opened is left alone, in milliseconds.
    static let reopenEvery: Int64 = 10_000

    private func open() {
        guard let path else { return }
        (size, isTorn) = (0, false)
        file = Glibc.open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            opensAgainAt = system.now() + Self.reopenEvery
            return warn("cannot open the decision log")
        }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_size > 0 else { return }
        size = Int(status.st_size)
        var last: UInt8 = 0
        isTorn = pread(file, &last, 1, status.st_size - 1) == 1 && last != UInt8(ascii: "\n")
    }

    private func moveAside() {
        guard let path else { return }
        close(file)
        // Files beyond the number go, also when there were more of them before.
        var surplus = limits.files
        while unlink("\(path).\(surplus)") == 0 { surplus += 1 }
        for number in (1..<max(1, limits.files)).reversed() {
            rename(number == 1 ? path : "\(path).\(number - 1)", "\(path).\(number)")
        }
        if limits.files == 1 { unlink(path) }
        open()
    }
}

/// One line of the decision log.
enum DecisionEntry: Sendable {
    case decision(DecisionRecord)
    /// What the shadow of this generation would have decided otherwise.
    case shadow(ReplayReport.Change, generation: String)

    var call: CallID {
        switch self {
        case .decision(let record): record.call
        case .shadow(let change, _): change.call
        }
    }

    var user: UserID {
        switch self {
        case .decision(let record): record.user
        case .shadow(let change, _): change.user
        }
    }

    /// Forgets what is needed to ask again.
    mutating func dropInput() {
        guard case .decision(var record) = self else { return }
        record.input = nil
        self = .decision(record)
    }

    /// Writes it as one JSON object.
    func write(into writer: inout JSONWriter) {
        switch self {
        case .decision(let record): record.write(into: &writer)
        case .shadow(let change, let generation):
            var object = change.json.object ?? JSONObject()
            object["shadow"] = .string(generation)
            writer.value(.object(object))
        }
    }
}

/// Which decisions somebody wants to follow; nil: all.
struct DecisionFilter {
    var call: CallID?
    var user: UserID?
    var plugin: String?

    /// Whether `entry` is one of them.
    func admits(_ entry: DecisionEntry) -> Bool {
        if let call, entry.call != call { return false }
        if let user, !concerns(entry, user) { return false }
        guard let plugin else { return true }
        guard case .decision(let record) = entry else { return false }
        return record.asked.contains { $0.plugin == plugin }
    }

    /// Whether the account asked about or somebody in the call is `user`.
    private func concerns(_ entry: DecisionEntry, _ user: UserID) -> Bool {
        if entry.user == user { return true }
        guard case .decision(let record) = entry, let input = record.input else { return false }
        return input.call.participants.contains { $0.user == user }
    }
}

/// Entries of the decision log, and where to go on.
struct DecisionPage {
    /// The number of the newest entry.
    let next: Int
    /// Entries that were not kept long enough.
    let missed: Int
    let entries: [DecisionEntry]
}
