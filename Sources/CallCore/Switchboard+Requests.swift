// A request on its way: idempotency keys, calls to recall, the check and the commit.

import Collections
import CallModel

/// A user's idempotency key.
struct KeyName: Hashable, Sendable {
    let user: UserID
    let key: String
}

/// A request with a key that has no reply yet, and its repetitions.
struct KeyUnderWay: Sendable {
    let bodyHash: UInt64
    var repetitions: [RequestID] = []
    /// Set while the store is asked for the first reply.
    var asker: Asker?
}

extension Switchboard {
    mutating func receive(_ request: Request) {
        let isConnected = noteUse(of: Address(request.user, request.device))
        if request.standsAlone { heardWithoutConnection(request.user) }
        let asker = Asker(request, heardAt: isConnected || request.standsAlone ? now : nil)
        guard let key = asker.key else { return begin(asker) }
        let name = KeyName(user: asker.user, key: key.text)
        // A repetition waits for the first reply: nothing is done twice (B25, R13).
        if let underWay = keysUnderWay[name] {
            if underWay.bodyHash == key.bodyHash {
                keysUnderWay[name]?.repetitions.append(request.id)
            } else {
                effects.append(.reply(request.id, .refused(.keyReused)))
            }
            return
        }
        keysUnderWay[name] = KeyUnderWay(bodyHash: key.bodyHash)
        if keys.mayContain(asker.user, key.text) {
            keysUnderWay[name]?.asker = asker
            effects.append(.recallKey(asker.user, key: key.text))
        } else {
            begin(asker)
        }
    }

    /// Whether `user` has made this very request under `key` before: it is under way, or its reply
    /// is kept. Repetitions cost nothing of any rate (H95).
    public func isRepetition(by user: UserID, _ key: IdempotencyKey) -> Bool {
        if let underWay = keysUnderWay[KeyName(user: user, key: key.text)] {
            return underWay.bodyHash == key.bodyHash
        }
        return keys.mayContain(user, key)
    }

    mutating func recalledKey(_ user: UserID, _ key: String, _ kept: KeptReply?) {
        let name = KeyName(user: user, key: key)
        guard let underWay = keysUnderWay[name], let asker = underWay.asker else { return }
        keysUnderWay[name]?.asker = nil
        guard let kept else { return begin(asker) }
        keysUnderWay[name] = nil
        let reply: Reply =
            kept.bodyHash == underWay.bodyHash ? .kept(kept.reply) : .refused(.keyReused)
        for request in [asker.id].compactMap({ $0 }) + underWay.repetitions {
            effects.append(.reply(request, reply))
        }
    }

    /// Starts an operation whose key is settled. A call that is not in memory is recalled first,
    /// and later requests for it wait: they keep their order.
    mutating func begin(_ asker: Asker) {
        guard let id = asker.operation.callID else { return shape(asker) }
        let name = ParticipantKey(user: asker.user, call: id)
        if waiting[name] != nil {
            waiting[name]?.append(asker)
        } else if let slot = calls.find(id) {
            fireOverdue(of: slot)
            shape(asker)
        } else if recalls[id] != nil {
            recalls[id]?.append(asker)
        } else {
            recalls[id] = [asker]
            effects.append(.recall(id))
        }
    }

    /// A call that ended long ago stands in memory for a while, as one that ended just now does:
    /// who asks for it is refused with the code of its end.
    mutating func recalled(_ id: CallID, _ call: Call?) {
        guard let askers = recalls.removeValue(forKey: id) else { return }
        if let call, !call.isLive, calls.find(id) == nil {
            let slot = calls.open(id)
            calls[slot] = call
            retire(slot)
        }
        for asker in askers { shape(asker) }
    }

    mutating func recallFailed(_ id: CallID) {
        for asker in recalls.removeValue(forKey: id) ?? [] { answer(asker, .refused(.unreadable)) }
    }

    mutating func recallKeyFailed(_ name: KeyName) {
        if let asker = keysUnderWay[name]?.asker { answer(asker, .refused(.unreadable)) }
    }

    /// Refuses the requests that wait for the store at a reload: they were read under the old
    /// settings and would be decided under the new ones (G84). Clients send them again.
    mutating func refuseUnsettled() {
        var unsettled = keysUnderWay.values.compactMap(\.asker)
        for (id, askers) in recalls {
            // A policy's operation comes from values, not from text: no settings read it.
            let kept = askers.filter { $0.plugin != nil }
            recalls[id] = kept.isEmpty ? nil : kept
            unsettled += askers.filter { $0.plugin == nil }
        }
        unsettled.sort { ($0.id?.value ?? 0) < ($1.id?.value ?? 0) }
        for asker in unsettled { answer(asker, .refused(.settingsChanged)) }
    }

    /// Carries out an operation after its shaping.
    mutating func commit(_ asker: Asker) {
        do throws(Refusal) {
            try perform(asker)
        } catch {
            answer(asker, .refused(error))
        }
    }

