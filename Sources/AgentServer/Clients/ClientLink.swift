// One client's connection: HTTP requests first, WebSocket messages after an upgrade.

import AgentCore
import CallModel
import CallWire
import EventLoop
import WebProtocols

/// What a connection hands to its gateway.
protocol ClientLinkOwner: AnyObject {
    /// A whole HTTP request; it is answered by `respond` or `upgrade`.
    func link(_ link: ClientLink, asks request: HTTPRequest)
    /// A whole text message.
    func link(_ link: ClientLink, says message: UnsafeRawBufferPointer)
    /// A binary message, which the protocol does not have.
    func linkSaysBinary(_ link: ClientLink)
    /// Something arrived, even if only a pong: the peer is alive.
    func linkIsAlive(_ link: ClientLink)
    /// The number of bytes that it keeps of unfinished or waiting messages may have changed.
    func linkKeeps(_ link: ClientLink)
    /// An event was sent to it, which the peer may be slow to read.
    func linkWasTold(_ link: ClientLink)
    /// Whether the client on this line may begin nothing more before the store has written.
    func crowdHolds(_ line: Line) -> Bool
    /// A request over this line begins.
    func crowdGrows(by line: Line)
    /// It waits until the store has written.
    func waits(_ client: any WaitingClient)
    /// The connection is gone.
    func linkIsGone(_ link: ClientLink)
}

extension ClientLinkOwner {
    /// Does nothing.
    func linkKeeps(_ link: ClientLink) {}
    /// Does nothing.
    func linkWasTold(_ link: ClientLink) {}
    /// Never: nobody waits for the store.
    func crowdHolds(_ line: Line) -> Bool { false }
    /// Does nothing.
    func crowdGrows(by line: Line) {}
    /// Does nothing.
    func waits(_ client: any WaitingClient) {}
}

/// Answers over HTTP only: none of its links becomes a WebSocket, so no messages come, and it does
/// not matter how long a peer is silent.
protocol HTTPLinkOwner: ClientLinkOwner {}

extension HTTPLinkOwner {
    func link(_ link: ClientLink, says message: UnsafeRawBufferPointer) {}
    func linkSaysBinary(_ link: ClientLink) {}
    func linkIsAlive(_ link: ClientLink) {}
}

/// Speaks HTTP/1.1 and RFC 6455 over one transport. Owner: the loop's thread.
///
/// A link is *held* while it has enough to do: a request over HTTP is being answered, many over
/// WebSocket are, the peer has not read what was sent, it asks faster than it may, or it has sent
/// so much that other links come first. What it sends meanwhile waits, at first here, then in the
/// peer's own socket.
final class ClientLink: ConnectionHandler, Endpoint, Beginner {
    private enum Phase {
        /// Requests are read.
        case http(HTTPBox)
        /// Frames are read.
        case webSocket
        /// Nothing is read any more.
        case closing
    }

    /// Boxed, so that an upgraded connection does not carry it.
    private final class HTTPBox {
        var parser: HTTPRequestParser
        /// The request being answered.
        var current: HTTPRequest?
        /// Header fields to add to its response.
        var added: HTTPHeaders = [:]
        /// No further request is read after that one.
        var isLast = false
        /// What the peer has not been given yet of the last response.
        var rest: Rest?
        /// Since when the peer waits for us, or we wait for the peer.
        var since: Moment
        /// `since` has to be set again, because something has begun or ended.
        var isStirred = false
        /// Bytes of the request under way.
        var received = 0
        /// How fast they come.
        var pace = Pace(from: 0)

        init(_ limits: HTTPLimits, at now: Moment) {
            parser = HTTPRequestParser(limits: limits)
            since = now
        }

        /// A request is being answered, or the peer has not taken the whole response.
        var isAnswering: Bool { current != nil || rest != nil }
    }

    /// A body that several responses may share: it is copied for the socket piece by piece.
    private struct Rest {
        let body: [UInt8]
        let isShared: Bool
        var start = 0
    }

