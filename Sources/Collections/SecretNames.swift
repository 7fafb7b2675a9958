// Names that cannot be guessed from other names.

/// A keyed function of one number whose results look random without the key (SipHash-2-4, by
/// Aumasson and Bernstein). A plain random generator would not do: all its later numbers follow
/// from one of them, and whoever knows the id of a call may join it.
package struct SecretNames: Sendable {
    private let key: (UInt64, UInt64)

    /// Names under the key of these halves.
    package init(_ first: UInt64, _ second: UInt64) { key = (first, second) }

    /// The secret half of the name whose open half is `number`.
    package func secret(of number: UInt64) -> UInt64 {
        var state = SipState(
            v0: key.0 ^ 0x736F_6D65_7073_6575, v1: key.1 ^ 0x646F_7261_6E64_6F6D,
            v2: key.0 ^ 0x6C79_6765_6E65_7261, v3: key.1 ^ 0x7465_6462_7974_6573)
        state.absorb(number)
        state.absorb(8 << 56)
        state.v2 ^= 0xFF
        for _ in 0..<4 { state.round() }
        return state.v0 ^ state.v1 ^ state.v2 ^ state.v3
    }
}

private struct SipState {
    var v0: UInt64
    var v1: UInt64
    var v2: UInt64
    var v3: UInt64

    mutating func absorb(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
    }

    mutating func round() {
        v0 &+= v1
        v1 = (v1 << 13 | v1 >> 51) ^ v0
        v0 = v0 << 32 | v0 >> 32
        v2 &+= v3
        v3 = (v3 << 16 | v3 >> 48) ^ v2
        v0 &+= v3
        v3 = (v3 << 21 | v3 >> 43) ^ v0
        v2 &+= v1
        v1 = (v1 << 17 | v1 >> 47) ^ v2
        v2 = v2 << 32 | v2 >> 32
    }
}
