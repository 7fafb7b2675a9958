// One client's connection: HTTP requests first, WebSocket messages after an upgrade.

import CallCore
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
        /// The request being answered; the next one waits behind it.
        var current: HTTPRequest?
        /// Bytes behind the request being answered.
        var behind: [UInt8] = []

        init(_ limits: HTTPLimits) { parser = HTTPRequestParser(limits: limits) }
    }

    let transport: Connection
    private weak var owner: (any ClientLinkOwner)?
    private var phase: Phase
    private var frames: FrameDecoder
    /// The session that speaks over this connection.
    var session: LiveSession?
    /// What a message means at this moment.
    var machine: ClientConnection
    /// How long the peer has been silent.
    var keepAlive: KeepAlive
    /// Who the peer is, once its token was checked.
    var identity: Identity?
    /// Place in the gateway's list of links.
    var index = 0

    init(
        _ transport: Connection, owner: any ClientLinkOwner, limits: ServerLimits, at now: Moment
    ) {
        self.transport = transport
        self.owner = owner
        frames = FrameDecoder(role: .server, maximumMessage: limits.wire.messageBytes)
        phase = .http(HTTPBox(limits.http))
        machine = ClientConnection(at: now, limits: limits.session)
        keepAlive = KeepAlive(at: now)
        transport.handler = self
    }

    /// Whether WebSocket messages are exchanged.
    var isWebSocket: Bool { if case .webSocket = phase { true } else { false } }

    /// Whether the peer is asked for a whole request and has not sent it.
    var isWaiting: Bool { if case .http(let box) = phase { box.current == nil } else { false } }

    // MARK: Receiving

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        owner?.linkIsAlive(self)
        receive(bytes)
    }

    private func receive(_ bytes: UnsafeRawBufferPointer) {
        switch phase {
        case .http(let box): receiveHTTP(bytes, box)
        case .webSocket:
            // The decoder unmasks in place: the bytes are the loop's read buffer, which nobody
            // else looks at before the next read.
            var rest = UnsafeMutableRawBufferPointer(mutating: bytes)
            receiveFrames(&rest)
        case .closing: break
        }
    }

    private func receiveHTTP(_ bytes: UnsafeRawBufferPointer, _ box: HTTPBox) {
        guard box.current == nil else {
            box.behind.append(contentsOf: bytes)
            if box.behind.count > 65_536 { transport.pauseReading() }
            return
        }
        var rest = bytes
        do throws(HTTPError) {
            while let event = try box.parser.next(&rest) {
                switch event {
                case .continueWanted:
                    var output: [UInt8] = []
                    HTTPResponse.writeContinue(to: &output)
                    transport.send(output)
                case .request(let request):
                    box.current = request
                    box.behind.append(contentsOf: rest)
                    owner?.link(self, asks: request)
                    return
                }
            }
        } catch {
            var response = error.response
            response.keepsAlive = false
            send(response, answering: .get)
            close()
        }
    }

    private func receiveFrames(_ rest: inout UnsafeMutableRawBufferPointer) {
        do throws(WebSocketError) {
            while case .webSocket = phase, let event = try frames.next(&rest) {
                switch event {
                case .text(let message): owner?.link(self, says: message)
                case .binary: owner?.linkSaysBinary(self)
                case .ping(let payload): sendFrame(.pong, payload)
                case .pong: break
                case .close(let code, _): answerClose(code)
                }
            }
        } catch {
            close(error.closeCode, "\(error)")
        }
    }

    // MARK: Answering HTTP

    /// Answers the request under way.
    func respond(_ response: HTTPResponse) {
        guard case .http(let box) = phase, let request = box.current else { return }
        var response = response
        response.keepsAlive = response.keepsAlive && request.keepsAlive
        send(response, answering: request.method)
        box.current = nil
        guard response.keepsAlive else { return close() }
        transport.resumeReading()
        guard !box.behind.isEmpty else { return }
        let behind = box.behind
        box.behind = []
        behind.withUnsafeBytes { receive($0) }
    }

    /// Answers the request under way by becoming a WebSocket.
    func upgrade(_ acceptance: WebSocketAcceptance) {
        guard case .http(let box) = phase else { return }
        send(acceptance.response, answering: .get)
        phase = .webSocket
        guard !box.behind.isEmpty else { return }
        box.behind.withUnsafeMutableBytes { bytes in
            var rest = bytes
            receiveFrames(&rest)
        }
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

    /// Cuts a peer off that does not read.
    func abort() {
        phase = .closing
        transport.abort()
    }

    private func close() {
        phase = .closing
        transport.close()
    }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) {
        phase = .closing
        owner?.linkIsGone(self)
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
