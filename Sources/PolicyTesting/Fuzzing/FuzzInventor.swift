// Invents what may happen to a plugin, from the types and from what its files are written about.

import CallModel
import Configuration
import Lua
import LuaSource
import PolicyHost

/// Dice that know a plugin.
struct FuzzInventor {
    private var dice: SeededGenerator
    /// Texts, names of fields and numbers of the plugin's files.
    private var texts: [String] = []
    private var fields: [String] = []
    private var numbers: [LuaValue] = []
    private var addresses: [String] = []
    private let hooks: [String]
    /// Whether its files ask what time it is.
    let usesTime: Bool
    /// Fields that the plugin reads and callagent does not give: those of somebody's data.
    private var dataFields: [String] = []
    /// Extended data of recorded decisions.
    private let recorded: [LuaValue]

    private static let oddTexts = [
        "", " ", "0", "-1", "nil", "%", "[", "(", "%d%s", "ä€😀", "\u{1}", "{}", "[]", "null", "a b",
        "9223372036854775808", "1e309", String(repeating: "x", count: 300),
        String(repeating: "%", count: 2_000), String(repeating: "a", count: 4_000),
    ]
    private static let oddNumbers: [LuaValue] = [
        .integer(0), .integer(1), .integer(-1), .integer(2), .integer(100), .integer(86_400),
        .integer(1 << 31), .integer(1 << 53), .integer(.max), .integer(.min), .integer(1 << 40),
        .number(0.5), .number(-0.5), .number(1e18), .number(1e300),
    ]
    /// Days on which dates go wrong, and an ordinary one.
    private static let days = [
        "2028-02-29", "2024-02-29", "2028-02-28", "2028-03-01", "2100-02-28", "2027-12-31",
        "2028-12-31", "2028-01-01", "2026-03-29", "2026-10-25", "2026-03-08", "2038-01-19", "Mon",
        "Tue", "Wed", "Thu", "Fri", "Sat", "Sun",
    ]
    private static let hours = [
        "00:00", "00:30", "01:59", "02:30", "03:00", "06:00", "08:59", "09:00", "12:00", "17:59",
        "18:00", "20:00", "23:00", "23:59",
    ]
    static let zones = [
        "Asia/Tokyo", "America/Los_Angeles", "Pacific/Kiritimati", "Asia/Kolkata",
        "Pacific/Pago_Pago",
    ]
    private static let spans = ["1s", "5s", "30s", "1m", "10m", "1h", "1d", "7d"]

    /// The names of modes that calls may have.
    private let modes: [String]

    init(_ source: PluginSource, recorded: [LuaValue], modes: [String], seed: UInt64) {
        self.modes = modes
        dice = SeededGenerator(seed: seed)
        self.recorded = recorded
        var (hooks, usesTime): (Set<String>, Bool) = ([], false)
        for expression in source.files.flatMap({ LuaParser.file($0.text).nodes.expressions }) {
            switch expression.kind {
            case .text(let text?) where text.utf8.count <= 100: texts.append(text)
            case .number(let text): numbers += Self.around(text)
            case .global("time"): usesTime = true
            case .member(let owner, let name):
                guard case .global(let library) = owner.kind else {
                    fields.append(name.text)
                    continue
                }
                if library == "on" { hooks.insert(name.text) }
            default: break
            }
        }
        texts = Array(Set(texts)).sorted()
        let given = ["Call", "User", "Push", "HttpReply", "Test"].flatMap { name in
            KnownTypes.shared.members(of: name)?.map(\.name) ?? []
        }
        dataFields = Array(Set(fields).subtracting(given)).sorted()
        fields = Array(Set(fields).union(texts)).sorted()
        numbers = Array(numbers.prefix(200))
        addresses = texts.filter { $0.hasPrefix("http://") || $0.hasPrefix("https://") }
        self.hooks = hooks.sorted()
        self.usesTime = usesTime
    }

    private static func around(_ text: String) -> [LuaValue] {
        if let whole = Int64(text) {
            return [whole &- 1, whole, whole &+ 1].map { .integer($0) }
        }
        return Double(text).map { [.number($0)] } ?? []
    }

    // MARK: Dice

    mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &dice) == 0 }
    mutating func count(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &dice) }
    mutating func pick<Item>(_ items: [Item]) -> Item? { items.randomElement(using: &dice) }

    // MARK: Values

    private mutating func text() -> String {
        (chance(2) ? pick(Self.oddTexts) : pick(texts)) ?? "x"
    }

    private mutating func number() -> LuaValue {
        (chance(2) ? pick(numbers) : nil) ?? pick(Self.oddNumbers) ?? .integer(0)
    }

    /// Plain data of any form.
    mutating func value(depth: Int = 0) -> LuaValue {
        switch count(0...(depth < 3 ? 9 : 5)) {
        case 0, 1: return .text(text())
        case 2, 3: return number()
        case 4: return .bool(chance(2))
        case 5: return .text(number().shown)
        case 6: return .list((0..<count(0...3)).map { _ in value(depth: depth + 1) })
        default: return table(depth: depth)
        }
    }

    private mutating func table(depth: Int) -> LuaValue {
        var pairs: [LuaValue.Pair] = []
        for _ in 0..<count(0...4) {
            let key = (chance(4) ? nil : pick(dataFields)) ?? pick(fields) ?? "type"
            guard !pairs.contains(where: { $0.key == .text(key) }) else { continue }
            pairs.append(.init(key: .text(key), value: value(depth: depth + 1)))
        }
        return .table(pairs)
    }

    private mutating func data() -> LuaValue {
        if chance(3), let recorded = pick(recorded) { return recorded }
        return chance(5) ? .text(text()) : table(depth: 0)
    }

    private mutating func user() -> LuaValue {
        let known = texts.filter { UserID(checking: $0) != nil }
        let name = chance(3) ? pick(known) : pick(["ann", "bob", "carl", "desk-1", "x", "+491234"])
        return .text(name ?? "ann")
    }

    private mutating func time() -> String {
        "\(pick(Self.days) ?? "Mon") \(pick(Self.hours) ?? "10:00")"
    }

    private mutating func span() -> String {
        let known = texts.filter { text in
            Duration.parse(text).map { (1...604_800_000).contains($0) } == true
        }
        return (chance(2) ? pick(known) : nil) ?? pick(Self.spans) ?? "1s"
    }

    // MARK: Steps

    private mutating func call(isSeveral: Bool) -> LuaValue {
        var pairs: [LuaValue.Pair] = []
        func add(_ name: String, _ value: LuaValue) {
            pairs.append(.init(key: .text(name), value: value))
        }
        if chance(2) { add("from", user()) }
        if isSeveral, chance(4) {
            add("to", .list((0..<count(1...3)).map { _ in user() }))
        } else if chance(2) {
            add("to", user())
        }
        if chance(4) { add("kind", .text(chance(2) ? "video" : text())) }
        if isSeveral, chance(4) { add("mode", .text(pick(modes) ?? "common")) }
        if chance(6) { add("timeout", .text(pick(["1s", "5s", "30s", "10m"]) ?? "5s")) }
        if !chance(3) { add("extended_data", data()) }
        if chance(usesTime ? 2 : 6) { add("at", .text(time())) }
        return .table(pairs)
    }

    /// The texts of a type such as `"in"|"out"` are not known here: those of the plugin are.
    private mutating func push() -> LuaValue {
        var pairs = [
            LuaValue.Pair(
                key: .text("provider"),
                value: .text(pick(["apns", "fcm", "web", "webhook"]) ?? "apns"))
        ]
        let reason = pick(["invite", "add", "cancel", "leave", "end", "missed"]) ?? "invite"
        if chance(2) { pairs.append(.init(key: .text("reason"), value: .text(reason))) }
        for name in ["title", "body", "payload_raw"] where chance(3) {
            pairs.append(.init(key: .text(name), value: .text(text())))
        }
        if chance(2) { pairs.append(.init(key: .text("payload"), value: table(depth: 1))) }
        return .table(pairs)
    }

    /// Something that may happen.
    mutating func step() -> FuzzStep {
        switch count(0...11) {
        case 0: return FuzzStep(name: "user", arguments: [user(), facts()])
        case 1: return FuzzStep(name: "advance", arguments: [.text(span())])
        case 2: return FuzzStep(name: chance(3) ? "reload" : "again", arguments: [])
        case 3: return FuzzStep(name: "clock", arguments: [.text(time())])
        case 4:
            guard let address = pick(addresses) else { return question() }
            return FuzzStep(name: "http", arguments: [.text(address), page()])
        case 5: return FuzzStep(name: "accept", arguments: [])
        default: return question()
        }
    }

    private mutating func facts() -> LuaValue {
        let calls = pick(numbers.filter { (0...50).contains($0.integer ?? -1) }) ?? .integer(1)
        return .table([
            .init(key: .text("calls"), value: calls),
            .init(key: .text("devices"), value: .integer(Int64(count(0...2)))),
        ])
    }

    private mutating func page() -> LuaValue {
        if chance(4) { return .text(pick(["timeout", "refused"]) ?? "timeout") }
        var pairs = [
            LuaValue.Pair(
                key: .text("status"), value: .integer(pick([200, 200, 204, 404, 500]) ?? 200))
        ]
        let isJSON = chance(2)
        pairs.append(
            .init(
                key: .text(isJSON ? "json" : "body"), value: isJSON ? value() : .text(text())))
        return .table(pairs)
    }

    /// Something that the plugin declares a hook for.
    private mutating func question() -> FuzzStep {
        guard let hook = pick(hooks).flatMap(Hook.init(rawValue:)) else {
            return FuzzStep(name: "advance", arguments: [.text(span())])
        }
        switch hook {
        case .invite: return FuzzStep(name: "invite", arguments: [call(isSeveral: true)])
        case .dial: return FuzzStep(name: "dial", arguments: [call(isSeveral: true)])
        case .join: return FuzzStep(name: "join", arguments: [callOfSomebody()])
        case .token: return FuzzStep(name: "token", arguments: [callOfSomebody()])
        case .push: return FuzzStep(name: "push", arguments: [push(), call(isSeveral: false)])
        case .extendedData:
            let way = chance(2) ? "in" : "out"
            return FuzzStep(name: "data", arguments: [data(), .text(way), callOfSomebody()])
        default: return FuzzStep(name: "event", arguments: [.text(hook.rawValue), event(hook)])
        }
    }

    /// A call with the user who wants something of it, mostly one whom the plugin does not expect.
    private mutating func callOfSomebody() -> LuaValue {
        guard case .table(let pairs) = call(isSeveral: false), chance(2) else {
            return call(isSeveral: false)
        }
        return .table(pairs + [.init(key: .text("user"), value: user())])
    }

    private mutating func event(_ hook: Hook) -> LuaValue {
        switch hook {
        case .presence: return .table([.init(key: .text("user"), value: user())])
        case .start, .stop, .pluginError, .pushFailed: return .table([])
        case .signal:
            guard case .table(let pairs) = call(isSeveral: false) else { return .null }
            return .table(
                pairs.filter { $0.key != .text("from") }
                    + [.init(key: .text("data"), value: value())])
        default: return call(isSeveral: false)
        }
    }

    // MARK: Tests

    /// An invented test.
    mutating func fresh() -> [FuzzStep] { (0..<count(1...4)).map { _ in step() } }

    /// The same with a change.
    mutating func changed(_ steps: [FuzzStep]) -> [FuzzStep] {
        var steps = steps
        let place = count(0...max(0, steps.count - 1))
        switch count(0...5) {
        case 0 where steps.count > 1: steps.remove(at: place)
        case 1 where steps.count < 8, 2 where steps.count < 8:
            steps.insert(step(), at: count(0...steps.count))
        case 3 where steps.count < 8: steps.append(steps[place])
        default:
            guard !steps[place].arguments.isEmpty else { return steps + [step()] }
            let index = count(0...steps[place].arguments.count - 1)
            steps[place].arguments[index] = changed(steps[place].arguments[index])
        }
        return steps
    }

    private mutating func changed(_ value: LuaValue) -> LuaValue {
        switch value {
        case .table(var pairs) where !pairs.isEmpty:
            let place = count(0...pairs.count - 1)
            let value = changed(pairs[place].value)
            pairs[place] = .init(key: pairs[place].key, value: value)
            return .table(pairs)
        case .list(var values) where !values.isEmpty:
            let place = count(0...values.count - 1)
            if chance(3), values.count < 5_000 { return .list(values + values) }
            values[place] = changed(values[place])
            return .list(values)
        case .text(let text) where chance(3) && text.utf8.count < 10_000: return .text(text + text)
        case .integer, .number: return number()
        default: return self.value(depth: 1)
        }
    }
}
