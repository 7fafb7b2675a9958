// Values keep their places in memory while others come; hashes are found in segments of any number.

import Testing

@testable import Collections

@Suite struct PagesTests {
    @Test func valuesAreFoundByTheirNumbers() {
        var pages = Pages<String>()
        #expect(pages.count == 0 && pages.indices.isEmpty)
        for number in 0..<3 * Pages<String>.pageSize { pages.append("\(number)") }
        #expect(pages.indices.allSatisfy { pages[$0] == "\($0)" })
        pages[7] += "!"
        #expect(pages[7] == "7!" && pages[8] == "8")
        #expect(Array(pages.values(in: 6..<9)) == ["6", "7!", "8"])
        let last = pages.count - 1
        #expect(Array(pages.values(in: last..<last + 9)) == ["\(last)"])
    }

    /// Whoever adds the value that no longer fits does not pay for all others.
    @Test func aValueNeverMovesOnceItsPageIsWhole() {
        var pages = Pages<Int>()
        for number in 0..<Pages<Int>.pageSize { pages.append(number) }
        let first = pages.table.pointee.address(0)
        for number in 0..<20 * Pages<Int>.pageSize { pages.append(number) }
        #expect(pages.table.pointee.address(0) == first && pages[0] == 0)
        #expect(pages.table.pointee.pageCount == 21)
    }

    @Test func aSmallTableTakesLittleMemory() {
        var pages = Pages<Int>()
        #expect(pages.table.pointee.room == 0)
        pages.append(1)
        #expect(pages.table.pointee.room == Pages<Int>.firstSize)
    }

    @Test func aCopyKeepsItsValues() {
        var pages = Pages<[Int]>()
        for number in 0..<10_000 { pages.append([number]) }
        var copy = pages
        copy[1].append(9)
        copy.append([])
        #expect(pages[1] == [1] && pages.count == 10_000)
        #expect(copy[1] == [1, 9] && copy.count == 10_001)
    }

    @Test func whatWasInItIsFreed() {
        final class Witness {}
        weak var seen: Witness?
        do {
            var pages = Pages<Witness>()
            for _ in 0..<10_000 { pages.append(Witness()) }
            seen = pages[9_000]
            #expect(seen != nil)
        }
        #expect(seen == nil)
    }
}

@Suite struct HashIndexTests {
    /// Numbers under their hashes, as an index and as a dictionary has them.
    private struct Pair {
        var index = HashIndex()
        var known: [Int32: UInt32] = [:]

        mutating func insert(_ place: Int32, _ hash: UInt32) {
            index.insert(hash, place)
            known[place] = hash
        }

        mutating func remove(_ place: Int32) {
            guard let hash = known.removeValue(forKey: place) else { return }
            index.remove(hash, place)
        }

        func agree(_ places: Range<Int32>, _ hash: (Int32) -> UInt32) -> Bool {
            places.allSatisfy { place in
                index.find(hash(place)) { $0 == place } == (known[place] == nil ? nil : place)
            }
        }
    }

    private func scattered(_ place: Int32) -> UInt32 { UInt32(place) &* 0x9E37_79B9 }

    @Test func manyComeAndGoOverManySegments() {
        var pair = Pair()
        for place in 0..<Int32(40_000) { pair.insert(place, scattered(place)) }
        #expect(pair.index.table.pointee.bits > 3 && pair.agree(0..<41_000, scattered))
        for place in 0..<Int32(40_000) where place % 3 != 0 { pair.remove(place) }
        #expect(pair.agree(0..<40_000, scattered))
        for place in 0..<Int32(40_000) where place % 3 == 1 { pair.insert(place, scattered(place)) }
        #expect(pair.agree(0..<40_000, scattered))
    }

    /// What has to be moved when a place is added does not grow with the table.
    @Test func aSegmentIsSplitWhenItIsHalfFull() {
        var pair = Pair()
        for place in 0..<Int32(HashIndex.segmentSize / 2) { pair.insert(place, scattered(place)) }
        #expect(pair.index.table.pointee.bits == 0)
        #expect(pair.index.table.pointee.mask + 1 == HashIndex.segmentSize)
        for place in 3_000..<Int32(200_000) { pair.insert(place, scattered(place)) }
        #expect(pair.index.table.pointee.mask + 1 == HashIndex.segmentSize)
        #expect(pair.agree(0..<200_000, scattered))
    }

    /// No bit tells them apart: then the segments become larger, and all are found.
    @Test func hashesThatAreTheSameAreFound() {
        var pair = Pair()
        let same: (Int32) -> UInt32 = { $0 < 100 ? self.scattered($0) : 0xABCD_EF01 }
        for place in 0..<Int32(4_000) { pair.insert(place, same(place)) }
        #expect(pair.index.table.pointee.bits == HashIndex.mostBits)
        #expect(pair.index.table.pointee.mask + 1 > HashIndex.segmentSize)
        #expect(pair.agree(0..<200, same) && pair.agree(3_900..<4_001, same))
        for place in 100..<Int32(4_000) { pair.remove(place) }
        #expect(pair.agree(0..<200, same))
    }

    @Test func aCopyKeepsItsPlaces() {
        var pair = Pair()
        for place in 0..<Int32(10_000) { pair.insert(place, scattered(place)) }
        var copy = pair
        for place in 0..<Int32(5_000) { copy.remove(place) }
        copy.insert(20_000, 7)
        #expect(pair.agree(0..<10_000, scattered))
        #expect(copy.agree(0..<10_000, scattered))
        let found = pair.index.find(7) { $0 == 20_000 }
        #expect(found == nil)
    }
}
