// Sessions go on, wait for a while, and end.

import AgentCore
import CallModel
import CallWire
import Testing

@Suite struct SessionTableTests {
    private let phone = Address(UserID("ann"), DeviceID("phone"))
    private let limits = SessionLimits()
    private let now = Moment(1_000)
    private var table = SessionTable(seed: 1)

    /// A line that leads nowhere.
    private func line() -> Line { Line(at: now, limits: limits) }

    private func id(_ number: UInt64) -> SessionID { SessionID(high: 0, low: number) }

    /// Says `hello` as the session `number`, and is welcomed.
    private mutating func hello(
        _ number: UInt64, resuming old: UInt64? = nil, over line: Line, at moment: Moment
    ) -> SessionTable.Opening {
        let resume = old.map { Hello.Resume(session: id($0), seq: 0) }
        let opening = table.open(phone, over: line, resume, newID: id(number), at: moment)
        _ = opening.live.session.welcomed(limits: limits)
        return opening
    }

    @Test mutating func aNewerConnectionTakesThePlaceOfTheOneBefore() {
        let (old, new) = (line(), line())
        let first = hello(1, over: old, at: now)
        #expect(first.replaced == nil && !first.isResumed && first.live.line === old)
        let second = hello(2, over: new, at: now)
        #expect(second.replaced === old && !second.isResumed && second.live.line === new)
        #expect(table.count == 1 && second.live.session.id == id(2))
    }

    @Test mutating func aDeviceThatComesBackInTimeGoesOn() {
        let live = hello(1, over: line(), at: now).live
        let mayReturn = table.detach(live, at: now, limits: limits)
        #expect(mayReturn && table.hasDetached && table[phone]?.line == nil)
        let back = hello(2, resuming: 1, over: line(), at: now + (limits.resumeWindow - 1))
        #expect(back.isResumed && back.live === live && back.replaced == nil)
        #expect(live.session.id == id(1))
        let gone = table.expire(at: now + limits.resumeWindow)
        #expect(gone == [] && table.count == 1, "it is connected")
        #expect(!table.hasDetached)
    }

    @Test mutating func aDeviceOfAnOwnerBeforeKeepsItsSession() throws {
        let kept = Hello.Resume(session: id(7), seq: 12)
        let made = table.keep(kept, of: phone, over: line(), at: now)
        let opening = try #require(made)
        #expect(!opening.isResumed && opening.live.session.id == id(7))
        #expect(opening.live.session.lastSent == 12 && table.count == 1)
        // A device that is known here has its session here.
        let again = table.keep(kept, of: phone, over: line(), at: now)
        #expect(again?.live == nil && table[phone]?.line === opening.live.line)
    }

    @Test mutating func ofVeryManySessionsSomeEndAtOnce() {
        for number in 0..<200 as Range<UInt64> {
            let device = Address(UserID("ann"), DeviceID("\(number)"))
            let live = table.open(device, over: line(), nil, newID: id(number), at: now).live
            _ = live.session.welcomed(limits: limits)
            _ = table.detach(live, at: now, limits: limits)
        }
        let end = now + limits.resumeWindow
        var turns: [Int] = []
        while table.hasExpired(at: end) { turns.append(table.expire(at: end).count) }
        #expect(turns == [64, 64, 64, 8] && table.count == 0 && !table.hasDetached)
    }

    @Test mutating func aSessionThatNobodyComesBackToEndsInTimeOnce() {
        let live = hello(1, over: line(), at: now).live
        _ = table.detach(live, at: now, limits: limits)
        let early = table.expire(at: now + (limits.resumeWindow - 1))
        let inTime = table.expire(at: now + limits.resumeWindow)
        let late = table.expire(at: now + 2 * limits.resumeWindow)
        #expect(early == [] && inTime == [phone] && late == [])
        #expect(table.count == 0 && table[phone] == nil)
    }

    @Test mutating func aSessionThatWasNeverWelcomedCannotBeComeBackTo() {
        let opening = table.open(phone, over: line(), nil, newID: id(1), at: now)
        let mayReturn = table.detach(opening.live, at: now, limits: limits)
        #expect(!mayReturn && table.count == 0 && !table.hasDetached)
    }

    @Test mutating func whatIsEndedIsFoundNoMoreNotEvenByWhoAskedForItLast() {
        let end = line()
        let live = hello(1, over: end, at: now).live
        let found = table.recent(phone)
        #expect(found === live)
        let ended = table.end(phone)
        let again = table.recent(phone)
        #expect(ended === end && again == nil && live.line == nil)
        #expect(live.session.state == .gone)
        let nobody = table.end(phone)
        #expect(nobody == nil)
    }
}
