// Requests that wait for their turn; those that cannot start are set aside.

/// Requests in turn. When a look shows that a request of one cause to one receiver cannot start,
/// all of them wait behind a gate until something changes there. So a service that hangs, with
/// thousands of requests behind its gate, costs no time for requests to other services.
struct GatedTurns {
    /// Where a request waits: with the others of its cause for its receiver.
    struct Place: Hashable {
        let cause: SendingCause?
        let receiver: String
    }

    /// A resource of which running requests have shares.
    enum Pool: Hashable {
        case receiver(String)
        case guarded
    }

    /// The reason why requests cannot start. A gate is open for all requests behind it or for none.
    enum Gate: Hashable {
        /// The origin takes no more for now.
        case lane(String)
        /// All of it is taken.
        case whole(Pool)
        /// The account that made the calls has its whole part.
        case caller(Pool, String?)
        /// That account would leave too little for others.
        case crowd(Pool, String?)
        /// The cause has its whole part.
        case cause(Pool, SendingCause?)
    }

    /// Requests that are not known to be behind a gate.
    private var ready = CauseTurns<QueuedRequest>()
    /// Those behind a gate.
    private var behind: [Gate: CauseTurns<QueuedRequest>] = [:]
    private var gates: [Place: Gate] = [:]
    /// Gates of accounts at a pool with little room: more room may open them.
    private var crowds: [Pool: Set<Gate>] = [:]
    /// Gates that may be open, with requests behind them.
    private var stirred: [Gate] = []
    private var isStirred: Set<Gate> = []
    /// How often it was asked which gate a request stands behind.
    private(set) var looks = 0

    /// How many wait at `place`.
    func count(at place: Place) -> Int {
        let turns = gates[place].map { behind[$0] } ?? ready
        return turns?.count(of: place.cause, for: place.receiver) ?? 0
    }

    /// Puts a request behind those at `place`.
    mutating func append(_ request: QueuedRequest, at place: Place) {
        if let gate = gates[place] {
            behind[gate]?.append(request, of: place.cause, for: place.receiver)
        } else {
            ready.append(request, of: place.cause, for: place.receiver)
        }
    }

    /// A request ended that had a share of `pool` for `cause`.
    mutating func stir(_ pool: Pool, _ cause: SendingCause?) {
        guard !behind.isEmpty else { return }
        stir(.whole(pool))
        if let cause {
            stir(.caller(pool, cause.caller))
            stir(.cause(pool, cause))
        }
        for gate in crowds[pool] ?? [] { stir(gate) }
    }

    /// A gate may be open from now on.
    mutating func stir(_ gate: Gate) {
        guard behind[gate] != nil, isStirred.insert(gate).inserted else { return }
        stirred.append(gate)
    }

    /// Takes out the next request that no gate is closed for.
    mutating func take(_ gateBefore: (QueuedRequest) -> Gate?) -> QueuedRequest? {
        while true {
            wake(gateBefore)
            while let first = ready.first {
                looks += 1
                guard let gate = gateBefore(first) else { return ready.take { _ in true } }
                putFirst(behind: gate)
            }
            if stirred.isEmpty { return nil }
        }
    }

    /// Takes out one at `place`, if it is there.
    mutating func remove(
        at place: Place, where isWanted: (QueuedRequest) -> Bool
    ) -> QueuedRequest? {
        guard let gate = gates[place] else {
            return ready.remove(of: place.cause, for: place.receiver, where: isWanted)
        }
        let removed = behind[gate]?.remove(
            of: place.cause, for: place.receiver, where: isWanted)
        if behind[gate]?.count(of: place.cause, for: place.receiver) == 0 { gates[place] = nil }
        dropIfEmpty(gate)
        return removed
    }

    /// Takes out all that are wanted, in no order.
    mutating func removeAll(where isWanted: (QueuedRequest) -> Bool) -> [QueuedRequest] {
        var removed = ready.removeAll(where: isWanted)
        for gate in Array(behind.keys) {
            let ofGate = behind[gate]?.removeAll(where: isWanted) ?? []
            for request in ofGate {
                let place = Place(cause: request.request.cause, receiver: request.receiver)
                let left = behind[gate]?.count(of: place.cause, for: place.receiver)
                if left == 0 { gates[place] = nil }
            }
            dropIfEmpty(gate)
            removed += ofGate
        }
        return removed
    }

    /// Looks at all that wait, in no order.
    func forEach(_ body: (QueuedRequest) -> Void) {
        ready.forEach(body)
        for turns in behind.values { turns.forEach(body) }
    }

    /// Of each gate that may be open, the next request comes back, one of each: when it starts, it
    /// may close the gate again.
    private mutating func wake(_ gateBefore: (QueuedRequest) -> Gate?) {
        guard !stirred.isEmpty else { return }
        var still: [Gate] = []
        for gate in stirred {
            looks += 1
            guard let first = behind[gate]?.first, gateBefore(first) != gate,
                let strand = behind[gate]?.takeStrand(asTurn: true)
            else {
                isStirred.remove(gate)
                continue
            }
            gates[Place(cause: strand.cause, receiver: strand.receiver)] = nil
            ready.insert(strand)
            dropIfEmpty(gate)
            still.append(gate)
        }
        stirred = still
    }

    private mutating func putFirst(behind gate: Gate) {
        guard let strand = ready.takeStrand(asTurn: false) else { return }
        gates[Place(cause: strand.cause, receiver: strand.receiver)] = gate
        behind[gate, default: CauseTurns()].insert(strand)
        if case .crowd(let pool, _) = gate { crowds[pool, default: []].insert(gate) }
    }

    private mutating func dropIfEmpty(_ gate: Gate) {
        guard behind[gate]?.isEmpty == true else { return }
        behind[gate] = nil
        guard case .crowd(let pool, _) = gate else { return }
        crowds[pool]?.remove(gate)
        if crowds[pool]?.isEmpty == true { crowds[pool] = nil }
    }
}
