// The one door for operations: whether a request may be made at all, and who is told of its answer.

import CallCore
import CallModel
import CallWire

extension ClientDesk {
    // MARK: Whoever asks

    /// The one door: lets an operation in, whoever asks for it, and has it answered once to
    /// `requester`.
    ///
    /// - Parameter taken: called when it is let in, before anything follows from it.
    /// - Throws: why it is not let in; nothing has happened then.
    private func enter(
        _ operation: Operation, key: IdempotencyKey?, by asker: AdmittedAddress,
        _ requester: Requester,
        taken isTaken: () -> Void = {}
    ) throws(Refusal) {
        if let refusal = obstacle(to: operation, key, of: asker) { throw refusal }
        guard exchange.isReady else { throw .notReady }
        // A name is stored, so only with a request that counts for a rate.
        if case .exchange = requester, let name = asker.identity.token?.name,
            !asker.identity.isServer, !isRepetition(operation, key, by: asker.address.user)
        {
            exchange.learn(name, of: asker.identity.user)
        }
        isTaken()
        let id = requests.add(requester)
        switch asker.identity.kind {
        case .user, .server:
            requests.note(id, operation.name, at: exchange.now())
            if exchange.journal != nil, let invitees = operation.invitees {
                requests.note(id, (asker.address.user, invitees))
            }
            var request = Request(
                id: id, user: asker.address.user, device: asker.address.device, key: key,
                operation: operation)
            if let trace = asker.trace { exchange.traces.name(trace, in: &request) }
            if case .exchange(let endpoint, _) = requester {
                request.standsAlone = !asker.identity.isServer
                if case .list = operation { return page(request, endpoint) }
            }
            if case .userGet(let users) = operation {
                return tellNames(of: users, to: id, by: asker)
            }
            exchange.feed(.request(request))
        case .plugin(let name, let cause):
            exchange.feed(.policyRequest(id, asker.address.user, plugin: name, operation, cause))
        case .operator:
            let name = asker.address.user
            exchange.feed(.policyRequest(id, name, plugin: name.text, operation))
        }
    }

    /// A request over a line, whose answer goes back under `id`.
    func request(
        _ id: MessageID, key: IdempotencyKey?, _ operation: Operation, from line: Line,
        trace: TraceParent?
    ) {
        guard let live = line.session else { return }
        figures.requests.note(operation.name)
        if exchange.isLoading {
            // Only then the user's limits are exact.
            return exchange.whenLoaded(live.address.user) { [weak self] in
                self?.admit(id, key: key, operation, from: line, trace: trace)
            }
        }
        admit(id, key: key, operation, from: line, trace: trace)
    }

    private func admit(
        _ id: MessageID, key: IdempotencyKey?, _ operation: Operation, from line: Line,
        trace: TraceParent?
    ) {
        guard line.session != nil, let known = line.asker, let endpoint = line.endpoint
        else { return }
        let asker =
            trace == nil ? known : AdmittedAddress(known.identity, for: known.address, trace: trace)
        let weight = limits.weight(of: operation)
        let requester = Requester.connection(
            endpoint, id, weight: weight, payer: asker.identity.payer)
        do throws(Refusal) {
            try enter(operation, key: key, by: asker, requester) { endpoint.begins(weight) }
        } catch {
            note(error, operation, of: asker, over: endpoint)
            send(.refused(error), to: id, over: line)
        }
    }

    /// A request whose answer ends an exchange over `endpoint`, as over HTTP.
    ///
    /// - Parameter taken: called when it is let in, before anything follows from it.
    public func request(
        _ operation: Operation, key: IdempotencyKey?, by asker: AdmittedAddress,
        over endpoint: any Endpoint, taken isTaken: @escaping () -> Void = {}
    ) {
        figures.requests.note(operation.name)
        exchange.whenLoaded(asker.address.user) { [weak self] in
            self?.admit(operation, key: key, by: asker, over: endpoint, taken: isTaken)
        }
    }

    private func admit(
        _ operation: Operation, key: IdempotencyKey?, by asker: AdmittedAddress,
        over endpoint: any Endpoint, taken isTaken: () -> Void
    ) {
        do throws(Refusal) {
            try enter(
                operation, key: key, by: asker, .exchange(endpoint, payer: asker.identity.payer),
                taken: isTaken)
        } catch {
            note(error, operation, of: asker, over: endpoint)
            endpoint.respond(refusing(error))
        }
    }

    /// A plugin asks for the account that it answers for; `answered` hears once.
    public func request(
        _ operation: Operation, by plugin: Identity, _ answered: @escaping (Reply) -> Void
    ) {
        let asker = AdmittedAddress(plugin, for: Address(plugin.user, DeviceID("plugin")))
        do throws(Refusal) {
            try enter(operation, key: nil, by: asker, .policy(answered))
        } catch {
            answered(.refused(error))
        }
    }

    /// Somebody who looks after the server asks; `answered` hears once.
    public func request(
        _ operation: Operation, by person: ManagementIdentity,
        _ answered: @escaping (HTTPReply) -> Void
    ) {
        let identity = Identity.operator(person)
        let asker = AdmittedAddress(identity, for: Address(identity.user, DeviceID("operator")))
        do throws(Refusal) {
            try enter(operation, key: nil, by: asker, .tool(answered))
        } catch {
            answered(HTTPReply(error))
        }
    }

