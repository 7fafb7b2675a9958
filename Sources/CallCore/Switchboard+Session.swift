// During a call: call.report, call.media, call.hold, call.items, call.signal, call.token.

import CallModel

/// A `call.token` that waits for the policies.
struct TokenRequest: Sendable {
    let id: RequestID
    /// Nil once it has come out of the wheel.
    var timer: TimerHandle?
}

extension Switchboard {
    // MARK: call.report

    mutating func report(_ asker: Asker, _ id: CallID, _ report: MediaReport) throws(Refusal) {
        let place = try locateJoined(asker, id)
        guard place.mode.has(.media), let slot = place.slot else { return answer(asker, .done) }
        guard place.call.state == .active else { throw .wrongState("nobody has accepted") }
        var commit = Commit(place.call, slot: slot, asker: asker, reply: .done)
        switch report {
        case .connected, .recovered:
            commit.call.participants[place.index].mediaConnected = true
            mediaIsUp(&commit)
        case .lost:
            commit.call.participants[place.index].mediaConnected = false
            mediaIsDown(&commit, place.mode)
        case .failed:
            let reason: EndReason =
                place.call.connectedAt == nil ? .notConnected : .connectionLost
            commit.end(Call.End(reason, by: asker.user))
        }
        commit.isInternal =
            commit.call.media == place.call.media && commit.call.isLive
        finish(commit)
    }

    /// The media is connected when all joined participants have reported it (C37).
    private func mediaIsUp(_ commit: inout Commit) {
        let joined = commit.call.participants.filter { $0.state == .joined }
        guard joined.allSatisfy(\.mediaConnected), commit.call.media != .connected else { return }
        commit.call.media = .connected
        commit.call.mediaAlarm = nil
        commit.call.connectedAt = commit.call.connectedAt ?? now
        commit.notify(.joinedPrimaries(except: nil), .mediaPhase(.connected))
    }

    private func mediaIsDown(_ commit: inout Commit, _ mode: Mode) {
        guard commit.call.media == .connected, let limit = mode.reconnectWithin else { return }
        commit.call.media = .reconnecting
        commit.call.mediaAlarm = now + limit
        commit.notify(.joinedPrimaries(except: nil), .mediaPhase(.reconnecting))
    }

    // MARK: call.media

    mutating func media(
        _ asker: Asker, _ id: CallID, audio: Bool?, video: Bool?
    ) throws(Refusal) {
        let place = try locateJoined(asker, id)
        let before = place.participant
        let newAudio = audio ?? before.audio
        let newVideo = video ?? before.video
        guard newAudio != before.audio || newVideo != before.video else {
            return answer(asker, .done)
        }
        var commit = Commit(place.call, slot: place.slot, asker: asker, reply: .done)
        commit.call.participants[place.index].audio = newAudio
        commit.call.participants[place.index].video = newVideo
        commit.notify(
            .joinedPrimaries(except: asker.user),
            .mediaFlags(asker.user, audio: newAudio, video: newVideo))
        finish(commit)
    }

    // MARK: call.hold

    func checkHold(
        _ asker: Asker, _ id: CallID, on: Bool, force: Bool
    ) throws(Refusal) -> (place: Place, others: [CallSlot]) {
        let place = try locateJoined(asker, id, needs: .hold)
        guard place.call.state == .active else { throw .wrongState("nobody has accepted") }
        if place.participant.held == on {
            let code = on ? "already_held" : "not_held"
            throw Refusal(
                .wrongState, on ? "the call is held" : "the call is not held",
                detail: .code(code))
        }
        guard !on else { return (place, []) }
        let others = (users[asker.user]?.calls ?? []).filter { slot in
            let call = calls[slot]
            guard call.id != id, call.state == .active, settings.mode(call.mode).has(.hold),
                let participant = call.participant(asker.user)
            else { return false }
            return participant.state == .joined && !participant.held
        }
        if !others.isEmpty, !force {
            throw Refusal(
                .wrongState, "another call is not held", detail: .code("other_active"))
        }
        return (place, others)
    }

    mutating func hold(_ asker: Asker, _ id: CallID, on: Bool, force: Bool) throws(Refusal) {
        let (place, others) = try checkHold(asker, id, on: on, force: force)
        var commit = Commit(place.call, slot: place.slot, asker: asker, reply: .done)
        hold(&commit, place.index, on)
        finish(commit)
        for slot in others { endCall(slot, by: asker) }
    }

    /// Holds a call as a consequence of another operation of its participant.
    mutating func setHeld(_ slot: CallSlot, _ index: Int, _ on: Bool, by asker: Asker) {
        var commit = Commit(calls[slot], slot: slot, actor: asker.actor)
        hold(&commit, index, on)
        finish(commit)
    }

    private func hold(_ commit: inout Commit, _ index: Int, _ on: Bool) {
        commit.call.participants[index].held = on
        let user = commit.call.participants[index].user
        commit.notify(.joinedPrimaries(except: user), .hold(user, on: on))
    }

    // MARK: call.items

