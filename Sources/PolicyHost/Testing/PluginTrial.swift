// One question to one plugin, without a server: what `callagent try` asks.

import CLua
import CallModel
import JSON

/// A question to a plugin, and the world in which it is asked.
public struct PluginTrial: Sendable {
    /// What is asked, or told.
    public enum Subject: Sendable, Equatable {
        /// `on.invite` about the call.
        case invite
        /// `on.dial` about the call.
        case dial
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

    /// A question about a call of the usual kind.
    public init(_ subject: Subject, now: Moment) {
        self.subject = subject
        self.now = now
    }

    /// What came of it.
    public struct Outcome: Sendable, Equatable {
        /// The decision, or the value as JSON; further ones are those after `ring { for_ = … }`.
        public var answers: [String] = []
        /// Why there is none.
        public var problem: String?
        /// What the plugin did to calls and asked of the web, each as JSON.
        public var actions: [String] = []
        /// What it logged.
        public var log: [String] = []
    }

    /// Asks `source` under `setting`.
    ///
    /// - Throws: what is wrong with the plugin, or with what is asked.
    public func run(
        _ source: PluginSource, _ setting: PluginSetting, cryptography: Cryptography = .none,
        seed: UInt64 = 1
    ) throws(PolicyProblems) -> Outcome {
        var setting = setting
        setting.users = nil
        setting.keepsTests = false
        let world: TestWorld
        do throws(Refused) {
            let begin = try time.map { text throws(Refused) in
                try TestWorld.moment(text, now, setting.zone)
            }
            world = try Self.world(source, setting, cryptography, seed, begin ?? now)
            try furnish(world)
        } catch {
            throw PolicyProblems([PolicyProblem(error.message)])
        }
        var outcome = Outcome()
        do throws(Refused) {
            outcome.answers = try answers(of: world)
        } catch {
            outcome.problem = error.message
        }
        outcome.actions = world.operations.map(\.shown)
        outcome.log = world.log.filter { $0 != outcome.problem }
        return outcome
    }

    private static func world(
        _ source: PluginSource, _ setting: PluginSetting, _ cryptography: Cryptography,
        _ seed: UInt64, _ begin: Moment
    ) throws(Refused) -> TestWorld {
        do throws(PolicyProblems) {
            return try TestWorld(source, setting, nil, cryptography, seed, at: begin)
        } catch {
            throw Refused(error.description)
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
