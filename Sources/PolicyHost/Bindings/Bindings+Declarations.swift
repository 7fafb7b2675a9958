// What a plugin says of itself at top level: plugin, on.*, timers, migrate, test.

import CLua
import CallModel
import Configuration
import Lua

extension Bindings {
    private static let atLoad = CALLUA_LOAD_ONLY | CALLUA_SITED | CALLUA_TAKES_FUNCTIONS

    static let declarations: [Binding] =
        [
            Binding(
                "plugin", CALLUA_LOAD_ONLY | CALLUA_SITED, type: "fun(manifest: Manifest)",
                help: "Says what this plugin is, needs and does when it fails.", body: plugin),
            Binding(
                "every", atLoad,
                type: "fun(period: Duration, name: string, handler: fun())",
                help: "Runs the handler once per period.", body: every),
            Binding(
                "at", atLoad, type: "fun(time: TimeOfDay, name: string, handler: fun())",
                help: "Runs the handler every day at this local time (\"09:00\").", body: daily),
            Binding(
                "timer", atLoad,
                type: "fun(name: string, handler: fun(data: any, call?: Call))",
                help: "Declares a timer that later(…) starts.", body: timer),
            Binding(
                "migrate", atLoad, type: "fun(handler: fun(old: table, from: integer): table)",
                help: "Brings the state of an older state_version to this one.", body: migrate),
            Binding(
                "test", atLoad, type: "fun(name: string, body: fun(t: Test))",
                help: "A test that `callagent test` runs.", body: test),
        ] + Hook.allCases.map(hook)

    private static func hook(_ hook: Hook) -> Binding {
        Binding(
            "on.\(hook.rawValue)", atLoad, type: "fun(handler: \(hook.handlerType))",
            help: hook.help
        ) { state, arguments throws(Refused) in
            let function = try shifted(arguments).function(0)
            guard state.hooks[hook.index] < 0 else {
                throw Refused("'on.\(hook.rawValue)' is declared twice")
            }
            state.hooks[hook.index] = function
            return .nothing
        }
    }

    /// The arguments without file and line.
    static func shifted(_ arguments: Arguments) -> Arguments {
        Arguments(values: Array(arguments.values.dropFirst(2)), name: arguments.name)
    }

    static func line(_ arguments: Arguments) -> Int { Int(arguments[1].integer ?? 0) }

    private static let manifestNames = [
        "name", "version", "needs", "after", "guard", "on_error", "state_version",
    ]

    private static func plugin(
        _ state: PluginState, _ arguments: Arguments
    ) throws(Refused) -> Response {
        let table = try shifted(arguments).table(0)
        var manifest = state.manifest
        guard manifest.line == nil else { throw Refused("'plugin' is called twice") }
        for pair in table.table ?? [] {
            let name = pair.key.text ?? pair.key.typeName
            switch name {
            case "name": manifest.name = try text(pair)
            case "version": manifest.version = try text(pair)
            case "needs":
                manifest.needs = try texts(pair)
                do throws(LuaProblem) {
                    for need in manifest.needs { try Capability.check(need) }
                } catch {
                    throw Refused("needs: \(error.message)")
                }
            case "after": manifest.after = try texts(pair)
            case "guard": manifest.isGuard = try flag(pair)
            case "on_error":
                let word = try text(pair)
                guard let value = OnError(rawValue: word) else {
                    let words = OnError.allCases.map(\.rawValue)
                    throw Refused(
                        "on_error: '\(word)' is none of \(words.joined(separator: ", "))"
                            + Suggestion.text(for: word, among: words))
                }
                manifest.onError = value
            case "state_version":
                guard let version = pair.value.integer, version > 0 else {
                    throw Refused("'state_version' is a positive integer")
                }
                manifest.stateVersion = version
            default:
                throw Refused(
                    "unknown field 'plugin.\(name)'"
                        + Suggestion.text(for: name, among: manifestNames))
            }
        }
        manifest.line = line(arguments)
        state.manifest = manifest
        return .nothing
    }

    private static func text(_ pair: LuaValue.Pair) throws(Refused) -> String {
        if let text = pair.value.text { return text }
        throw Refused("'\(pair.key.text ?? "")' is a string, not \(pair.value.typePhrase)")
    }

    private static func flag(_ pair: LuaValue.Pair) throws(Refused) -> Bool {
        if let flag = pair.value.bool { return flag }
        throw Refused("'\(pair.key.text ?? "")' is true or false, not \(pair.value.typePhrase)")
    }

    /// One text or a list of texts.
    private static func texts(_ pair: LuaValue.Pair) throws(Refused) -> [String] {
        if let text = pair.value.text { return [text] }
        guard let list = pair.value.list ?? (pair.value == .table([]) ? [] : nil) else {
            throw Refused("'\(pair.key.text ?? "")' is a list of strings")
        }
        var texts: [String] = []
        for value in list {
            guard let text = value.text else {
                throw Refused("'\(pair.key.text ?? "")' is a list of strings")
            }
            texts.append(text)
        }
        return texts
    }

