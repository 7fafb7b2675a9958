// How answers and events reach whoever asks and listens.

import CallModel
import CallWire

/// The other end of a connection, over any transport: messages of the protocol go to it, and
/// answers to exchanges over HTTP.
public protocol Endpoint: AnyObject {
    /// Sends a message, given in two parts; nothing where no messages are exchanged.
    func send(_ head: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer)
    /// Answers the exchange under way.
    func respond(_ reply: HTTPReply)
    /// A request is under way that counts `weight`.
    func begins(_ weight: Int)
    /// A request that counts `weight` is answered: what waits for that may go on.
    func ends(_ weight: Int)
    /// Ends the connection, saying why.
    func close(_ code: CloseCode, _ reason: String)
    /// Whether the other end may still hear.
    var isOpen: Bool { get }
    /// Bytes that it has been sent in all, and those that wait for it to read.
    var sentBytes: UInt64 { get }
    var unsentBytes: Int { get }
    /// Sends at once what would leave at the end of this turn.
    func sendNow()
    /// It was told of an event, and may be slow to read.
    func noteTold()
    /// What waits now was owed to it at its hello. Having been away does not make it slow.
    func noteGreeted()
}

extension Endpoint {
    /// Sends a message.
    public func send(_ message: UnsafeRawBufferPointer) {
        send(message, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// Ends the connection; the code says why.
    public func close(_ code: CloseCode) { close(code, code.usualReason) }
}
