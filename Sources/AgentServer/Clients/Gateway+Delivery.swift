// What clients are told: replies, events, pages.

import AgentCore
import CallModel
import CallWire
import EventLoop
import JSON
import StoreContract
import WebProtocols

extension Gateway: Deliverer {
    func deliver(_ reply: Reply, to request: RequestID) {
        switch awaited.remove(request) {
        case .connection(let endpoint, let id, let weight, _):
            send(reply, to: id, over: endpoint)
            endpoint.ends(weight)
        case .hello(let endpoint, let id, _): send(reply, to: id, over: endpoint)
        case .exchange(let endpoint, _):
            endpoint.respond(HTTPReply(tail: encoder.kept(reply)))
            hasAnswered(request)
        case .policy: policyReplied(request, reply)
        case .tool(let respond): respond(HTTPReply(tail: encoder.kept(reply)))
        case nil: break
        }
    }

    func send(_ reply: Reply, to id: MessageID?, over endpoint: any Endpoint) {
        writer.removeAll()
        WireEncoder.replyHead(id, into: &writer)
        encoder.replyTail(reply, sharing: &callText, into: &writer)
        endpoint.send(writer.written)
    }

    func deliver(welcome calls: [Call], more: Bool, to request: RequestID) {
        guard case .hello(let endpoint, let id, let address) = awaited.remove(request),
            let live = sessions[address], live.link === endpoint
        else { return }
        var isResumed = false
        if case .welcoming(let resumed) = live.session.state { isResumed = resumed }
        let welcome = Welcome(
            live.address, session: live.session.id, resumed: isResumed,
            serverTime: exchange.now(), settings: welcomeSettings, calls: calls,
            hasMoreCalls: more)
        writer.removeAll()
        WireEncoder.replyHead(id, into: &writer)
        encoder.welcomeTail(welcome, into: &writer)
        endpoint.send(writer.written)
        for event in live.session.welcomed(limits: limits.session) {
            send(event.tail, seq: event.seq, over: endpoint)
        }
        tellUntold(live, knowing: calls)
        if !isResumed, live.wantsMissed { missedCalls?.tell(live) }
    }

    func deliver(_ event: CallEvent, to receivers: [Address]) {
        var tail: [UInt8]?
        var viewer: UserID?
        let mark = SignalMark(event)
        for address in receivers {
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
                let link = live.link
            else { continue }
            metrics.events += 1
            send(text, seq: seq, over: link)
            watch(link)
            noteUnsent(event, of: text.count, to: address.user, over: link)
            if case .incoming = event.kind { tellUntold(live, of: event.callID) }
        }
    }

    /// Looks again at a link with much unsent when the socket has had a turn to take it.
    func watch(_ link: ClientLink) {
        guard !link.isWatched, link.unsentBytes > watchedBytes(of: link) else { return }
        link.isWatched = true
        watched.append(link)
    }

    private func watchedBytes(of link: ClientLink) -> Int {
        if isStranger(link) { return 0 }
        return link.isWebSocket ? limits.watchedBytes : limits.watchedAnswerBytes
    }

    private func isStranger(_ link: ClientLink) -> Bool {
        link.identity == nil && admission.isNewcomer(link.transport)
    }

    /// The end of a turn, before its writes.
    func judgeSlowReaders() {
        for link in judged {
            link.isWatched = false
            if isStranger(link) {
                noteUnread(by: link)
                continue
            }
            let unsent = link.unsentBytes
            if link.isWebSocket, unsent > limits.unsentBytes {
                cutOff(link)
            } else if unsent > watchedBytes(of: link) {
                boundUser(of: link)
            }
        }
        judged = watched
        watched.removeAll(keepingCapacity: true)
    }

    /// The socket has had its turn: what a stranger has not taken counts with what he has begun to
    /// say, until he takes it.
    private func noteUnread(by link: ClientLink) {
        link.unreadBytes = link.transport.unsentBytes
        if link.unreadBytes > 0 { link.transport.notifyWhenDrained() }
        noteBeginning(of: link)
    }

    /// Bounds what one user leaves unread on all devices and over HTTP together: the slowest
    /// connection goes (B27).
    private func boundUser(of link: ClientLink) {
        let asker = admission.asker(over: link.transport)
        guard let user = link.session?.address.user ?? asker else { return }
        let links =
            exchange.devices(of: user).compactMap { sessions[$0]?.link }
            + admission.connections(asking: user).compactMap { $0.handler as? ClientLink }
        let unsent = links.reduce(0) { $0 + $1.unsentBytes }
        guard unsent > limits.unsentBytesPerUser else { return }
        if let slowest = links.max(by: { $0.unsentBytes < $1.unsentBytes }) { cutOff(slowest) }
    }

    /// Lets a client go that does not read (B27). Its session waits from here on, so that another
    /// connection gets what this one is never sent; the close frame has the time that every closing
    /// connection has.
    private func cutOff(_ link: ClientLink) {
        metrics.slowReaders += 1
        // Over HTTP there is nobody to tell, and an answer of which a part is missing is none.
        guard link.isWebSocket else {
            admission.sendAway(link.transport)
            return
        }
        part(link)
        link.close(.tooSlow, "events are not read")
    }

    func send(_ tail: [UInt8], seq: UInt64, over endpoint: any Endpoint) {
        writer.removeAll()
        WireEncoder.eventHead(seq, into: &writer)
        tail.withUnsafeBytes { endpoint.send(writer.written, $0) }
    }

    func deliver(_ page: CallPage, to request: RequestID, of user: UserID) {
        switch awaited.remove(request) {
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
            hasAnswered(request)
        case .hello, .policy, .tool, nil: break
        }
    }

    func replace(_ address: Address) {
        guard let link = sessions.end(address) else { return }
        link.session = nil
        link.close(.replaced, "too many devices of this user")
    }

    func dropEverything() {
        callText.forget()
        pages = PageTurns()
        for (request, requester) in awaited.removeAll() {
            switch requester {
            case .connection(let endpoint, let id, _, _), .hello(let endpoint, let id, _):
                send(.refused(.notReady), to: id, over: endpoint)
            case .exchange(let endpoint, _): endpoint.respond(HTTPReply(.notReady))
            case .policy: policyReplied(request, .refused(.notReady))
            case .tool(let respond): respond(HTTPReply(.notReady))
            }
        }
        sessions = SessionTable()
        for link in links {
            link.session = nil
            if link.isWebSocket { link.close(.draining, "the store is away") }
        }
    }
}
