// Links that break, are silent, lose and repeat: nobody is told too much, too little, or nothing.

import ClusterCore
import Foundation
import Testing

@Suite struct LinkWorldTests {
    private static let all = LinkWeather(
        resets: true, silences: true, replays: true, gaps: true, oldFrames: true, takeovers: true,
        pauses: true)
    private static let weathers: [LinkWeather] = [
        LinkWeather(), LinkWeather(resets: true), LinkWeather(silences: true),
        LinkWeather(replays: true), LinkWeather(gaps: true), LinkWeather(oldFrames: true),
        LinkWeather(takeovers: true), LinkWeather(pauses: true), all,
    ]

    private static let seeds: ClosedRange<UInt64> =
        ProcessInfo.processInfo.environment["CALLAGENT_FULL"]?.isEmpty == false ? 1...40 : 1...2

    @Test(arguments: seeds)
    func everyClientIsToldEverythingOnceOrIsSentAway(seed: UInt64) {
        for (place, weather) in Self.weathers.enumerated() {
            var world = LinkWorld(seed: seed, weather)
            world.run(for: 120_000)
            #expect(world.findings.isEmpty, "seed \(seed), weather \(place): \(world.findings)")
            #expect(world.told > 100, "weather \(place)")
            if weather.replays || weather.gaps || weather.oldFrames { #expect(world.refused > 0) }
            if weather.resets { #expect(world.resumed > 0) }
        }
    }

    @Test func fiftyFrontEndsOfOneOwner() {
        var world = LinkWorld(seed: 1, Self.all, fronts: 50)
        world.run(for: 60_000)
        #expect(world.findings.isEmpty, "\(world.findings)")
        #expect(world.told > 1_000 && world.resumed > 0 && world.takeovers > 0)
    }

    @Test(arguments: PlantedLinkFault.allCases)
    func everyPlantedFaultIsFound(fault: PlantedLinkFault) {
        let isFound = (1...20 as ClosedRange<UInt64>).contains { seed in
            var world = LinkWorld(seed: seed, fault.weather, fault: fault)
            world.run(for: 120_000)
            return !world.findings.isEmpty
        }
        #expect(isFound, "\(fault)")
    }
}

extension PlantedLinkFault {
    /// Where it shows; other weather does not bring it out.
    fileprivate var weather: LinkWeather {
        switch self {
        case .epochOverlooked: LinkWeather(oldFrames: true)
        case .numberOverlooked: LinkWeather(replays: true, gaps: true)
        case .requestsForgotten, .alwaysReady, .eventsForgotten: LinkWeather(resets: true)
        case .beatOverlooked: LinkWeather(resets: true, silences: true)
        case .everyOwnerIsTheSame, .patienceWithoutEnd, .busyKept, .busyOverlooked:
            LinkWeather(resets: true, takeovers: true)
        }
    }
}
