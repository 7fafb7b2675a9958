// Requests that wait, those aside that cannot start whatever their turn is.

/// Requests in turn. What one cause has for one receiver stands behind a gate from the first look
/// that shows that it cannot start, until something changes there: a service that hangs, with
/// thousands behind its gate, costs those no time who send elsewhere.
struct GatedTurns {
    /// Where a request waits: with the others of its cause for its receiver.
    struct Place: Hashable {
        let cause: SendingCause?
        let receiver: String
    }

    /// What requests under way have shares of.
    enum Pool: Hashable {
        case receiver(String)
        case guarded
    }

    /// What keeps requests from starting. It is open for all behind it or for none.
    enum Gate: Hashable {
        /// The origin takes no more for now.
        case lane(String)
        /// All of it is taken.
        case whole(Pool)
        /// The account that makes the calls has as much as it may.
        case caller(Pool, String?)
        /// That account would leave too little to others.
        case crowd(Pool, String?)
        /// The cause has as much as it may.
        case cause(Pool, SendingCause?)
    }

    /// Those whose turn it is, as far as anybody knows.
    private var ready = CauseTurns<QueuedRequest>()
    /// Those behind a gate.
    private var behind: [Gate: CauseTurns<QueuedRequest>] = [:]
    private var gates: [Place: Gate] = [:]
    /// The gates of accounts at a pool with little room: any room more may open them.
    private var crowds: [Pool: Set<Gate>] = [:]
    /// Gates that may be open, with somebody behind them.
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

    /// Something ended that had a share of `pool` for `cause`.
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

    /// Whose turn it is behind each gate that may be open comes back, one of each: who starts may
    /// close it for the next one.
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
