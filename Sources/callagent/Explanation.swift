// Why a call went as it did: from the process and from the files of the decision log.

import AgentCore
import AgentServer
import CallClient
import CallModel
import Configuration
import Decisions
import JSON

/// What is known of one call.
struct Explanation {
    private let call: CallID
    private var answer: AdminAnswer
    private var journal: [JSONValue] = []
    /// Nodes that may know more and could not be asked.
    private var missing: [NodeReport.Item] = []

    /// Asks the process, which keeps the newest decisions only and may have ended, and reads the
    /// files, which have older ones.
    init(_ call: CallID, _ arguments: CommandArguments) throws(CommandError) {
        self.call = call
        let server = try Installation.admin(arguments)
        if arguments.has("--all") {
            let values = ["call_id": "\(call)"]
            let every = ManagementOperation.everyNode
            let known = NodeReport(.explain, values, of: every, at: server)
            answer = Self.joined(known)
            journal = Self.joinedJournal(NodeReport(.journal, values, of: every, at: server))
            missing = known.items.filter { !$0.isReached }
            if known.isAnswered { return }
        }
        answer = .ask(.explain, ["call_id": "\(call)"], of: server)
        if case .answer(let page) = AdminAnswer.ask(.journal, ["call_id": "\(call)"], of: server) {
            journal = page["items"]?.array ?? []
        } else if let place = try Installation.directory(arguments) {
            journal = JournalFiles.entries(of: call, in: place) ?? []
        }
        guard let files = try Installation.decisions(arguments) else { return }
        let (kept, gaps) = files.search(call)
        let filesMax = try Installation.configuration(arguments).decisionLog.files
        add(kept, gaps, since: files.keptSince(filesAtMost: filesMax))
    }

    /// What the nodes know together: calls outlive their owners, and each has its own records.
    private static func joined(_ report: NodeReport) -> AdminAnswer {
        let answers = report.items.compactMap(\.answer)
        // Only the owner knows of pushes.
        guard let first = answers.first(where: { $0["pushes"] != nil }) ?? answers.first else {
            return .refused("no node knows such a call")
        }
        var all = first.object ?? JSONObject()
        let entries = answers.flatMap { $0["decisions"]?.array ?? [] }
        all["decisions"] = .array(entries.sorted { moment($0) < moment($1) })
        let gaps = answers.flatMap { $0["gaps"]?.array ?? [] }
        all["gaps"] = gaps.isEmpty ? nil : .array(gaps)
        let kept = answers.compactMap { $0["kept_since_at"]?.integer }.max()
        all["kept_since_at"] = kept.map { .integer($0) }
        return .answer(.object(all))
    }

    /// The parts of a call's journal in the order of those who wrote them; in each the order is
    /// that of the numbers, and no clock of two nodes is compared within it.
    private static func joinedJournal(_ report: NodeReport) -> [JSONValue] {
        report.items.compactMap { $0.answer?["items"]?.array }.filter { !$0.isEmpty }
            .sorted { moment($0[0]) < moment($1[0]) }.flatMap { $0 }
    }

    private static func moment(_ entry: JSONValue) -> Int64 { DecisionFiles.moment(of: entry) }

    private mutating func add(
        _ kept: [[UInt8]], _ gaps: [DecisionGap], since oldest: Moment?
    ) {
        var all = JSONObject()
        switch answer {
        case .answer(let live): all = live.object ?? all
        case .refused, .unreachable:
            // The process knows nothing of the call that the files do not have.
            guard !kept.isEmpty else { return }
        }
        if !kept.isEmpty {
            let entries = kept.compactMap {
                try? JSONValue(parsing: $0, limits: .init(bytes: $0.count))
            }
            let process = all["decisions"]?.array ?? []
            all["decisions"] = .array(DecisionFiles.joined(entries, process))
        }
        let told = (all["gaps"]?.array ?? []).compactMap { DecisionGap($0) }
        let every = gaps + told.filter { !gaps.contains($0) }
        all["gaps"] = .array(every.map(\.json))
        if let oldest { all["kept_since_at"] = .integer(oldest.milliseconds) }
        answer = .answer(.object(all))
    }

    /// Whether decisions of the time of the call were lost.
    private func isIn(_ gap: DecisionGap) -> Bool {
        let hasEnded = journal.contains { $0["end"] != nil }
        let end = hasEnded ? journal.map { Self.moment($0) }.max() ?? .max : .max
        return gap.until >= call.createdAt && gap.since.milliseconds <= end
    }

    /// Shows it; returns the exit code.
    func show(isJSON: Bool) -> Int32 {
        var answer = answer
        if case .answer(let value) = answer, var all = value.object {
            let gaps = (all["gaps"]?.array ?? []).filter { DecisionGap($0).map(isIn) == true }
            all["gaps"] = gaps.isEmpty ? nil : .array(gaps)
            if isJSON {
                all["journal"] = .array(journal)
                if !missing.isEmpty {
                    all["missing"] = .array(missing.map { .string($0.node) })
                }
            }
            answer = .answer(.object(all))
        }
        defer {
            if !isJSON { for item in missing { Screen.say(NodeReport.missing(item)) } }
        }
        return answer.show(isJSON: isJSON) { answer in
            for line in JournalLines.ladder(journal) { Screen.say(line) }
            let entries = answer["decisions"]?.array ?? []
            for line in entries.flatMap(DecisionText.lines) { Screen.say(line) }
            for push in answer["pushes"]?.array ?? [] { Screen.say(DecisionText.push(push)) }
            for user in answer["unreached"]?.array ?? [] {
                let name = Screen.plain(user.string ?? "")
                Screen.say("\(name) had neither a device nor a registration for pushes")
            }
            for gap in gaps(in: answer) { Screen.say(gap) }
            if let line = ending(hasEntries: !entries.isEmpty, answer) { Screen.say(line) }
        }
    }

    private func gaps(in answer: JSONValue) -> [String] {
        (answer["gaps"]?.array ?? []).compactMap { DecisionGap($0) }.map { gap in
            let lines = gap.count == 1 ? "a line" : "\(gap.count) lines"
            let was = gap.count == 1 ? "was" : "were"
            return "\(lines) of the decision log \(was) lost between \(DecisionText.day(gap.since))"
                + " and \(DecisionText.day(gap.until)): there may have been others about \(call)"
        }
    }

    /// Whether decisions may be missing.
    private func ending(hasEntries: Bool, _ answer: JSONValue) -> String? {
        if let since = answer["kept_since_at"]?.integer, call.createdAt.milliseconds <= since {
            let day = DecisionText.day(Moment(since))
            return "decisions older than \(day) are not kept: "
                + (hasEntries
                    ? "there may have been others about \(call)"
                    : "whether a plugin was asked about \(call) is not known")
        }
        if hasEntries { return nil }
        return answer["gaps"] == nil
            ? "no plugin was asked about \(call)"
            : "whether a plugin was asked about \(call) is not known"
    }
}
