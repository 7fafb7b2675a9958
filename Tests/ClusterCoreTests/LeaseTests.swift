// The lease: the owner, those who would be, and what they may not do.

import CallModel
import Foundation
import StoreContract
import Testing

@testable import ClusterCore

@Suite struct LeaseTests {
    private let owner = Term(owner: "a", epoch: 3)
    private let token: [UInt8] = [7]

    private func row(_ beat: Int64 = 0) -> LeaseRow {
        LeaseRow(term: owner, token: [1], beat: beat)
    }

    /// Looks every half second, from `from` on, and finds each of `rows`; what it does next.
    private func orders(_ lease: inout Lease, from: Milliseconds, _ rows: [LeaseRow?])
        -> LeaseOrder?
    {
        var now = from
        for row in rows {
            #expect(lease.next(at: now, token: token) == .look)
            _ = lease.came(row.map { .row($0) } ?? .failed, at: now)
            now += 500
        }
        return lease.next(at: now, token: token)
    }

    @Test func aBeatThatStandsStillForALeaseIsTakenOver() {
        var lease = Lease(node: "b")
        let order = orders(&lease, from: 0, Array(repeating: row(), count: 5))
        #expect(order == .take(row(), token: token))
        var short = Lease(node: "b")
        #expect(orders(&short, from: 0, Array(repeating: row(), count: 4)) == .look)
    }

    @Test func halfAnImportIsNotTaken() {
        var half = row()
        (half.isReleased, half.isImporting) = (true, true)
        var lease = Lease(node: "b")
        #expect(orders(&lease, from: 0, Array(repeating: half, count: 40)) == .look)
        half.isImporting = false
        var other = Lease(node: "b")
        #expect(orders(&other, from: 0, [half]) == .take(half, token: token))
    }

    @Test func aNodeThatIsNotEligibleTakesNothing() {
        var lease = Lease(node: "b", isEligible: false)
        #expect(orders(&lease, from: 0, Array(repeating: row(), count: 40)) == .look)
        var released = row()
        (released.isReleased, released.successor) = (true, "b")
        var given = Lease(node: "b", isEligible: false)
        #expect(orders(&given, from: 0, [released, released]) == .look)
        // Not even what an earlier process of it had.
        let own = LeaseRow(term: Term(owner: "b", epoch: 4), token: [1], beat: 0)
        var again = Lease(node: "b", isEligible: false)
        #expect(orders(&again, from: 0, Array(repeating: own, count: 40)) == .look)
    }

    @Test func whoeverMayOwnLaterTakesWhatIsFreeAtOnce() {
        var released = row()
        released.isReleased = true
        var lease = Lease(node: "b", isEligible: false)
        #expect(lease.next(at: 0, token: token) == .look)
        #expect(lease.came(.row(released), at: 1) == nil)
        #expect(lease.next(at: 2, token: token) == nil, "it waits for its next look")
        lease.setEligible(true)
        #expect(lease.next(at: 2, token: token) == .take(released, token: token))
        // One that may not any more keeps what it has.
        let grant = Grant(Term(owner: "b", epoch: released.term.epoch + 1), token: token)
        #expect(lease.came(.taken(grant), at: 3) == .owns(grant))
        lease.setEligible(false)
        #expect(lease.grant == grant && lease.maySpeak(at: 4))
    }

    @Test func whileTheOwnerIsToGiveUpOthersLookOften() {
        var lease = Lease(node: "b")
        var wished = row()
        wished.isWished = true
        #expect(lease.next(at: 0, token: token) == .look)
        #expect(lease.came(.row(wished), at: 1) == nil)
        #expect(lease.nextDeadline == 50)
        // That many looks are no lease that ran out.
        for now in stride(from: Milliseconds(50), to: 2_500, by: 50) {
            #expect(lease.next(at: now, token: token) == .look)
            #expect(lease.came(.row(wished), at: now) == nil)
        }
        // It counts from the first answer: when that was looked up on its way nobody knows.
        #expect(lease.next(at: 2_500, token: token) == .look)
        #expect(lease.came(.row(wished), at: 2_500) == nil)
        #expect(lease.next(at: 2_550, token: token) == .take(wished, token: token))
    }

    @Test func aSlowFirstAnswerMakesNoLeaseShorter() {
        var lease = Lease(node: "b")
        #expect(lease.next(at: 0, token: token) == .look)
        #expect(lease.came(.row(row()), at: 1_400) == nil)
        for now in stride(from: Milliseconds(1_400), to: 3_900, by: 500) {
            #expect(lease.next(at: now, token: token) == .look)
            #expect(lease.came(.row(row()), at: now) == nil)
        }
        #expect(lease.next(at: 3_900, token: token) == .take(row(), token: token))
    }

    @Test func aBeatThatMovesIsNot() {
        var lease = Lease(node: "b")
        let rows = (0..<40).map { row(Int64($0 / 4)) }
        #expect(orders(&lease, from: 0, rows) == .look)
    }

