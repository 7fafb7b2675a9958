// Tells users of the calls that nobody told them of, at their next connection.

import CallModel
import CallWire
import Storage

/// Reads missed calls from the store when a device begins a session. Owner: the loop's thread.
final class MissedCalls {
    private unowned let gateway: Gateway

    /// Missed calls that one session is told of; the count tells of the others.
    private static let most = 20

    init(_ gateway: Gateway) { self.gateway = gateway }

    /// What the store knows of one user.
    private struct Findings: Sendable {
        var count = 0
        /// The newest first.
        var calls: [(call: Call, at: Moment)] = []
    }

    /// Tells a device of the calls that its user has missed.
    func tell(_ live: LiveSession) {
        let (user, session) = (live.address.user, live.session.id)
        gateway.exchange.read { reader throws(StoreError) in
            try Self.find(user, in: reader)
        } _: { [weak self, weak live] found in
            guard let self, let live, let found, live.session.id == session else { return }
            self.tell(live, found)
        }
    }

    private static func find(
        _ user: UserID, in reader: any CallReader
    ) throws(StoreError) -> Findings {
        var found = Findings()
        let missed = try reader.missedCalls(of: user, limit: most)
        guard !missed.isEmpty else { return found }
        found.count = try reader.missedCount(of: user)
        for one in missed {
            guard let call = try reader.call(one.callID) else { continue }
            if call.participant(user)?.isCalledAgain == true {
                found.count -= 1
            } else {
                found.calls.append((call, one.at))
            }
        }
        return found
    }

    private func tell(_ live: LiveSession, _ found: Findings) {
        for (call, at) in found.calls.reversed() {
            let event = CallEvent(
                callID: call.id, revision: call.revision, at: at, actor: .policy("default"),
                kind: .missed(call, count: found.count))
            gateway.deliver(event, to: [live.address])
        }
        guard let newest = found.calls.first?.at else { return }
        live.missed = (live.session.lastNumbered, newest)
    }

    /// The device is about to have the events behind `seq` again, and with them how those calls
    /// went that its user missed while it was away.
    func replay(to live: LiveSession, after seq: UInt64) {
        guard live.session.lastNumbered > seq else { return }
        live.missed = (live.session.lastNumbered, gateway.exchange.now())
    }

    /// The client has the events up to `seq`.
    func acknowledged(_ live: LiveSession, _ seq: Int64) {
        guard let missed = live.missed, seq >= Int64(clamping: missed.seq) else { return }
        live.missed = nil
        gateway.exchange.store([.seen(live.address.user, upTo: missed.until)])
    }
}

extension Participant {
    /// Whether the user, called in vain before, was added again since, and rings or has answered.
    fileprivate var isCalledAgain: Bool { state.isLive || answeredAt != nil }
}
