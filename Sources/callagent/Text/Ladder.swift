// A call as one side sees it, a line for each event, with the time since the start.

import AgentServer
import CallClient
import CallClientCore
import CallModel
import CallSimulator
import CallWire
import EventLoop
import JSON

/// Writes the ladder of one device: for a person, or every message as JSON.
final class Ladder {
    private let isJSON: Bool
    private let start = Clock.bootMilliseconds()
    private let write: (String) -> Void
    /// The last text of each participant: it is not shown again with every later change.
    private var said: [UserID: String] = [:]
    /// What a user is called, as far as that was heard.
    var nameOf: (UserID) -> String? = { _ in nil }

    init(isJSON: Bool, write: @escaping (String) -> Void = { Screen.say($0) }) {
        self.isJSON = isJSON
        self.write = write
    }

    /// Shows a request of this device.
    func asks(_ text: String) { line("→ \(text)") }

    /// Shows what this device receives.
    func sees(_ text: String) { line("← \(text)") }

    /// Shows what happened to the connection, in either form.
    func tells(_ what: String, _ text: String) {
        guard isJSON else { return line("← \(text)") }
        write(object([.init(key: "connection", value: .string(what))], saying: text))
    }

    /// A message; acknowledgements are left out.
    func passes(_ traffic: CallClient.Traffic) {
        guard isJSON else { return }
        let bytes: [UInt8]
        switch traffic {
        case .sent(let message): bytes = message
        case .received(let message): bytes = message
        }
        let limits = JSONLimits(bytes: bytes.count)
        guard let value = try? JSONValue(parsing: bytes, limits: limits),
            let members = value.object?.members, value["ack"] == nil
        else { return }
        write(object(members, saying: nil))
    }

    private func line(_ text: String) {
        if !isJSON { write("\(Span.seconds(elapsed)) \(Screen.plain(text))") }
    }

    private func object(_ members: [JSONObject.Member], saying text: String?) -> String {
        var object = JSONObject([.init(key: "at_ms", value: .integer(elapsed))] + members)
        if let text { object["message"] = .string(text) }
        let bytes = JSONValue.object(object).bytes.escapingUnshown
        return String(decoding: bytes, as: UTF8.self)
    }

    private var elapsed: Milliseconds { Clock.bootMilliseconds() - start }
}

extension Ladder {
    /// Shows an event.
    func sees(_ event: CallEvent.Kind) {
        switch event {
        case .created: break
        case .incoming(let call, let inviter, _, let transfer):
            let mode = call.mode.name
            sees(
                "incoming \(call.kind) call \(call.id) from \(shown(inviter)) (\(mode))"
                    + (transfer.map { ", to take the place of \($0.by)" } ?? "")
                    + Self.saying(transfer?.extendedData ?? call.extendedData))
        case .changed(let changes): for change in changes { sees(change) }
        case .cancelled(_, let text, let reason):
            sees("cancelled (\(reason.rawValue))\(Self.saying(text))")
        case .ended(let end, _, let duration): sees(Self.words(end, after: duration))
        case .elsewhere(let what, let device):
            sees("\(what.rawValue) elsewhere\(device.map { " on \($0)" } ?? "")")
        case .missed(let call, let count):
            sees("missed a call of \(shown(call.caller)) (\(call.id)), \(count) in all")
        case .mediaPhase(let media): sees("media \(media.rawValue)")
        case .mediaFlags(let user, let audio, let video):
            sees("\(user) audio \(audio ? "on" : "off"), video \(video ? "on" : "off")")
        case .hold(let user, let on): sees("\(user) \(on ? "holds" : "goes on")")
        case .items(let keys, let deleted, _):
            sees("items \((keys + deleted.map { "-\($0)" }).joined(separator: ", "))")
        case .signal(let user, let data):
            sees("\(user) signals: \(String(decoding: data, as: UTF8.self))")
        default: sees(event.words)
        }
    }

    /// The id first: anybody may be called anything.
    private func shown(_ user: UserID) -> String {
        nameOf(user).map { "\(user) \"\($0)\"" } ?? "\(user)"
    }

    /// Shows a request that failed.
    func sees(_ failure: RequestFailure) {
        switch failure {
        case .refused(let refusal): sees("refused \(refusal.code.rawValue): \(refusal.message)")
        case .unanswered: sees("no answer of the server")
        case .unreadable: sees("an answer that this client does not understand")
        case .stopped: sees("not connected")
        }
    }

    private func sees(_ change: CallEvent.Change) {
        let state = change.state == .joined ? "accepted" : change.state.rawValue
        let reason = change.reason.map { " (\($0.rawValue))" } ?? ""
        let isNew = said[change.user] != change.extendedData
        said[change.user] = change.extendedData
        let saying = isNew ? Self.saying(change.extendedData) : ""
        sees("\(change.user) \(state)\(reason)\(saying)")
    }

    static func words(_ end: Call.End, after duration: Milliseconds) -> String {
        let detail = end.detail.map { " (\($0.rawValue))" } ?? ""
        let by = end.by.map { " by \($0)" } ?? ""
        let length = duration > 0 ? " after \(Span.words(duration))" : ""
        return "ended \(end.reason.rawValue)\(detail)\(by)\(length)\(saying(end.extendedData))"
    }

    private static func saying(_ text: String?) -> String { text.map { ": \($0)" } ?? "" }
}
