// What clients are told: replies, events, pages.

import CallModel
import CallWire
import JSON
import StoreContract

extension ClientDesk: Deliverer {
    /// Keeps the text for whoever waits for the reply.
    public func note(_ reply: WrittenReply, to request: RequestID) {
        requests.note(reply, to: request)
    }

    /// Answers over whatever the request came by; a policy or tool hears the value.
    public func deliver(_ reply: Reply, to request: RequestID) {
        if let mode = reply.modeOfNewCall { exchange.figures.begins(mode) }
        let text = requests.takeReply(to: request)
        switch take(request) {
        case .connection(let endpoint, let id, let weight, _):
            if !exchange.shows(.lostReply) { send(reply, text, to: spoiled(id), over: endpoint) }
            if exchange.shows(.replyTwice) { send(reply, to: id, over: endpoint) }
            endpoint.ends(weight)
        case .hello(let line, let id, _): send(reply, to: id, over: line)
        case .exchange(let endpoint, _):
            if let code = reply.refusalCode { figures.refusals.note(code) }
            endpoint.respond(HTTPReply(tail: text?.tail ?? encoder.kept(reply)))
            exchangeIsAnswered(request)
        case .policy(let answered):
            if !exchange.shows(.lostPluginReply) { answered(reply) }
        case .tool(let respond): respond(HTTPReply(tail: text?.tail ?? encoder.kept(reply)))
        case nil: break
        }
    }

    func send(_ reply: Reply, to id: MessageID?, over line: Line) {
        if let endpoint = line.endpoint { send(reply, to: id, over: endpoint) }
    }

    /// Takes a request out that is answered now, and notes how long that took.
    private func take(_ request: RequestID) -> Requester? {
        if let asked = requests.asked(request) {
            figures.answered(asked.operation, since: asked.at, at: exchange.now())
        }
        return requests.remove(request)
    }

    /// - Parameter text: the reply, if it is written already.
    private func send(
        _ reply: Reply, _ text: WrittenReply? = nil, to id: MessageID?, over endpoint: any Endpoint
    ) {
        if let code = reply.refusalCode { figures.refusals.note(code) }
        writer.removeAll()
        WireEncoder.replyHead(id, into: &writer)
        if let text {
            writer.append(text.tail)
            callText.take(from: text)
        } else {
            encoder.replyTail(reply, sharing: &callText, into: &writer)
        }
        endpoint.send(writer.written)
    }

    func send(_ tail: [UInt8], seq: UInt64, over endpoint: any Endpoint) {
        writer.removeAll()
        WireEncoder.eventHead(seq, into: &writer)
        tail.withUnsafeBytes { endpoint.send(writer.written, $0) }
    }

    /// Completes a `hello`: the session is there from now on.
    public func deliver(welcome calls: [Call], more: Bool, to request: RequestID) {
        guard case .hello(let line, let id, let address) = take(request),
            let live = sessions[address], live.line === line, let endpoint = line.endpoint
        else { return }
        var isResumed = false
        if case .welcoming(let resumed) = live.session.state { isResumed = resumed }
        let welcome = Welcome(
            live.address, session: live.session.id, resumed: isResumed,
            serverTime: exchange.now(), settings: welcomeSettings,
            calls: exchange.shows(.shortWelcome) ? Array(calls.dropFirst()) : calls,
            hasMoreCalls: more)
        writer.removeAll()
        WireEncoder.replyHead(id, into: &writer)
        encoder.welcomeTail(welcome, into: &writer)
        endpoint.send(writer.written)
        var missed = live.session.welcomed(limits: limits.session)
        if exchange.shows(.shortReplay) { missed = Array(missed.dropFirst()) }
        for event in missed {
            send(event.tail, seq: event.seq, over: endpoint)
        }
        tellUntold(live, knowing: calls)
        endpoint.noteGreeted()
        if !isResumed, live.wantsMissed { missedCalls?.tell(live) }
    }

    /// Writes the event once for each view of it, into the session of each device.
    public func deliver(_ event: CallEvent, to receivers: [Address]) {
        var tail: [UInt8]?
        var viewer: UserID?
        let mark = SignalMark(event)
        for address in receivers where !exchange.shows(.forgottenDevice) {
            guard let live = sessions.recent(address) else { continue }
            if tail == nil || (event.kind.dependsOnViewer && viewer != address.user) {
                writer.removeAll()
                encoder.eventTail(
                    event, for: address.user, sharing: &callText, into: &writer)
                tail = writer.bytes
                viewer = address.user
            }
            guard let text = tail,
                let seq = live.session.number(text, mark, limits: limits.session),
                let line = live.line, let endpoint = line.endpoint
            else { continue }
            figures.events.note(event.kind.name)
            if let journal = exchange.journal {
                journal.told(event, address, seq, at: exchange.now())
                if case .incoming = event.kind { live.noteCalled(event.callID, seq) }
            }
            send(text, seq: spoiled(seq, text, live), over: endpoint)
            endpoint.noteTold()
            noteUnsent(event, of: text.count, to: address.user, over: line)
            if case .incoming = event.kind { tellUntold(live, of: event.callID) }
        }
    }

    /// Answers with the page, to whoever still waits.
    public func deliver(_ page: CallPage, to request: RequestID, of user: UserID) {
        switch take(request) {
        case .connection(let endpoint, let id, let weight, let payer):
            writer.removeAll()
            WireEncoder.replyHead(id, into: &writer)
            encoder.pageTail(
                page.calls, cursor: page.cursor, for: user, limits: limits.wire, into: &writer)
            charge(payer, forPage: writer.count)
            endpoint.send(writer.written)
            endpoint.ends(weight)
        case .exchange(let endpoint, let payer):
            writer.removeAll()
            encoder.pageTail(
                page.calls, cursor: page.cursor, for: user, limits: limits.wire, into: &writer)
            charge(payer, forPage: writer.count)
            endpoint.respond(HTTPReply(tail: writer.bytes))
            exchangeIsAnswered(request)
        case .hello, .policy, .tool, nil: break
        }
    }

    /// Ends the line of a device whose place another one took.
    public func replace(_ address: Address) {
        // Waiting for the store, this may have been overtaken: the device is back, as a new one.
        guard
            !exchange.devices(of: address.user).contains(address)
                || exchange.shows(.lateReplacement)
        else { return }
        guard let line = sessions.end(address) else { return }
        line.session = nil
        line.endpoint?.close(.replaced, "too many devices of this user")
    }

    /// Refuses all requests under way, and forgets all sessions.
    public func dropEverything() {
        callText.forget()
        pages = PageTurns()
        for (requester, invitation) in requests.removeAll() {
            if let (caller, invitees) = invitation {
                exchange.journal?.noteRefused(
                    inviting: invitees, by: caller, .notReady, at: exchange.now())
            }
            switch requester {
            case .connection(let endpoint, let id, _, _):
                send(.refused(.notReady), to: id, over: endpoint)
            case .hello(let line, let id, _): send(.refused(.notReady), to: id, over: line)
            case .exchange(let endpoint, _): endpoint.respond(refusing(.notReady))
            case .policy(let answered): answered(.refused(.notReady))
            case .tool(let respond): respond(HTTPReply(.notReady))
            }
        }
        for line in sessions.removeAll() { line.session = nil }
        if !exchange.shows(.nobodySentAway) { owner?.dropEverybody() }
    }
}
