// What waits, in turn by who caused it and then by who receives it.

/// Elements that wait. Those who made the calls take turns, each with one for each of its causes
/// and at most four in a row (G71); then its causes do, then the receivers of a cause. Elements of
/// one cause for one receiver keep their order.
struct CauseTurns<Element> {
    /// What one cause has for one receiver.
    fileprivate struct Strand {
        /// Those before `start` have been taken.
        private var elements: [Element] = []
        private var start = 0

        var waiting: ArraySlice<Element> { elements[start...] }
        var first: Element? { waiting.first }
        var count: Int { elements.count - start }

        mutating func append(_ element: Element) { elements.append(element) }

        mutating func removeFirst() {
            start += 1
            guard start > 64, start * 2 > elements.count else { return }
            elements.removeFirst(start)
            start = 0
        }

        mutating func removeAll(where isWanted: (Element) -> Bool) -> [Element] {
            let removed = waiting.filter(isWanted)
            guard !removed.isEmpty else { return [] }
            elements = waiting.filter { !isWanted($0) }
            start = 0
            return removed
        }
    }

    /// A strand that was taken out, with whose and for whom it is.
    struct WholeStrand {
        let cause: SendingCause?
        let receiver: String
        fileprivate let strand: Strand
    }

    /// The receivers of one cause, the next one first.
    private struct Receivers {
        var strands: [String: Strand] = [:]
        var order: [String] = []

        mutating func take(_ mayStart: (Element) -> Bool) -> Element? {
            for place in order.indices {
                let name = order[place]
                guard let first = strands[name]?.first, mayStart(first) else { continue }
                strands[name]?.removeFirst()
                order.remove(at: place)
                if strands[name]?.count == 0 { strands[name] = nil } else { order.append(name) }
                return first
            }
            return nil
        }

        mutating func takeStrand() -> (String, Strand)? {
            guard let name = order.first, let strand = strands.removeValue(forKey: name) else {
                return nil
            }
            order.removeFirst()
            return (name, strand)
        }

        mutating func removeAll(where isWanted: (Element) -> Bool, into removed: inout [Element]) {
            for name in order {
                removed += strands[name]?.removeAll(where: isWanted) ?? []
                if strands[name]?.count == 0 { strands[name] = nil }
            }
            if strands.count < order.count { order = order.filter { strands[$0] != nil } }
        }
    }

    /// The causes of one account that makes calls, the next one first.
    private struct Causes {
        var receivers: [SendingCause?: Receivers] = [:]
        var order: [SendingCause?] = []
        /// Turns that are left before the next account has its own.
        var turns = 1

        var parts: Int { min(order.count, CauseShares.partsOfCaller) }

        mutating func take(_ mayStart: (Element) -> Bool) -> Element? {
            for place in order.indices {
                let cause = order[place]
                guard let element = receivers[cause]?.take(mayStart) else { continue }
                order.remove(at: place)
                if receivers[cause]?.order.isEmpty == true {
                    receivers[cause] = nil
                } else {
                    order.append(cause)
                }
                turns -= 1
                return element
            }
            return nil
        }

        mutating func takeStrand(asTurn isTurn: Bool) -> WholeStrand? {
            guard let cause = order.first, let (name, strand) = receivers[cause]?.takeStrand()
            else { return nil }
            if receivers[cause]?.order.isEmpty == true {
                receivers[cause] = nil
                order.removeFirst()
            } else if isTurn {
                order.removeFirst()
                order.append(cause)
            }
            if isTurn { turns -= 1 }
            return WholeStrand(cause: cause, receiver: name, strand: strand)
        }

        mutating func removeAll(where isWanted: (Element) -> Bool, into removed: inout [Element]) {
            for cause in order {
                receivers[cause]?.removeAll(where: isWanted, into: &removed)
                if receivers[cause]?.order.isEmpty == true { receivers[cause] = nil }
            }
            if receivers.count < order.count { order = order.filter { receivers[$0] != nil } }
        }
    }

    /// An account that makes calls; what has no cause stands beside them.
    private enum Caller: Hashable {
        case unknown
        case account(String?)
    }

    private var callers: [Caller: Causes] = [:]
    /// The accounts, the next one first.
    private var order: [Caller] = []

    private static func caller(of cause: SendingCause?) -> Caller {
        cause.map { .account($0.caller) } ?? .unknown
    }

    /// How many wait of `cause` for `receiver`.
    func count(of cause: SendingCause?, for receiver: String) -> Int {
        callers[Self.caller(of: cause)]?.receivers[cause]?.strands[receiver]?.count ?? 0
    }

