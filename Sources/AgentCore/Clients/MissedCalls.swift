// Tells users of the calls that nobody told them of, at their next connection.

import CallModel
import CallWire
import StoreContract

/// Reads missed calls from the store when a device begins a session. Owner: the loop's thread.
final class MissedCalls {
    private unowned let desk: ClientDesk

    /// Missed calls that one session is told of; the count tells of the others.
    private static let most = 20

    init(_ desk: ClientDesk) { self.desk = desk }

    /// Tells a device of the calls that its user has missed.
    func tell(_ live: LiveSession) {
        let (user, session) = (live.address.user, live.session.id)
        desk.exchange.find(.missed(user, limit: Self.most)) { [weak self, weak live] answer in
            guard let self, let live, case .missed(let calls, let count) = answer,
                live.session.id == session
            else { return }
            self.tell(live, calls, count)
        }
    }

    private func tell(_ live: LiveSession, _ all: [MissedCall], _ count: Int) {
        var missed: [(call: Call, at: Moment)] = []
        var count = count
        for one in all {
            guard let call = one.call else { continue }
            if call.callsAgain(live.address.user) {
                count -= 1
            } else {
                missed.append((call, one.at))
            }
        }
        for (call, at) in missed.reversed() {
            let event = CallEvent(
                callID: call.id, revision: call.revision, at: at, actor: .policy("default"),
                kind: .missed(call, count: count))
            desk.deliver(event, to: [live.address])
        }
        guard let newest = missed.first?.at else { return }
        live.missed = (live.session.lastNumbered, newest)
    }

    /// The device is about to get the events after `seq` again. They tell how the calls went that
    /// its user missed while the device was away.
    func replay(to live: LiveSession, after seq: UInt64) {
        guard live.session.lastNumbered > seq else { return }
        live.missed = (live.session.lastNumbered, desk.exchange.now())
    }

    /// The client has the events up to `seq`.
    func acknowledged(_ live: LiveSession, _ seq: Int64) {
        guard let missed = live.missed, seq >= Int64(clamping: missed.seq) else { return }
        live.missed = nil
        desk.exchange.store([.seen(live.address.user, upTo: missed.until)])
    }
}

extension Call {
    /// Whether the user, called in vain before, was added again since, and rings or has answered.
    /// Who rang when the call was ended stays pending in it for ever, and is called no more.
    fileprivate func callsAgain(_ user: UserID) -> Bool {
        guard let part = participant(user) else { return false }
        return isLive && part.state.isLive || part.answeredAt != nil
    }
}