    @Test func timeWithoutAnAnswerDoesNotCountAgainstTheOwner() {
        var lease = Lease(node: "b")
        let rows = [row(), row(), row(), row(), nil, nil, nil, nil, row(), row()]
        #expect(orders(&lease, from: 0, rows) == .look)
    }

    @Test func whatWasGivenUpIsTakenAtOnceByWhomItWasGivenTo() {
        var released = row()
        released.isReleased = true
        var lease = Lease(node: "b")
        #expect(orders(&lease, from: 0, [released]) == .take(released, token: token))
        released.successor = "c"
        var other = Lease(node: "b")
        #expect(orders(&other, from: 0, [released]) == .look)
        var late = Lease(node: "b")
        let rows = Array(repeating: released, count: 5)
        #expect(
            orders(&late, from: 0, rows) == .take(released, token: token),
            "the one it was given to is gone too")
    }

    @Test func aNodeThatStartsAgainTakesItsOwnAtOnce() {
        var lease = Lease(node: "a")
        #expect(orders(&lease, from: 0, [row()]) == .take(row(), token: token))
    }

    private func owning(at now: Milliseconds) -> Lease {
        var lease = Lease(node: "a")
        _ = lease.next(at: now, token: token)
        _ = lease.came(.row(row()), at: now)
        _ = lease.next(at: now, token: token)
        let grant = Grant(Term(owner: "a", epoch: 4), token: token)
        #expect(lease.came(.taken(grant), at: now + 20) == .owns(grant))
        return lease
    }

    @Test func anOwnerIsSilentWhenItsLastBeatBeganTooLongAgo() {
        var lease = owning(at: 0)
        #expect(lease.maySpeak(at: 2_200) && !lease.maySpeak(at: 2_201))
        #expect(lease.silentAt == 2_200)
        guard case .beat? = lease.next(at: 500, token: token) else { return #expect(Bool(false)) }
        #expect(lease.came(.beaten(wish: nil), at: 1_900) == nil)
        #expect(lease.maySpeak(at: 2_700) && !lease.maySpeak(at: 2_701), "from its begin on")
        _ = lease.next(at: 1_900, token: token)
        #expect(lease.came(.failed, at: 3_900) == nil && !lease.maySpeak(at: 3_900))
        _ = lease.next(at: 3_900, token: token)
        #expect(lease.came(.beaten(wish: nil), at: 3_910) == nil && lease.maySpeak(at: 3_910))
    }

    @Test func anOwnerLearnsWhoOwns() {
        var lease = owning(at: 0)
        _ = lease.next(at: 500, token: token)
        let other = LeaseRow(term: Term(owner: "b", epoch: 5), token: [9], beat: 3)
        #expect(lease.came(.row(other), at: 520) == .lost(to: other.term))
        #expect(lease.grant == nil && !lease.maySpeak(at: 520))
        var twice = owning(at: 0)
        _ = twice.next(at: 500, token: token)
        let same = LeaseRow(term: Term(owner: "a", epoch: 5), token: [9], beat: 3)
        #expect(twice.came(.row(same), at: 520) == .replaced(by: same.term))
    }

    @Test func aDatabaseThatWentBackIsNoticed() {
        var waiting = Lease(node: "b")
        for (at, epoch, back) in [
            (0, 4, nil), (500, 4, nil), (1_000, 2, SetBack(from: 4, to: 2)),
            (1_500, 3, SetBack(from: 4, to: 2)), (2_000, 1, SetBack(from: 3, to: 1)),
        ] as [(Milliseconds, UInt32, SetBack?)] {
            let row = LeaseRow(term: Term(owner: "a", epoch: epoch), token: [], beat: 1)
            _ = waiting.next(at: at, token: token)
            _ = waiting.came(.row(row), at: at)
            #expect(waiting.setBack == back)
        }
        var lease = owning(at: 0)
        _ = lease.next(at: 500, token: token)
        let earlier = LeaseRow(term: Term(owner: "a", epoch: 3), token: [9], beat: 3)
        _ = lease.came(.row(earlier), at: 520)
        #expect(lease.setBack == SetBack(from: 4, to: 3))
    }

    @Test func afterAFailedCommitItTakesANewEpoch() {
        var lease = owning(at: 0)
        lease.takeNewEpoch()
        #expect(!lease.maySpeak(at: 30))
        guard case .take(let seen, _)? = lease.next(at: 30, token: [8]) else {
            return #expect(Bool(false))
        }
        #expect(seen.term.epoch == 4)
        let grant = Grant(Term(owner: "a", epoch: 5), token: [8])
        #expect(lease.came(.taken(grant), at: 40) == .owns(grant))
        #expect(lease.maySpeak(at: 50))
    }

    @Test func aTakeoverWhoseAnswerWasLostIsFoundInTheRow() {
        var lease = owning(at: 0)
        lease.takeNewEpoch()
        _ = lease.next(at: 30, token: [8])
        #expect(lease.came(.failed, at: 2_030) == nil && lease.grant == nil)
        #expect(lease.next(at: 2_030, token: [9]) == .look)
        let found = LeaseRow(term: Term(owner: "a", epoch: 5), token: [8], beat: 0)
        let grant = Grant(found.term, token: [8])
        #expect(lease.came(.row(found), at: 2_050) == .owns(grant))
        #expect(!lease.maySpeak(at: 2_300), "it began long ago: first it must beat")
    }

    @Test func anOwnerThatGivesUpIsSilentFromThenOn() {
        var lease = owning(at: 0)
        lease.giveUp(to: "b")
        #expect(!lease.maySpeak(at: 30))
        guard case .release(_, "b")? = lease.next(at: 30, token: token) else {
            return #expect(Bool(false))
        }
        #expect(lease.came(.released, at: 40) == .gaveUp)
        #expect(lease.next(at: 600, token: token) == .look)
    }

    @Test func aWishIsToldOnce() {
        var lease = owning(at: 0)
        _ = lease.next(at: 500, token: token)
        #expect(lease.came(.beaten(wish: "a"), at: 510) == nil, "it is the owner already")
        _ = lease.next(at: 1_000, token: token)
        #expect(lease.came(.beaten(wish: "b"), at: 1_010) == .asked(to: "b"))
        _ = lease.next(at: 1_500, token: token)
        #expect(lease.came(.beaten(wish: "b"), at: 1_510) == nil && lease.maySpeak(at: 1_510))
    }

    @Test func timesThatMakeNoSenseAreNamed() {
        var times = LeaseTimes()
        #expect(times.problem == nil && times.voice == 2_200)
        times.lease = 2_499
        #expect(times.problem == "lease: at least five beats")
        (times.beat, times.lease) = (49, 2_500)
        #expect(times.problem == "beat: at least 50 ms")
    }
}

