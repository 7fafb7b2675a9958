// Values of callagent.lua, checked.

import CallModel
import Glibc
import JSON
import Lua

extension LuaValue {
    func wrong(_ expected: String) -> LuaProblem {
        if case .bytes = self {
            return LuaProblem("\(expected) expected, got a string that is not UTF-8")
        }
        let name = table?.lazy.compactMap(\.key.text).first
        return LuaProblem(
            "\(expected) expected, got \(typeName)" + (name.map { " with the name '\($0)'" } ?? ""))
    }

    func string() throws(LuaProblem) -> String {
        guard let text else { throw wrong("a string") }
        return text
    }

    /// A text that names something.
    func name() throws(LuaProblem) -> String {
        let text = try string()
        guard !text.isEmpty else { throw LuaProblem("it is empty") }
        return text
    }

    /// `{ USER = "NAME", … }`.
    func names() throws(LuaProblem) -> [UserID: PersonName] {
        guard let pairs = table ?? (list?.isEmpty == true ? [] : nil) else {
            throw wrong("a table of texts by user")
        }
        var names: [UserID: PersonName] = [:]
        for pair in pairs {
            guard let user = pair.key.text.flatMap({ UserID(checking: $0) }) else {
                throw LuaProblem("\(pair.key.shown) is no user")
            }
            guard let text = pair.value.text else {
                throw LuaProblem("\(user): \(pair.value.wrong("a text").message)")
            }
            guard let name = PersonName(checking: text) else {
                throw LuaProblem(
                    "\(user): a name is 1 to \(PersonName.bytesMax) bytes of text on one line, "
                        + "without overrides of direction")
            }
            names[user] = name
        }
        return names
    }

    func boolean() throws(LuaProblem) -> Bool {
        guard let bool else { throw wrong("true or false") }
        return bool
    }

    func integer(_ range: ClosedRange<Int64>) throws(LuaProblem) -> Int {
        guard let integer else { throw wrong("an integer") }
        guard range.contains(integer) else {
            throw LuaProblem(
                "\(integer) is not between \(range.lowerBound) and \(range.upperBound)")
        }
        return Int(integer)
    }

    func duration(_ range: ClosedRange<Int64>) throws(LuaProblem) -> Milliseconds {
        guard let text else { throw wrong("a duration as text (\"3s\")") }
        guard let span = Duration.parse(text) else {
            throw LuaProblem(
                "bad duration '\(text)' (write \"250ms\", \"3s\", \"10m\", \"2h\", \"7d\")")
        }
        guard range.contains(span) else {
            throw LuaProblem(
                "'\(text)' is not between \(Duration.text(range.lowerBound)) and "
                    + Duration.text(range.upperBound))
        }
        return span
    }

    func size(_ range: ClosedRange<Int>) throws(LuaProblem) -> Int {
        let size: Int
        if let text {
            guard let parsed = ByteSize.parse(text) else {
                throw LuaProblem("bad size '\(text)' (write \"64KB\", \"16MB\")")
            }
            size = parsed
        } else if let integer {
            size = Int(integer)
        } else {
            throw wrong("a size (\"16MB\")")
        }
        guard range.contains(size) else {
            throw LuaProblem(
                "\(ByteSize.text(size)) is not between \(ByteSize.text(range.lowerBound)) and "
                    + ByteSize.text(range.upperBound))
        }
        return size
    }

    /// One string, or a list of them.
    func strings() throws(LuaProblem) -> [String] {
        if let text { return [text] }
        guard let list = self == .table([]) ? [] : list else { throw wrong("a list of strings") }
        var strings: [String] = []
        for (index, value) in list.enumerated() {
            guard let text = value.text else {
                throw LuaProblem("[\(index + 1)]", "a string expected, got \(value.typeName)")
            }
            strings.append(text)
        }
        return strings
    }

    /// Accounts, or beginnings of their names with a `*` behind them.
    func accounts() throws(LuaProblem) -> [String] {
        let names = try strings()
        for (index, name) in names.enumerated() {
            let start = name.hasSuffix("*") ? String(name.dropLast()) : name
            let isPattern = start.utf8.count < name.utf8.count
            guard !start.utf8.contains(0x2A) else {
                throw LuaProblem("[\(index + 1)]", "'\(name)': a '*' stands only at the end")
            }
            guard UserID(checking: start) != nil || (isPattern && start.isEmpty) else {
                throw LuaProblem(
                    "[\(index + 1)]",
                    "'\(name)' can be no account (1 to 64 printable characters, no space)")
            }
        }
        return names
    }

