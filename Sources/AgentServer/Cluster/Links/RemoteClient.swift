// A client that is connected to another node, as the owner sees it.

import AgentCore
import CallCore
import CallModel
import CallWire
import ClusterCore
import EventLoop
import WebProtocols

/// The other end of one client's talk over a link. Owner: the loop's thread.
///
/// A client is *held* while it has enough under way, asks faster than it may, or waits for the word
/// about its token. What it says meanwhile waits here; its front end lets it say only so much.
final class RemoteClient: Endpoint {
    let stream: StreamID
    let line: Line
    /// The address that counts for it; nil: none does.
    let source: PeerAddress.Source?
    /// How its program names itself; nil: it does not.
    let agent: String?
    private unowned let gateway: Gateway
    /// Nil when the client or its link is gone.
    private var link: FrontLink?
    private var behind: [[UInt8]] = []
    /// What it asks over HTTP while nothing of it is heard.
    private var asked: HTTPRequest?
    /// Bytes of what waits here.
    private(set) var waitingBytes = 0
    private var load = 0
    private(set) var isResting = false
    /// Whether it waits for the store.
    private var isWaiting = false
    private var isTouched = false
    /// Messages that came, and of how many of them the front end knows that they are settled.
    private var received: UInt64 = 0
    private var settled: UInt64 = 0
    /// Whether the front end knows that its user is in no call.
    private var isKnownIdle = true
    /// What the front end knows of its session.
    private var knownSession: SessionID?
    /// The session that it had before this link; nil: none.
    private(set) var kept: Hello.Resume?
    /// Whether it is not settled yet what becomes of that.
    private var isReturning = false
    /// Whether a request over HTTP is being answered.
    private var isAsking = false
    /// Who asks, once that is accepted; empty: a server.
    private var asker: String?
    /// Who has asked over HTTP.
    var payer: UserID?
    private var toldBytes: UInt64 = 0
    private var takenBytes: UInt64 = 0

    init(
        _ stream: StreamID, _ opening: StreamOpening, over link: FrontLink, of gateway: Gateway
    ) {
        (self.stream, self.link, self.gateway) = (stream, link, gateway)
        source = PeerAddress(host: opening.host)?.source
        agent = opening.agent.isEmpty ? nil : opening.agent
        line = Line(at: gateway.exchange.now(), limits: gateway.limits.session)
        line.begins(self)
    }

    /// Whether it speaks over a WebSocket.
    private(set) var isTalking = false

    // MARK: What it says

    /// A whole message came.
    func says(_ text: [UInt8]) {
        // Its node has another limit than this one.
        guard text.count <= gateway.limits.wire.messageBytes else {
            return close(.protocolError, "the message is too long")
        }
        beginTalking()
        received += 1
        touch()
        guard !isHeld, behind.isEmpty else {
            behind.append(text)
            waits(text.count + FrontLink.waitingOverhead)
            return waitForStore()
        }
        hear(text)
    }

    /// From its first word on, the time for its `hello` counts.
    private func beginTalking() {
        guard !isTalking else { return }
        isTalking = true
        line.opens(at: gateway.exchange.now(), limits: gateway.limits.session)
    }

    private func hear(_ text: [UInt8]) {
        text.withUnsafeBytes { gateway.desk.message($0, over: line) }
        gateway.noteMessage(of: text.count, over: line)
    }

    private func waits(_ change: Int) {
        waitingBytes += change
        link?.waits(change)
    }

    private var isHeld: Bool {
        if case .checking = line.machine.state { return true }
        return isResting || isReturning || load >= gateway.limits.requestsUnderWay
            || gateway.crowdHolds(line)
    }

    private func proceed() {
        if !isResting, let request = asked {
            asked = nil
            waits(-request.body.count - FrontLink.waitingOverhead)
            gateway.answer(request, of: self)
        }
        hearWaiting()
        touch()
    }

    private func hearWaiting() {
        while !isHeld, !behind.isEmpty, link != nil {
            let text = behind.removeFirst()
            waits(-text.count - FrontLink.waitingOverhead)
            hear(text)
        }
        waitForStore()
    }

    private func waitForStore() {
        guard !behind.isEmpty, !isWaiting, gateway.crowdHolds(line) else { return }
        isWaiting = true
        gateway.waits(self)
    }

