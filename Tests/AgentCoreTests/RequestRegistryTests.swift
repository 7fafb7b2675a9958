// A request's number finds who waits for it, once.

import CallModel
import Testing

@testable import AgentCore

@Suite struct RequestRegistryTests {
    @Test func aReplyFindsItsRequestOnce() {
        var requests = RequestRegistry()
        let (first, second) = (requests.add(.policy { _ in }), requests.add(.policy { _ in }))
        #expect(first != second && requests.count == 2)
        #expect(requests.remove(first) != nil)
        #expect(requests.remove(first) == nil)
        #expect(requests.count == 1)
        #expect(requests.remove(second) != nil && requests.count == 0)
    }

    @Test func aPlaceThatIsUsedAgainHasAnotherNumber() {
        var requests = RequestRegistry()
        var seen: Set<RequestID> = []
        for _ in 0..<100 {
            let request = requests.add(.policy { _ in })
            #expect(seen.insert(request).inserted)
            for old in seen where old != request { #expect(requests.remove(old) == nil) }
            #expect(requests.remove(request) != nil)
        }
    }

    @Test func pagesOfAUserHaveTheirTurns() {
        var (requests, pages) = (RequestRegistry(), PageTurns<Int>())
        let (ann, bob) = (UserID("ann"), UserID("bob"))
        let ids = (0..<5).map { _ in requests.add(.policy { _ in }) }
        let begun = (0..<4).map { pages.begins($0, ids[$0], for: ann, most: 2) }
        #expect(begun == [true, true, false, false])
        let isFree = pages.begins(4, ids[4], for: bob, most: 2)
        #expect(isFree && pages.count == 2, "another user does not wait")
        #expect(pages.ends(ids[3]) == nil, "it has not begun")
        #expect(pages.ends(ids[1]) == ann)
        #expect(pages.next(of: ann) == 2)
        let goesOn = pages.begins(2, ids[2], for: ann, most: 2)
        #expect(goesOn)
        #expect(pages.ends(ids[2]) == ann)
        #expect(pages.next(of: ann) == 3)
        #expect(pages.ends(ids[0]) == ann)
        #expect(pages.next(of: ann) == nil)
        #expect(pages.ends(ids[4]) == bob)
        #expect(pages.next(of: bob) == nil)
        #expect(pages.count == 0, "nobody is remembered")
    }

    @Test func aNumberFromElsewhereFindsNothing() {
        var requests = RequestRegistry()
        let request = requests.add(.policy { _ in })
        #expect(requests.remove(RequestID(0)) == nil)
        #expect(requests.remove(RequestID(.max)) == nil)
        #expect(requests.remove(RequestID(request.value + 1)) == nil)
        #expect(requests.count == 1)
    }

    @Test func whoIsCalledByARequestIsKnownAsLongAsItHasNoAnswer() throws {
        var requests = RequestRegistry()
        let (ann, bob) = (UserID("ann"), UserID("bob"))
        let answered = requests.add(.policy { _ in })
        requests.note(answered, (ann, [bob]))
        #expect(requests.remove(answered) != nil)
        _ = requests.add(.policy { _ in })  // in the same place
        let other = requests.add(.policy { _ in })
        requests.note(other, (bob, [ann]))
        let invitations = requests.removeAll().compactMap { $0.invitation }
        let one = try #require(invitations.first)
        #expect(invitations.count == 1 && one.caller == bob && one.invitees == [ann])
    }

    @Test func allAreTakenOutAtOnce() {
        var requests = RequestRegistry()
        let numbers = (0..<10).map { _ in requests.add(.policy { _ in }) }
        _ = requests.remove(numbers[3])
        #expect(requests.removeAll().count == 9 && requests.count == 0)
        for number in numbers { #expect(requests.remove(number) == nil) }
        let request = requests.add(.policy { _ in })
        #expect(!numbers.contains(request) && requests.remove(request) != nil)
    }
}
