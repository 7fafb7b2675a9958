// Why a phone rang, or did not.

import AgentCore
import CallModel
import JSON

/// What became of one call for one of those who were invited.
struct WhyNot {
    /// What is known of the user beside the call.
    struct Facts {
        let user: UserID
        let isRegistered: Bool
        let others: [Call]
        let connections: [PeopleJournal.Connection]
    }

    /// What it came to, in one word.
    enum Verdict: String {
        case rang, answered, refused, busy, cancelled, silent, pushFailed = "push_failed"
        case pushed, unreachable, revoked, unknown
    }

    let verdict: Verdict
    /// One sentence for a person.
    let text: String
    private let call: Call

    init(_ call: Call, _ entries: [JSONValue], _ facts: Facts) {
        self.call = call
        let view = UserEntries(entries, facts.user.text)
        let participant = call.participant(facts.user)
        let judged = Self.judge(call, participant, view, facts)
        verdict = judged.0
        // A plugin that failed decided nothing, and is the reason nevertheless that it went so.
        let trouble = view.isDecidedWithout ? nil : view.trouble
        text = judged.1 + (trouble.map { "; the plugin \($0)" } ?? "")
    }

    private static func judge(
        _ call: Call, _ participant: Participant?, _ view: UserEntries, _ facts: Facts
    ) -> (Verdict, String) {
        if view.rang {
            let device = view.ringingDevice.map { " on \($0)" } ?? ""
            return (.rang, "it rang\(device)")
        }
        // A plugin's word comes first: no device hears of an invitation that it takes away.
        if let answer = view.decision { return answer }
        if participant?.reason == .busy { return (.busy, busy(call, facts)) }
        if let answer = view.answerWithoutDecision { return answer }
        if participant?.state == .cancelled, let end = gaveUp(call, view) { return end }
        if let told = view.told.first {
            let device = told["device"]?.string ?? "?"
            if !view.acknowledged.isEmpty {
                return (.silent, "the device \(device) has the invitation and did not ring")
            }
            return (
                .silent, "the device \(device) was told and never acknowledged it"
            )
        }
        if let push = view.failedPush { return Self.failed(push) }
        if let push = view.pushes.first(where: { $0["state"]?.string == "sent" }) {
            let device = push["device"]?.string ?? "?"
            return (.pushed, "a push was sent to \(device), and nothing came back")
        }
        return absence(of: facts, at: call.createdAt)
    }

    /// A push did not wake anybody.
    private static func failed(_ push: JSONValue) -> (Verdict, String) {
        let (target, why) = (push["target"]?.string ?? "?", push["status"]?.string ?? "?")
        switch why.prefix(while: { $0 != ":" }) {
        case "withdrawn":
            return (.cancelled, "the invitation was over before the push by \(target) was taken")
        case "expired", "overloaded", "unavailable":
            return (.pushFailed, "the push by \(target) could not be sent: \(why)")
        default: return (.pushFailed, "the push by \(target) was refused: \(why)")
        }
    }

    /// Nobody could be told.
    private static func absence(of facts: Facts, at moment: Moment) -> (Verdict, String) {
        if let sent = sentAway(facts.connections.filter { $0.at <= moment }) {
            let device = sent.device
            return (.revoked, "the device \(device) was sent away: its token was revoked")
        }
        let pushes = facts.isRegistered ? "a registration that got no push" : "no registration"
        return (.unreachable, "no device was connected, and there was \(pushes)")
    }

    /// The device whose token was revoked, unless another one came since.
    private static func sentAway(
        _ before: [PeopleJournal.Connection]
    ) -> PeopleJournal.Connection? {
        for entry in before.reversed() {
            if entry.isThere { return nil }
            if entry.why == "revoked" { return entry }
        }
        return nil
    }

    /// How soon a caller gives up who gives nobody time to answer, in milliseconds.
    private static let soon: Milliseconds = 3_000

    /// The caller gave up before anybody could answer; nil: there was time, or a push.
    private static func gaveUp(_ call: Call, _ view: UserEntries) -> (Verdict, String)? {
        let took = (view.cancelledAt ?? call.endedAt ?? call.createdAt) - call.createdAt
        guard view.pushes.isEmpty else { return nil }
        guard let told = view.told.first?["device"]?.string else {
            guard view.isWithPlugins else { return nil }
            return (.cancelled, "the caller gave up after \(took) ms, while plugins decided")
        }
        guard took <= soon else { return nil }
        return (
            .cancelled, "the caller gave up after \(took) ms, before \(told) could ring"
        )
    }

