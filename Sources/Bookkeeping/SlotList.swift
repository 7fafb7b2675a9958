// The live calls of one user.

/// A few places in the table of calls, in the order in which they came. Most users are in one call:
/// the first place takes no memory of its own.
public struct SlotList: RandomAccessCollection, Sendable {
    private static let none: CallSlot = -1
    private var first = none
    private var others: [CallSlot] = []

    /// No places.
    public init() {}

    public var startIndex: Int { 0 }
    public var endIndex: Int { first == Self.none ? 0 : others.count + 1 }
    public subscript(position: Int) -> CallSlot { position == 0 ? first : others[position - 1] }

    /// Adds `slot` at the end.
    public mutating func append(_ slot: CallSlot) {
        if first == Self.none { first = slot } else { others.append(slot) }
    }

    /// Takes `slot` out.
    public mutating func remove(_ slot: CallSlot) {
        guard first == slot else { return others.removeAll { $0 == slot } }
        first = others.isEmpty ? Self.none : others.removeFirst()
    }
}
