// During a call: call.report, call.media, call.hold, call.items, call.signal, call.token.

import Collections
import CallModel

/// A `call.token` that waits for the policies.
struct TokenRequest: Sendable {
    let id: RequestID
    /// `none` once it has fired.
    var timer: TimerHandle
    /// Its place in `questionCounts` (G76).
    let counted: Int32
}

extension Switchboard {
    // MARK: call.report

    mutating func report(_ asker: Asker, _ id: CallID, _ report: MediaReport) throws(Refusal) {
        // A mode without media ignores reports, also of users who have left (D47).
        let known = try locate(asker, id)
        let mode = calls[known.slot].mode
        guard mode.has(.media) else { return answer(asker, .done) }
        let place = try locateJoined(asker, id)
        guard calls[place.slot].state == .active || report == .failed else {
            throw .wrongState("nobody has accepted")
        }
        var commit = change(place.slot, by: asker, .done)
        let before = commit.call.media
        switch report {
        case .connected, .recovered: commit.mediaIsUp(place.index, at: now)
        case .lost: commit.mediaIsDown(place.index, within: mode.reconnectWithin, at: now)
        case .failed where commit.call.state == .ringing:
            commit.move(place.index, to: .failed, .dialFailed)
            commit.end(Call.End(.dialFailed, by: asker.user))
        case .failed:
            let reason: EndReason = commit.call.connectedAt == nil ? .notConnected : .connectionLost
            commit.end(Call.End(reason, by: asker.user))
        }
        // A report that changes no phase is stored, but the call object stays as it was (C36).
        commit.isInternal = commit.call.media == before && commit.call.isLive
        finish(&commit)
    }

    // MARK: call.media

    mutating func media(_ asker: Asker, _ id: CallID, audio: Bool?, video: Bool?) throws(Refusal) {
        let place = try locateJoined(asker, id)
        let part = self[place]
        guard (audio ?? part.audio, video ?? part.video) != (part.audio, part.video) else {
            return answer(asker, .done)
        }
        var commit = change(place.slot, by: asker, .done)
        commit.send(place.index, audio: audio, video: video)
        finish(&commit)
    }

    // MARK: call.hold

    mutating func hold(_ asker: Asker, _ id: CallID, on: Bool, force: Bool) throws(Refusal) {
        let place = try locateJoined(asker, id, needs: .hold)
        guard calls[place.slot].state == .active else { throw .wrongState("nobody has accepted") }
        if self[place].held == on {
            throw Refusal(
                .wrongState, on ? "the call is held" : "the call is not held",
                detail: .code(on ? "already_held" : "not_held"))
        }
        if !on, !force, talks(asker.user, elsewhereThan: place.slot) {
            throw Refusal(.wrongState, "another call is not held", detail: .code("other_active"))
        }
        var commit = change(place.slot, by: asker, .done)
        commit.hold(place.index, on)
        finish(&commit)
        if !on { settleOtherCalls(of: asker, but: place.slot, holding: false, andHeld: false) }
    }

    /// Whether the user has joined another call of a mode with hold and does not hold it.
    private func talks(_ user: UserID, elsewhereThan other: CallSlot) -> Bool {
        (users[user]?.calls.newest(Self.looksAtOnce) ?? []).contains { slot in
            guard slot != other, calls[slot].allows(.hold) else { return false }
            return calls[slot].participant(user).map { $0.state == .joined && !$0.held } ?? false
        }
    }

    // MARK: call.items

    mutating func items(_ asker: Asker, _ id: CallID, _ change: ItemsChange) throws(Refusal) {
        let place = try locate(asker, id, needs: .items)
        let isLive = calls[place.slot].isLive
        guard !isLive || self[place].state.isLive else {
            throw .wrongState(asker.user, self[place].state)
        }
        let before = calls[place.slot].items
        var items = change.clear ? [] : before
        items.removeAll { change.delete.contains($0.key) }
        for item in change.put { items.put(item) }
        guard items.count <= settings.itemsMax else {
            throw Refusal(.badRequest, "at most \(settings.itemsMax) items", detail: .field("put"))
        }
        let deleted = before.map(\.key).filter { key in !items.contains { $0.key == key } }
        var keys = deleted
        for item in change.put where !keys.contains(item.key) { keys.append(item.key) }
        guard items != before else { return answer(asker, .items(items, keys: keys)) }
        // Items of an ended call are kept for whoever reads it later; nobody is told (A1).
        guard isLive else {
            calls[place.slot].items = items
            calls[place.slot].revision += 1
            let call = calls[place.slot]
            return answer(asker, .items(items, keys: keys), storing: [.call(call)])
        }
        var commit = self.change(place.slot, by: asker, .items(keys: keys))
        commit.call.items = items
        commit.notify(.everybody, .items(keys: keys, deleted: deleted, items: items))
        finish(&commit)
    }

    // MARK: call.signal