    let transport: Connection
    /// Nil when the link is gone. Not weak, because it is used too often for that.
    private var owner: (any ClientLinkOwner)?
    private var phase: Phase
    private var frames: FrameDecoder
    /// Bytes that arrived while the link was held.
    private var behind: [UInt8] = []
    // Small members stand together: there are many links.
    private let bounds: LinkBounds
    /// How many more messages are read in this turn.
    private var allowance: Int32
    private var isConsuming = false
    private(set) var isResting = false
    /// Whether it waits for the store.
    private var isWaiting = false
    /// Whether the gateway watches it because much is unsent.
    var isWatched = false
    /// Weight of the requests under way over WebSocket.
    private var load = 0
    private var unsentBefore = 0
    /// The message under way, once it was seen to be incomplete.
    private var unfinished: Unfinished?
    /// The client's session, once messages are exchanged.
    let line: Line
    /// How the client names itself (`User-Agent`), shortened; nil: it does not.
    var agent: String?
    /// What a client without a session had not read at the last look.
    var unreadBytes = 0
    /// Bytes that were sent to it in all when everything is sent that its hello brought.
    private var greetedUntil: UInt64 = 0
    /// Its hello was answered, and nobody has looked at what it reads since.
    private var isNewlyGreeted = false
    /// Place in the gateway's list of links.
    var index = 0
    /// The part of `incompleteBytes` that the gateway has counted, and the place in its list of
    /// those who have any.
    var counted = (bytes: 0, index: 0)

    init(
        _ transport: Connection, owner: any ClientLinkOwner, limits: ServerLimits, at now: Moment
    ) {
        self.transport = transport
        self.owner = owner
        bounds = LinkBounds(limits)
        allowance = bounds.messages
        frames = FrameDecoder(role: .server, maximumMessage: limits.wire.messageBytes)
        phase = .http(HTTPBox(limits.http, at: now))
        line = Line(at: now, limits: limits.session)
        line.begins(self)
        transport.handler = self
    }

    /// Whether WebSocket messages are exchanged.
    var isWebSocket: Bool { if case .webSocket = phase { true } else { false } }

    private var isHeld: Bool {
        switch phase {
        case .http(let box):
            isResting || box.isAnswering || transport.unsentBytes > bounds.answers
                || allowance <= 0
        case .webSocket:
            isResting || load >= bounds.load || transport.unsentBytes > bounds.unsent
                || allowance <= 0 || owner?.crowdHolds(line) == true
        case .closing: false
        }
    }

