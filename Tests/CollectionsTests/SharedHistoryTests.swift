// Nobody pushes another one's entries out of a history that is shared.

import Collections
import Testing

@Suite struct SharedHistoryTests {
    @Test func entriesComeInTheirOrderWhoseverTheyAre() {
        var history = SharedHistory<String, Int>(most: 10, share: 5)
        for number in 1...6 { history.append(number, of: number % 2 == 0 ? "ann" : "bob") }
        #expect(Array(history.values) == [1, 2, 3, 4, 5, 6])
        #expect(history.values(of: "ann") == [2, 4, 6])
        #expect(history.values(of: "bob") == [1, 3, 5])
        #expect(history.values(of: "cid").isEmpty)
    }

    @Test func whoFloodsPushesOutHisOwnOnly() {
        var history = SharedHistory<String, Int>(most: 10, share: 3)
        history.append(-1, of: "ann")
        for number in 0..<1_000 { history.append(number, of: "eve") }
        #expect(Array(history.values) == [-1, 997, 998, 999])
        #expect(history.values(of: "ann") == [-1])
        #expect(history.values(of: "eve") == [997, 998, 999])
        #expect(history.count == 4)
    }

    @Test func beyondAllThatIsKeptTheOldestGoesWhoseverItIs() {
        var history = SharedHistory<Int, Int>(most: 10, share: 3)
        for number in 0..<100 { history.append(number, of: number / 2) }
        #expect(Array(history.values) == Array(90..<100))
        #expect(history.values(of: 44).isEmpty && history.values(of: 45) == [90, 91])
        #expect(history.count == 10)
    }

    @Test func itIsWhatAPlainListWouldBe() {
        var history = SharedHistory<Int, Int>(most: 20, share: 6)
        var plain: [(owner: Int, entry: Int)] = []
        var dice = SystemRandomNumberGenerator()
        for entry in 0..<5_000 {
            let owner = Int.random(in: 0..<8, using: &dice) * Int.random(in: 0..<2, using: &dice)
            if plain.count(where: { $0.owner == owner }) == 6 {
                plain.remove(at: plain.firstIndex { $0.owner == owner }!)
            } else if plain.count == 20 {
                plain.removeFirst()
            }
            plain.append((owner, entry))
            history.append(entry, of: owner)
            if entry % 97 == 0 {
                let gone = Int.random(in: 0..<8, using: &dice)
                plain.removeAll { $0.owner == gone }
                history.keep { owner, _ in owner != gone }
            }
            #expect(Array(history.values) == plain.map(\.entry))
            let own = plain.filter { $0.owner == owner }.map(\.entry)
            #expect(history.values(of: owner) == own)
        }
    }
}
