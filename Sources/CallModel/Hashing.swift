// Hashes of identifiers, for tables that are found by them.

extension CallID {
    /// Four calls in a row, which come and go together, are neighbours and share a cache line. The
    /// groups are far from each other.
    @inlinable
    package var hash: UInt32 {
        (high >> 2).scattered &+ UInt32(truncatingIfNeeded: high & 3)
    }
}

extension UInt64 {
    /// A hash far from those of the neighbours: a long run of full buckets is slow to search.
    @inlinable
    package var scattered: UInt32 {
        UInt32(truncatingIfNeeded: (self &* 0x9E37_79B9_7F4A_7C15) >> 32)
    }
}

extension UserID {
    /// A hash that depends on a secret seed.
    @inlinable
    package func hash(_ seed: UInt64) -> UInt32 {
        var text = text
        return text.withUTF8 { bytes in
            let raw = UnsafeRawBufferPointer(bytes)
            var hash = seed ^ UInt64(raw.count)
            var index = 0
            while index &+ 8 <= raw.count {
                hash.mix(raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                index &+= 8
            }
            var rest: UInt64 = 0
            while index < raw.count {
                rest = rest << 8 | UInt64(raw[index])
                index &+= 1
            }
            hash.mix(rest)
            return UInt32(truncatingIfNeeded: hash)
        }
    }
}

extension UInt64 {
    /// Takes `word` in: a product of 128 bits folded into 64.
    @inlinable
    package mutating func mix(_ word: UInt64) {
        let product = (self ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        self = product.high ^ product.low
    }
}
