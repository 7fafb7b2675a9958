// The result of a question: who is in the call because of it, what an answer in a plugin's place
// says, and the record of it.

import CallModel
import Configuration

extension Chain {
    /// Whether the plugin has the hook, and the operator lets it see whom this is about.
    func concerns(_ plugin: PluginState) -> Bool {
        plugin.hooks[hook.index] >= 0 && plugin.setting.users?.contains(user) ?? true
    }

    /// Who is in the call because of `answer`, as far as the core counts it then.
    func letIn(by answer: Answer) -> [UserID] {
        guard case .invite(let callee) = inquiry, let hold else { return [] }
        switch answer {
        case .invite(.accept, _, _), .invite(.ring, _, _): return [callee, view.call.caller]
        case .invite(.forward(let targets, _), _, _): return targets + [view.call.caller]
        case .none: return hold.ringsByDefault ? [callee, view.call.caller] : []
        case .invite(.reject, _, _), .allow, .refuse, .data, .tooLarge, .views, .token: return []
        }
    }

    func rejection(by plugin: String) -> Answer {
        switch inquiry {
        case .dial, .join: .refuse(code: "refused", by: plugin)
        case .invite:
            .invite(.reject(busy: false, extendedData: nil), by: plugin, next: place)
        case .token, .incoming, .outgoing, .push: .none
        }
    }

    func acceptance(by plugin: String) -> Answer {
        switch inquiry {
        case .dial, .join: .allow(Allowance())
        case .invite: .invite(.accept(wait: 0, extendedData: nil), by: plugin, next: place)
        case .token, .incoming, .outgoing, .push: .none
        }
    }

    /// The record of the question, which is answered: what only the record needs is moved there.
    mutating func takeRecord(
        _ verdict: Verdict, _ services: Services
    ) -> DecisionRecord {
        var (input, asked, seen): (DecisionInput?, [DecisionRecord.Asked], [DecisionInput.Seen]) =
            (nil, [], [])
        swap(&asked, &self.asked)
        swap(&seen, &self.seen)
        if let recorded = recorded.take() {
            input = DecisionInput(
                subject: recorded.subject(view.call), facts: view.facts,
                decideIn: deadline - view.now,
                wallOffset: services.wallOffset, dice: recorded.dice, vars: recorded.vars,
                states: recorded.states, seen: seen)
        }
        return DecisionRecord(
            hook: hook, call: view.call.id, user: user, cause: cause, trace: trace, at: view.now,
            took: services.now - view.now, generation: (first ?? generation).name, asked: asked,
            outcome: verdict, input: input)
    }
}
