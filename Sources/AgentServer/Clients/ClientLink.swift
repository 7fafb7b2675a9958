// One client's connection: HTTP requests first, WebSocket messages after an upgrade.

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
    /// A binary message.
    func linkSaysBinary(_ link: ClientLink)
    /// Something arrived, if only a pong: the peer lives.
    func linkIsAlive(_ link: ClientLink)
    /// The connection is gone.
    func linkIsGone(_ link: ClientLink)
}

/// Speaks HTTP/1.1 and RFC 6455 over one transport. Owner: the loop's thread.
///
/// A link is *held* while it has enough to do: a request over HTTP is being answered, many over
/// WebSocket are, or the peer has not read what it was sent. What it says meanwhile waits, at first
/// here, then in the peer's own socket.
final class ClientLink: ConnectionHandler {
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
        /// Header fields that its answer has beside its own.
        var added: HTTPHeaders = [:]
        /// No further request is taken after that one.
        var isLast = false
        /// When the peer last began to wait, or to keep us waiting.
        var since: Moment
        /// `since` is to be set again: something has begun or ended.
        var isStirred = false
        /// Bytes of the request under way.
        var received = 0
        /// How fast they come.
        var pace = Pace(from: 0)

        init(_ limits: HTTPLimits, at now: Moment) {
            parser = HTTPRequestParser(limits: limits)
            since = now
        }
    }

    let transport: Connection
    /// Nil when the link is gone; it is asked for too often to be weak.
    private var owner: (any ClientLinkOwner)?
    private var phase: Phase
    private var frames: FrameDecoder
    /// What the peer said while the link was held.
    private var behind: [UInt8] = []
    private var isConsuming = false
    private let bounds: LinkBounds
    /// Weight of the requests under way over WebSocket.
    private var load = 0
    private var unsentBefore = 0
    /// The message under way, from when it was seen to be incomplete.
    private var unfinished: Unfinished?
    /// The session that speaks over this connection.
    var session: LiveSession?
    /// What a message means at this moment.
    var machine: ClientConnection
    /// How long the peer has been silent.
    var keepAlive: KeepAlive
    /// Who the peer is, once its token was checked.
    var identity: Identity?
    /// Has much unsent.
    var isWatched = false
    /// Place in the gateway's list of links.
    var index = 0

    init(
        _ transport: Connection, owner: any ClientLinkOwner, limits: ServerLimits, at now: Moment
    ) {
        self.transport = transport
        self.owner = owner
        bounds = LinkBounds(limits)
        frames = FrameDecoder(role: .server, maximumMessage: limits.wire.messageBytes)
        phase = .http(HTTPBox(limits.http, at: now))
        machine = ClientConnection(at: now, limits: limits.session)
        keepAlive = KeepAlive(at: now)
        transport.handler = self
    }

    /// Whether WebSocket messages are exchanged.
    var isWebSocket: Bool { if case .webSocket = phase { true } else { false } }

    /// Whether the peer may be sent away: no request is being answered.
    var isWaiting: Bool { if case .http(let box) = phase { box.current == nil } else { false } }

    private var isHeld: Bool {
        switch phase {
        case .http(let box): box.current != nil || transport.unsentBytes > bounds.unsent
        case .webSocket: load >= bounds.load || transport.unsentBytes > bounds.unsent
        case .closing: false
        }
    }

    // MARK: Receiving

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        owner?.linkIsAlive(self)
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
        proceed()
    }

    /// A peer that has said all may still want the answer over HTTP.
    func connectionReachedEnd(_ connection: Connection) {
        if isWebSocket { connection.close() } else { endWhenAnswered() }
    }

    /// Goes on with what waits, unless the link is held.
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
        if transport.unsentBytes > bounds.unsent { transport.notifyWhenDrained() }
    }

    /// Takes what was said, up to where the link is held.
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
        behind.append(contentsOf: rest)
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
            switch try frames.next(&rest) {
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
    func begins(_ weight: Int) { load += weight }

    /// A request over WebSocket is answered.
    func ends(_ weight: Int) {
        load -= weight
        if !behind.isEmpty { proceed() }
    }

    /// Whether the peer cannot be blamed for its silence: what it says is not read at the moment,
    /// and it reads, or waits for us.
    func isExcused() -> Bool {
        guard isHeld else { return false }
        let unsent = transport.unsentBytes
        defer { unsentBefore = unsent }
        return unsent <= bounds.unsent || unsent < unsentBefore
    }

    /// Whether a peer that speaks HTTP has kept us waiting too long.
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

    /// Whether a message has been under way for longer than it may take, or comes too slowly, as
    /// far as looks tell.
    func isDawdling(at now: Moment, limits: ServerLimits) -> Bool {
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

    /// What is kept of what the peer said and that is not whole, or waits.
    var incompleteBytes: Int {
        switch phase {
        case .http(let box): box.received + behind.count
        case .webSocket: frames.incompleteBytes + behind.count
        case .closing: 0
        }
    }

    // MARK: Answering HTTP

    /// The answer to the request under way is to have these header fields too.
    func addToAnswer(_ headers: HTTPHeaders) {
        if case .http(let box) = phase { box.added = headers }
    }

    /// Answers the request under way.
    func respond(_ response: HTTPResponse) {
        guard case .http(let box) = phase, let request = box.current else { return }
        var response = response
        response.headers.append(box.added)
        response.keepsAlive = response.keepsAlive && request.keepsAlive && !box.isLast
        send(response, answering: request.method)
        box.current = nil
        box.added = [:]
        box.isStirred = true
        guard response.keepsAlive else { return close() }
        proceed()
    }

    /// Answers the request under way by becoming a WebSocket, whose first message is due from
    /// `now`.
    func upgrade(_ acceptance: WebSocketAcceptance, limits: SessionLimits, at now: Moment) {
        guard case .http = phase else { return }
        send(acceptance.response, answering: .get)
        machine = ClientConnection(at: now, limits: limits)
        phase = .webSocket
        proceed()
    }

    /// Closes a connection without WebSocket as soon as nothing is being answered.
    func endWhenAnswered() {
        guard case .http(let box) = phase else { return }
        if box.current == nil { close() } else { box.isLast = true }
    }

    private func send(_ response: HTTPResponse, answering method: HTTPMethod) {
        var output: [UInt8] = []
        response.write(answering: method, to: &output)
        transport.send(output)
    }

    // MARK: Sending messages

    /// Sends a text message, given in two parts.
    func sendText(
        _ head: UnsafeRawBufferPointer,
        _ tail: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0)
    ) {
        guard isWebSocket else { return }
        let count = head.count + tail.count
        transport.send(upTo: count + FrameHead.longest) { buffer in
            let place = FrameHead.write(textOf: count, to: buffer)
            UnsafeMutableRawBufferPointer(rebasing: buffer[place...]).copyMemory(from: head)
            UnsafeMutableRawBufferPointer(rebasing: buffer[(place + head.count)...])
                .copyMemory(from: tail)
            return place + count
        }
    }

    /// Asks the peer whether it is there.
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

    /// Closes with a code of the protocol.
    func close(_ code: CloseCode, _ reason: String = "") {
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

    /// Ends the connection of somebody who keeps us waiting.
    func giveUp() { close(.tooSlow, "a message comes too slowly") }

    private func close() {
        phase = .closing
        behind = []
        transport.close()
    }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) {
        phase = .closing
        owner?.linkIsGone(self)
        owner = nil
    }
}

/// The head of an unmasked text frame.
enum FrameHead {
    /// Bytes of the longest head.
    static let longest = 10

    /// Writes the head for a payload of `count` bytes; returns its length.
    static func write(textOf count: Int, to buffer: UnsafeMutableRawBufferPointer) -> Int {
        buffer[0] = 0x81
        switch count {
        case ...125:
            buffer[1] = UInt8(count)
            return 2
        case ...0xFFFF:
            buffer[1] = 126
            buffer[2] = UInt8(count >> 8)
            buffer[3] = UInt8(truncatingIfNeeded: count)
            return 4
        default:
            buffer[1] = 127
            for index in 0..<8 {
                buffer[2 + index] = UInt8(truncatingIfNeeded: count >> (56 - index * 8))
            }
            return 10
        }
    }
}

/// How much one link may have on its plate.
struct LinkBounds {
    /// Bytes that the peer has not read.
    let unsent: Int
    /// Weight of its requests under way.
    let load: Int
    /// Bytes that wait while the link is held.
    let behind = 65_536

    init(_ limits: ServerLimits) {
        unsent = limits.unsentBytes
        load = limits.requestsUnderWay
    }
}

extension HTTPResponse {
    /// The answer to a request that breaks HTTP; nothing can follow it.
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
