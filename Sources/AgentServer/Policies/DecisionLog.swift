// What the policies were asked, what each plugin said and what was committed: JSON lines.

import CallModel
import Collections
import Configuration
import Decisions
import EventLoop
import JSON
import PolicyHost
import Storage

/// Keeps the decisions: the newest in memory, for `callagent trace` and a reload, and all of them
/// in files of the state directory, which a thread of its own writes. Owner: the loop's thread.
final class DecisionLog {
    /// Decisions kept in memory.
    static let kept = 1_000
    /// Decisions kept with their input, which is most of their memory, where no files have it.
    /// Together they take no more bytes than may wait for the files.
    static let keptInputs = 250

    /// Writes the files; nil: everything is in memory only.
    let files: FilesThread?
    /// The files themselves, for their thread; nil: there are none.
    let lines: LineFiles?
    /// The same for copies of `state`.
    let states: [LineFiles]
    /// Looks through the files; nil: there are none, or nobody asked for it.
    private(set) var search: (files: DecisionFiles, reads: FileReads<KnownDecisions>)?
    /// How many files are kept.
    private(set) var filesMax = 0
    private let log: Log
    /// When the log began.
    private let begunAt = Moment(Clock.wallMilliseconds())
    /// Decisions noted in this turn.
    private var pending: [DecisionEntry] = []
    /// The newest entries; number `n` is at `(n - 1) % kept`.
    private var ring: [DecisionEntry] = []
    /// The number of the newest entry.
    private var last = 0
    /// Entries that have their input, the oldest first, and their bytes.
    private var inputs = Queue<(number: Int, bytes: Int)>()
    private var inputBytes = 0
    private var inputLimit = 8 << 20
    /// Until when somebody follows along, who may want to see the inputs.
    private var followedUntil: Int64 = 0

    /// A log in `directory`; nil: in memory only.
    ///
    /// - Parameter writer: what writes the files at the end of each turn, instead of the thread.
    init(directory: String?, log: Log, writer: DecisionWriter? = nil) {
        self.log = log
        guard let directory else {
            (files, lines, states) = (nil, nil, [])
            return
        }
        let own = writer ?? DecisionWriter(path: DecisionFiles.path(in: directory), log: log)
        files = writer == nil ? FilesThread(own) : FilesThread(here: own)
        (lines, states) = (own.files, [own.states, own.busyStates])
    }

    /// Puts other sizes into force.
    func configure(_ limits: Configuration.DecisionLog, backlog: Int = 8 << 20) {
        (inputLimit, filesMax) = (backlog, limits.files)
        files?.configure(limits, backlog: backlog)
    }

    /// Has the files looked through as well, when somebody asks about a call.
    func openSearch(in directory: String?, loop: EventLoop) throws(EventLoopError) {
        guard let directory, let files else { return }
        search = (
            DecisionFiles(directory: directory),
            try FileReads<KnownDecisions>(files, loop: loop)
        )
    }

    /// Ends the thread, which writes what is left; waits a second at most.
    func close() {
        files?.close()
        search?.reads.close()
    }

    /// Decisions that were left out of the files since the process began.
    var leftOut: UInt64 { files?.leftOut ?? 0 }

    /// Those of them of which the files do not tell yet; nil: there are none.
    var gap: DecisionGap? { files?.gap }

    /// Waits until everything that was noted is in the files, a second at most.
    var settle: @Sendable () -> Void {
        let files = files
        return { files?.settle(within: 1_000) }
    }

    /// The entry kept at `place` names `gone` no more; false: there are not so many places.
    func forget(_ gone: Forgotten, at place: Int) -> Bool {
        guard place < ring.count else { return false }
        ring[place] = ring[place].forgetting(gone)
        return true
    }

    /// Notes one decision; `flush` writes it.
    func note(_ entry: DecisionEntry) {
        guard let files else { return keep(entry) }
        pending.append(entry)
        var entry = entry
        // Who follows along is given it.
        if followedUntil < Clock.bootMilliseconds(), !files.isFailing { entry.dropInput() }
        keep(entry)
    }

    private func keep(_ noted: DecisionEntry) {
        let entry = noted.withoutCopies()
        if ring.count < Self.kept {
            ring.append(entry)
        } else {
            ring[last % Self.kept] = entry
        }
        last += 1
        guard let bytes = entry.inputBytes else { return }
        inputs.append((last, bytes))
        inputBytes += bytes
        let old = last - Self.keptInputs
        while let first = inputs.first, first.number <= old || inputBytes > inputLimit {
            _ = inputs.removeFirst()
            inputBytes -= first.bytes
            // A newer entry has taken the place of a very old one.
            guard first.number > last - Self.kept else { continue }
            ring[(first.number - 1) % Self.kept].dropInput()
        }
    }

    /// Writes what was noted since the last time.
    func flush() {
        if !pending.isEmpty { files?.write(&pending) }
    }

    /// The entries about a call, oldest first.
    func entries(about call: CallID) -> [DecisionEntry] {
        newest(Self.kept).filter { $0.call == call }
    }

