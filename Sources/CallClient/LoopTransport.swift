// A machine's WebSocket and clock on an event loop.

import CallClientCore
import CallModel
import EventLoop
import WebProtocols

/// Makes one WebSocket after the other. Thread-confined to its loop.
final class LoopTransport: ClientTransport {
    let loop: EventLoop
    unowned var machine: ClientMachine!
    private let options: CallClient.Options
    private var socket: ClientSocket?
    private var timer: Timer?
    /// Why the last attempt could not even begin, until it is told in the next turn.
    private var fault: EventLoopError?

    init(_ options: CallClient.Options, on loop: EventLoop) {
        self.options = options
        self.loop = loop
        timer = Timer(on: loop) { [unowned self] in rang() }
    }

    deinit { socket?.abandon() }

    var now: Int64 { loop.now }

    func dial() {
        var dialling = Connector.Options()
        dialling.timeout = options.connectWithin
        do throws(EventLoopError) {
            dialling.tls = try trust()
        } catch {
            fault = error
            timer?.arm(at: loop.now)
            return
        }
        let socket = ClientSocket(owner: self, maximumMessage: options.maximumMessage)
        self.socket = socket
        socket.dial(options.server, on: loop, dialling)
    }

    private func trust() throws(EventLoopError) -> TLSContext? {
        guard options.server.isSecure else { return nil }
        if let tls = options.tls { return tls }
        return try TLSContext.client()
    }

    func send(_ message: [UInt8]) { socket?.send(message) }

    func close(_ code: WebSocketCloseCode, _ reason: String) {
        socket?.close(code, reason)
        socket = nil
    }

    func abandon() {
        socket?.abandon()
        socket = nil
    }

    func wake(at moment: Int64) {
        guard fault == nil else { return }
        if moment == .max { timer?.cancel() } else { timer?.arm(at: moment) }
    }

    private func rang() {
        if let fault {
            self.fault = nil
            machine.ended(.network(NetworkFault(fault)))
        }
        machine.woken()
    }
}

extension LoopTransport: ClientSocketOwner {
    func socketOpened(_ socket: ClientSocket) { machine.opened() }

    func socketHeard(_ socket: ClientSocket) { machine.heard() }

    func socket(_ socket: ClientSocket, received text: UnsafeRawBufferPointer) {
        machine.received([UInt8](text))
    }

    func socketRead(_ socket: ClientSocket) { machine.acknowledge() }

    func socketEnded(_ socket: ClientSocket, _ loss: ConnectionLoss) {
        self.socket = nil
        machine.ended(loss)
    }
}

extension NetworkFault {
    /// The words of the event loop.
    public init(_ error: EventLoopError) {
        self.init(error.description, isLasting: error.kind == .invalidAddress)
    }
}