@Suite struct LeaseWorldTests {
    fileprivate static let all = LeaseWorld.Weather(
        pauses: true, kills: true, outages: true, losses: true, handOvers: true, failures: true)
    private static let weathers: [LeaseWorld.Weather] = [
        LeaseWorld.Weather(), LeaseWorld.Weather(pauses: true), LeaseWorld.Weather(kills: true),
        LeaseWorld.Weather(outages: true), LeaseWorld.Weather(losses: true),
        LeaseWorld.Weather(handOvers: true), LeaseWorld.Weather(failures: true), all,
        LeaseWorld.Weather(holes: true), LeaseWorld.Weather(kills: true, holes: true),
        LeaseWorld.Weather(pauses: true, outages: true, losses: true, handOvers: true, holes: true),
    ]

    /// With CALLAGENT_FULL as many as find every planted fault.
    private static let seeds: ClosedRange<UInt64> =
        ProcessInfo.processInfo.environment["CALLAGENT_FULL"]?.isEmpty == false ? 1...40 : 1...2

    @Test(arguments: seeds)
    func onlyOneSpeaksAndSomebodyServes(seed: UInt64) {
        for weather in Self.weathers {
            var world = LeaseWorld(seed: seed, weather)
            world.run(for: 200_000)
            #expect(world.findings.isEmpty, "seed \(seed): \(world.findings)")
            #expect(world.takeovers > 0)
        }
    }

    /// Each reads the node table as often as the others, and is seen by them.
    @Test(arguments: [
        LeaseWorld.Weather(kills: true, handOvers: true), LeaseWorld.Weather(holes: true),
    ])
    func fiftyFrontEndsLeaveItToThoseWhoMayOwn(weather: LeaseWorld.Weather) {
        var world = LeaseWorld(seed: 1, weather, fronts: 50)
        world.run(for: 25_000)
        #expect(world.findings.isEmpty, "\(world.findings)")
        #expect(world.takeovers > 0)
    }

    @Test(arguments: LeaseFault.allCases)
    func everyPlantedFaultIsFound(fault: LeaseFault) {
        let isFound = (1...40 as ClosedRange<UInt64>).contains { seed in
            var world = LeaseWorld(seed: seed, fault.weather, fault: fault)
            world.run(for: 120_000)
            return !world.findings.isEmpty
        }
        #expect(isFound, "\(fault)")
    }
}

extension LeaseFault {
    /// Where it shows; in peace and in other weather most faults harm nobody.
    fileprivate var weather: LeaseWorld.Weather {
        switch self {
        case .leaseOverlooked: .init()
        case .beatCountsFromItsEnd, .neverSilent: .init(pauses: true)
        case .readsNotCounted, .failuresOverlooked: .init(outages: true)
        case .successorOverlooked, .speaksWhileGivingUp: .init(handOvers: true)
        case .epochKept: .init(failures: true)
        case .unknownTakeoverBelieved, .otherOwnerOverlooked: LeaseWorldTests.all
        case .outnumberedOverlooked: .init(holes: true)
        case .lonelinessOverlooked: .init(kills: true, holes: true)
        case .outnumberedAtOnce:
            .init(pauses: true, outages: true, losses: true, handOvers: true, holes: true)
        }
    }
}
