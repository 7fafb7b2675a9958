// Options of a plugin: their kinds, ranges and what becomes of the operator's values.

import CallModel
import Configuration
import JSON
import Lua

/// One option of a plugin's `config { … }`.
struct OptionField: Equatable {
    enum Kind: String, CaseIterable {
        case int, number, bool, text, choice, list, user, users, hours, timezone, duration, url
        case secret
    }
    let name: String
    let kind: Kind
    let standard: LuaValue
    /// Of the number, the seconds, or the count of bytes or entries.
    var least: Double?
    var most: Double?
    var choices: [String] = []
    var isRequired = false
    var help = ""
}

extension OptionField {
    /// The field that `option.KIND(default, extras)` described.
    init(name: String, description: LuaValue) throws(LuaProblem) {
        guard let word = description["option"].text, let kind = Kind(rawValue: word) else {
            throw LuaProblem(name, "write option.int(…), option.text(…) or another option")
        }
        self.init(name: name, kind: kind, standard: description["default"])
        least = try bound(description["min"], "min")
        most = try bound(description["max"], "max")
        if let least, let most, least > most {
            throw LuaProblem(name, "min \(shown(least)) is above max \(shown(most))")
        }
        isRequired = try Self.extra(description, "required", name, "true or false", \.bool) ?? false
        help = try Self.extra(description, "help", name, "a string", \.text) ?? ""
        choices = (description["choices"].list ?? []).compactMap(\.text)
        if kind == .choice, choices.isEmpty {
            throw LuaProblem(name, "write option.choice(\"a\", { \"a\", \"b\" })")
        }
        if !standard.isNull { _ = try checked(standard) }
    }

    private static func extra<Value>(
        _ description: LuaValue, _ extra: String, _ name: String, _ expected: String,
        _ read: (LuaValue) -> Value?
    ) throws(LuaProblem) -> Value? {
        let given = description[extra]
        if given.isNull { return nil }
        if let value = read(given) { return value }
        throw LuaProblem(name, "\(extra) is \(expected), not \(given.typePhrase)")
    }

    /// A bound as it was written: durations are bounded by durations, or by seconds.
    private func bound(_ value: LuaValue, _ extra: String) throws(LuaProblem) -> Double? {
        if value.isNull { return nil }
        switch kind {
        case .int, .number, .text, .list, .user, .users, .duration, .secret: break
        case .bool, .choice, .hours, .timezone, .url:
            throw LuaProblem(name, "option.\(kind.rawValue) has no \(extra)")
        }
        if let number = value.number {
            // Beyond it a number is not exact, and a count or a time makes no sense.
            guard abs(number) < (kind == .duration ? 3e9 : 1e15) else {
                throw LuaProblem(name, "\(extra) is too large")
            }
            return number
        }
        guard kind == .duration else {
            throw LuaProblem(name, "\(extra) is a number, not \(value.typePhrase)")
        }
        guard let span = value.text.flatMap(Duration.parse) else {
            throw LuaProblem(name, "\(extra) is a duration (\"60s\") or a number of seconds")
        }
        return Double(span) / 1_000
    }

    /// A bound for people.
    func shown(_ bound: Double) -> String {
        if kind == .duration { return Duration.text(Milliseconds((bound * 1_000).rounded())) }
        return Self.plain(bound)
    }

    /// The operator's value as the plugin gets it, or what is wrong with it.
    func checked(_ value: LuaValue) throws(LuaProblem) -> LuaValue {
        switch kind {
        case .int:
            guard let integer = value.integer else { throw wrong(value, "an integer") }
            try range(Double(integer), "")
            return value
        case .number:
            guard let number = value.number else { throw wrong(value, "a number") }
            try range(number, "")
            return value
        case .bool:
            guard value.bool != nil else { throw wrong(value, "true or false") }
            return value
        case .text, .user, .secret:
            guard let text = value.text else { throw wrong(value, "a string") }
            // Where secrets are not read, the name that stands for one is as long as it is.
            let isName = kind == .secret && text.hasPrefix("secret:")
            if !isName { try range(Double(text.utf8.count), " bytes") }
            if kind == .user, UserID(checking: text) == nil { throw wrong(value, "a user id") }
            return value
        case .list, .users: return try checkedList(value)
        case .choice: return try checkedChoice(value)
        case .hours, .timezone, .duration, .url: return try checkedForm(value)
        }
    }

    private func checkedChoice(_ value: LuaValue) throws(LuaProblem) -> LuaValue {
        guard let text = value.text else { throw wrong(value, "a string") }
        guard choices.contains(text) else {
            throw LuaProblem(
                name,
                "'\(text)' is none of \(choices.joined(separator: ", "))"
                    + Suggestion.text(for: text, among: choices))
        }
        return value
    }