    func checkItems(
        _ asker: Asker, _ id: CallID, _ change: ItemsChange
    ) throws(Refusal) -> (place: Place, items: [Call.Item], deleted: [String]) {
        let place = try locate(asker, id, needs: .items)
        if place.slot != nil, !place.participant.state.isLive {
            throw .wrongState("\(asker.user) is out of this call")
        }
        var items = change.clear ? [] : place.call.items
        items.removeAll { change.delete.contains($0.key) }
        for item in change.put { items.put(item) }
        guard items.count <= settings.itemsMax else {
            throw Refusal(
                .badRequest, "at most \(settings.itemsMax) items", detail: .field("put"))
        }
        let deleted = place.call.items.map(\.key).filter { key in
            !items.contains { $0.key == key }
        }
        return (place, items, deleted)
    }

    mutating func items(_ asker: Asker, _ id: CallID, _ change: ItemsChange) throws(Refusal) {
        let (place, items, deleted) = try checkItems(asker, id, change)
        var keys = deleted
        for item in change.put where !keys.contains(item.key) { keys.append(item.key) }
        guard items != place.call.items else {
            return answer(asker, .items(items, keys: keys))
        }
        guard let slot = place.slot else {
            var call = place.call
            call.items = items
            call.revision += 1
            ended.update(call)
            return answer(asker, .items(items, keys: keys), storing: [.call(call)])
        }
        var commit = Commit(place.call, slot: slot, asker: asker, reply: .items(keys: keys))
        commit.call.items = items
        commit.notify(.everybody, .items(keys: keys, deleted: deleted, items: items))
        finish(commit)
    }

    // MARK: call.signal

    mutating func signal(
        _ asker: Asker, _ id: CallID, to addressee: UserID?, _ data: [UInt8]
    ) throws(Refusal) {
        let place = try locateJoined(asker, id)
        let event = CallEvent(
            callID: id, revision: place.call.revision, at: now, actor: asker.actor,
            kind: .signal(from: asker.user, data: data))
        if let addressee {
            guard let participant = place.call.participant(addressee), addressee != asker.user
            else {
                throw Refusal(.notInvited, "\(addressee) is not another participant")
            }
            guard participant.state.isLive else {
                throw .wrongState("\(addressee) is \(participant.state.rawValue)")
            }
            answer(asker, .done)
            relay(event, to: participant, in: place.call)
        } else {
            answer(asker, .done)
            send(to: primaries(of: place.call, except: asker.user), event)
        }
        if settings.hooks.contains(.signal) {
            tell(place.call, .signal(from: asker.user, to: addressee, data: data))
        }
    }

    /// A pending addressee whose devices do not know the call yet gets the signal behind its
    /// `call.incoming`.
    private mutating func relay(_ event: CallEvent, to participant: Participant, in call: Call) {
        if participant.state == .joined {
            return send(to: address(of: participant.user, participant.device), event)
        }
        let receivers = participant.isVisible ? addresses(of: participant.user) : []
        guard receivers.isEmpty else { return send(to: receivers, event) }
        let name = Seat(user: participant.user, call: call.id)
        var held = heldSignals[name] ?? []
        if held.count >= settings.heldSignalsMax { held.removeFirst() }
        held.append(event)
        heldSignals[name] = held
    }

    /// Sends the signals that waited for the user's devices to know of the call.
    mutating func sendHeldSignals(of user: UserID, in id: CallID, to receivers: [Address]) {
        guard !receivers.isEmpty, !heldSignals.isEmpty,
            let held = heldSignals.removeValue(forKey: Seat(user: user, call: id))
        else { return }
        for event in held { send(to: receivers, event) }
    }

    // MARK: call.token

    mutating func token(_ asker: Asker, _ id: CallID) throws(Refusal) {
        let place = try locateJoined(asker, id)
        guard settings.hooks.contains(.token), let request = asker.id else {
            throw .noTokenPlugin
        }
        let subject = Question.Subject.token(place.call, user: asker.user)
        let question = Question(
            id: newQuestionID(), decideBy: now + settings.decideWithin, subject: subject,
            facts: facts(for: subject))
        let timer = wheel.schedule(
            TimerKey.staged(question.id).packed, at: question.decideBy + settings.decideGrace)
        tokenRequests[question.id] = TokenRequest(id: request, timer: timer)
        effects.append(.consult(question))
    }

    /// Takes the answer to a question about a token; false: it was none.
    mutating func tokenAnswered(_ id: QuestionID, _ answer: Answer) -> Bool {
        guard let request = tokenRequests.removeValue(forKey: id) else { return false }
        if let timer = request.timer { wheel.cancel(timer) }
        if case .token(let token?) = answer {
            effects.append(.reply(request.id, .token(token)))
        } else {
            effects.append(.reply(request.id, .refused(.noTokenPlugin)))
        }
        return true
    }
}

extension Refusal {
    fileprivate static let noTokenPlugin = Refusal(
        .unsupported, "no plugin makes credentials for the media side")
}