    /// Since when the decisions in memory are complete; nil: they are all that were made, or the
    /// files have more.
    var keptSince: Moment? { files == nil && last > Self.kept ? newest(Self.kept).first?.at : nil }

    /// Whether the memory has all that was decided about a call.
    func isWhole(_ call: CallID) -> Bool {
        let since = last > Self.kept ? newest(Self.kept).first?.at ?? begunAt : begunAt
        return call.createdAt.milliseconds > since.milliseconds + DecisionFiles.earlierMost
    }

    /// The number of the newest entry of this process.
    var newestNumber: Int { last }

    /// The newest entries, oldest first.
    func newest(_ count: Int) -> [DecisionEntry] {
        let number = max(0, min(count, ring.count))
        return (last - number..<last).map { ring[$0 % Self.kept] }
    }

    /// The newest decisions with their input, oldest first.
    var records: [DecisionRecord] {
        newest(Self.keptInputs).compactMap {
            if case .decision(let record) = $0 { record } else { nil }
        }
    }

    // MARK: Following along

    /// How long the inputs of new decisions are kept for whoever follows along, in milliseconds.
    static let followedFor: Int64 = 30_000

    /// Somebody follows along, and asks again soon.
    func follow() { followedUntil = Clock.bootMilliseconds() + Self.followedFor }

    /// The entries after number `after` that `filter` admits.
    func page(after: Int, _ filter: DecisionFilter) -> DecisionPage {
        // A number from an earlier process does not count.
        let wanted = (0...last).contains(after) ? last - after : ring.count
        let found = newest(wanted)
        return DecisionPage(
            next: last, missed: wanted - found.count, entries: found.filter { filter.admits($0) })
    }
}

/// One line of the decision log.
enum DecisionEntry: Sendable {
    case decision(DecisionRecord)
    /// A decision that the shadow of this generation would have made differently.
    indirect case shadow(ReplayReport.Change, generation: String)

    var call: CallID {
        switch self {
        case .decision(let record): record.call
        case .shadow(let change, _): change.call
        }
    }

    var at: Moment {
        switch self {
        case .decision(let record): record.at
        case .shadow(let change, _): change.at
        }
    }

    var user: UserID {
        switch self {
        case .decision(let record): record.user
        case .shadow(let change, _): change.user
        }
    }

    /// The same without somebody.
    fileprivate func forgetting(_ gone: Forgotten) -> DecisionEntry {
        switch self {
        case .decision(let record): .decision(record.forgetting(gone))
        case .shadow(let change, let generation):
            .shadow(change.forgetting(gone), generation: generation)
        }
    }

    /// Its approximate size in memory, a little more than that of its line.
    var estimatedBytes: Int { inputBytes ?? 512 }

    /// The size of its input; nil: it has none.
    var inputBytes: Int? {
        guard case .decision(let record) = self, let input = record.input else { return nil }
        return 1_024 + CallSize.estimate(input.call) + record.bytesBesideCall
    }

    /// The same without the copies of `state` that it names: only the files have them.
    fileprivate consuming func withoutCopies() -> DecisionEntry {
        guard case .decision(var record) = self, let input = record.input,
            input.states?.isEmpty == false
        else { return self }
        record.input = input.finding { _ in nil }
        return .decision(record)
    }

    /// Drops the input.
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

/// Which decisions a trace shows; nil: all.
struct DecisionFilter {
    var call: CallID?
    var user: UserID?
    var plugin: String?
    var hook: String?
    /// The first word of what was decided.
    var action: String?
    /// How a plugin failed.
    var failure: String?
    var slower: Milliseconds?
    var since: Moment?

    /// Whether `entry` is one of them.
    func admits(_ entry: DecisionEntry) -> Bool {
        if let call, entry.call != call { return false }
        if let user, !concerns(entry, user) { return false }
        if let since, entry.at < since { return false }
        guard case .decision(let record) = entry else {
            return plugin == nil && hook == nil && action == nil && failure == nil && slower == nil
        }
        if let plugin, !record.asked.contains(where: { $0.plugin == plugin }) { return false }
        if let hook, record.hook.rawValue != hook { return false }
        if let slower, record.took < slower { return false }
        if let action, !record.outcome.line.hasPrefix(action) { return false }
        return failure.map { kind in record.asked.contains { $0.failed(by: kind) } } ?? true
    }

    /// Whether the account asked about or somebody in the call is `user`.
    private func concerns(_ entry: DecisionEntry, _ user: UserID) -> Bool {
        if entry.user == user { return true }
        guard case .decision(let record) = entry, let input = record.input else { return false }
        return input.call.participants.contains { $0.user == user }
    }
}

extension DecisionRecord.Asked {
    fileprivate func failed(by kind: String) -> Bool {
        guard case .failed(let failure) = verdict else { return false }
        return failure.rawValue == kind
    }
}

/// Entries of the decision log, and where to go on.
struct DecisionPage {
    /// The number of the newest entry.
    let next: Int
    /// Entries that are no longer kept.
    let missed: Int
    let entries: [DecisionEntry]
}
