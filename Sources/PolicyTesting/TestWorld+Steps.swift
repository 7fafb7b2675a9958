// The steps of a test: what `t.invite` and the others do.

import CallModel
import Configuration
import JSON
import Lua
import PolicyHost

extension TestWorld {
    /// Does one step; returns what it returns to the test.
    func perform(_ name: String, _ arguments: Arguments) throws(Refused) -> [LuaValue] {
        if case .handle = arguments[0] {
            throw Refused("write t.\(name)(…) with a dot, not a colon")
        }
        switch name {
        case "invite": return [try invite(arguments)]
        case "again": return [try inviteAgain()]
        case "dial": return [try dial(arguments)]
        case "join": return [try join(arguments)]
        case "token": return [try token(arguments)]
        case "data": return [try data(arguments)]
        case "push": return [try push(arguments)]
        case "accept": try accept(arguments)
        case "event": try event(arguments)
        case "user": try user(arguments)
        case "options": try options(arguments)
        case "group": try group(arguments)
        case "clock": setClock(to: try Self.moment(arguments.text(0), now, zone))
        case "timezone": try setZone(arguments.text(0))
        case "advance": try advance(arguments.duration(0))
        case "http": try answerFetches(arguments)
        case "reload": try load(keepingState: true)
        case "expect": try expect(arguments)
        case "equal": try equal(arguments)
        case "calls": return [.list(operations)]
        case "cost": return [.number(cost)]
        case "logs": return [.list(log.map { .text($0.text) })]
        default: throw Refused("unknown step '\(name)'")
        }
        return []
    }

    // MARK: The world

    /// Milliseconds of processor time of the most expensive decision so far.
    private var cost: Double {
        Double(records.flatMap(\.asked).map(\.processor).max() ?? 0) / 1_000_000
    }

    private func user(_ arguments: Arguments) throws(Refused) {
        let user = try arguments.user(0)
        let facts = try arguments.table(1)
        try facts.only(["calls", "devices", "online", "name"], arguments.name)
        let isOnline = facts["online"].bool ?? true
        users[user] = UserFacts(
            user, calls: try count(facts, "calls", or: 0),
            devices: try count(facts, "devices", or: isOnline ? 1 : 0),
            name: try name(of: facts))
        connect(user)
    }

    private func group(_ arguments: Arguments) throws(Refused) {
        let name = try arguments.text(0)
        let people = Arguments(values: arguments[1].list ?? [], name: arguments.name)
        var users: [UserID] = []
        for place in people.values.indices { users.append(try people.user(place)) }
        for user in users { connect(user) }
        groups[name] = users
        try load(keepingState: false)
    }

    private func name(of facts: LuaValue) throws(Refused) -> String? {
        guard !facts["name"].isNull else { return nil }
        guard let name = facts["name"].text.flatMap({ PersonName(checking: $0) }) else {
            throw Refused("t.user: name must be 1 to 64 bytes of text on one line")
        }
        return name.text
    }

    /// How many calls or devices a test says that a user has.
    private func count(
        _ facts: LuaValue, _ name: String, or standard: Int
    ) throws(Refused) -> Int {
        guard !facts[name].isNull else { return standard }
        guard let count = facts[name].integer, (0...1_000_000).contains(count) else {
            throw Refused("t.user: \(name) must be an integer from 0 to 1000000")
        }
        return Int(count)
    }

    private func options(_ arguments: Arguments) throws(Refused) {
        try load(keepingState: false, options: arguments.json(0).object ?? JSONObject())
    }

    private func setZone(_ name: String) throws(Refused) {
        guard let zone = TimeZoneRules(named: name) else {
            throw Refused("t.timezone: there is no time zone '\(name)'")
        }
        try load(keepingState: true, zone: zone)
    }

    private func answerFetches(_ arguments: Arguments) throws(Refused) {
        let url = try arguments.text(0)
        guard arguments[1].text == nil else { return pages[url] = arguments[1] }
        try arguments.table(1).only(["status", "headers", "body", "json"], arguments.name)
        pages[url] = arguments[1]
    }

    /// `Mon 10:00` in the week of `now`, or `2030-05-01 10:00`.
    static func moment(
        _ text: String, _ now: Moment, _ zone: TimeZoneRules
    ) throws(Refused) -> Moment {
        let words = text.split(separator: " ")
        let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
        guard words.count == 2, let minute = Hours.minute(words[1]) else {
            throw Refused("bad time '\(text)' (write \"Mon 10:00\" or \"2030-05-01 10:00\")")
        }
        var date: LocalTime
        let numbers = words[0].split(separator: "-").compactMap { Int($0) }
        if let day = days.firstIndex(of: words[0].lowercased()) {
            let today = zone.local(at: now.milliseconds / 1_000)
            let monday = today.days - Int64(today.weekday)
            date = LocalTime(secondsSince1970: (monday + Int64(day)) * 86_400)
        } else if numbers.count == 3, (1970...9999).contains(numbers[0]),
            (1...12).contains(numbers[1]), (1...31).contains(numbers[2])
        {
            date = LocalTime(year: numbers[0], month: numbers[1], day: numbers[2])
            let real = LocalTime(secondsSince1970: date.secondsSince1970)
            guard real.day == numbers[2] else { throw Refused("there is no day '\(words[0])'") }
        } else if numbers.count == 3 {
            throw Refused("'\(words[0])' is no day of the years 1970 to 9999")
        } else {
            throw Refused(
                "unknown day '\(words[0])'" + Suggestion.text(for: String(words[0]), among: days))
        }
        date = LocalTime(secondsSince1970: date.secondsSince1970 + Int64(minute) * 60)
        return Moment(zone.moment(of: date) * 1_000)
    }
}
