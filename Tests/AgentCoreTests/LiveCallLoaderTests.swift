// While live calls are loaded after a start, nobody waits for more than their own.

import CallCore
import CallModel
import StoreContract
import Testing

@testable import AgentCore

@Suite struct LiveCallLoaderTests {
    private typealias Loader = LiveCallLoader<Int>

    private let board = Switchboard(settings: Settings(), seed: 1, at: Moment(0))
    private let last = CallID(high: 1_000, low: 0)

    private func need(
        _ user: String?, _ others: [String] = [], call: CallID? = nil
    ) -> Loader.Need {
        var need = Loader.Need()
        need.user = user.map { UserID($0) }
        need.others = others.map { UserID($0) }
        need.call = call
        return need
    }

    private func hold(
        _ number: Int, _ need: Loader.Need, in loader: inout Loader,
        at place: SourceLocation = #_sourceLocation
    ) {
        let isAdmitted = loader.admits(need, board, else: number)
        #expect(!isAdmitted, sourceLocation: place)
    }

    /// All that may go on.
    private func ready(_ loader: inout Loader) -> [Int] {
        var taken: [Int] = []
        while let one = loader.takeReady(board) { taken.append(one) }
        return taken
    }

    /// The question about users; the page is left unanswered.
    private func question(_ loader: inout Loader) throws -> LiveCallQuery {
        try #require(loader.takeQueries().first { !$0.users.isEmpty || !$0.calls.isEmpty })
    }

    @Test func eachWaitsForHisOwnInItsOrder() throws {
        var loader = Loader(upTo: last, limit: 10)
        hold(1, need("ann", ["bob"]), in: &loader)
        hold(2, need("ann"), in: &loader)
        let first = try question(&loader)
        #expect(Set(first.users) == ["ann", "bob"])
        hold(3, need("carl"), in: &loader)
        _ = loader.take(LiveCalls(), to: first)
        // Not behind what is still held of ann, who is known already.
        hold(4, need("ann"), in: &loader)
        #expect(ready(&loader) == [1, 2, 4])
        let isAdmitted = loader.admits(need("ann", ["bob"]), board, else: 5)
        #expect(isAdmitted)
        #expect(loader.heldCount == 1)
        _ = loader.take(LiveCalls(), to: try question(&loader))
        #expect(ready(&loader) == [3])
        #expect(loader.heldCount == 0 && !loader.isOver)
    }

    @Test func aCallThatIsNotLoadedIsAskedFor() throws {
        var loader = Loader(upTo: last, limit: 10)
        let old = CallID(high: 10, low: 1)
        hold(1, need("ann", call: old), in: &loader)
        let first = try question(&loader)
        #expect(first.calls == [old])
        _ = loader.take(LiveCalls(), to: first)
        #expect(ready(&loader) == [1])
        let new = CallID(high: 2_000, low: 1)
        let isAdmitted = loader.admits(need("ann", call: new), board, else: 2)
        #expect(isAdmitted)
    }

    @Test func whatIsTakenOutComesInOrderAndTheRestGoesOn() throws {
        var loader = Loader(upTo: last, limit: 10)
        for number in 1...6 {
            let user = number % 2 == 0 ? "ann" : "bob"
            hold(number, need(user), in: &loader)
        }
        let removed = loader.removeHeld { $0 > 2 && $0 < 6 }
        #expect(removed == [3, 4, 5] && loader.heldCount == 3)
        hold(7, need("ann"), in: &loader)
        _ = loader.take(LiveCalls(), to: try question(&loader))
        #expect(Set(ready(&loader)) == [1, 2, 6, 7])
        #expect(loader.heldCount == 0)
    }

    @Test func afterAFailedQuestionTheLastPageLetsAllGoOn() throws {
        var loader = Loader(upTo: last, limit: 10)
        hold(1, need("ann"), in: &loader)
        let queries = loader.takeQueries()
        let page = try #require(queries.first { $0.users.isEmpty })
        let asked = try #require(queries.first { !$0.users.isEmpty })
        let (goesOn, goesOnWithoutPage) = (
            loader.goesOn(without: asked), loader.goesOn(without: page)
        )
        #expect(goesOn && !goesOnWithoutPage)
        hold(2, need("bob"), in: &loader)
        let more = loader.takeQueries()
        #expect(ready(&loader) == [])
        #expect(more.isEmpty)
        _ = loader.take(LiveCalls(), to: page)
        #expect(ready(&loader) == [1, 2])
        #expect(loader.isOver)
    }

    /// Ten thousand phones come back while a thousand pages are loaded.
    @Test func pagesAndAnswersConcernOnlyWhoWaitsForThem() throws {
        var loader = Loader(upTo: last, limit: 64)
        let count = 10_000
        for number in 0..<count {
            hold(number, need("user\(number)"), in: &loader)
        }
        var (pages, taken) = (0, 0)
        while taken < count {
            for query in loader.takeQueries() {
                var found = LiveCalls()
                if query.users.isEmpty {
                    pages += 1
                    found.lookedUpTo = CallID(high: UInt64(pages), low: 0)
                }
                _ = loader.take(found, to: query)
                taken += ready(&loader).count
            }
        }
        #expect(pages == (count + 63) / 64)
        #expect(loader.looks == 2 * count)
    }
}