    func goesOn() {
        isWaiting = false
        proceed()
    }

    /// It was connected before this link was, and has a session that it should keep.
    func returns(_ client: StreamReturn) throws(LinkFault) {
        guard !isTalking, client.hello.count <= gateway.limits.wire.messageBytes else {
            throw .tooMuch("a client that returns twice")
        }
        // No session has told so much that its numbers end.
        guard client.seq <= UInt64(Int64.max / 2) else { throw .malformed }
        beginTalking()
        do throws(Malformed) {
            let message = try gateway.desk.decoder.message(client.hello)
            guard case .hello(let id, var hello) = message else {
                return close(.protocolError, "")
            }
            let session = SessionID(high: client.session.high, low: client.session.low)
            // It is not told again of calls that it missed.
            (hello.resume, hello.wantsMissed) = (.init(session: session, seq: client.seq), false)
            (kept, isReturning) = (hello.resume, true)
            gateway.desk.handle(.message(.hello(id, hello)), of: line)
        } catch {
            close(.protocolError, "")
        }
    }

    /// It asks over HTTP.
    func asks(_ request: StreamRequest) throws(LinkFault) {
        guard !isAsking else { throw .tooMuch("two requests at once") }
        let asked = try HTTPRequest(request)
        isAsking = true
        guard request.body.count <= gateway.limits.http.body else {
            return respond(HTTPReply(Refusal(.tooLarge, "the body is too long")))
        }
        // Its token is not checked while its user asks too fast over other connections.
        if let payer, gateway.isTooFast(payer) { gateway.rest(self, of: payer) }
        guard !isResting else {
            self.asked = asked
            return waits(asked.body.count + FrontLink.waitingOverhead)
        }
        gateway.answer(asked, of: self)
    }

    /// Somebody at its node asks the management API.
    func manages(
        _ manager: StreamManager, _ request: StreamRequest
    ) throws(LinkFault) {
        guard !isAsking else { throw .tooMuch("two requests at once") }
        let role = ManagementIdentity.Role(rawValue: manager.role)
        guard role != nil || manager == .bearer else { throw .malformed }
        let asked = try HTTPRequest(request)
        guard let link, let desk = link.desk else { return }
        isAsking = true
        let identity: ManagementIdentity
        do throws(Refusal) {
            identity = try self.identity(of: manager, role, asked, link)
        } catch {
            desk.noteStranger()
            return respond(HTTPResponse(HTTPReply(error)))
        }
        let most = link.most
        desk.answer(asked, by: identity) { [weak self] response in
            let fits = response.body.count <= most
            self?.respond(fits ? response : .refused(.tooLarge, "ask the node that owns for this"))
        }
    }

    /// The node says who asks at its socket. It must know the database's password: whoever is the
    /// operator of one node is the operator of all. A certificate is not enough, and on loopback
    /// there may be none. At its console a token says who asks, as at this node's console.
    private func identity(
        of manager: StreamManager, _ role: ManagementIdentity.Role?, _ request: HTTPRequest,
        _ link: FrontLink
    ) throws(Refusal) -> ManagementIdentity {
        guard let role else {
            let asking = try gateway.manager(asking: request, from: "")
            return ManagementIdentity(asking.name, asking.role, ofNode: link.node)
        }
        guard link.isProof(manager.proof) else {
            throw Refusal(.unauthenticated, "the node does not know the database")
        }
        return ManagementIdentity(manager.name, role, ofNode: link.node)
    }

    /// It has been given so many bytes of what it was told.
    func took(_ count: UInt64) { takenBytes = min(max(takenBytes, count), toldBytes) }

    // MARK: What it is told

    func send(_ head: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer) {
        guard let link else { return }
        if isReturning { return welcomeBack() }
        toldBytes += UInt64(head.count + tail.count)
        link.send { $0.tell(stream, head, tail) }
        touch()
    }

    /// The answer to a `hello` that the client has not said again: nothing of it is told.
    private func welcomeBack() {
        isReturning = false
        // Refused: what closes it follows.
        guard let live = line.session else { return }
        guard live.session.id == kept?.session else {
            return close(.draining, "the session is gone")
        }
        knownSession = live.session.id
        if case .welcoming(resumed: false) = live.session.state, isInCall {
            return close(.draining, "another node owns")
        }
        isKnownIdle = false
        link?.send { $0.append(.keeps(stream)) }
        touch()
    }

