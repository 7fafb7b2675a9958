// Who has how much of something bounded, so that nobody takes the room of others.

/// For whom something is sent: the account whose operation began it, and the one that made the
/// call (G71). Nil: nobody.
public struct SendingCause: Hashable, Sendable {
    /// Whose operation or connection began it.
    public let user: String?
    /// Who made the call.
    public let caller: String?

    /// What `user` began in a call of `caller`.
    public init(_ user: String?, caller: String?) {
        self.user = user
        self.caller = caller
    }
}

/// Counts what each cause holds of something bounded, and says which cause may have more.
///
/// A cause may hold `each` at most, its caller four times that, and neither more than what is still
/// free. So a cause that holds much leaves room for those that hold little, however many there are.
/// Only the whole bounds what has no cause.
public struct CauseShares: Sendable {
    /// So many parts of one cause the account that makes the calls may have (G71).
    public static let partsOfCaller = 4

    /// What there is.
    public let limit: Int
    /// What one cause may hold.
    public let each: Int
    /// What is held.
    public private(set) var total = 0
    private var causes: [SendingCause: Int] = [:]
    private var callers: [String?: Int] = [:]

    /// Nobody holds anything.
    public init(limit: Int, each: Int) {
        self.limit = limit
        self.each = each
    }

    /// What `cause` holds.
    public subscript(cause: SendingCause) -> Int { causes[cause] ?? 0 }

    /// Why a cause may have no more.
    enum Bound {
        /// All is taken.
        case whole
        /// The account that makes the calls has as much as it may.
        case caller
        /// That account would leave too little to others.
        case crowd
        /// The cause has as much as it may.
        case cause
    }

    /// What keeps `cause` from having one more; nil: nothing.
    func bound(of cause: SendingCause?) -> Bound? {
        let free = limit - total
        guard free >= 1 else { return .whole }
        guard let cause else { return nil }
        let ofCaller = callers[cause.caller] ?? 0
        if ofCaller >= each * Self.partsOfCaller { return .caller }
        if ofCaller >= free { return .crowd }
        return self[cause] >= each ? .cause : nil
    }

    /// Whether `cause` may have so much more; nil: nobody's.
    public func admits(_ cause: SendingCause?, _ amount: Int = 1) -> Bool {
        let free = limit - total
        guard amount <= free else { return false }
        guard let cause else { return true }
        let own = self[cause] + amount
        let ofCaller = (callers[cause.caller] ?? 0) + amount
        return own <= min(each, free) && ofCaller <= min(each * Self.partsOfCaller, free)
    }

    /// `cause` has so much more.
    public mutating func take(_ cause: SendingCause?, _ amount: Int = 1) {
        total += amount
        guard let cause else { return }
        causes[cause, default: 0] += amount
        callers[cause.caller, default: 0] += amount
    }

    /// `cause` gives so much back.
    public mutating func giveBack(_ cause: SendingCause?, _ amount: Int = 1) {
        total -= amount
        guard let cause else { return }
        Self.lower(&causes, cause, by: amount)
        Self.lower(&callers, cause.caller, by: amount)
    }

    private static func lower<Key: Hashable>(
        _ counts: inout [Key: Int], _ key: Key, by amount: Int
    ) {
        let left = (counts[key] ?? 0) - amount
        counts[key] = left > 0 ? left : nil
    }
}
