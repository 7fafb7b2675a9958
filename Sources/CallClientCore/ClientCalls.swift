// All calls of the user, one object each, merged by revision.

import CallModel
import CallWire
import JSON

/// The calls of a client's user. Thread-confined to its client. Add listeners before `connect`, so
/// that they are told of calls that ring already.
public final class ClientCalls {
    /// The live ones.
    public private(set) var live: [CallID: ClientCall] = [:]
    /// Somebody calls: told once for each call that the user is asked to answer. Where somebody
    /// listens, the app shows the call, and so the caller is told that it rings.
    public let incoming = Listeners<ClientCall>()
    /// A call is new, has changed or is over.
    public let changed = Listeners<(call: ClientCall, news: CallNews)>()
    /// The user was called in vain; `count` calls in all were not seen yet.
    public let missed = Listeners<(call: ClientCall, count: Int)>()
    weak var machine: ClientMachine?
    private let pastMax: Int
    /// Calls that are over, the oldest first, and whose late answers are still recognized.
    private var past: [ClientCall] = []
    private var taken: Set<CallID> = []
    private var announced: Set<CallID> = []
    private var asked: Set<CallID> = []

    init(pastMax: Int) { self.pastMax = pastMax }

    /// The call `id`; nil: it is none of the user's, or over for long.
    public subscript(id: CallID) -> ClientCall? {
        live[id] ?? past.first { $0.id == id }
    }

    /// The calls that this client made, accepted or joined.
    var here: [CallID] { Array(taken) }

    func hasHere(_ id: CallID) -> Bool { taken.contains(id) }

    // MARK: What is told

    /// What an earlier run knew. Nobody is told: the server's word follows.
    func bringBack(_ kept: KeptSession) {
        taken = Set(kept.here)
        for call in kept.calls where call.isLive(for: kept.user) {
            live[call.id] = ClientCall(call, of: machine)
        }
    }

    /// The members of `ok` of a request for `operation`.
    func learn(fromAnswer ok: JSONValue, to operation: String) {
        guard let told = machine?.link.call(ok["call"]) else { return }
        let isTaking = ["call.invite", "call.accept", "call.join"].contains(operation)
        if isTaking { taken.insert(told.id) }
        let call = learn(told)
        guard operation == "call.invite", let errors = ok["errors"]?.array else { return }
        call.errors = errors.compactMap { InviteeError($0) }
    }

    /// An event; its call may be one of which nobody has told.
    func hear(_ event: CallEvent) {
        if case .missed(let call, let count) = event.kind {
            return missed.tell((call: ClientCall(call, of: machine), count: count))
        }
        if let told = event.kind.call {
            learn(told, event)
            return
        }
        guard let call = self[event.callID], let user = machine?.user else {
            return ask(event.callID)
        }
        // The event does not say everything about a new participant: the call is read anew.
        guard !call.snapshot.isStrange(event) else {
            ask(event.callID)
            return settle(call, isChanged: false, event)
        }
        var next = call.snapshot
        next.apply(event, toldTo: user)
        if case .elsewhere = event.kind { taken.remove(call.id) }
        settle(call, isChanged: call.take(next), event)
    }

    /// The full truth of a new session: what is missing is over, and how, the server is asked.
    func replace(by all: [Call], hasMore: Bool) {
        for told in all { learn(told) }
        guard !hasMore else { return }
        let ids = Set(all.map(\.id))
        for id in live.keys.filter({ !ids.contains($0) }).sorted() { ask(id, isOver: true) }
    }

    /// No event tells what this user's own hold and flags have changed, here and in other calls.
    func lookAgain(_ completion: @escaping () -> Void) {
        guard let machine else { return completion() }
        var open = live.count
        guard open > 0 else { return completion() }
        for id in live.keys.sorted() {
            machine.get(id) { _ in
                open -= 1
                if open == 0 { completion() }
            }
        }
    }

    // MARK: Merging

    @discardableResult
    private func learn(_ told: Call, _ event: CallEvent? = nil) -> ClientCall {
        guard let call = self[told.id] else {
            let call = ClientCall(told, of: machine)
            settle(call, isChanged: true, event)
            return call
        }
        let isChanged = told.revision > call.snapshot.revision && call.take(told)
        settle(call, isChanged: isChanged, event)
        return call
    }

    private func ask(_ id: CallID, isOver: Bool = false) {
        guard let machine, asked.insert(id).inserted else { return }
        machine.get(id) { [weak self] result in  // Its answer was learned.
            self?.asked.remove(id)
            if isOver, case .failure(.refused) = result { self?.end(id) }
        }
    }

    /// The server knows nothing of it any more.
    private func end(_ id: CallID) {
        guard let call = live[id] else { return }
        var over = call.snapshot
        over.state = .ended
        settle(call, isChanged: call.take(over))
    }

    /// Where the call belongs now, and who is told.
    private func settle(_ call: ClientCall, isChanged: Bool, _ event: CallEvent? = nil) {
        let wasLive = live[call.id] != nil
        let isLive = !call.isEnded
        past.removeAll { $0 === call }
        if isLive {
            live[call.id] = call
        } else {
            live[call.id] = nil
            taken.remove(call.id)
            past.append(call)
            if past.count > pastMax { announced.remove(past.removeFirst().id) }
        }
        let news = CallNews(
            call: call.snapshot, event: event, isChanged: isChanged, isLast: wasLive && !isLive)
        if isChanged || event != nil || news.isLast {
            call.tell(news)
            changed.tell((call: call, news: news))
        }
        if isLive { announce(call) }
    }

    private func announce(_ call: ClientCall) {
        guard call.isPending, incoming.count > 0, announced.insert(call.id).inserted else { return }
        incoming.tell(call)
        if call.isPending { machine?.ringing(call.id) }
    }
}