    /// Origins as browsers write them (RFC 6454 section 6.2), or `*` for all.
    func origins() throws(LuaProblem) -> [String] {
        let texts = try strings()
        for (index, text) in texts.enumerated() where text != "*" && text != "null" {
            let plain = text.hasSuffix("/") ? text.dropLast() : text[...]
            let parts = plain.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0].count > 1, parts[0].hasSuffix(":"),
                parts[1].isEmpty, !parts[2].isEmpty,
                plain.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                throw LuaProblem(
                    "[\(index + 1)]",
                    "'\(text)' is no origin (write \"https://app.example.com\")")
            }
        }
        return texts
    }

    /// Addresses, and ranges of them such as `10.0.0.0/8`.
    func addressRanges() throws(LuaProblem) -> [String] {
        let texts = try strings()
        for (index, text) in texts.enumerated() where !Self.isAddressRange(text) {
            throw LuaProblem(
                "[\(index + 1)]",
                "'\(text)' is no address (write \"10.0.0.0/8\" or \"2001:db8::1\")")
        }
        return texts
    }

    private static func isAddressRange(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        var (v4, v6) = (in_addr(), in6_addr())
        let width =
            inet_pton(AF_INET, parts[0], &v4) == 1
            ? 32 : inet_pton(AF_INET6, parts[0], &v6) == 1 ? 128 : -1
        guard width > 0, parts.count <= 2 else { return false }
        return parts.count == 1 || Int(parts[1]).map { (0...width).contains($0) } ?? false
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        among choices: [Choice] = Array(Choice.allCases)
    ) throws(LuaProblem) -> Choice {
        let word = try string()
        if let choice = choices.first(where: { $0.rawValue == word }) { return choice }
        let names = choices.map(\.rawValue)
        throw LuaProblem(
            "'\(word)' is none of \(names.joined(separator: ", "))"
                + Suggestion.text(for: word, among: names))
    }

    /// The name of a mode.
    func mode(among modes: [Mode]) throws(LuaProblem) -> String {
        let name = try string()
        let names = modes.map(\.name)
        if names.contains(name) { return name }
        throw LuaProblem(
            "'\(name)' is none of \(names.joined(separator: ", "))"
                + Suggestion.text(for: name, among: names))
    }

    /// `true`, `false`, or how long a device may take to answer, as text or in milliseconds; nil:
    /// no check.
    func deliveryCheck() throws(LuaProblem) -> Milliseconds? {
        switch self {
        case .bool(let isWanted): return isWanted ? Invitation.usualDeliveryCheck : nil
        case .integer: return Milliseconds(try integer(1_000...30_000))
        case .text: return try duration(1_000...30_000)
        default: throw wrong("true, false or a duration (\"5s\")")
        }
    }

    /// `HOST:PORT`.
    func address() throws(LuaProblem) -> String {
        let text = try string()
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count >= 2, let port = parts.last.flatMap({ UInt16($0) }), port >= 0,
            !text.hasPrefix(":")
        else { throw LuaProblem("bad address '\(text)' (write \"127.0.0.1:7600\")") }
        return text
    }

    /// The path of a Unix socket, with or without `unix:` before it.
    func socketPath() throws(LuaProblem) -> String {
        let text = try name()
        if text.hasPrefix("unix:") { return String(text.dropFirst(5)) }
        let port = text.split(separator: ":", omittingEmptySubsequences: false).last ?? ""
        guard text.contains("/") || !text.contains(":") || UInt16(port) == nil else {
            throw LuaProblem(
                "'\(text)' is an address: admin is the path of a Unix socket only (the listener "
                    + "for people is console, the one for figures is metrics)")
        }
        return text
    }

    func members() throws(LuaProblem) -> JSONObject {
        guard case .table = self, let object = try json().object else { throw wrong("a table") }
        return object
    }

    // MARK: Plugins

    func plugins() throws(LuaProblem) -> [Configuration.Plugin] {
        guard let list = self == .table([]) ? [] : list else {
            guard table?.contains(where: { $0.key == .text("users") }) == true else {
                throw wrong("a list of plugins")
            }
            throw LuaProblem(
                "a plugin with users has braces of its own: { { \"NAME\", users = { … } } }")
        }
        var plugins: [Configuration.Plugin] = []
        for (index, value) in list.enumerated() {
            let plugin = try value.plugin(place: "[\(index + 1)]")
            guard !plugins.contains(where: { $0.name == plugin.name }) else {
                throw LuaProblem("[\(index + 1)]", "'\(plugin.name)' is listed twice")
            }
            plugins.append(plugin)
        }
        return plugins
    }

    private func plugin(place: String) throws(LuaProblem) -> Configuration.Plugin {
        if let text { return Configuration.Plugin(name: try Self.pluginName(text, place)) }
        let first = list?.first ?? table?.first { $0.key == .integer(1) }?.value ?? .null
        guard let name = first.text else {
            throw LuaProblem(place, "write \"NAME\" or { \"NAME\", users = { … } }")
        }
        var plugin = Configuration.Plugin(name: try Self.pluginName(name, place))
        for pair in table ?? [] where pair.key != .integer(1) {
            guard pair.key == .text("users") else {
                let key = pair.key.text ?? "?"
                throw LuaProblem(
                    place, "unknown field '\(key)'" + Suggestion.text(for: key, among: ["users"]))
            }
            plugin.users = try pair.value.strings()
        }
        return plugin
    }

    private static func pluginName(_ name: String, _ place: String) throws(LuaProblem) -> String {
        let isFine = name.utf8.allSatisfy {
            $0 == 0x2D || $0 == 0x5F || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
                || (0x61...0x7A).contains($0)
        }
        guard isFine, (1...64).contains(name.utf8.count) else {
            throw LuaProblem(place, "bad plugin name '\(name)' (letters, digits, '-' and '_')")
        }
        return name
    }

    func optionTables() throws(LuaProblem) -> [String: JSONObject] {
        var tables: [String: JSONObject] = [:]
        for member in try members().members {
            switch member.value {
            case .object(let object): tables[member.key] = object
            case .array(let values) where values.isEmpty: tables[member.key] = JSONObject()
            default: throw LuaProblem("[\"\(member.key)\"]", "a table of options expected")
            }
        }
        return tables
    }

    func overrides() throws(LuaProblem) -> [String: Configuration.Override] {
        guard let pairs = table else { throw wrong("a table") }
        var overrides: [String: Configuration.Override] = [:]
        for pair in pairs {
            guard let name = pair.key.text else { throw LuaProblem("plugins have names") }
            overrides[name] = try pair.value.override(place: "[\"\(name)\"]")
        }
        return overrides
    }

    private func override(place: String) throws(LuaProblem) -> Configuration.Override {
        guard let pairs = table else { throw LuaProblem(place, "a table expected") }
        var override = Configuration.Override()
        for pair in pairs {
            switch pair.key.text {
            case "on_error":
                override.onError = try pair.value.at("\(place).on_error") {
                    value throws(LuaProblem) in
                    try value.choice()
                }
            case "grant":
                override.grants = try pair.value.at("\(place).grant") { value throws(LuaProblem) in
                    let grants = try value.strings()
                    for grant in grants { try Capability.check(grant) }
                    return grants
                }
            case "limits": try pair.value.limits(of: &override, place: place)
            default:
                let key = pair.key.text ?? "?"
                let names = ["on_error", "grant", "limits"]
                throw LuaProblem(
                    place, "unknown field '\(key)'" + Suggestion.text(for: key, among: names))
            }
        }
        return override
    }

    private func limits(
        of override: inout Configuration.Override, place: String
    ) throws(LuaProblem) {
        let below = "\(place).limits"
        let names = ["memory", "cpu", "event", "log_lines"]
        for pair in table ?? [] {
            let key = pair.key.text ?? "?"
            guard names.contains(key) else {
                throw LuaProblem(
                    below, "unknown field '\(key)'" + Suggestion.text(for: key, among: names))
            }
            try pair.value.at("\(below).\(key)") { value throws(LuaProblem) in
                switch key {
                case "memory": override.memory = try value.size(1 << 20...1 << 30)
                case "cpu": override.runTime = try value.duration(1...1_000)
                case "event": override.eventTime = try value.duration(1...10_000)
                default: override.logLines = try value.integer(1...1_000_000)
                }
            }
        }
    }

    /// Puts `place` before whatever is wrong.
    private func at<Result>(
        _ place: String, _ read: (LuaValue) throws(LuaProblem) -> Result
    ) throws(LuaProblem) -> Result {
        do throws(LuaProblem) {
            return try read(self)
        } catch {
            throw LuaProblem(place, error.message)
        }
    }

    // MARK: Keys

    func keys() throws(LuaProblem) -> [Configuration.Key] {
        guard let list = self == .table([]) ? [] : list else { throw wrong("a list of keys") }
        var keys: [Configuration.Key] = []
        for (index, value) in list.enumerated() {
            keys.append(try value.key(place: "[\(index + 1)]"))
        }
        return keys
    }

    private func key(place: String) throws(LuaProblem) -> Configuration.Key {
        let names = ["alg", "key", "kid", "iss", "aud", "roles"]
        for pair in table ?? [] where !names.contains(pair.key.text ?? "") {
            let name = pair.key.text ?? "?"
            throw LuaProblem(
                place, "unknown field '\(name)'" + Suggestion.text(for: name, among: names))
        }
        let algorithms = ["HS256", "ES256", "RS256"]
        guard let algorithm = self["alg"].text, algorithms.contains(algorithm) else {
            throw LuaProblem(place, "alg is one of \(algorithms.joined(separator: ", "))")
        }
        guard let key = self["key"].text, !key.isEmpty else {
            throw LuaProblem(place, "key is missing")
        }
        for name in ["kid", "iss", "aud"] where !self[name].isNull && self[name].text == nil {
            throw LuaProblem(place, "\(name) is a string")
        }
        var entry = Configuration.Key(
            algorithm: algorithm, key: Configuration.Secret(key), id: self["kid"].text,
            issuer: self["iss"].text, audience: self["aud"].text)
        if !self["roles"].isNull { entry.roles = try self["roles"].roles(place: place) }
        return entry
    }

    private func roles(place: String) throws(LuaProblem) -> Set<Configuration.Key.Role> {
        let names = try at("\(place).roles") { value throws(LuaProblem) in try value.strings() }
        var roles: Set<Configuration.Key.Role> = []
        for name in names {
            roles.insert(
                try LuaValue.text(name).at("\(place).roles") { value throws(LuaProblem) in
                    try value.choice()
                })
        }
        return roles
    }
}