    /// Carries out an operation, or in a trial only checks it.
    mutating func perform(_ asker: Asker) throws(Refusal) {
        switch asker.operation {
        case .invite(let invitation): try invite(asker, invitation)
        case .call(let id, let action, _): try perform(asker, id, action)
        case .list(let query):
            if let id = asker.id { effects.append(.list(id, asker.user, query)) }
        case .pushRegister(let registration):
            try registerPush(asker, registration.provider, registration)
        case .pushUnregister(let provider): try registerPush(asker, provider, nil)
        case .userSet(let user, let name): answer(asker, .done, storing: [.name(user, name)])
        case .userGet: throw Refusal(.unsupported, "whoever keeps the names answers this")
        }
    }

    private mutating func perform(
        _ asker: Asker, _ id: CallID, _ action: CallAction
    ) throws(Refusal) {
        switch action {
        case .add(let invitees, let push): try add(asker, id, invitees, push: push)
        case .ringing: try ringing(asker, id)
        case .accept(let acceptance): try accept(asker, id, acceptance)
        case .acceptAck(let user): try acceptAck(asker, id, user)
        case .reject(let busy): try reject(asker, id, busy: busy)
        case .cancel(let users, let push): try cancel(asker, id, users, push: push)
        case .join(let audio, let video):
            try join(asker, id, Acceptance(audio: audio, video: video))
        case .leave(let push): try leave(asker, id, push: push)
        case .end(let push): try end(asker, id, push: push)
        case .transfer(let to, let push): try transfer(asker, id, to: to, push: push)
        case .remove(let users): try remove(asker, id, users)
        case .report(let report): try self.report(asker, id, report)
        case .media(let audio, let video): try media(asker, id, audio: audio, video: video)
        case .hold(let on, let force): try hold(asker, id, on: on, force: force)
        case .items(let change): try items(asker, id, change)
        case .signal(let to, let data): try signal(asker, id, to: to, data)
        case .get:
            let place = try locateVisible(asker, id)
            answer(asker, .call(calls[place.slot], viewer: asker.user))
        case .token: try token(asker, id)
        case .forward(let targets, let each): try forward(asker, id, to: targets, each: each)
        case .finish(let code): try endForPolicy(asker, id, code: code)
        }
    }

    private mutating func registerPush(
        _ asker: Asker, _ provider: String, _ registration: PushRegistration?
    ) throws(Refusal) {
        guard let device = asker.device else { throw .wrongState("a policy has no device") }
        let address = Address(asker.user, device)
        answer(asker, .done, storing: [.registration(address, provider: provider, registration)])
    }

    /// Replies to a request and to its repetitions, storing the reply under the request's key.
    mutating func answer(_ asker: Asker, _ reply: Reply, storing: [Record] = []) {
        var records = storing
        var underWay: KeyUnderWay?
        let (user, id) = (asker.user, asker.id)
        if let key = asker.key {
            underWay = keysUnderWay.removeValue(forKey: KeyName(user: user, key: key.text))
            if reply.isKept {
                records.append(.key(KeyRecord(user: user, key: key, at: now, reply: reply, to: id)))
                keys.insert(user, key, at: now)
            }
        }
        if !records.isEmpty { effects.append(.persist(records)) }
        if let id { effects.append(.reply(id, reply)) }
        for id in underWay?.repetitions ?? [] { effects.append(.reply(id, reply)) }
    }

    // MARK: Finding the asker's place

    /// A user's place in a call in memory.
    struct Place {
        let slot: CallSlot
        let index: Int
    }

    /// The participant at `place`.
    subscript(place: Place) -> Participant {
        _read { yield calls[place.slot].participants[place.index] }
    }

    /// The call `id`, whose mode has `features`.
    func find(_ id: CallID, needs features: Mode.Features) throws(Refusal) -> CallSlot {
        guard let slot = calls.find(id) else { throw .notFound(id) }
        guard calls[slot].allows(features) else { throw .wrongMode(calls[slot].mode) }
        return slot
    }

    /// The asker's place in the call `id`, checked in the order of D40.
    func locate(
        _ asker: Asker, _ id: CallID, needs features: Mode.Features = []
    ) throws(Refusal) -> Place {
        let slot = try find(id, needs: features)
        guard let index = calls[slot].index(of: asker.user),
            calls[slot].participants[index].asking.isVisible || asker.isDecision
        else { throw .notInvited(asker.user) }
        return Place(slot: slot, index: index)
    }

    /// The same for an operation of joined participants of a live call.
    func locateJoined(
        _ asker: Asker, _ id: CallID, needs features: Mode.Features = []
    ) throws(Refusal) -> Place {
        let place = try locate(asker, id, needs: features)
        let state = self[place].state
        guard state == .joined else { throw .wrongState(asker.user, state) }
        guard calls[place.slot].isLive else { throw .callEnded }
        try checkRight(to: features, place)
        return place
    }

    /// Some operations only the caller of the call has, where the mode says so.
    func checkRight(to features: Mode.Features, _ place: Place) throws(Refusal) {
        guard !features.isEmpty, self[place].role != .caller,
            calls[place.slot].mode.callerOnly.isSuperset(of: features)
        else { return }
        throw Refusal(.notInviter, "only the caller may do that in this mode")
    }

    /// The same for reading: a stranger must not learn that the call exists (D40).
    private func locateVisible(_ asker: Asker, _ id: CallID) throws(Refusal) -> Place {
        guard let place = try? locate(asker, id) else { throw .notFound(id) }
        return place
    }
}