    private func checkedList(_ value: LuaValue) throws(LuaProblem) -> LuaValue {
        let values = value == .table([]) ? [] : value.list
        guard let values, values.allSatisfy({ $0.text != nil }) else {
            throw wrong(value, "a list of strings")
        }
        try range(Double(values.count), " entries")
        if kind == .users { try checkAccounts(values) }
        return .list(values)
    }

    /// User ids, and patterns that end with `*`.
    private func checkAccounts(_ values: [LuaValue]) throws(LuaProblem) {
        for text in values.compactMap(\.text) where UserID(checking: text) == nil {
            throw LuaProblem(name, "'\(text)' is no user id and no pattern (\"desk-*\")")
        }
    }

    private func checkedForm(_ value: LuaValue) throws(LuaProblem) -> LuaValue {
        guard let text = value.text else { throw wrong(value, "a string") }
        switch kind {
        case .hours:
            do throws(LuaProblem) {
                _ = try Hours(text)
            } catch {
                throw LuaProblem(name, error.message)
            }
        case .timezone:
            guard TimeZoneRules(named: text) != nil else {
                throw LuaProblem(
                    name, "unknown time zone '\(text)'\(TimeZoneRules.hint(for: text))")
            }
        case .duration:
            guard let span = Duration.parse(text) else {
                throw LuaProblem(name, "bad duration '\(text)' (write \"250ms\", \"3s\", \"10m\")")
            }
            try range(Double(span) / 1_000, "")
        case .url:
            let rest = ["https://", "http://"].first { text.hasPrefix($0) }
                .map { text.dropFirst($0.count) }
            guard let rest, let first = rest.utf8.first, !"/?#:".utf8.contains(first),
                text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
            else { throw LuaProblem(name, "'\(text)' is no http address") }
        case .int, .number, .bool, .text, .choice, .list, .user, .users, .secret: break
        }
        return value
    }

    private func range(_ number: Double, _ unit: String) throws(LuaProblem) {
        if let least, number < least {
            throw LuaProblem(name, "at least \(shown(least))\(unit), not \(shown(number))")
        }
        if let most, number > most {
            throw LuaProblem(name, "at most \(shown(most))\(unit), not \(shown(number))")
        }
    }

    private static func plain(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e15 ? "\(Int64(number))" : "\(number)"
    }

    private func wrong(_ value: LuaValue, _ expected: String) -> LuaProblem {
        LuaProblem(name, "\(expected) expected, got \(value.typeName)")
    }
}

extension OptionField {
    /// What stands for a value that must be set, where no operator is: in tests.
    fileprivate var standIn: LuaValue {
        switch kind {
        case .int: .integer(Int64(least ?? 0))
        case .number: .number(least ?? 0)
        case .bool: .bool(false)
        case .text, .user, .secret:
            .text(String(repeating: name, count: min(max(1, Int(least ?? 0)), 4_096)))
        case .choice: .text(choices.first ?? "")
        case .list, .users:
            .list(Array(repeating: .text(name), count: min(max(0, Int(least ?? 0)), 256)))
        case .hours: .text("00:00-24:00")
        case .timezone: .text("UTC")
        case .duration: .text(Duration.text(Milliseconds(max(0, least ?? 1) * 1_000)))
        case .url: .text("https://\(name).example.com/")
        }
    }
}

extension [OptionField] {
    /// The fields of a `config { … }` table.
    static func reading(_ table: LuaValue) throws(LuaProblem) -> [OptionField] {
        var fields: [OptionField] = []
        for pair in table.table ?? [] {
            guard let name = pair.key.text else { throw LuaProblem("options have names") }
            fields.append(try OptionField(name: name, description: pair.value))
        }
        return fields
    }

    /// Every option's value: the operator's, else the default.
    ///
    /// - Parameter standsIn: whether something stands in for what must be set and is not.
    func values(
        of given: JSONObject, standsIn: Bool = false
    ) throws(LuaProblem) -> [(OptionField, LuaValue)] {
        for member in given.members where !contains(where: { $0.name == member.key }) {
            throw LuaProblem(
                "unknown option '\(member.key)'"
                    + Suggestion.text(for: member.key, among: map(\.name)))
        }
        var values: [(OptionField, LuaValue)] = []
        for field in self {
            if let value = given[field.name], !value.isNull {
                values.append((field, try field.checked(LuaValue(value))))
            } else if field.isRequired {
                guard standsIn else { throw LuaProblem(field.name, "this option must be set") }
                values.append((field, field.standIn))
            } else {
                values.append((field, field.standard))
            }
        }
        return values
    }
}
