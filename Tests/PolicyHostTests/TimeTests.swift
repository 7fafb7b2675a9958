// Local time and opening hours.

import Configuration
import Lua
import Testing

@testable import PolicyHost

@Suite struct TimeTests {
    @Test func summerAndWinterInBerlin() throws {
        let zone = try #require(TimeZoneRules(named: "Europe/Berlin"))
        #expect(
            zone.format(1_700_000_000, "%Y-%m-%d %H:%M:%S %a %z") == "2023-11-14 23:13:20 Tue +0100"
        )
        #expect(
            zone.format(1_720_000_000, "%Y-%m-%d %H:%M:%S %a %z") == "2024-07-03 11:46:40 Wed +0200"
        )
        #expect(zone.format(4_100_000_000, "%H:%M %z") == "17:53 +0100")
        #expect(zone.format(4_090_000_000, "%z") == "+0200")
    }

    @Test func openingHoursFollowTheClocks() throws {
        let zone = try #require(TimeZoneRules(named: "Europe/Berlin"))
        let hours = try Hours("mon-fri 09:00-18:00, sat 10:00-14:00")
        let saturday = zone.moment(of: LocalTime(year: 2024, month: 3, day: 30)) + 12 * 3_600
        #expect(hours.isOpen(at: saturday, in: zone))
        #expect(!hours.isOpen(at: saturday + 3 * 3_600, in: zone))
        // The clocks are set forward in the night to Sunday.
        let monday = zone.moment(of: LocalTime(year: 2024, month: 4, day: 1)) + 9 * 3_600
        #expect(hours.nextOpening(after: saturday + 3 * 3_600, in: zone) == monday)
        #expect(zone.format(monday, "%a %H:%M") == "Mon 09:00")
    }

    @Test func hoursOverMidnightAndOverTheWeek() throws {
        let hours = try Hours("sun 22:00-02:00")
        let monday = LocalTime(year: 2024, month: 4, day: 1).secondsSince1970
        #expect(hours.isOpen(at: monday - 3_600, in: .utc))
        #expect(hours.isOpen(at: monday + 3_600, in: .utc))
        #expect(!hours.isOpen(at: monday + 7_200, in: .utc))
        #expect(hours.nextOpening(after: monday, in: .utc) == monday + 6 * 86_400 + 22 * 3_600)
    }

    @Test(arguments: ["monday 09:00-18:00", "mon 9-18", "mon 09:00", "mon 25:00-26:00"])
    func otherTextsAreNoHours(_ text: String) {
        #expect(throws: LuaProblem.self) { try Hours(text) }
    }
}