    // MARK: Receiving

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        owner?.linkIsAlive(self)
        if behind.isEmpty { allowance = share }
        if behind.isEmpty, !isHeld {
            // The decoder unmasks in place: the bytes are the loop's read buffer, which nobody
            // else looks at before the next read.
            consume(UnsafeMutableRawBufferPointer(mutating: bytes))
        } else {
            behind.append(contentsOf: bytes)
        }
        proceed()
    }

    func connectionDrained(_ connection: Connection) {
        owner?.linkIsAlive(self)
        if case .http(let box) = phase { sendRest(box) }
        proceed()
    }

    func connectionHasTurn(_ connection: Connection) {
        allowance = share
        proceed()
    }

    /// Messages of a turn: where very many connections have much to say, one of each.
    private var share: Int32 { transport.loop.isTurnLong ? 1 : bounds.messages }

    /// A peer that has sent everything may still want the response over HTTP.
    func connectionReachedEnd(_ connection: Connection) {
        if isWebSocket { connection.close() } else { endWhenAnswered() }
    }

    /// Reads what waits, unless the link is held.
    private func proceed() {
        guard !isConsuming else { return }
        while !behind.isEmpty, !isHeld {
            var waiting = behind
            behind = []
            waiting.withUnsafeMutableBytes { consume($0) }
        }
        if behind.count <= bounds.behind {
            transport.resumeReading()
        } else {
            transport.pauseReading()
        }
        if !behind.isEmpty, isWebSocket, owner?.crowdHolds(line) == true {
            if !isWaiting { owner?.waits(self) }
            isWaiting = true
        } else if !behind.isEmpty, allowance <= 0 {
            transport.notifyInNextTurn()
        }
        if waitsForReader { transport.notifyWhenDrained() }
        owner?.linkKeeps(self)
    }

    /// Whether it is held only until the peer has read more.
    private var waitsForReader: Bool {
        switch phase {
        case .http(let box): box.rest != nil || transport.unsentBytes > bounds.answers
        case .webSocket: transport.unsentBytes > bounds.unsent
        case .closing: false
        }
    }

    /// Reads bytes up to the point where the link is held.
    private func consume(_ bytes: UnsafeMutableRawBufferPointer) {
        isConsuming = true
        var rest = bytes
        while !rest.isEmpty, !isHeld {
            switch phase {
            case .http(let box): consumeHTTP(&rest, box)
            case .webSocket: consumeFrames(&rest)
            case .closing: rest = .init(rebasing: rest[rest.count...])
            }
        }
        if !rest.isEmpty { behind.append(contentsOf: rest) }
        isConsuming = false
    }

    private func consumeHTTP(_ rest: inout UnsafeMutableRawBufferPointer, _ box: HTTPBox) {
        var input = UnsafeRawBufferPointer(rest)
        if box.parser.isIdle { box.isStirred = true }
        do throws(HTTPError) {
            let event = try box.parser.next(&input)
            box.received += rest.count - input.count
            rest = .init(rebasing: rest[(rest.count - input.count)...])
            switch event {
            case .continueWanted:
                var output: [UInt8] = []
                HTTPResponse.writeContinue(to: &output)
                transport.send(output)
            case .request(let request):
                allowance -= 1
                box.current = request
                box.received = 0
                owner?.link(self, asks: request)
            case nil: break
            }
        } catch {
            send(.problem(error), answering: .get)
            close()
        }
    }

    private func consumeFrames(_ rest: inout UnsafeMutableRawBufferPointer) {
        do throws(WebSocketError) {
            let event = try frames.next(&rest)
            if event != nil { allowance -= 1 }
            switch event {
            case .text(let message):
                unfinished = nil
                owner?.link(self, says: message)
            case .binary: owner?.linkSaysBinary(self)
            case .ping(let payload): sendFrame(.pong, payload)
            case .pong, nil: break
            case .close(let code, _): answerClose(code)
            }
        } catch {
            close(error.closeCode, "\(error)")
        }
    }

    // MARK: Waiting

    /// A request over WebSocket is under way.
    func begins(_ weight: Int) {
        load += weight
        owner?.crowdGrows(by: line)
    }

    func goesOn() {
        isWaiting = false
        if !behind.isEmpty { transport.notifyInNextTurn() }
    }

    /// A request over WebSocket is answered.
    func ends(_ weight: Int) {
        load -= weight
        if !behind.isEmpty { proceed() }
    }

    /// Reads nothing until `restEnds`.
    func rest() { isResting = true }

    /// Reads again.
    func restEnds() {
        isResting = false
        proceed()
    }

    /// Whether the peer's silence does not count, because the server does not read from it at the
    /// moment and the peer itself reads or waits.
    func isExcused() -> Bool {
        guard isHeld else { return false }
        let unsent = transport.unsentBytes
        defer { unsentBefore = unsent }
        return unsent <= bounds.unsent || unsent < unsentBefore
    }

    /// Whether a peer over HTTP has been too slow.
    func isOverdue(at now: Moment, limits: ServerLimits) -> Bool {
        guard case .http(let box) = phase else { return false }
        if box.isStirred || box.current != nil {
            box.isStirred = false
            box.since = now
            box.pace = Pace(from: box.received)
            return false
        }
        guard !box.parser.isIdle else { return now - box.since >= limits.idleMax }
        return now - box.since >= limits.requestWithin
            || box.pace.isTooSlow(box.received, limits)
    }

    /// Whether a message has been under way for longer than it may take, or arrives too slowly, as
    /// seen at the looks.
    func isMessageOverdue(at now: Moment, limits: ServerLimits) -> Bool {
        guard isWebSocket, frames.isMidMessage, !isHeld else {
            unfinished = nil
            return false
        }
        let count = frames.incompleteBytes
        guard let unfinished else {
            unfinished = Unfinished(since: now, count)
            return false
        }
        return now - unfinished.since >= limits.messageWithin
            || unfinished.pace.isTooSlow(count, limits)
    }

    /// Bytes kept of unfinished messages and of what waits.
    var incompleteBytes: Int {
        switch phase {
        case .http(let box): box.received + behind.count
        case .webSocket: frames.incompleteBytes + behind.count
        case .closing: 0
        }
    }

    /// Memory held for that, and for what a client without a session does not read.
    var keptBytes: Int {
        guard case .webSocket = phase, frames.incompleteBytes > 0 else {
            return incompleteBytes + unreadBytes
        }
        return max(frames.reservedBytes, frames.incompleteBytes) + behind.count + unreadBytes
    }

    /// Bytes that the peer has not read, with the rest of a response of which the socket has only a
    /// part.
    var unsentBytes: Int {
        guard case .http(let box) = phase, let rest = box.rest, !rest.isShared else {
            return transport.unsentBytes
        }
        return transport.unsentBytes + rest.body.count
    }

    // MARK: Answering HTTP

    /// Adds these header fields to the response of the request under way.
    func addToAnswer(_ headers: HTTPHeaders) {
        if case .http(let box) = phase { box.added = headers }
    }

    /// Answers the request under way; `isShared`: other responses keep the same body.
    func respond(_ response: HTTPResponse, isShared: Bool = false) {
        guard case .http(let box) = phase, let request = box.current else { return }
        var response = response
        response.headers.append(box.added)
        response.keepsAlive = response.keepsAlive && request.keepsAlive && !box.isLast
        box.isLast = !response.keepsAlive
        if response.body.count > bounds.piece, request.method != .head {
            box.rest = Rest(body: response.body, isShared: isShared)
            sendHead(response)
        } else {
            send(response, answering: request.method)
        }
        box.current = nil
        box.added = [:]
        sendRest(box)
        proceed()
    }

    /// Sends more of the last response as far as the peer reads, and closes the connection behind
    /// the last one.
    private func sendRest(_ box: HTTPBox) {
        guard box.current == nil else { return }
        box.isStirred = true
        while let rest = box.rest, transport.unsentBytes <= bounds.answers {
            let end = min(rest.start + bounds.piece, rest.body.count)
            rest.body.withUnsafeBytes {
                transport.send(UnsafeRawBufferPointer(rebasing: $0[rest.start..<end]))
            }
            box.rest?.start = end
            if end == rest.body.count { box.rest = nil }
        }
        if box.isLast, box.rest == nil { close() }
    }

    /// Answers the request under way by becoming a WebSocket. The time for its first message begins
    /// at `now`.
    func upgrade(_ acceptance: WebSocketAcceptance, limits: SessionLimits, at now: Moment) {
        guard case .http = phase else { return }
        send(acceptance.response, answering: .get)
        line.opens(at: now, limits: limits)
        phase = .webSocket
        proceed()
    }

    /// Closes a connection without WebSocket as soon as no response is under way.
    func endWhenAnswered() {
        guard case .http(let box) = phase else { return }
        if box.isAnswering { box.isLast = true } else { close() }
    }

    func respond(_ reply: HTTPReply) { respond(HTTPResponse(reply)) }

    private func send(_ response: HTTPResponse, answering method: HTTPMethod) {
        var output: [UInt8] = []
        response.write(answering: method, to: &output)
        transport.send(output)
    }

    private func sendHead(_ response: HTTPResponse) {
        var output: [UInt8] = []
        response.writeHead(to: &output)
        transport.send(output)
    }

    // MARK: Sending messages

    func send(_ head: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer) {
        guard isWebSocket else { return }
        let count = head.count + tail.count
        transport.send(upTo: count + FrameEncoder.longestHeader) { buffer in
            let place = FrameEncoder.writeHeader(.text, payload: count, to: buffer)
            UnsafeMutableRawBufferPointer(rebasing: buffer[place...]).copyMemory(from: head)
            UnsafeMutableRawBufferPointer(rebasing: buffer[(place + head.count)...])
                .copyMemory(from: tail)
            return place + count
        }
    }

    var isOpen: Bool { transport.isOpen }
    var sentBytes: UInt64 { transport.sentBytes }
    func sendNow() { transport.sendNow() }
    func noteTold() { owner?.linkWasTold(self) }
    func noteGreeted() { isNewlyGreeted = true }

    /// What the client has not read of what was sent after its hello. A long list of calls that
    /// wait for somebody comes at once, with an event for each, and is no sign of a slow reader:
    /// at the first look nothing counts.
    func unreadSinceGreeted() -> Int {
        if isNewlyGreeted {
            isNewlyGreeted = false
            greetedUntil = transport.sentBytes + UInt64(transport.unsentBytes)
        }
        let owed = max(greetedUntil, transport.sentBytes) - transport.sentBytes
        return max(0, unsentBytes - Int(owed))
    }

    /// Asks the peer whether it is alive.
    func ping() {
        sendFrame(.ping, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    private func sendFrame(_ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer) {
        guard isWebSocket else { return }
        var output: [UInt8] = []
        FrameEncoder.append(opcode, payload, to: &output)
        transport.send(output)
    }

    // MARK: Closing

    func close(_ code: CloseCode, _ reason: String) {
        close(WebSocketCloseCode(rawValue: code.rawValue), reason)
    }

    private func answerClose(_ code: WebSocketCloseCode?) {
        var output: [UInt8] = []
        FrameEncoder.appendClose(code, to: &output)
        transport.send(output)
        close()
    }

    private func close(_ code: WebSocketCloseCode, _ reason: String) {
        if isWebSocket {
            var output: [UInt8] = []
            FrameEncoder.appendClose(code, reason: reason, to: &output)
            transport.send(output)
        }
        close()
    }

    /// Ends a connection that is not a WebSocket.
    func end() { close() }

    /// Closes the connection of a client that is too slow.
    func giveUp() {
        close(.tooSlow, "a message comes too slowly")
        // Closing may take some time; the unfinished message is not kept for so long.
        frames.giveUp()
    }

    private func close() {
        phase = .closing
        behind = []
        transport.close()
    }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) {
        phase = .closing
        owner?.linkIsGone(self)
        owner = nil
        line.ends()
    }
}

