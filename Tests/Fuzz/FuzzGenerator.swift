// Random decisions from a seed, and the ways to damage and cut an input.

/// A splitmix64 generator: the same seed and iteration always give the same decisions.
struct FuzzGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64, iteration: Int) {
        state = seed
        state = next() &+ UInt64(iteration) &* 0xD129_0B26_75BD_96C5
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// A number in `range`.
    mutating func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    /// One of `choices`, which must not be empty.
    mutating func pick<T>(_ choices: [T]) -> T { choices[pick(0...choices.count - 1)] }

    /// True once in `count` times.
    mutating func once(in count: Int) -> Bool { pick(1...count) == 1 }

    /// `count` bytes of any value.
    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }

    /// `input` with up to three changes: bytes replaced, removed, repeated, cut off, or taken from
    /// `dictionary`.
    mutating func damage(_ input: [UInt8], dictionary: [String]) -> [UInt8] {
        var result = input
        for _ in 0..<pick(0...3) {
            let place = pick(0...result.count)
            let end = min(place + pick(0...8), result.count)
            switch pick(0...4) {
            case 0: result.replaceSubrange(place..<end, with: bytes(end - place))
            case 1: result.removeSubrange(place..<end)
            case 2: result.insert(contentsOf: result[place..<end], at: place)
            case 3: result.insert(contentsOf: pick(dictionary).utf8, at: place)
            default: if once(in: 4) { result.removeSubrange(place...) }
            }
        }
        return result
    }

    /// `input` in pieces: single bytes, or of random lengths.
    mutating func cut(_ input: [UInt8]) -> [[UInt8]] {
        if once(in: 4) { return input.map { [$0] } }
        var pieces: [[UInt8]] = []
        var rest = input[...]
        while !rest.isEmpty {
            let piece = rest.prefix(pick(1...max(1, min(rest.count, pick(1...64)))))
            pieces.append(Array(piece))
            rest = rest.dropFirst(piece.count)
        }
        return pieces
    }
}
