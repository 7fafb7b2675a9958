// One question to one plugin or to all of them, without a server: what `callagent try` asks.

import CallModel
import Configuration
import JSON
import Lua
import PolicyHost

/// A question to plugins, and the world in which it is asked.
public struct PluginTrial: Sendable {
    /// What is asked, or told.
    public enum Subject: Sendable, Equatable {
        /// `on.invite` about the call.
        case invite
        /// `on.dial` about the call.
        case dial
        /// `on.join` of the call.
        case join
        /// `on.token` in the call.
        case token
        /// `on.push` with these fields of the push.
        case push(JSONObject)
        /// `on.extended_data` with the data, on its way `in` or `out`.
        case data(JSONValue, direction: String)
        /// A report hook by its name.
        case event(String)
    }

    /// See `Subject`.
    public var subject: Subject
    /// `from`, `to` and the other fields that `t.invite` takes.
    public var call = JSONObject()
    /// `calls` and `devices` of users, by their ids.
    public var users = JSONObject()
    /// What http.get and http.post come to, by address: `status`, `headers`, `json` or `body`.
    public var pages = JSONObject()
    /// When it is asked; nil: at `now`.
    public var time: String?
    /// The time of the wall clock.
    public var now: Moment
    /// The modes that the call may have where one plugin is asked by itself.
    public var modes = ModeRow.all

    /// A question about a call of the usual kind.
    public init(_ subject: Subject, now: Moment) {
        self.subject = subject
        self.now = now
    }

    /// What came of it.
    public struct Outcome: Sendable, Equatable {
        /// The decision, or the value as JSON; further ones are those after `ring { for_ = … }`.
        public var answers: [String] = []
        /// Who was asked what and said what, a line for each question.
        public var asked: [String] = []
        /// What happens where the answer is `nothing`.
        public var otherwise = "the next plugin decides"
        /// What went wrong.
        public var problem: String?
        /// What the plugin did to calls and asked of the web, each as JSON.
        public var actions: [String] = []
        /// What it logged.
        public var log: [String] = []
    }

    /// Asks one plugin by itself about whoever is invited.
    ///
    /// - Throws: what is wrong with the plugin, or with what is asked.
    public func run(
        _ source: PluginSource, _ setting: PluginSetting,
        cryptography: Cryptography = .none, seed: UInt64 = 1
    ) throws(ScriptProblems) -> Outcome {
        var plan = GenerationPlan()
        plan.plugins = [(source, setting)]
        plan.plugins[0].setting.users = nil
        plan.isWhole = false
        plan.name = "try"
        return try outcome(in: try world(plan, .modes(modes), cryptography, seed))
    }

    /// Asks all plugins of `plan` as a switchboard with `settings` does.
    ///
    /// - Throws: what is wrong with the plugins, or with what is asked.
    public func run(
        _ plan: GenerationPlan, _ settings: Settings, cryptography: Cryptography = .none,
        seed: UInt64 = 1
    ) throws(ScriptProblems) -> Outcome {
        let world = try world(plan, .settings(settings), cryptography, seed)
        // The plugins behind one that fails are asked nevertheless.
        world.isForgiving = true
        var outcome = try outcome(in: world)
        if case .invite = subject {
            let callee = call["to"]?.string ?? "bob"
            outcome.otherwise =
                settings.answerFor.contains(UserID(callee))
                ? "the operator's default: \(settings.inviteDefault.rawValue)"
                : "\(callee) is not in answer_for, so on.invite is not asked"
        } else if case .dial = subject {
            outcome.otherwise = "the call is made"
        } else if case .join = subject {
            outcome.otherwise = "who asks comes in"
        } else if case .token = subject {
            outcome.otherwise = "the request is refused as unsupported"
        }
        return outcome
    }