    private var isInCall: Bool {
        guard let user = line.identity?.user else { return false }
        return gateway.exchange.switchboard.callCount(of: user) > 0
    }

    func respond(_ reply: HTTPReply) { respond(HTTPResponse(reply)) }

    /// Answers the request over HTTP.
    func respond(_ response: HTTPResponse) {
        guard isAsking else { return }
        isAsking = false
        var reply = StreamReply(response)
        if let asker { reply.headers += [Self.askerHeader, asker] }
        asker = nil
        link?.send { $0.append(.answers(stream, reply)) }
    }

    /// Its request over HTTP was accepted: its front end counts its connection for the user, nil:
    /// for a server, and not for the strangers.
    func keepsPlace(for user: UserID?) { asker = user.map { "\($0)" } ?? "" }

    /// Behind all other fields of an answer; it does not leave the cluster.
    static let askerHeader = "X-Asker"

    func begins(_ weight: Int) {
        load += weight
        gateway.crowdGrows(by: line)
    }

    func ends(_ weight: Int) {
        load -= weight
        if behind.isEmpty { touch() } else { proceed() }
    }

    /// Nothing more of it is read until `restEnds`.
    func rest() { isResting = true }

    func restEnds() {
        isResting = false
        proceed()
    }

    private func touch() {
        guard !isTouched, let link else { return }
        isTouched = true
        link.touch(self)
    }

    /// Tells the front end at the end of a turn what became of what the client said.
    func settle() {
        // It may have been held for the answer to its hello only.
        hearWaiting()
        isTouched = false
        guard let link else { return }
        if let id = line.session?.session.id, id != knownSession {
            knownSession = id
            link.send { $0.append(.begins(stream, StreamSession(high: id.high, low: id.low))) }
        }
        guard load == 0, behind.isEmpty, !isResting else { return }
        let isIdle = !isInCall
        guard received > settled || isIdle != isKnownIdle else { return }
        (settled, isKnownIdle) = (received, isIdle)
        link.send { $0.append(.settles(stream, StreamMark(settled: settled, isIdle: isIdle))) }
    }

    var isOpen: Bool { link != nil }
    var sentBytes: UInt64 { takenBytes }
    var unsentBytes: Int { Int(toldBytes - takenBytes) }
    func sendNow() { link?.transport.sendNow() }

    func noteTold() {
        // The front end takes whoever is told of a call for one who is in one.
        isKnownIdle = false
        touch()
    }

    func noteGreeted() {}

    // MARK: Its end

    func close(_ code: CloseCode, _ reason: String) {
        guard let link else { return }
        link.close(self, code, reason)
        leave()
    }

    private func leave() {
        guard link != nil else { return }
        (behind, asked) = ([], nil)
        waits(-waitingBytes)
        self.link = nil
    }

    /// It is not connected any more, or its link is gone.
    func connectionIsGone(isSilent: Bool = false) {
        leave()
        let now = gateway.exchange.now()
        // Its front end has heard its pongs.
        let heard = isSilent ? now + -gateway.limits.session.silenceMax : now
        line.keepAlive.heard(at: heard)
        gateway.desk.part(line, forSilence: isSilent)
        line.ends()
    }
}

extension StreamReply {
    /// What was answered.
    init(_ response: HTTPResponse) {
        self.init(
            status: response.status.rawValue,
            headers: response.headers.fields.flatMap { [$0.name, $0.value] }, body: response.body)
    }
}

extension HTTPRequest {
    /// What a client or a tool of another node asks.
    init(_ request: StreamRequest) throws(LinkFault) {
        guard let method = HTTPMethod(rawValue: request.method) else { throw .malformed }
        var headers: HTTPHeaders = [:]
        for place in stride(from: 0, to: request.headers.count, by: 2) {
            headers.append(request.headers[place], request.headers[place + 1])
        }
        do throws(HTTPError) {
            let target = try HTTPTarget(request.target)
            self.init(method, target, headers: headers, body: request.body)
        } catch {
            throw .malformed
        }
    }
}
