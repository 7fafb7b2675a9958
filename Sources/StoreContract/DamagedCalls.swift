// Calls that a start leaves out because they cannot be read.

/// Live calls whose records are damaged: how many, and what is wrong with the first of them.
public struct DamagedCalls: Sendable, Equatable {
    /// How many.
    public private(set) var count = 0
    private var first = ""

    /// None.
    public init() {}

    /// One more, which cannot be read because of `error`.
    public mutating func note(_ error: StoreError) {
        if count == 0 { first = error.detail }
        count += 1
    }

    /// One line; nil: there are none.
    public var text: String? {
        switch count {
        case 0: nil
        case 1: "1 live call is left out because its record is damaged: \(first)"
        default:
            "\(count) live calls are left out because their records are damaged: "
                + "\(first), and \(count - 1) more"
        }
    }
}
