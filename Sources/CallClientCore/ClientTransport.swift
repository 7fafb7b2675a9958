// What a client's machine acts by.

import WebProtocols

/// A WebSocket and a clock, as a machine needs them. It calls `opened`, `heard`, `received`,
/// `acknowledge`, `ended` and `woken` of its machine, on the machine's thread.
public protocol ClientTransport: AnyObject {
    /// A clock that never goes back, in milliseconds.
    var now: Int64 { get }
    /// Begins a WebSocket to `/v1/ws` of the server that offers `ClientMachine.subprotocol`. Then
    /// `opened` follows, or `ended`, neither before this returns.
    func dial()
    /// Sends a text message; where no WebSocket is open, it is lost.
    func send(_ message: [UInt8])
    /// Closes the WebSocket, if there is one. Nothing more is told of it.
    func close(_ code: WebSocketCloseCode, _ reason: String)
    /// Breaks the WebSocket off, or the attempt to have one. Nothing more is told of it.
    func abandon()
    /// Calls `woken` once at `moment` of the clock, or soon if that has passed, but not before this
    /// returns. Takes the place of an earlier moment; `Int64.max`: never.
    func wake(at moment: Int64)
}

extension ClientMachine {
    /// The name of the protocol in the request for a WebSocket.
    public static var subprotocol: String { "callagent.v1.json" }
}
