// option.* and config: schema, defaults and documentation of a plugin's options in one place.

import CLua
import CallModel
import Configuration
import Lua

extension Bindings {
    static let options: [Binding] =
        [
            Binding(
                "config", CALLUA_LOAD_ONLY | CALLUA_SITED | CALLUA_NAMES_FIELDS,
                type: "fun<T>(schema: T): T",
                help: "Declares the options of this plugin and returns their values.", body: config)
        ] + OptionField.Kind.allCases.map(option) + objects

    private static let extras = ["min", "max", "required", "help", "choices"]

    private static func option(_ kind: OptionField.Kind) -> Binding {
        Binding(
            "option.\(kind.rawValue)", CALLUA_LOAD_ONLY, type: kind.constructorType,
            help: kind.help
        ) { _, arguments throws(Refused) in
            var pairs = [pair("option", .text(kind.rawValue)), pair("default", arguments[0])]
            var extra = arguments[1]
            if kind == .choice {
                pairs.append(pair("choices", arguments[1]))
                extra = arguments[2]
            }
            for entry in extra.table ?? [] {
                let name = entry.key.text ?? entry.key.typeName
                guard extras.contains(name) else {
                    throw Refused(
                        "unknown field '\(name)' of \(arguments.name)"
                            + Suggestion.text(for: name, among: extras))
                }
                pairs.append(entry)
            }
            return .value(.table(pairs.filter { !$0.value.isNull }))
        }
    }

    private static func pair(_ key: String, _ value: LuaValue) -> LuaValue.Pair {
        LuaValue.Pair(key: .text(key), value: value)
    }

    private static func config(
        _ state: PluginState, _ arguments: Arguments
    ) throws(Refused) -> Response {
        guard state.schema == nil else { throw Refused("'config' is called twice") }
        let table = try shifted(arguments).table(0)
        let fields: [OptionField]
        do throws(LuaProblem) {
            fields = try .reading(table)
        } catch {
            throw Refused(error.message)
        }
        state.schema = fields
        do throws(LuaProblem) {
            let values = try fields.values(
                of: state.setting.options, standsIn: state.setting.standsIn)
            return .values([
                .table(values.map { pair($0.name, state.shown($0, $1)) }),
                .table(fields.map { pair($0.name, .bool(true)) }),
            ])
        } catch {
            let text = "options[\"\(state.name)\"]: \(error.message)"
            state.refuseOptions(text)
            throw Refused(text)
        }
    }

    private static let objects = [
        Binding(
            "hours:open", type: "fun(self: Hours, zone?: string): boolean",
            help: "Whether it is open now, by local time or that of a zone."
        ) { state, arguments throws(Refused) in
            let (hours, own) = try state.hours(arguments)
            let zone = try state.zone(arguments, 1, else: own)
            let seconds = state.services.wallTime / 1_000
            return .value(.bool(hours.isOpen(at: seconds, in: zone)))
        },
        Binding(
            "hours:next_open", type: "fun(self: Hours, zone?: string): integer?",
            help: "The next opening, in seconds since 1970; nil when it never opens."
        ) { state, arguments throws(Refused) in
            let (hours, own) = try state.hours(arguments)
            let zone = try state.zone(arguments, 1, else: own)
            let seconds = state.services.wallTime / 1_000
            return .value(hours.nextOpening(after: seconds, in: zone).map { .integer($0) } ?? .null)
        },
        Binding(
            "users:has", type: "fun(self: Users, id: string|User): boolean",
            help: "Whether the user is one of them."
        ) { state, arguments throws(Refused) in
            let (accounts, _) = try state.users(arguments)
            return .value(.bool(try arguments.possibleUser(1).map(accounts.contains) ?? false))
        },
        Binding(
            "users:at", type: "fun(self: Users, index: integer): string?",
            help: "One of the ids and patterns, as users[index]; nil beyond the end."
        ) { state, arguments throws(Refused) in
            let (_, list) = try state.users(arguments)
            guard let index = arguments[1].integer, index >= 1, index <= list.count else {
                return .value(.null)
            }
            return .value(.text(list[Int(index) - 1]))
        },
        Binding(
            "users:len", type: "fun(self: Users): integer",
            help: "How many ids and patterns there are, as #users."
        ) { state, arguments throws(Refused) in
            .value(.integer(Int64(try state.users(arguments).list.count)))
        },
    ]
}

