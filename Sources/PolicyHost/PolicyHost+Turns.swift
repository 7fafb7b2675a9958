// Whose turn it is when something waits for the policy thread (G76).

import Collections
import CallModel

extension PolicyHost {
    /// Whose turn the handler is that waits for `wait`; nil: nobody waits for it.
    public func turn(of wait: WaitID) -> PolicyTurn? {
        if let timer = firing[wait] { return PolicyTurn(cause: timer.cause, decides: false) }
        return waits[wait].flatMap { turn(ofHandler: $0) }
    }

    /// Whose turn it is; nil: it takes no time worth a turn.
    public func turn(of due: PolicyDue) -> PolicyTurn? {
        switch due.deadline {
        case .wake(let id, _), .overdue(let id), .partsEnded(let id): turn(ofHandler: id)
        case .part(let id): laterParts[id].flatMap { turn(ofHandler: $0.handler) }
        case .decide(let chain), .advance(let chain):
            chains[chain].map { PolicyTurn(cause: $0.cause, decides: true) }
        case .detached(let id):
            detachedLater[id].map {
                PolicyTurn(cause: $0.event.origin.cause, decides: false)
            }
        case .notices(let key):
            (queues[key]?.notices.first).map { PolicyTurn(cause: $0.cause, decides: false) }
        case .timer(let id): timers[id].map { PolicyTurn(cause: $0.cause, decides: false) }
        case .compare(let cause, _): PolicyTurn(cause: cause, decides: false)
        case .saveStates, .retire, .retireReports, .endProbation, .forget, .seek: nil
        }
    }

    private func turn(ofHandler id: UInt64) -> PolicyTurn? {
        running[id].map {
            PolicyTurn(cause: $0.event.origin.cause, decides: $0.chain != nil)
        }
    }
}
