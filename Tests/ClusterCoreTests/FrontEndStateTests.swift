// A front end whose link breaks: whom it keeps, and for how long.

import StoreContract
import Testing

@testable import ClusterCore

@Suite struct FrontEndStateTests {
    private let owner = Term(owner: "a", epoch: 3)

    /// One that had a link to `owner` up to the moment 0.
    private func broken() -> FrontEndState {
        var state = FrontEndState(LinkTimes())
        #expect(state.links(3) == .present(isSame: false))
        for moment in stride(from: Int64(-2_000), through: 0, by: 500) {
            state.sees(owner, beat: moment, at: moment)
        }
        #expect(state.isReady(at: 0))
        #expect(state.breaks(at: 0) == .closeAsking)
        return state
    }

    @Test func withoutAnOwnerItIsNotReady() {
        var state = FrontEndState(LinkTimes())
        #expect(!state.isReady(at: 0))
        #expect(state.breaks(at: 0) == nil)
        #expect(state.due(at: 100_000) == nil)
    }

    @Test func anOwnerThatGoesOnBeatingCostsAllClientsAfterTwoSeconds() {
        var state = broken()
        for moment in [Int64(500), 1_000, 1_500, 1_900] {
            state.sees(owner, beat: moment, at: moment)
            #expect(state.due(at: moment) == nil)
            #expect(state.isReady(at: moment))
        }
        #expect(state.due(at: 1_999) == nil)
        #expect(state.due(at: 2_000) == .closeAll)
        #expect(state.due(at: 2_001) == nil)
        #expect(!state.isReady(at: 2_000))
    }

    @Test func whileNobodyBeatsThoseInNoCallAreKept() {
        var state = broken()
        // A last beat may be seen a little later.
        state.sees(owner, beat: 9, at: 400)
        state.sees(owner, beat: 9, at: 1_900)
        #expect(state.due(at: 2_000) == .closeBusy)
        #expect(state.due(at: 2_100) == nil)
        #expect(!state.isReady(at: 2_100))
        #expect(state.due(at: 9_999) == nil)
        #expect(state.due(at: 10_000) == .closeAll)
        #expect(state.due(at: 10_100) == nil)
    }

    @Test func anotherOwnerThatBeatsWhileItLoadsIsWaitedFor() {
        var state = broken()
        let next = Term(owner: "b", epoch: 4)
        #expect(state.due(at: 2_000) == .closeBusy)
        for moment in [Int64(3_000), 3_500, 4_000] {
            state.sees(next, beat: moment, at: moment)
            #expect(state.due(at: moment) == nil)
        }
        #expect(state.links(4) == .present(isSame: false))
        #expect(state.isReady(at: 4_000))
        #expect(state.due(at: 20_000) == nil)
    }

    @Test func theSameOwnerHasTheSessions() {
        var state = broken()
        #expect(state.links(3) == .present(isSame: true))
        #expect(state.breaks(at: 100) == .closeAsking)
        #expect(state.links(5) == .present(isSame: false))
    }

    // MARK: One client

    private func says(_ text: String, _ client: inout FrontClientState) {
        Array(text.utf8).withUnsafeBytes { client.says($0) }
    }

    @Test func aClientIsPresentedWithItsHelloItsSessionAndItsLastEvent() {
        var client = FrontClientState()
        #expect(client.returns() == nil)
        says("wrong", &client)
        says("hello", &client)
        #expect(client.unsettled == 2)
        client.begins(StreamSession(high: 1, low: 2))
        says("invite", &client)
        #expect(client.settles(StreamMark(settled: 2, isIdle: true)) == 2)
        #expect(client.unsettled == 1)
        #expect(client.settles(StreamMark(settled: 2, isIdle: true)) == 0)
        client.hears(Array(#"{"re":1,"ok":{"seq":99}}"#.utf8))
        #expect((client.seq, client.isBusy) == (0, false))
        client.hears(Array(#"{"seq":1204,"event":"call.incoming"}"#.utf8))
        #expect((client.seq, client.isBusy) == (1204, true))
        let hello = Array("hello".utf8)
        #expect(
            client.returns()
                == StreamReturn(hello: hello, session: StreamSession(high: 1, low: 2), seq: 1204))
        #expect(client.unsettled == 0)
        #expect(client.settles(StreamMark(settled: 0, isIdle: true)) == 0)
        #expect(!client.isBusy)
    }

    @Test func anOwnerThatSettlesMoreThanWasSaidSettlesAll() {
        var client = FrontClientState()
        says("hello", &client)
        #expect(client.settles(StreamMark(settled: .max, isIdle: false)) == 1)
        #expect(client.unsettled == 0)
        #expect(client.isBusy)
    }
}
