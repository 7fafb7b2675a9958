// What the switchboard wants done, in order, behind the barrier of the store.

import CallCore
import CallModel
import CallWire
import Collections
import StoreContract

extension Exchange {
    /// - Parameters:
    ///   - actor: whose doing the effects are, for a journal.
    ///   - turn: the traces that they belong to.
    func sort(
        _ effects: consuming [Effect],
        by actor: (name: String, device: String?) = ("start", nil),
        in turn: RequestTraces.Turn? = nil
    ) {
        for place in effects.indices {
            let effect = effects.take(at: place, leaving: .withdraw(QuestionID(0)))
            switch effect {
            case .persist(let records): keep(records, by: actor, turn)
            case .consult(var question):
                if let turn { traces.ask(&question, in: turn) }
                journal?.asked(question, at: now())
                if !shows(.lostQuestion) { policies?.ask(named(question)) }
                if shows(.questionTwice) { policies?.ask(question) }
            case .withdraw(let question):
                if turn != nil { traces.withdraw(question) }
                if !shows(.lostWithdrawal) { policies?.withdraw(question) }
            case .tell(let report):
                outbox?.note(report, trace(of: report.call?.id, in: turn))
                if report.isForHooks { queue.add(.effect(effect)) }
            case .reply, .welcome, .send, .replace, .recall, .recallKey, .list:
                if !spoils(effect) { queue.add(.effect(effect)) }
            }
        }
        if effects.capacity <= Self.keptEffects {
            effects.removeTaken()
            spentEffects = consume effects
        }
        if let entry = outbox?.takeEvents() { add(entry) }
        if let turn { traces.end(turn) }
        drain()
        arm()
    }

    /// The effects of a start are many, and their memory is not kept.
    private static let keptEffects = 32

    /// The trace of something about `call` that is done in `turn`; nil: it has none.
    private func trace(of call: CallID?, in turn: RequestTraces.Turn?) -> TraceParent? {
        guard let turn, let call else { return nil }
        return traces.trace(of: call, in: turn)
    }

    private func keep(
        _ records: [Record], by actor: (name: String, device: String?),
        _ turn: RequestTraces.Turn?
    ) {
        for place in records.indices {
            if case .push(var job) = records[place], let outbox {
                if turn != nil { job.trace = trace(of: job.callID, in: turn) }
                add(outbox.entry(for: job, of: records))
            } else if !spoils(records[place]) {
                queue.add(change(for: records[place]))
            }
        }
        outbox?.kept(records)
        // Handlers of the policies end with their call.
        for index in records.indices {
            guard case .call(let call) = records[index] else { continue }
            figures.changes(call, at: now())
            callChanged?(call)
            journal?.changed(call, by: actor, at: now())
            guard !call.isLive else { continue }
            callEnded(call.id)
            if let turn { traces.end(call.id, in: turn) }
        }
    }

    /// Stores what belongs to the change at hand; the rest follows when that is durable.
    func add(_ entry: OutboxEntry) {
        for change in entry.changes { queue.add(change) }
        if let then = entry.then { queue.add(.notice(ticket(for: .stored(then)))) }
    }

    func change(for record: Record) -> StoreChange {
        switch record {
        case .call(let call): .call(call)
        case .key(let key): .key(write(key))
        case .push(let job): .push(.add(newJob(), job))
        case .registration(let address, let provider, let registration):
            .registration(address, provider: provider, registration)
        case .name(let user, let name): storeName(name, of: user)
        }
    }

    /// Writes the reply that is kept. Whoever waits for it gets the same text.
    private func write(_ record: KeyRecord) -> KeyEntry {
        let reply = encoder.written(record.reply, sharing: &keptCall, into: &keptReply)
        if let request = record.request { deliverer?.note(reply, to: request) }
        return KeyEntry(
            user: record.user, key: record.key.text, at: record.at,
            kept: KeptReply(bodyHash: record.key.bodyHash, reply: reply.tail))
    }

    private func storeName(_ name: PersonName?, of user: UserID) -> StoreChange {
        for change in names.set(name, of: user) { queue.add(change) }
        return .name(user, name, from: .server)
    }

