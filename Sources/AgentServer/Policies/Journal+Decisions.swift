// Decisions in the journals of their calls.

import AgentCore
import CallModel
import JSON
import PolicyHost

extension Journal {
    /// Enters what each plugin said.
    func enter(_ record: DecisionRecord, at now: Moment) {
        for place in record.asked.indices {
            let asked = record.asked[place]
            let (decision, detail): (String, String?)
            if case .decided = asked.verdict {
                (decision, detail) = record.outcome.words
            } else {
                (decision, detail) = ("\(asked.verdict.word)", nil)
            }
            var answer = JournalAnswer(
                hook: record.hook.rawValue, user: record.user, plugin: asked.plugin,
                generation: record.generation, decision: decision)
            answer.detail = detail
            if case .failed(let failure) = asked.verdict { answer.failure = failure.rawValue }
            answer.processor = asked.processor
            answer.wall = asked.wall
            answered(answer, in: record.call, at: now)
        }
    }
}

extension DecisionRecord.Outcome {
    /// What was decided, in a word, and more of it.
    fileprivate var words: (String, String?) {
        switch self {
        case .push(let draft): (draft == nil ? "drop" : "push", nil)
        case .answer(.invite(.accept, _, _)): ("accept", nil)
        case .answer(.invite(.reject(let busy, let data), _, _)):
            ("reject", (busy ? "busy" : "declined") + Self.reason(in: data))
        case .answer(.invite(.ring, _, _)): ("ring", nil)
        case .answer(.invite(.forward(let users, _), _, _)):
            ("forward", Self.names(of: users))
        case .answer(.allow): ("allow", nil)
        case .answer(.refuse(let code, _)): ("refuse", code)
        case .answer(.data(let text)): (text == nil ? "drop" : "data", nil)
        case .answer(.tooLarge): ("too large", nil)
        case .answer(.views): ("views", nil)
        case .answer(.token(let token)): (token == nil ? "no token" : "token", nil)
        case .answer(.none): ("default", nil)
        }
    }

    /// The plugin's own text, which callers get as `reason` of the extended data; nothing else of
    /// those is anybody's business here. It is as long as `reject` takes it, whoever wrote it.
    private static func reason(in data: String?) -> String {
        guard let data, let value = try? JSONValue(parsing: Array(data.utf8)),
            let reason = value["reason"]?.string, (1...64).contains(reason.utf8.count)
        else { return "" }
        return ": \(reason.onOneLine)"
    }

    /// The first few of them: a journal is kept in little room, and a group may be large.
    private static func names(of users: [UserID]) -> String {
        let most = 8
        let more = users.count > most ? " and \(users.count - most) more" : ""
        return users.prefix(most).map(\.text).joined(separator: ", ") + more
    }
}
