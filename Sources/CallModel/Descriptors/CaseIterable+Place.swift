// Enums without values as numbers.

extension CaseIterable {
    /// The place among the cases: an enum without values, and with at most 256 cases, is stored as
    /// that. Whoever makes a table by it checks so once.
    @inlinable @inline(__always)
    package var casePlace: Int { withUnsafeBytes(of: self) { Int($0[0]) } }
}
