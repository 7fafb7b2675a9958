// Named timers: the host keeps name, moment and plain data; the active generation has the code.

import CallModel
import Configuration
import JSON

/// A pending timer of a plugin.
public struct PolicyTimer: Sendable, Equatable {
    /// Chosen by the host, never used twice as long as what `restore` was given is counted.
    public let id: UInt64
    /// Whose.
    public let plugin: String
    /// The declared name.
    public let name: String
    /// The call it dies with, or nil.
    public let call: CallID?
    /// The account that its handler speaks for, or nil.
    public let account: UserID?
    /// When it fires.
    public var dueAt: Moment
    /// What `later` was given.
    public let data: JSONValue
    /// Who caused it: the one for whom the handler that started it ran.
    public let cause: Cause
    /// `every 600000` or `at 540` for timers that come again; nil for those of `later`.
    public let schedule: String?

    /// The timer `name` of `plugin`, due at `dueAt`.
    public init(
        id: UInt64, plugin: String, name: String, dueAt: Moment, call: CallID? = nil,
        account: UserID? = nil, data: JSONValue = .null, schedule: String? = nil,
        cause: Cause = .nobody
    ) {
        self.id = id
        self.plugin = plugin
        self.name = name
        self.call = call
        self.account = account
        self.dueAt = dueAt
        self.data = data
        self.schedule = schedule
        self.cause = cause
    }
}

extension TimerDeclaration.Schedule {
    /// What is stored of it, to see whether a new generation declares the same.
    var text: String? {
        switch self {
        case .started: nil
        case .every(let period): "every \(period)"
        case .daily(let minute): "at \(minute)"
        }
    }

    /// The next moment after `moment`, and after `now`.
    func next(after moment: Moment, now: Moment, _ zone: TimeZoneRules, wallOffset: Milliseconds)
        -> Moment
    {
        switch self {
        case .started: return moment
        case .every(let period):
            let passed = max(0, now - moment) / period
            return moment + (passed + 1) * period
        case .daily(let minute):
            let wall = (now.milliseconds + wallOffset) / 1_000
            let today = zone.local(at: wall)
            var day = LocalTime(year: today.year, month: today.month, day: today.day)
            (day.hour, day.minute) = (minute / 60, minute % 60)
            var due = zone.moment(of: day)
            if due <= wall {
                var next = LocalTime(secondsSince1970: day.secondsSince1970 + 86_400)
                next.second = 0
                due = zone.moment(of: next)
            }
            return Moment(due * 1_000 - wallOffset)
        }
    }
}