    mutating func signal(
        _ asker: Asker, _ id: CallID, to addressee: UserID?, _ data: [UInt8]
    ) throws(Refusal) {
        let slot = try locateJoined(asker, id).slot
        let event = CallEvent(
            callID: id, revision: calls[slot].revision, at: now, actor: asker.actor,
            kind: .signal(from: asker.user, data: data))
        if let addressee {
            guard addressee != asker.user,
                let participant = calls[slot].participant(addressee)
            else { throw .notInvited(addressee) }
            guard participant.state.isLive else {
                throw .wrongState(addressee, participant.state)
            }
            try relay(event, to: participant, for: asker)
        } else {
            answer(asker, .done)
            send(to: primaries(of: calls[slot], except: asker.user), event)
        }
        if settings.hooks.contains(.signal) {
            let kind = Report.Kind.signal(from: asker.user, to: addressee, data: data)
            tell(calls[slot], asker.actor, kind, cause: asker.cause(in: calls[slot]))
        }
    }

    /// Sends a signal to one participant. A device that does not know the call yet could not use
    /// it, so it is held and follows `call.incoming`, within bounds (G80).
    private mutating func relay(
        _ event: CallEvent, to participant: Participant, for asker: Asker
    ) throws(Refusal) {
        var receivers: [Address] = []
        if participant.state == .joined {
            addDevice(participant.device, of: participant.user, to: &receivers)
        } else {
            if participant.isVisible { receivers = addresses(of: participant.user) }
            let key = ParticipantKey(user: participant.user, call: event.callID)
            if receivers.isEmpty, !heldSignals.hold(event, for: key, within: settings) {
                throw .tooManySignals
            }
        }
        answer(asker, .done)
        send(to: receivers, event)
    }

    /// Sends the signals that were held until the user's devices know the call.
    mutating func sendHeldSignals(of user: UserID, in id: CallID, to receivers: [Address]) {
        guard !receivers.isEmpty, !heldSignals.isEmpty else { return }
        for event in heldSignals.take(ParticipantKey(user: user, call: id)) {
            send(to: receivers, event)
        }
    }

    // MARK: call.token

    mutating func token(_ asker: Asker, _ id: CallID) throws(Refusal) {
        let slot = try locateJoined(asker, id).slot
        guard settings.hooks.contains(.token), let request = asker.id else {
            throw .noTokenPlugin
        }
        // Shared with questions about invitations: `call.token` must not crowd them out (G76).
        try admit(1, of: asker.cause(in: calls[slot]))
        let cause = asker.cause(in: calls[slot])
        let question = newQuestion(.token(calls[slot], user: asker.user), by: cause)
        let timer = wheel.schedule(
            TimerKey.staged(question.id), at: question.decideBy + settings.decideGrace)
        tokenRequests[question.id] = TokenRequest(
            id: request, timer: timer, counted: consult(question))
    }

    /// Takes the answer to a question about a token; false: `id` is another question.
    mutating func tokenAnswered(_ id: QuestionID, _ answer: Answer) -> Bool {
        guard !tokenRequests.isEmpty, let request = tokenRequests.removeValue(forKey: id) else {
            return false
        }
        wheel.cancel(request.timer)
        questionCounts.remove(at: request.counted)
        var reply = Reply.refused(.noTokenPlugin)
        if case .token(let token?) = answer { reply = .token(token) }
        effects.append(.reply(request.id, reply))
        return true
    }
}

extension Commit {
    /// The media is connected when all joined participants have reported it (C37).
    fileprivate mutating func mediaIsUp(_ index: Int, at now: Moment) {
        call.participants[index].mediaConnected = true
        guard call.media != .connected,
            call.participants.allSatisfy({
                $0.state != .joined || $0.mediaConnected || $0.isUnattended
            })
        else { return }
        call.media = .connected
        call.mediaAlarm = nil
        call.connectedAt = call.connectedAt ?? now
        notify(.joinedPrimaries(except: nil), .mediaPhase(.connected))
    }

    /// A device said `bye`: its media does not come back, so the call ends at once (K107).
    mutating func mediaIsGone() {
        end(Call.End(call.connectedAt == nil ? .notConnected : .connectionLost))
    }

    /// The media of a participant broke: the call ends if it is not back within `limit` (C37).
    mutating func mediaIsDown(_ index: Int, within limit: Milliseconds?, at now: Moment) {
        call.participants[index].mediaConnected = false
        guard call.media == .connected, let limit else { return }
        call.media = .reconnecting
        call.mediaAlarm = now + limit
        notify(.joinedPrimaries(except: nil), .mediaPhase(.reconnecting))
    }

    /// The participant at `index` puts the call on hold, or takes it off hold.
    mutating func hold(_ index: Int, _ on: Bool) {
        let user = call.participants[index].user
        call.participants[index].held = on
        notify(.joinedPrimaries(except: user), .hold(user, on: on))
    }
}