/// How much work and memory one link may have.
struct LinkBounds {
    // Four bytes each: every link carries them.
    private let unsentBytes: Int32
    private let answerBytes: Int32
    private let weight: Int32
    /// Messages or requests of one turn.
    let messages: Int32

    /// Bytes that the peer has not read.
    var unsent: Int { Int(unsentBytes) }
    /// Bytes of answers over HTTP that the peer has not read; more of them wait.
    var answers: Int { Int(answerBytes) }
    /// Weight of its requests under way.
    var load: Int { Int(weight) }
    /// Bytes that wait while the link is held.
    var behind: Int { 16_384 }

    /// Bytes of a body that are copied for the socket at once.
    var piece: Int { answers }

    init(_ limits: ServerLimits) {
        unsentBytes = Int32(clamping: limits.unsentBytes)
        answerBytes = Int32(clamping: min(limits.unsentBytes, limits.unsentAnswerBytes))
        weight = Int32(clamping: limits.requestsUnderWay)
        messages = Int32(clamping: limits.messagesPerTurn)
    }
}

extension HTTPResponse {
    /// The response to a request that breaks HTTP; no other can follow it.
    static func problem(_ error: HTTPError) -> HTTPResponse {
        let code: Refusal.Code =
            switch error.status {
            case 413, 414, 431: .tooLarge
            case 501, 505: .unsupported
            default: .badRequest
            }
        var response = HTTPResponse(
            HTTPReply(Refusal(code, "\(error)"), status: Int(error.status.rawValue)))
        response.headers.append(error.headers)
        response.keepsAlive = false
        return response
    }
}

extension Connection: Visitor {}
