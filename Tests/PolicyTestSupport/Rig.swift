// What the tests of the policy host and of its decisions share: a host over sources in the test
// itself.

import CallModel
import Configuration
import Glibc
import JSON
import Lua
import PolicyHost

/// A policy host with one or more plugins written in the test.
package final class Rig {
    package let host: PolicyHost
    package var now = Moment(1_790_000_000_000)
    private var lastQuestion: UInt64 = 0

    /// Plugins by name and text, in order.
    package convenience init(
        _ plugins: [(String, String)], _ change: (inout GenerationPlan) -> Void = { _ in }
    )
        throws
    {
        self.init(try Rig.generation(plugins, change))
    }

    /// One plugin called `p`.
    package convenience init(_ text: String, _ change: (inout GenerationPlan) -> Void = { _ in })
        throws
    {
        try self.init([("p", text)], change)
    }

    package init(_ host: PolicyHost) { self.host = host }

    package init(_ generation: Generation) {
        host = PolicyHost(generation, seed: 1)
    }

    package static func generation(
        _ plugins: [(String, String)], _ change: (inout GenerationPlan) -> Void = { _ in }
    ) throws -> Generation {
        var plan = GenerationPlan()
        plan.answerFor = Accounts(["bob"])
        plan.plugins = plugins.map { name, text in
            let file = SourceFile(name: "\(name).lua", text: Array(text.utf8))
            return (PluginSource(name: name, main: file), PluginSetting())
        }
        change(&plan)
        return try Generation(plan, seed: 1)
    }

    /// The problem that loading `text` runs into.
    package static func problem(_ text: String, _ change: (inout GenerationPlan) -> Void = { _ in })
        -> String
    {
        do {
            _ = try generation([("p", text)], change)
            return "no problem"
        } catch {
            return "\(error)"
        }
    }

    /// A call of `ann` to `bob` that rings.
    package func call(
        data: String? = nil, id: UInt64 = 1, ring: Milliseconds = 60_000, by caller: String = "ann"
    ) -> Call {
        var call = Call(
            id: CallID(high: 0x0199, low: id), mode: .advanced, kind: "audio", ringTime: ring,
            deliveryCheck: nil, createdAt: now)
        call.extendedData = data
        var ann = Participant(user: UserID(caller), role: .caller, state: .joined, at: now)
        ann.answeredAt = now
        var bob = Participant(user: UserID("bob"), role: .invitee, state: .inviting, at: now)
        bob.invitedBy = UserID(caller)
        bob.deadlineAt = now + ring
        call.participants = [ann, bob]
        return call
    }

    /// Asks `on.invite` about `call`; returns everything that came of it at once.
    package func ask(_ call: Call, busy: Int = 0, from: Int = 0) -> [PolicyEffect] {
        lastQuestion += 1
        let question = Question(
            id: QuestionID(lastQuestion), decideBy: now + 2_000,
            subject: .invite(call, callee: UserID("bob"), from: from),
            facts: [
                UserFacts(call.caller, calls: 0, devices: 1),
                UserFacts(UserID("bob"), calls: busy, devices: 2),
            ],
            cause: Cause(call.caller))
        return host.handle(.asked(question), at: now)
    }

    /// The answer to an invitation, nil while there is none.
    package func invite(data: String? = nil, busy: Int = 0, by caller: String = "ann") -> Answer? {
        ask(call(data: data, by: caller), busy: busy).answer
    }

    /// Lets time pass, doing what falls due.
    package func pass(_ span: Milliseconds) -> [PolicyEffect] {
        let end = now + span
        var effects: [PolicyEffect] = []
        while let due = host.nextDeadline, due <= end {
            now = max(now, due)
            effects += host.handle(.deadlineReached, at: now)
        }
        now = end
        return effects
    }

    /// Asks anything else than `on.invite`.
    package func ask(_ subject: Question.Subject) -> [PolicyEffect] {
        lastQuestion += 1
        let question = Question(
            id: QuestionID(lastQuestion), decideBy: now + 2_000, subject: subject,
            cause: Cause(subject.call.caller))
        return host.handle(.asked(question), at: now)
    }

    package func reply(_ wait: WaitID?, _ reply: WaitReply) -> [PolicyEffect] {
        guard let wait else { return [] }
        return host.handle(.replied(wait, reply), at: now)
    }

    package func end(_ call: Call) -> [PolicyEffect] { host.handle(.callEnded(call.id), at: now) }

    /// Puts other sources into force.
    package func reload(
        _ plugins: [(String, String)], _ change: (inout GenerationPlan) -> Void = { _ in }
    ) throws -> [PolicyEffect] {
        try host.activate(try Rig.generation(plugins, change), at: now)
    }

    package func tell(_ kind: Report.Kind, _ call: Call? = nil) -> [PolicyEffect] {
        let call = call ?? self.call()
        let report = Report(call: call, at: now, kind: kind, cause: Cause(call.caller))
        return host.handle(.told(report), at: now)
    }
}

extension [PolicyEffect] {
    package var answer: Answer? {
        for case .answer(_, let answer) in self { return answer }
        return nil
    }
    package var lines: [String] {
        compactMap {
            if case .log(let line) = $0 { "\(line.level.rawValue): \(line.text)" } else { nil }
        }
    }
    /// Log lines of plugins, without their level.
    package var said: [String] {
        compactMap { if case .log(let line) = $0 { line.text } else { nil } }
    }
    package var request: WaitRequest? {
        for case .perform(_, _, let request, _) in self { return request }
        return nil
    }
    /// What is waited for.
    package var wait: WaitID? {
        for effect in self {
            switch effect {
            case .perform(let wait, _, _, _), .operate(let wait, _, _, _, _): return wait
            default: continue
            }
        }
        return nil
    }
    package var operation: Operation? {
        for case .operate(_, _, _, let operation, _) in self { return operation }
        return nil
    }
    package var kept: [PolicyTimer] {
        compactMap { if case .keepTimer(let timer) = $0 { timer } else { nil } }
    }
    package var isAbandoning: Bool {
        contains { if case .abandon = $0 { true } else { false } }
    }
    package var record: DecisionRecord? {
        for case .record(let record) in self { return record }
        return nil
    }
}

extension Answer {
    package static func decided(_ decision: Decision, by plugin: String = "p", next: Int = 1)
        -> Answer
    {
        .invite(decision, by: plugin, next: next)
    }
}

/// Processor time of this thread, in milliseconds.
package func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
}
