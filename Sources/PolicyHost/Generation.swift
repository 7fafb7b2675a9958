// A generation: all plugins of one snapshot of the files, loaded and checked.

import CallModel
import Configuration
import JSON
import Lua

/// What a generation is made of: every source and every decision of the operator about plugins.
public struct GenerationPlan: Sendable {
    /// The plugins in the operator's order.
    public var plugins: [(source: PluginSource, setting: PluginSetting)] = []
    /// Names the generation: a hash of everything that it is made of.
    public var name = "empty"
    /// What a failing plugin without an `on_error` of its own leads to.
    public var onError = OnError.default
    /// Accounts whose invitations go to the plugins.
    public var answerFor = Accounts()
    /// What plugins see of the server's part; nil: each has its own.
    public var share: Share?
    /// Whether the decision log keeps what decisions were made on.
    public var recordsInputs = true
    /// Whether the plugins are all that there are, so that `after` can be checked.
    public var isWhole = true

    /// A generation without plugins.
    public init() {}

    /// What is found in the files without running them.
    fileprivate var findings: [MistakeFinder.Findings] {
        plugins.map { MistakeFinder.findings(in: $0.source, granted: Set($0.setting.grants)) }
    }

    /// What plugins see of the server's part.
    public struct Share: Sendable {
        /// The user directory; nil: everybody is in it.
        var directory: Accounts?
        /// Bytes of extended data.
        var extendedDataMax: Int
        /// What bounds plugins that have no limits of their own.
        var limits: PluginLimits
    }
}

/// All plugins of one snapshot.
///
/// Built on any thread and then handed over as a whole: from `PolicyHost.activate` on it belongs to
/// the thread of its host.
public final class Generation: @unchecked Sendable {
    /// See `GenerationPlan.name`.
    public let name: String
    /// What can never be meant, although Lua does not mind: it loads, and does not do what it
    /// seems to.
    public var mistakes: [ScriptProblem] { findings.flatMap(\.mistakes) }
    /// Where handlers change locals of the file: reload, replay and the debugger begin without
    /// these changes. The plugin works nevertheless.
    public var changedLocals: [ScriptProblem] { findings.flatMap(\.changes) }
    // Nobody looks at both on two threads at once: a generation is handed over as a whole.
    private lazy var findings = plan.findings
    /// What is no mistake, and yet hardly meant.
    public let warnings: [ScriptProblem]
    package var plan: GenerationPlan
    package let plugins: [PluginState]
    let services: Services
    /// Who met its decisions, and how many there were.
    var pairs = RecentPairs()
    var decisions = 0
    /// Whether it was a canary that decides no more.
    var isTakenBack = false

    /// Loads every plugin of `plan` within the limits; nothing is waited for and nothing is asked.
    public init(
        _ plan: GenerationPlan, seed: UInt64, cryptography: Cryptography = .none,
        wallTime: Int64 = 0
    ) throws(ScriptProblems) {
        services = Services(seed: seed)
        services.cryptography = cryptography
        services.now = Moment(wallTime)
        name = plan.name
        self.plan = plan
        var problems: [ScriptProblem] = []
        var loaded: [PluginState] = []
        for (source, setting) in plan.plugins {
            do throws(ScriptProblem) {
                let state = try PluginState(source: source, setting: setting, services: services)
                problems += state.namingProblems
                guard state.namingProblems.isEmpty else { continue }
                try state.refuseUndeclaredOptions()
                try state.refuseMissingGrants()
                loaded.append(state)
            } catch {
                problems.append(error)
            }
        }
        plugins = loaded
        warnings = loaded.flatMap(\.warnings)
        if plan.isWhole { problems += Self.orderProblems(loaded) }
        guard problems.isEmpty else {
            // What is wrong on the same line is mostly the same.
            let told = Set(problems.map(\.place))
            let mistakes = plan.findings.flatMap(\.mistakes)
            throw ScriptProblems(problems + mistakes.filter { !told.contains($0.place) })
        }
    }

    /// What the switchboard must ask and tell.
    public var hooks: Hooks {
        plugins.reduce(into: Hooks()) { hooks, plugin in
            for hook in Hook.allCases where plugin.hooks[hook.index] >= 0 {
                hooks.formUnion(hook.demand)
            }
        }
    }

    /// The plugins that refuse what they are asked about with `hook` and did not answer in time.
    public func guards(of hook: Hook) -> [Settings.Guard] {
        plugins.enumerated().compactMap { place, plugin in
            guard plugin.hooks[hook.index] >= 0, plugin.onError == .reject else { return nil }
            return Settings.Guard(plugin: plugin.name, place: place, users: plugin.setting.users)
        }
    }

    /// A warning for every plugin that waits for invitations which no account that it answers for
    /// can get.
    public var neverAsked: [ScriptProblem] {
        plugins.compactMap { plugin in
            guard plugin.hooks[Hook.invite.index] >= 0 else { return nil }
            let why: String
            if plan.answerFor.isEmpty {
                why = "answer_for names no account"
            } else if let users = plugin.setting.users, !users.overlaps(plan.answerFor) {
                why = "answer_for names none of its users"
            } else {
                return nil
            }
            return ScriptProblem("on.invite is never asked: \(why)", file: plugin.file)
        }
    }

    /// Whether some plugin has `on.push`.
    public var shapesPushes: Bool { plugins.contains { $0.hooks[Hook.push.index] >= 0 } }

    /// The names of the plugins in order.
    public var pluginNames: [String] { plugins.map(\.name) }

    /// `after` must agree with the operator's list.
    private static func orderProblems(_ plugins: [PluginState]) -> [ScriptProblem] {
        var problems: [ScriptProblem] = []
        for (place, plugin) in plugins.enumerated() {
            let line = plugin.manifest.line
            for other in plugin.manifest.after {
                guard let found = plugins.firstIndex(where: { $0.name == other }) else {
                    let hint = Suggestion.text(for: other, among: plugins.map(\.name))
                    problems.append(
                        ScriptProblem(
                            "after = \"\(other)\": no such plugin is listed\(hint)",
                            file: plugin.file, line: line))
                    continue
                }
                guard found > place else { continue }
                problems.append(
                    ScriptProblem(
                        "must come after \"\(other)\" in the list of plugins", file: plugin.file,
                        line: line))
            }
        }
        return problems
    }
}

extension PluginState {
    /// What a plugin says it needs must be granted.
    fileprivate func refuseMissingGrants() throws(ScriptProblem) {
        for need in manifest.needs where !setting.grants.contains(need) {
            throw ScriptProblem(
                "needs \"\(need)\", which is not granted (write override[\"\(name)\"] = "
                    + "{ grant = { \"\(need)\" } })", file: file, line: manifest.line)
        }
    }

    /// Options for a plugin that declares none are a mistake of the operator.
    fileprivate func refuseUndeclaredOptions() throws(ScriptProblem) {
        guard schema == nil, let first = setting.options.members.first else { return }
        throw ScriptProblem(
            "options[\"\(name)\"].\(first.key): this plugin has no options",
            file: setting.optionsSite?.file, line: setting.optionsSite?.line)
    }
}

extension ScriptProblem {
    fileprivate var place: String { "\(file ?? ""):\(line ?? 0)" }
}
