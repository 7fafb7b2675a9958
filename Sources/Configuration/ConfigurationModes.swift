// `modes` and `groups` of callagent.lua.

import CallModel
import Lua

extension LuaValue {
    /// Modes by their names: `{ clinic = { like = "managed", ring_time = "30s", add = false } }`.
    func modes() throws(LuaProblem) -> [Configuration.OwnMode] {
        let pairs = try named("a mode", most: Mode.ownModesMax) { name throws(LuaProblem) in
            guard Mode.isName(name) else {
                throw LuaProblem(
                    "a mode's name is 1 to \(Mode.nameBytesMax) characters of a-z, 0-9, _ and -")
            }
            if Mode.all.contains(where: { $0.name == name }) {
                throw LuaProblem("this mode is built in; a mode of your own needs another name")
            }
        }
        var modes: [Configuration.OwnMode] = []
        for (name, value) in pairs {
            do throws(LuaProblem) {
                modes.append(try value.mode(named: name))
            } catch {
                throw LuaProblem("\(name): \(error.message)")
            }
        }
        return modes
    }

    /// Groups by their names: `{ sales = { "ann", "bob" } }`.
    func groups() throws(LuaProblem) -> [String: [UserID]] {
        let pairs = try named("a group", most: Settings.groupsMax) { name throws(LuaProblem) in
            guard UserID(checking: UserID.groupPrefix + name) != nil else {
                throw LuaProblem("a group's name is 1 to 58 printable characters, no space")
            }
        }
        var groups: [String: [UserID]] = [:]
        for (name, value) in pairs {
            do throws(LuaProblem) {
                groups[name] = try value.members()
            } catch {
                throw LuaProblem("\(name): \(error.message)")
            }
        }
        return groups
    }

    /// The pairs of a table by name, in the order of the names.
    private func named(
        _ what: String, most: Int, check: (String) throws(LuaProblem) -> Void
    ) throws(LuaProblem) -> [(name: String, value: LuaValue)] {
        if self == .table([]) || list?.isEmpty == true { return [] }
        guard let table else { throw wrong("a table by name") }
        guard table.count <= most else {
            throw LuaProblem("\(table.count) of them; at most \(most)")
        }
        var pairs: [(name: String, value: LuaValue)] = []
        for pair in table {
            guard let name = pair.key.text else {
                throw LuaProblem("the name of \(what) expected, got \(pair.key.typeName)")
            }
            do throws(LuaProblem) {
                try check(name)
            } catch {
                throw LuaProblem("\(name): \(error.message)")
            }
            pairs.append((name, pair.value))
        }
        return pairs.sorted { $0.name < $1.name }
    }

    private func mode(named name: String) throws(LuaProblem) -> Configuration.OwnMode {
        guard let table = self == .table([]) || list?.isEmpty == true ? [] : table else {
            throw wrong("a table of parameters")
        }
        var mode = Mode.advanced
        if let like = table.first(where: { $0.key.text == "like" })?.value {
            let model = try like.mode(among: Mode.all)
            mode = Mode.all.first { $0.name == model } ?? mode
        }
        (mode.model, mode.name) = (mode.name, name)
        var given: Set<String> = []
        for pair in table where pair.key.text != "like" {
            let key = pair.key.text ?? pair.key.typeName
            guard let parameter = ModeParameter.named(key) else {
                let names = ModeParameter.all.map(\.name) + ["like"]
                throw LuaProblem(
                    "unknown parameter '\(key)'" + Suggestion.text(for: key, among: names))
            }
            do throws(LuaProblem) {
                guard parameter.set(try pair.value.value(of: parameter), in: &mode) else {
                    throw LuaProblem("a mode cannot do without it")
                }
            } catch {
                throw LuaProblem("\(key): \(error.message)")
            }
            given.insert(key)
        }
        if let contradiction = mode.contradiction { throw LuaProblem(contradiction) }
        return Configuration.OwnMode(mode: mode, given: given)
    }

    /// The value of a parameter of a mode, as `ModeParameter.set` takes it.
    private func value(of parameter: ModeParameter) throws(LuaProblem) -> String? {
        if parameter.isOptional, self == .bool(false) { return nil }
        switch parameter.kind {
        case .count(let range):
            return "\(try integer(Int64(range.lowerBound)...Int64(range.upperBound)))"
        case .time(let range): return "\(try duration(range))"
        case .flag: return try boolean() ? "yes" : nil
        case .word(let words):
            if let bool, words.contains(Right.nobody.rawValue) {
                let usual: Right = parameter.name == "remove" ? .caller : .everybody
                return (bool ? usual : .nobody).rawValue
            }
            let word = try string()
            guard words.contains(word) else {
                throw LuaProblem(
                    "'\(word)' is none of \(words.joined(separator: ", "))"
                        + Suggestion.text(for: word, among: words))
            }
            return word
        }
    }

    /// The people of a group.
    private func members() throws(LuaProblem) -> [UserID] {
        let names = try strings()
        guard !names.isEmpty else { throw LuaProblem("nobody is in it") }
        guard names.count <= Settings.groupMembersMax else {
            throw LuaProblem("\(names.count) people; at most \(Settings.groupMembersMax)")
        }
        var known: Set<String> = []
        for (index, name) in names.enumerated() {
            let place = "[\(index + 1)]"
            if name.hasPrefix(UserID.groupPrefix) {
                throw LuaProblem(
                    place, "'\(name)': a group has people in it, and no other groups")
            }
            guard !name.utf8.contains(0x2A) else {
                throw LuaProblem(place, "'\(name)': a group has no patterns; name each person")
            }
            guard UserID(checking: name) != nil else {
                throw LuaProblem(
                    place, "'\(name)' is no user id (1 to 64 printable characters, no space)")
            }
            guard known.insert(name).inserted else {
                throw LuaProblem(place, "'\(name)' is in it twice")
            }
        }
        return names.map { UserID($0) }
    }
}