    private static func busy(_ call: Call, _ facts: Facts) -> String {
        let other = facts.others.first { other in
            other.id != call.id && other.createdAt <= call.createdAt
                && (other.endedAt.map { $0 >= call.createdAt } ?? true)
        }
        return other.map { "busy by the call \($0.id)" } ?? "busy"
    }

    /// `call_id`, `at`, `caller`, `verdict`, `text`.
    var json: JSONValue {
        [
            "call_id": .string("\(call.id)"), "at": .integer(call.createdAt.milliseconds),
            "caller": .string(call.caller.text), "verdict": .string(verdict.rawValue),
            "text": .string(text),
        ]
    }
}

/// The entries of a journal that concern one user.
private struct UserEntries {
    private(set) var told: [JSONValue] = []
    private(set) var acknowledged: [JSONValue] = []
    private(set) var pushes: [JSONValue] = []
    /// Whether a device said that it rings.
    private(set) var rang = false
    private(set) var ringingDevice: String?
    /// What a plugin said, where it took the invitation away.
    private(set) var decision: (WhyNot.Verdict, String)?
    /// What a plugin was in for, instead of deciding: `door failed (error)`.
    private(set) var trouble: String?
    /// What the host made of the invitation, because no plugin decided.
    private var settled: Participant.State?
    private(set) var cancelledAt: Moment?
    /// A question is open.
    private(set) var isWithPlugins = false

    init(_ entries: [JSONValue], _ user: String) {
        for entry in entries { add(entry, user) }
    }

    private mutating func add(_ entry: JSONValue, _ user: String) {
        let isOwn = entry["user"]?.string == user
        switch entry["kind"]?.string {
        case "told" where isOwn && entry["event"]?.string == "call.incoming": told.append(entry)
        case "acknowledged" where isOwn: acknowledged.append(entry)
        case "push" where isOwn: pushes.append(entry)
        case "request" where isOwn && Self.answers.contains(entry["op"]?.string ?? ""):
            guard entry["code"] == nil else { break }
            rang = true
            ringingDevice = ringingDevice ?? entry["device"]?.string
        case "asked" where isOwn: isWithPlugins = true
        case "answered" where isOwn:
            isWithPlugins = false
            decision = Self.decision(in: entry) ?? decision
            if entry["hook"]?.string == "invite" { trouble = Self.trouble(in: entry) ?? trouble }
        case "change": change(entry, of: user)
        default: break
        }
    }

    /// What only a phone that rings asks for.
    private static let answers: Set<String> = ["call.ringing", "call.accept", "call.reject"]

    private mutating func change(_ entry: JSONValue, of user: String) {
        for change in entry["changes"]?.array ?? [] where change["user"]?.string == user {
            switch change["state"]?.string {
            // A plugin may let an account ring that has no phone.
            case "ringing" where entry["actor"]?.string != "policy": rang = true
            case "cancelled": cancelledAt = entry["at"]?.integer.map { Moment($0) }
            case "rejected" where entry["actor"]?.string == "policy": settled = .rejected
            case "joined" where entry["actor"]?.string == "policy": settled = .joined
            default: break
            }
        }
    }

    /// Whether the host answered in the place of plugins.
    var isDecidedWithout: Bool { decision == nil && !rang && settled != nil }

    /// The answer that `on_error` or the operator's default gave.
    var answerWithoutDecision: (WhyNot.Verdict, String)? {
        guard isDecidedWithout, let settled else { return nil }
        let (verdict, word): (WhyNot.Verdict, String) =
            settled == .joined ? (.answered, "accepted") : (.refused, "rejected")
        if let trouble { return (verdict, "it was \(word), because the plugin \(trouble)") }
        return (verdict, "no plugin decided, and the operator's file rejects then (invite)")
    }

    /// Why a plugin that was asked said nothing.
    private static func trouble(in entry: JSONValue) -> String? {
        let plugin = entry["plugin"]?.string ?? "?"
        if let failure = entry["failure"]?.string { return "\(plugin) failed (\(failure))" }
        switch entry["decision"]?.string {
        case "quarantined": return "\(plugin) is passed over after failures"
        case "cut short": return "\(plugin) had too little time to answer"
        default: return nil
        }
    }

    private static func decision(in entry: JSONValue) -> (WhyNot.Verdict, String)? {
        let word = entry["decision"]?.string ?? ""
        let isAnswer = word == "accept"
        guard isAnswer || ["reject", "refuse", "forward"].contains(word) else { return nil }
        let detail = entry["detail"]?.string.map { " \($0)" } ?? ""
        let plugin = entry["plugin"]?.string ?? "?"
        return (isAnswer ? .answered : .refused, "the plugin \(plugin) said \(word)\(detail)")
    }

    var failedPush: JSONValue? { pushes.first { $0["state"]?.string == "failed" } }
}
