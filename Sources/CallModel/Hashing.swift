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
    public func hash(_ seed: UInt64) -> UInt32 {
        UInt32(truncatingIfNeeded: seed.mixed(with: text))
    }
}

extension UInt64 {
    /// Takes `word` in: a product of 128 bits folded into 64.
    @inlinable
    public mutating func mix(_ word: UInt64) {
        let product = (self ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        self = product.high ^ product.low
    }

    /// Itself with all of `text` taken in, and how long that is. Whoever does not know it cannot
    /// choose two texts for which the outcome is the same.
    @inlinable
    package func mixed(with text: String) -> UInt64 {
        // Texts of this platform are contiguous UTF-8, so nothing is copied here.
        text.utf8.withContiguousStorageIfAvailable { mixed(with: .init($0)) }
            ?? mixed(withCopyOf: text)
    }

    /// Not part of its caller, which would hold the text for it in any case.
    @inline(never) @usableFromInline
    func mixed(withCopyOf text: String) -> UInt64 {
        Array(text.utf8).withUnsafeBytes { mixed(with: $0) }
    }

    @inlinable
    func mixed(with text: UnsafeRawBufferPointer) -> UInt64 {
        var hash = self ^ UInt64(text.count)
        var index = 0
        while index &+ 8 <= text.count {
            hash.mix(text.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            index &+= 8
        }
        var rest: UInt64 = 0
        if text.count >= 8 {
            // Some of these bytes count a second time, which tells no two texts less apart.
            rest = text.loadUnaligned(fromByteOffset: text.count &- 8, as: UInt64.self)
        } else if text.count >= 4 {
            let tail = text.loadUnaligned(fromByteOffset: text.count &- 4, as: UInt32.self)
            rest = UInt64(text.loadUnaligned(fromByteOffset: 0, as: UInt32.self)) << 32
            rest |= UInt64(tail)
        } else {
            while index < text.count {
                rest = rest << 8 | UInt64(text[index])
                index &+= 1
            }
        }
        hash.mix(rest)
        return hash
    }
}
