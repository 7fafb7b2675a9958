// What each event changes in a call, as one of its users sees it.

import CallModel

extension Call {
    /// Whether `user` still hears of this call.
    func isLive(for user: UserID?) -> Bool {
        guard isLive, let user, let me = participant(user) else { return false }
        return me.state.isLive
    }

    /// Whether `event` names somebody of whom the call says nothing.
    func isStrange(_ event: CallEvent) -> Bool {
        guard case .changed(let changes) = event.kind else { return false }
        return changes.contains { index(of: $0.user) == nil }
    }

    /// Changes what `event`, told to `user`, says.
    mutating func apply(_ event: CallEvent, toldTo user: UserID) {
        if case .ended = event.kind {} else if event.revision < revision { return }
        revision = max(event.revision, revision)
        switch event.kind {
        case .changed(let changes):
            for change in changes { apply(change, event) }
        case .ended(let end, let at, _): (state, self.end, endedAt) = (.ended, end, at)
        case .elsewhere(let what, let device):
            mark(user) {
                $0.device = device
                $0.state = what.state ?? $0.state
            }
        case .timedOut: dismiss(user, .timedOut, nil)
        case .cancelled(_, _, let reason): dismiss(user, .cancelled, reason)
        case .failed(let reason): dismiss(user, .failed, reason)
        case .transferred: dismiss(user, .left, .transferred)
        case .removed: dismiss(user, .left, .kicked)
        case .mediaPhase, .mediaFlags, .hold, .items: applyMedia(event)
        case .created, .incoming, .missed, .signal: break
        }
    }

    private mutating func applyMedia(_ event: CallEvent) {
        switch event.kind {
        case .mediaPhase(let phase):
            media = phase
            if phase == .connected { connectedAt = connectedAt ?? event.at }
        case .mediaFlags(let who, let audio, let video):
            mark(who) { ($0.audio, $0.video) = (audio, video) }
        case .hold(let who, let on): mark(who) { $0.held = on }
        case .items(_, let deleted, let changed):
            items.removeAll { deleted.contains($0.key) }
            for item in changed { items.put(item) }
        default: break
        }
    }

    private mutating func apply(_ change: CallEvent.Change, _ event: CallEvent) {
        let isIn = change.state == .joined
        let role = participant(change.user)?.role
        mark(change.user) {
            ($0.state, $0.reason) = (change.state, change.reason)
            $0.extendedData = change.extendedData
            guard isIn else { return }
            $0.answeredAt = $0.answeredAt ?? event.at
            if case .user(change.user, let device) = event.actor { $0.device = device }
        }
        guard isIn, state == .ringing, let role, role != .caller else { return }
        (state, answeredAt) = (.active, event.at)
    }

    private mutating func dismiss(
        _ user: UserID, _ state: Participant.State, _ reason: Participant.Reason?
    ) {
        mark(user) { ($0.state, $0.reason) = (state, reason) }
    }

    private mutating func mark(_ user: UserID, _ change: (inout Participant) -> Void) {
        if let place = index(of: user) { change(&participants[place]) }
    }
}

extension CallEvent.Elsewhere {
    fileprivate var state: Participant.State? {
        switch self {
        case .answered: .joined
        case .rejected: .rejected
        case .left: .left
        case .replaced: nil
        }
    }
}