    private func outcome(in world: TestWorld) throws(ScriptProblems) -> Outcome {
        var outcome = Outcome()
        switch subject {
        case .push, .data: outcome.otherwise = "it is dropped"
        case .invite, .dial, .join, .token, .event: break
        }
        do throws(Refused) {
            outcome.answers = try answers(of: world)
        } catch {
            outcome.problem = error.message
        }
        if world.isForgiving, !world.allFailures.isEmpty {
            let problem = outcome.problem.map { [$0] } ?? []
            outcome.problem = (world.allFailures + problem).joined(separator: "\n")
        }
        outcome.asked = world.records.map(\.inWords)
        outcome.actions = world.operations.map(\.shown)
        let problems = outcome.problem?.split(separator: "\n").map(String.init) ?? []
        outcome.log = world.log.filter { !problems.contains($0.text) }.map(\.inWords)
        return outcome
    }

    private func world(
        _ plan: GenerationPlan, _ given: TestWorld.Given, _ cryptography: Cryptography,
        _ seed: UInt64
    ) throws(ScriptProblems) -> TestWorld {
        do throws(Refused) {
            let zone = plan.plugins.first?.setting.zone ?? .utc
            let begin = try time.map { text throws(Refused) in
                try TestWorld.moment(text, now, zone)
            }
            let world: TestWorld
            do throws(ScriptProblems) {
                world = try TestWorld(
                    plan, given, nil, cryptography, seed, at: begin ?? now)
            } catch {
                throw Refused(error.description)
            }
            try furnish(world)
            return world
        } catch {
            throw ScriptProblems([ScriptProblem(error.message)])
        }
    }

    private func furnish(_ world: TestWorld) throws(Refused) {
        for member in users.members {
            _ = try world.perform("user", arguments("user", [.string(member.key), member.value]))
        }
        for member in pages.members {
            _ = try world.perform("http", arguments("http", [.string(member.key), member.value]))
        }
    }

    private func arguments(_ name: String, _ values: [JSONValue]) -> Arguments {
        Arguments(values: values.map { LuaValue($0) }, name: "--\(name)")
    }

    private func answers(of world: TestWorld) throws(Refused) -> [String] {
        let call = JSONValue.object(self.call)
        switch subject {
        case .invite:
            var said = try world.perform("invite", arguments("invite", [call]))
            var answers = [try words(said, world)]
            while world.ringing != nil, answers.count < 10 {
                said = try world.perform("again", arguments("invite", []))
                answers.append(try words(said, world))
            }
            return answers
        case .dial:
            return [try words(world.perform("dial", arguments("dial", [call])), world)]
        case .join:
            return [try words(world.perform("join", arguments("join", [call])), world)]
        case .token: return try shown(world.perform("token", arguments("token", [call])))
        case .push(let push):
            return try shown(world.perform("push", arguments("push", [.object(push), call])))
        case .data(let data, let direction):
            return try shown(
                world.perform("data", arguments("data", [data, .string(direction), call])))
        case .event(let name):
            _ = try world.perform("event", arguments("event", [.string(name), call]))
            return []
        }
    }

    private func words(_ said: [LuaValue], _ world: TestWorld) throws(Refused) -> String {
        try world.normal(said.first ?? .null)
    }

    private func shown(_ said: [LuaValue]) throws(Refused) -> [String] {
        [said.first.map { $0.isNull ? "nothing" : $0.shown } ?? "nothing"]
    }
}

extension DecisionRecord {
    /// Who was asked, and what each said.
    package var inWords: String {
        let said = asked.map { "\($0.plugin): \($0.verdict.inWords)" }
        let all = said.isEmpty ? "no plugin was concerned" : said.joined(separator: ", ")
        return "on.\(hook.rawValue) for \(user): \(all)"
    }
}

extension DecisionRecord.Verdict {
    fileprivate var inWords: String {
        switch self {
        case .noOpinion: "no opinion"
        case .decided: "decided"
        case .failed(let failure): "failed (\(failure.rawValue))"
        case .quarantined: "quarantined"
        case .unfit: "unfit"
        case .cutShort: "cut short"
        }
    }
}

extension PolicyLog {
    /// The line for a person: `text name=value`. What the host says of a failure is in its text.
    var inWords: String {
        let shown = fields["failure"] == nil ? fields.members : []
        return ([text] + shown.map { "\($0.key)=\($0.value.shown)" }).joined(separator: " ")
    }
}
