// One WebSocket to a server, from dialling to its end (RFC 6455, the client's side).

import CallClientCore
import EventLoop
import WebProtocols

/// What a socket tells its owner, on the loop's thread.
protocol ClientSocketOwner: AnyObject {
    /// The handshake is done; messages may be sent.
    func socketOpened(_ socket: ClientSocket)
    /// Bytes came: the server lives.
    func socketHeard(_ socket: ClientSocket)
    /// A text message. The bytes are valid during this call only.
    func socket(_ socket: ClientSocket, received text: UnsafeRawBufferPointer)
    /// Everything that had arrived was handed out.
    func socketRead(_ socket: ClientSocket)
    /// The last call, unless `close` or `abandon` came first.
    func socketEnded(_ socket: ClientSocket, _ loss: ConnectionLoss)
}

/// A WebSocket that offers `callagent.v1.json`. Thread-confined to its loop.
final class ClientSocket: ConnectionHandler {
    private enum Phase {
        case dialling(Connector)
        case upgrading(WebSocketOffer, HTTPResponseParser)
        case open
        case ended
    }

    private weak var owner: (any ClientSocketOwner)?
    private var phase = Phase.ended
    private var transport: Connection?
    private var frames: FrameDecoder

    init(owner: any ClientSocketOwner, maximumMessage: Int) {
        self.owner = owner
        frames = FrameDecoder(role: .client, maximumMessage: maximumMessage)
    }

    /// Connects and asks for the WebSocket.
    func dial(_ server: ServerAddress, on loop: EventLoop, _ options: Connector.Options) {
        phase = .dialling(
            Connector.connect(to: server.endpoint, on: loop, options: options) { [weak self] in
                self?.dialled($0, server)
            })
    }

    private func dialled(_ result: Result<Connection, EventLoopError>, _ server: ServerAddress) {
        switch result {
        case .failure(let error): end(.network(NetworkFault(error)))
        case .success(let connection):
            transport = connection
            connection.handler = self
            upgrade(connection, server)
        }
    }

    private func upgrade(_ connection: Connection, _ server: ServerAddress) {
        var dice = SystemRandomNumberGenerator()
        let offer = WebSocketOffer(
            host: server.host, target: server.target("/v1/ws"),
            nonce: (dice.next(), dice.next()), subprotocols: [ClientMachine.subprotocol])
        var output: [UInt8] = []
        offer.request.write(to: &output)
        connection.send(output)
        var parser = HTTPResponseParser()
        parser.expect(.get)
        phase = .upgrading(offer, parser)
    }

    // MARK: Sending

    /// Sends a text message.
    func send(_ text: [UInt8]) { text.withUnsafeBytes { send(.text, $0) } }

    private func send(_ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer) {
        guard case .open = phase else { return }
        var output: [UInt8] = []
        output.reserveCapacity(payload.count + 14)
        var dice = SystemRandomNumberGenerator()
        FrameEncoder.append(opcode, payload, mask: dice.next(), to: &output)
        transport?.send(output)
    }

    // MARK: Receiving

    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer) {
        owner?.socketHeard(self)
        switch phase {
        case .upgrading(let offer, let parser): receive(bytes, offer, parser)
        case .open: receiveFrames(bytes)
        case .dialling, .ended: break
        }
    }

    private func receive(
        _ bytes: UnsafeRawBufferPointer, _ offer: WebSocketOffer, _ parser: HTTPResponseParser
    ) {
        var (rest, parser) = (bytes, parser)
        do {
            guard let response = try parser.next(&rest) else {
                phase = .upgrading(offer, parser)
                return
            }
            guard response.status == 101 else { return end(.status(response.status)) }
            _ = try offer.verify(response)
            phase = .open
            owner?.socketOpened(self)
            if !rest.isEmpty { receiveFrames(rest) }
        } catch let error as WebSocketRefusal {
            end(.notWebSocket(error.words))
        } catch {
            end(.notWebSocket("\(error)"))
        }
    }

    private func receiveFrames(_ bytes: UnsafeRawBufferPointer) {
        // A server's frames carry no mask, so that the decoder only reads them.
        var rest = UnsafeMutableRawBufferPointer(mutating: bytes)
        do throws(WebSocketError) {
            while case .open = phase, let event = try frames.next(&rest) {
                switch event {
                case .text(let text): owner?.socket(self, received: text)
                case .binary: fail(.unsupportedData, "a binary message")
                case .ping(let payload): send(.pong, payload)
                case .pong: break
                case .close(let code, let reason): answerClose(code, reason)
                }
            }
        } catch {
            fail(error.closeCode, "\(error)")
        }
        if case .open = phase { owner?.socketRead(self) }
    }

    // MARK: Ending

    /// Closes without telling the owner any more.
    func close(_ code: WebSocketCloseCode, _ reason: String = "") {
        owner = nil
        sendClose(code, reason)
        end(.dropped)
    }

    /// Breaks the connection without telling the owner any more.
    func abandon() {
        owner = nil
        transport?.abort()
        end(.dropped)
    }

    private func fail(_ code: WebSocketCloseCode, _ reason: String) {
        sendClose(code, reason)
        end(.violation(reason))
    }

    private func answerClose(_ code: WebSocketCloseCode?, _ reason: String) {
        sendClose(code)
        end(code.map { .closed($0.rawValue, reason) } ?? .dropped)
    }

    private func sendClose(_ code: WebSocketCloseCode?, _ reason: String = "") {
        guard case .open = phase else { return }
        var output: [UInt8] = []
        var dice = SystemRandomNumberGenerator()
        FrameEncoder.appendClose(code, reason: reason, mask: dice.next(), to: &output)
        transport?.send(output)
    }

    func connectionReachedEnd(_ connection: Connection) {
        connection.close()
        end(.dropped)
    }

    func connectionClosed(_ connection: Connection, error: EventLoopError?) {
        end(error.map { .network(NetworkFault($0)) } ?? .dropped)
    }

    private func end(_ loss: ConnectionLoss) {
        switch phase {
        case .ended: return
        case .dialling(let connector): connector.cancel()
        case .upgrading, .open: break
        }
        phase = .ended
        transport?.close()
        transport = nil
        let owner = self.owner
        self.owner = nil
        owner?.socketEnded(self, loss)
    }
}

extension WebSocketRefusal {
    fileprivate var words: String {
        switch self {
        case .status(let status): "status \(status.rawValue)"
        case .noUpgrade: "the answer does not say that the protocol changes"
        case .wrongAccept: "the answer does not belong to the request"
        case .notOffered(let name): "the answer names '\(name)', which was not offered"
        }
    }
}