extension PluginState {
    /// The operator's values are wrong: that is told at the operator's line, where it is known.
    fileprivate func refuseOptions(_ text: String) {
        guard let site = setting.optionsSite, site.file != nil else { return }
        optionProblem = ScriptProblem(text, file: site.file, line: site.line)
    }

    /// An option's value as the script gets it.
    fileprivate func shown(_ field: OptionField, _ value: LuaValue) -> LuaValue {
        switch field.kind {
        case .hours:
            guard let text = value.text, let hours = try? Hours(text) else { return .null }
            return keep(.hours(hours, zone: setting.zone), .hours)
        case .users:
            let list = (value.list ?? []).compactMap(\.text)
            return keep(.accounts(Accounts(list), list: list), .accounts)
        case .int, .number, .bool, .text, .choice, .list, .user, .timezone, .duration, .url,
            .secret:
            return value
        }
    }

    private func keep(_ object: HostObject, _ kind: Bindings.Kind) -> LuaValue {
        objects.append(object)
        return .handle(kind: kind.rawValue, number: UInt32(objects.count - 1))
    }

    /// The object that a script's handle stands for.
    func object(_ value: LuaValue) -> HostObject? {
        guard case .handle(_, let number) = value, Int(number) < objects.count else { return nil }
        return objects[Int(number)]
    }

    fileprivate func users(
        _ arguments: Arguments
    ) throws(Refused) -> (accounts: Accounts, list: [String]) {
        guard case .accounts(let accounts, let list)? = object(arguments[0]) else {
            throw arguments.wrong(0, "users")
        }
        return (accounts, list)
    }

    fileprivate func hours(_ arguments: Arguments) throws(Refused) -> (Hours, TimeZoneRules) {
        guard case .hours(let hours, let zone)? = object(arguments[0]) else {
            throw arguments.wrong(0, "hours")
        }
        return (hours, zone)
    }
}

extension Arguments {
    /// A user given as an id or as a user object.
    package func user(_ index: Int) throws(Refused) -> UserID {
        if let user = try possibleUser(index) { return user }
        throw Refused("bad user id '\(self[index].shown)'")
    }

    /// A user given as an id or as a user object; nil: a text that can be nobody's id.
    func possibleUser(_ index: Int) throws(Refused) -> UserID? {
        if case .user(let facts) = self[index] { return facts.user }
        guard let text = self[index].text else { throw wrong(index, "user id") }
        return UserID(checking: text)
    }
}

extension OptionField.Kind {
    /// The constructor's type for the editor.
    fileprivate var constructorType: String {
        switch self {
        case .int: "fun(default?: integer, extra?: OptionExtra): integer"
        case .number: "fun(default?: number, extra?: OptionExtra): number"
        case .bool: "fun(default?: boolean, extra?: OptionExtra): boolean"
        case .duration: "fun(default?: Duration, extra?: OptionExtra): Duration"
        case .text, .user, .timezone, .url, .secret:
            "fun(default?: string, extra?: OptionExtra): string"
        case .choice: "fun(default?: string, choices: string[], extra?: OptionExtra): string"
        case .list: "fun(default?: string[], extra?: OptionExtra): string[]"
        case .users: "fun(default?: string[], extra?: OptionExtra): Users"
        case .hours: "fun(default?: string, extra?: OptionExtra): Hours"
        }
    }

    fileprivate var help: String {
        switch self {
        case .int: "A whole number; min and max bound it."
        case .number: "A number; min and max bound it."
        case .bool: "true or false."
        case .text: "A string; min and max bound its bytes."
        case .choice: "One of the strings given."
        case .list: "A list of strings; min and max bound its length."
        case .user: "A user id."
        case .users: "A list of user ids and patterns (\"desk-*\"); has(id) asks."
        case .hours: "Opening hours, \"mon-fri 09:00-18:00\"; open() and next_open() ask."
        case .timezone: "A time zone, \"Europe/Berlin\"."
        case .duration: "A duration, \"3s\"; min and max bound it."
        case .url: "An http address."
        case .secret: "A secret; never shown."
        }
    }
}