    private static func every(
        _ state: PluginState, _ arguments: Arguments
    ) throws(Refused) -> Response {
        let own = shifted(arguments)
        let period = try own.duration(0)
        guard period >= 1_000 else { throw Refused("the period of 'every' is at least \"1s\"") }
        try declare(state, .every(period), own.text(1), own.function(2), line(arguments))
        return .nothing
    }

    private static func daily(
        _ state: PluginState, _ arguments: Arguments
    ) throws(Refused) -> Response {
        let own = shifted(arguments)
        let time = try own.text(0)
        guard let minute = Hours.minute(time), minute < 1_440 else {
            throw Refused("bad time of day '\(time)' (write \"09:00\")")
        }
        try declare(state, .daily(minute), own.text(1), own.function(2), line(arguments))
        return .nothing
    }

    private static func timer(
        _ state: PluginState, _ arguments: Arguments
    ) throws(Refused) -> Response {
        let own = shifted(arguments)
        try declare(state, .started, own.text(0), own.function(1), line(arguments))
        return .nothing
    }

    private static func declare(
        _ state: PluginState, _ schedule: TimerDeclaration.Schedule, _ name: String,
        _ function: Int32, _ line: Int
    ) throws(Refused) {
        guard state.timers[name] == nil else {
            throw Refused("the timer '\(name)' is declared twice")
        }
        guard (1...64).contains(name.utf8.count) else {
            throw Refused("the name of a timer has 1 to 64 bytes")
        }
        state.timers[name] = TimerDeclaration(schedule: schedule, function: function, line: line)
    }

    private static func migrate(
        _ state: PluginState, _ arguments: Arguments
    ) throws(Refused) -> Response {
        guard state.migration == nil else { throw Refused("'migrate' is declared twice") }
        state.migration = try shifted(arguments).function(0)
        return .nothing
    }

    private static func test(
        _ state: PluginState, _ arguments: Arguments
    ) throws(Refused) -> Response {
        let own = shifted(arguments)
        let test = TestDeclaration(
            name: try own.text(0), function: try own.function(1), file: arguments[0].text ?? "",
            line: line(arguments))
        if state.setting.keepsTests {
            state.tests.append(test)
        } else {
            callua_release(state.vm, test.function)
        }
        return .nothing
    }
}

extension Hook {
    /// The handler's type for the editor.
    var handlerType: String {
        switch self {
        case .dial, .invite: "fun(call: Call): Decision?"
        case .join: "fun(call: Call, user: User): Decision?"
        case .token: "fun(call: Call, user: User): table?"
        case .push: "fun(push: Push, call: Call): Push|Decision|nil"
        case .extendedData:
            "fun(data: table|string, call: Call, dir: \"in\"|\"out\"): table|string|Decision|nil"
        case .accepted: "fun(call: Call, who: User)"
        case .rejected:
            "fun(call: Call, who: User, reason: "
                + "\(MetaFile.words([Participant.Reason.declined, .busy].map(\.rawValue))))"
        case .cancelled: "fun(call: Call, by?: User)"
        case .timeout, .undelivered: "fun(call: Call, users: User[])"
        case .participant:
            "fun(call: Call, who: User, from?: \(MetaFile.words(Participant.State.self)), "
                + "to: \(MetaFile.words(Participant.State.self)))"
        case .ended: "fun(call: Call, summary: Summary)"
        case .signal: "fun(call: Call, from: User, data: any)"
        case .presence:
            "fun(user: User, now: \"online\"|\"offline\", before: \"online\"|\"offline\")"
        case .pushFailed: "fun(push: Push, call: Call, reason: string)"
        case .start, .stop: "fun(ctx: Context)"
        case .pluginError: "fun(e: PluginError)"
        }
    }

    /// One line for the editor.
    var help: String {
        switch self {
        case .dial: "A user wants to make a call or add people: refuse(code), allow{…} or nothing."
        case .invite:
            "An invitation reached an account we answer for: accept{…}, reject(reason), ring{…}, "
                + "forward(user) or nothing."
        case .join: "Somebody who was not invited wants to join: admit, refuse(code) or nothing."
        case .token: "A joined user asks for media credentials: a table, or nothing."
        case .push: "A push is about to be sent: the changed push, drop(reason) or nothing."
        case .extendedData: "Extended data comes in or goes out: what it becomes, or nothing."
        case .accepted: "Somebody accepted."
        case .rejected: "Somebody said no."
        case .cancelled: "The call was withdrawn."
        case .timeout: "These users did not answer in time."
        case .undelivered: "No device of these users has confirmed the invitation."
        case .participant: "A participant's state changed."
        case .ended: "The call is over."
        case .signal: "A signal passed through the call."
        case .presence: "A user came or went."
        case .pushFailed: "A push could not be delivered."
        case .start: "This generation begins."
        case .stop: "This generation ends."
        case .pluginError: "Another plugin failed, was killed or quarantined."
        }
    }
}
