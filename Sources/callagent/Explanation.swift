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

    /// Asks the process, which keeps the newest decisions only and may have ended, and reads the
    /// files, which have older ones.
    init(_ call: CallID, _ arguments: CommandArguments) throws(CommandError) {
        self.call = call
        let server = try Installation.admin(arguments)
        answer = .ask(.explain, ["call_id": "\(call)"], of: server)
        if case .answer(let page) = AdminAnswer.ask(.journal, ["call_id": "\(call)"], of: server) {
            journal = page["items"]?.array ?? []
        } else if let place = try Installation.directory(arguments) {
            journal = JournalFiles.entries(of: call, in: place) ?? []
        }
        guard let files = try Installation.decisions(arguments) else { return }
        let kept = files.lines(about: call)
        let filesMax = try Installation.configuration(arguments).decisionLog.files
        add(kept, since: files.keptSince(filesAtMost: filesMax))
    }

    private mutating func add(_ kept: [[UInt8]], since oldest: Moment?) {
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
            all["decisions"] = .array(entries)
        }
        if let oldest { all["kept_since_at"] = .integer(oldest.milliseconds) }
        answer = .answer(.object(all))
    }

    /// Shows it; returns the exit code.
    func show(isJSON: Bool) -> Int32 {
        var answer = answer
        if isJSON, case .answer(let value) = answer, var all = value.object {
            all["journal"] = .array(journal)
            answer = .answer(.object(all))
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
            if let line = ending(hasEntries: !entries.isEmpty, answer) { Screen.say(line) }
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
        return hasEntries ? nil : "no plugin was asked about \(call)"
    }
}