    /// Whether none waits.
    var isEmpty: Bool { order.isEmpty }

    /// The one whose turn is next.
    var first: Element? {
        guard let caller = order.first, let cause = callers[caller]?.order.first,
            let receiver = callers[caller]?.receivers[cause]?.order.first
        else { return nil }
        return callers[caller]?.receivers[cause]?.strands[receiver]?.first
    }

    mutating func append(_ element: Element, of cause: SendingCause?, for receiver: String) {
        let caller = makeRoom(for: receiver, of: cause)
        callers[caller]?.receivers[cause]?.strands[receiver, default: Strand()].append(element)
    }

    /// Puts in a strand that was taken out elsewhere; there must be none of its cause for its
    /// receiver.
    mutating func insert(_ whole: WholeStrand) {
        let caller = makeRoom(for: whole.receiver, of: whole.cause)
        callers[caller]?.receivers[whole.cause]?.strands[whole.receiver] = whole.strand
    }

    private mutating func makeRoom(for receiver: String, of cause: SendingCause?) -> Caller {
        let caller = Self.caller(of: cause)
        if callers[caller] == nil { order.append(caller) }
        let isNewCause = callers[caller]?.receivers[cause] == nil
        if isNewCause { callers[caller, default: Causes()].order.append(cause) }
        let isNewReceiver = callers[caller]?.receivers[cause]?.strands[receiver] == nil
        if isNewReceiver {
            callers[caller]?.receivers[cause, default: Receivers()].order.append(receiver)
        }
        return caller
    }

    /// Takes out the next one that may start.
    mutating func take(where mayStart: (Element) -> Bool) -> Element? {
        for place in order.indices {
            let caller = order[place]
            guard let element = callers[caller]?.take(mayStart) else { continue }
            endTurn(of: caller, at: place)
            return element
        }
        return nil
    }

    /// Takes out the whole strand of the one whose turn is next. `isTurn`: that was the turn of its
    /// cause; otherwise who comes behind it has this turn.
    mutating func takeStrand(asTurn isTurn: Bool) -> WholeStrand? {
        guard let caller = order.first,
            let whole = callers[caller]?.takeStrand(asTurn: isTurn)
        else { return nil }
        endTurn(of: caller, at: 0)
        return whole
    }

    private mutating func endTurn(of caller: Caller, at place: Int) {
        if callers[caller]?.order.isEmpty == true {
            order.remove(at: place)
            callers[caller] = nil
        } else if let causes = callers[caller], causes.turns <= 0 {
            callers[caller]?.turns = causes.parts
            order.remove(at: place)
            order.append(caller)
        }
    }

    /// Takes out one of `cause` for `receiver`, if it is there.
    mutating func remove(
        of cause: SendingCause?, for receiver: String, where isWanted: (Element) -> Bool
    ) -> Element? {
        let caller = Self.caller(of: cause)
        let removed = callers[caller]?.receivers[cause]?.strands[receiver]?.removeAll(
            where: isWanted)
        drop(caller, cause, receiver)
        return removed?.first
    }

    /// Takes out all that are wanted, in no order.
    mutating func removeAll(where isWanted: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        for caller in order {
            callers[caller]?.removeAll(where: isWanted, into: &removed)
            if callers[caller]?.order.isEmpty == true { callers[caller] = nil }
        }
        if callers.count < order.count { order = order.filter { callers[$0] != nil } }
        return removed
    }

    /// Looks at all that wait, in no order.
    func forEach(_ body: (Element) -> Void) {
        for causes in callers.values {
            for receivers in causes.receivers.values {
                for strand in receivers.strands.values { strand.waiting.forEach(body) }
            }
        }
    }

    /// Forgets a strand that is empty, and who has no other one.
    private mutating func drop(_ caller: Caller, _ cause: SendingCause?, _ receiver: String) {
        guard callers[caller]?.receivers[cause]?.strands[receiver]?.count == 0 else { return }
        callers[caller]?.receivers[cause]?.strands[receiver] = nil
        callers[caller]?.receivers[cause]?.order.removeAll { $0 == receiver }
        guard callers[caller]?.receivers[cause]?.order.isEmpty == true else { return }
        callers[caller]?.receivers[cause] = nil
        callers[caller]?.order.removeAll { $0 == cause }
        guard callers[caller]?.order.isEmpty == true else { return }
        callers[caller] = nil
        order.removeAll { $0 == caller }
    }
}