    /// The answer to an exchange over HTTP that is refused; counts it.
    public func refusing(_ refusal: Refusal) -> HTTPReply {
        figures.refusals.note(refusal.code)
        return HTTPReply(refusal)
    }

    private func note(
        _ refusal: Refusal, _ operation: Operation, of asker: AdmittedAddress,
        over endpoint: any Endpoint
    ) {
        exchange.journal?.noteRefused(
            operation, by: asker.address.user, refusal, at: exchange.now())
        if refusal.code == .rateLimited { owner?.asksTooOften(asker.identity.user, over: endpoint) }
    }

    // MARK: Pages

    /// Has a page read, unless enough of them are under way for its user.
    private func page(_ request: Request, _ endpoint: any Endpoint) {
        let (user, most) = (request.user, limits.pagesUnderWay)
        if pages.begins((request, endpoint), request.id, for: user, most: most) {
            exchange.feed(.request(request))
        }
    }

    /// An exchange was answered: if it was for a page, the next one of its user begins.
    func exchangeIsAnswered(_ request: RequestID) {
        guard let user = pages.ends(request) else { return }
        while let (next, endpoint) = pages.next(of: user) {
            guard endpoint.isOpen else {
                _ = requests.remove(next.id)
                continue
            }
            guard exchange.isReady else {
                deliver(.refused(.notReady), to: next.id)
                continue
            }
            return page(next, endpoint)
        }
    }

    // MARK: Who may

    /// Why a request does not reach the switchboard: capabilities, rate, overload.
    func obstacle(
        to operation: Operation, _ key: IdempotencyKey?, of asker: AdmittedAddress
    ) -> Refusal? {
        let user = asker.identity.user
        // What plugins and operators do goes on when the server is behind.
        guard asker.identity.isOutside else { return crowding(operation, by: user) }
        let name = operation.name
        guard asker.identity.allows(name.rawValue) || exchange.shows(.capabilityIgnored) else {
            return Refusal(.forbidden, "the token does not allow \(name.rawValue)")
        }
        if asker.identity.isRateLimited, !isRepetition(operation, key, by: user),
            let refusal = rateRefusal(operation, of: user)
        {
            return refusal
        }
        if case .pushRegister(let registration) = operation,
            let refusal = registrationRefusal(registration)
        {
            return refusal
        }
        if let refusal = obstacleToName(by: operation, of: asker.identity) { return refusal }
        guard !operation.isReading else { return nil }
        if let refusal = exchange.overload { return refusal }
        if !crowded.isEmpty, !isRepetition(operation, key, by: user),
            let refusal = crowding(operation, by: user)
        {
            return refusal
        }
        if case .call(_, .signal, _) = operation {
            return exchange.reportOverload(of: user)
        }
        guard operation.inviteeCount > 0 else { return nil }
        return exchange.policyOverload ?? exchange.reportOverload(of: user)
    }

    /// Whether a request is repeated under its key: that costs nothing of any rate (H95). Another
    /// request under that key does: it is none.
    private func isRepetition(
        _ operation: Operation, _ key: IdempotencyKey?, by user: UserID
    ) -> Bool {
        guard let key, !operation.isReading else { return false }
        return exchange.isRepetition(by: user, key)
    }

    /// Why a user has to wait before they ask for that.
    private func rateRefusal(_ operation: Operation, of user: UserID) -> Refusal? {
        if exchange.shows(.rateTwice) {
            rates[user, default: RequestRate()].charge(
                1, of: limits.requestsPerSecond, in: 1_000, at: exchange.now())
        }
        if limits.requestsPerSecond > 0,
            let wait = rates[user, default: RequestRate()]
                .admit(perSecond: limits.requestsPerSecond, at: exchange.now())
        {
            return RequestRate.refusal(retryAfter: wait)
        }
        if case .userGet(let users) = operation {
            // Each name costs as much as a request.
            rates[user, default: RequestRate()].charge(
                users.count - 1, of: limits.requestsPerSecond, in: 1_000, at: exchange.now())
        }
        if case .invite = operation, limits.callsPerUser > 0,
            exchange.liveCalls(madeBy: user) >= limits.callsPerUser
        {
            return Refusal(.rateLimited, "too many live calls", retryAfter: 1_000)
        }
        return tooManyInvitations(operation, of: user)
    }

    /// Why a user has to wait before they invite again; every invitee counts.
    private func tooManyInvitations(_ operation: Operation, of user: UserID) -> Refusal? {
        let count = operation.inviteeCount
        guard count > 0, limits.invitationsPerMinute > 0,
            let wait = invitationWait(count, user, exchange.now())
        else { return nil }
        return Refusal(.rateLimited, "too many invitations", retryAfter: wait)
    }

    /// A long page costs as much as several requests: one begun part of it is paid for already.
    func charge(_ payer: UserID?, forPage bytes: Int) {
        guard let payer, limits.requestsPerSecond > 0 else { return }
        rates[payer, default: RequestRate()].charge(
            (bytes - 1) / limits.pagePart, of: limits.requestsPerSecond, in: 1_000,
            at: exchange.now())
    }
}
