// Signals: those of one sender never fill a slow client that has not answered, and those of a
// session that is lost are told in the next one.

import CallCore
import CallModel
import CallWire

extension ClientDesk {
    // MARK: Who is called and reads slowly

    /// Notes what somebody says at will to a user whose client may be slow.
    func noteUnsent(
        _ event: CallEvent, of size: Int, to user: UserID, over line: Line
    ) {
        let (sender, bytes): (UserID, Int)
        switch (event.kind, event.actor) {
        case (.signal(let from, let data), _): (sender, bytes) = (from, data.count)
        case (.items, .user(let user, _)): (sender, bytes) = (user, size)
        default: return
        }
        guard let endpoint = line.endpoint else { return }
        let sent = endpoint.sentBytes
        let unsent = line.unsentSignals ?? UnsentSignals()
        line.unsentSignals = unsent
        unsent.sent(sent)
        unsent.note(from: sender, bytes: bytes, end: sent + UInt64(endpoint.unsentBytes))
        if mayCrowd(line) { crowded.insert(user) }
    }

    /// Whether one more signal of somebody could be too much for the line.
    private func mayCrowd(_ line: Line) -> Bool {
        guard let unsent = line.unsentSignals?.all else { return false }
        let most = exchange.signalsHeld
        return unsent.count >= most.count
            || unsent.bytes + limits.wire.signalBytes > most.bytes
    }

    /// Why `sender` must wait before it says that to somebody who has not answered: as much of it
    /// as may wait for such a user is unsent to a device of that user (G80).
    func crowding(_ operation: Operation, by sender: UserID) -> Refusal? {
        guard !crowded.isEmpty, case .call(let id, let action, _) = operation else { return nil }
        switch action {
        case .signal(let to?, let data) where crowded.contains(to):
            guard let call = exchange.switchboard.call(id),
                let addressee = call.participant(to), addressee.isPending,
                isCrowded(to, by: sender, adding: data.count)
            else { return nil }
        case .items:
            guard let call = exchange.switchboard.call(id),
                call.participants.contains(where: {
                    $0.isPending && crowded.contains($0.user)
                        && isCrowded($0.user, by: sender, adding: limits.wire.signalBytes)
                })
            else { return nil }
        default: return nil
        }
        return Refusal(
            .rateLimited, "too many of your signals wait for somebody's slow device",
            retryAfter: 1_000)
    }

    private func isCrowded(_ user: UserID, by sender: UserID, adding bytes: Int) -> Bool {
        let most = exchange.signalsHeld
        var (isFull, mayBeFull) = (false, false)
        for address in exchange.devices(of: user) {
            guard let line = sessions[address]?.line, let endpoint = line.endpoint,
                let unsent = line.unsentSignals
            else { continue }
            // Most devices take at once what would leave at the end of this turn.
            endpoint.sendNow()
            unsent.sent(endpoint.sentBytes)
            guard mayCrowd(line) else { continue }
            mayBeFull = true
            let share = unsent.share(of: sender)
            if share.count >= most.count || share.bytes + bytes > most.bytes { isFull = true }
        }
        if !mayBeFull { crowded.remove(user) }
        return isFull
    }

    // MARK: Sessions that follow a lost one

    /// Tells the signals that the session before could not tell (B30). In calls that the user has
    /// not answered the signals wait for `call.incoming`; where the user is no participant the
    /// signals go.
    func tellUntold(_ live: LiveSession, knowing calls: [Call]) {
        for mark in live.session.untoldSignals {
            let call =
                calls.first { $0.id == mark.call } ?? exchange.switchboard.call(mark.call)
            let me = call.flatMap { $0.isLive ? $0.participant(live.address.user) : nil }
            if me?.isPending == true { continue }
            let signals = live.session.takeUntold(of: mark.call)
            if me?.state == .joined { tell(signals, to: live) }
        }
    }

    /// The device knows of the call now.
    func tellUntold(_ live: LiveSession, of call: CallID) {
        tell(live.session.takeUntold(of: call), to: live)
    }

    private func tell(
        _ signals: [(mark: SignalMark, tail: [UInt8])], to live: LiveSession
    ) {
        for signal in signals {
            guard
                let seq = live.session.number(signal.tail, signal.mark, limits: limits.session),
                let endpoint = live.line?.endpoint
            else { continue }
            figures.events.note(.signal)
            send(signal.tail, seq: seq, over: endpoint)
            endpoint.noteTold()
        }
    }
}

extension Participant {
    /// Whether its user is called and has not answered.
    fileprivate var isPending: Bool { state.isLive && state != .joined }
}