    /// Performs what nothing holds back, as far as this turn may. Performing may feed: that only
    /// adds to the queue.
    func drain() {
        guard mustPerform, !isDraining, share > 0 || owed > 0 else { return }
        isDraining = true
        let deliverer = deliverer
        var (items, place) = ([Effects.Item](), left)
        swap(&items, &leaving)
        // Whoever counts meanwhile finds none left, not fewer than none.
        left = 0
        repeat {
            let start = place
            while place < items.count, share > 0 || place - start < owed {
                share -= 1
                switch items.take(at: place, leaving: .notice(StoreTicket(0))) {
                case .effect(let effect): perform(effect, by: deliverer)
                case .notice(let ticket): stored(ticket, .durable)
                }
                place += 1
            }
            owed -= place - start
            performed += place - start
            guard place == items.count else { break }
            items.removeTaken()
            place = 0
        } while (share > 0 || owed > 0) && queue.takeReady(into: &items)
        swap(&items, &leaving)
        left = place
        isDraining = false
    }

    /// What a turn performs of effects that have waited: behind a slow commit they may be very
    /// many, and whoever waits for something else must not feel them.
    static let performedMax = 512

    /// The next turn performs some, but more than were added in this one: else the queue would grow
    /// for as long as so many come.
    private func renewShare() {
        (share, owed) = (Self.performedMax, 0)
        guard mustPerform else { return countBefore = nil }
        let count = effectCount
        if let countBefore { owed = (count - countBefore + performed) * 9 / 8 }
        (countBefore, performed) = (count, 0)
        shell.endTurn(after: 0)
    }

    func perform(_ effect: Effect, by deliverer: (any Deliverer)?) {
        switch effect {
        case .reply(let request, let reply): deliverer?.deliver(reply, to: request)
        case .welcome(let request, let calls, let more):
            deliverer?.deliver(welcome: calls, more: more, to: request)
        case .send(let receivers, let event):
            share -= receivers.count
            deliverer?.deliver(event, to: receivers)
        case .replace(let address): deliverer?.replace(address)
        case .tell(let report): policies?.tell(named(report))
        case .recall(let id): find(.call(id), for: .call(id))
        case .recallKey(let user, let key): find(.reply(user, key: key), for: .key(user, key))
        case .list(let request, let user, let query):
            find(
                .page(user, query, bytes: limits.wire.pageBytes), for: .page(request, user))
        case .persist, .consult, .withdraw:
            preconditionFailure("\(effect) does not wait in the queue")
        }
    }

    /// A turn is over: what it changed goes to the store, unless more of it is about to come.
    public func endTurn() {
        drain()
        policies?.flush()
        // By now, not by the turn's beginning.
        turn = nil
        queue.turnEnded(at: now())
        if mayGrow { shell.endTurn(after: Self.batchWaits) } else { submit() }
        policies?.flush()
        turn = nil
        renewShare()
    }

    /// Whether the batch that gathers had better wait for the policies at work: what begins and
    /// ends within one batch is written once and leaves in one write.
    var mayGrow: Bool {
        guard let since = queue.gatheringSince, policies?.isThinking == true else { return false }
        return now() - since < Self.batchWaits
    }

    /// How long a batch waits for the policies at most, in milliseconds.
    static let batchWaits: Milliseconds = 2

    func submit() {
        while let batch = queue.takeBatch(at: now()) {
            submittedCounting = counting
            counting = []
            store?.commit(batch, at: now(), as: newTicket())
            // A store in memory has answered already; one on disk answers later.
            if queue.isSubmitted { return }
        }
    }

    /// Has the shell call `wake` at the next deadline. Of very many that came together the rest
    /// waits while much gathers behind a batch: what anybody asks for meanwhile comes behind it.
    func arm() {
        guard !queue.isSubmitted || queue.changes.count < Self.effectsOfABatch,
            let next = switchboard.nextDeadline
        else { return }
        if let wakesAt, wakesAt <= next { return }
        wakesAt = next
        if shows(.droppedDeadline) { return }
        shell.wake(at: next)
    }
}
