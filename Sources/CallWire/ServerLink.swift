// The client's side of a session: requests under way, events received, going on after a loss.

import CallModel
import JSON

/// What a client keeps about its session while connections come and go. Like the server's machines
/// it owns no socket: `CallClient` and the simulated phones tell it what came and send what it
/// returns.
///
/// Requests with a key survive a lost connection and are sent again; the server answers them once.
/// Events are handed out once, in order; what is handed out may be acknowledged.
public struct ServerLink: Sendable {
    /// What the owner does with what came.
    public enum Output: Sendable, Equatable {
        /// The connection is open. `resumed`: nothing was missed; otherwise `calls` replaces
        /// whatever was known.
        case welcomed(Welcome)
        /// `hello` was refused; the server closes the connection.
        case turnedAway(Refusal)
        /// Send this message.
        case send([UInt8])
        /// A request was answered.
        case reply(Int64, ServerReply)
        /// A request without a key was under way when the connection was lost: unknown outcome.
        case lost(Int64)
        /// Something happened.
        case event(ServerEvent)
        /// The server does not keep to the protocol: close, and start a new session.
        case violation(ProtocolViolation)
    }

    private enum State: Equatable {
        case offline
        case greeting(Int64)
        case open
    }

    private struct Pending {
        let id: Int64
        let message: [UInt8]
        let mayRepeat: Bool
        var isSent: Bool
        /// Whether the server may or may not have carried it out, and must not do so twice.
        var isLostWithTheConnection: Bool { isSent && !mayRepeat }
    }

    private let device: DeviceID
    private let encoder = RequestEncoder()
    private var decoder = ServerMessageDecoder()
    private var state = State.offline
    private var nextID: Int64 = 1
    private var pending: [Pending] = []
    /// The session to resume; nil: start a new one.
    public private(set) var session: SessionID?
    /// The last event of the session that was handed out.
    public private(set) var received: UInt64 = 0
    private var acknowledged: UInt64 = 0
    /// What the server called people.
    public private(set) var names = LearnedNames()
    /// What the user is called, for development tokens; nil: `hello` says nothing of it.
    public var ownName: PersonName?
    /// The longest message that the server takes, in bytes.
    private var messageBytes = WireLimits().messageBytes

    /// A client on `device` that has not connected yet.
    public init(device: DeviceID) {
        self.device = device
    }

    /// Goes on with `session` of an earlier run, of which all events up to `received` were handed
    /// out. For a client that has not connected yet.
    public mutating func resume(_ session: SessionID, after received: UInt64) {
        self.session = session
        self.received = received
    }

    /// Whether requests are sent at once.
    public var isOpen: Bool { state == .open }

    /// The call of an answer (`ok.call`), with the modes of this server.
    public func call(_ value: JSONValue?) -> Call? { decoder.call(value) }

    // MARK: Connections

    /// A connection is there: the message to begin with.
    public mutating func connected(token: String) -> [UInt8] {
        let id = takeID()
        state = .greeting(id)
        let resume = session.map { Hello.Resume(session: $0, seq: received) }
        return encoder.hello(
            Hello(
                token: token, device: device, resume: resume, wantsMissed: true, name: ownName),
            id: .integer(id))
    }

    /// The connection is lost.
    public mutating func disconnected() -> [Output] {
        state = .offline
        let lost = pending.filter(\.isLostWithTheConnection).map { Output.lost($0.id) }
        pending.removeAll(where: \.isLostWithTheConnection)
        return lost
    }

    // MARK: Requests

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - operation: what to ask for.
    ///   - key: with one, the request is repeated after a loss and carried out once.
    /// - Returns: its number, and the message; nil: it is sent when the connection is open.
    public mutating func request(
        _ operation: Operation, key: String? = nil
    ) -> (id: Int64, message: [UInt8]?) {
        let id = takeID()
        let message = encoder.request(operation, id: .integer(id), key: key)
        return add(message, id, mayRepeat: key != nil || operation.isReading)
    }

    /// Makes a request of any name, for what this client does not know yet.
    ///
    /// - Parameter key: with one, the request is repeated after a loss and carried out once.
    /// - Returns: as `request(_:key:)`.
    public mutating func request(
        named name: String, data: JSONValue, key: String? = nil
    ) -> (id: Int64, message: [UInt8]?) {
        let id = takeID()
        let message = encoder.request(named: name, data: data, id: .integer(id), key: key)
        return add(message, id, mayRepeat: key != nil)
    }

    /// Nobody waits for the answer any more: it is not handed out, and the request not repeated.
    public mutating func forget(_ id: Int64) {
        pending.removeAll { $0.id == id }
    }

    /// Removes a request that is longer than the server allows: it would close the connection, and
    /// again at every repetition.
    ///
    /// - Returns: why it cannot be sent; nil: it can, or it was forgotten.
    public mutating func takeOutTooLarge(_ id: Int64) -> Refusal? {
        guard let place = pending.firstIndex(where: { $0.id == id }),
            let refusal = tooLarge(pending[place])
        else { return nil }
        pending.remove(at: place)
        return refusal
    }

    private func tooLarge(_ request: Pending) -> Refusal? {
        let size = request.message.count
        guard size > messageBytes else { return nil }
        return Refusal(
            .tooLarge, "the request has \(size) bytes; a message has at most \(messageBytes)")
    }

    private mutating func add(
        _ message: [UInt8], _ id: Int64, mayRepeat: Bool
    ) -> (id: Int64, message: [UInt8]?) {
        pending.append(
            Pending(id: id, message: message, mayRepeat: mayRepeat, isSent: isOpen))
        return (id, isOpen ? message : nil)
    }

    /// Logs the device out. The session ends with it.
    public mutating func bye() -> [UInt8] {
        session = nil
        let id = takeID()
        let message = encoder.bye(id: .integer(id))
        pending.append(Pending(id: id, message: message, mayRepeat: false, isSent: true))
        return message
    }

    private mutating func takeID() -> Int64 {
        defer { nextID += 1 }
        return nextID
    }

    // MARK: Messages

    /// The message that acknowledges every event handed out so far; nil: there is nothing new.
    /// To be sent when the owner has dealt with them.
    public mutating func acknowledgement() -> [UInt8]? {
        guard isOpen, received > acknowledged else { return nil }
        acknowledged = received
        return RequestEncoder.acknowledgement(received)
    }

    /// A text message came.
    public mutating func receive(_ bytes: [UInt8]) -> [Output] {
        do {
            switch try decoder.message(bytes, hearing: &names) {
            case .reply(let id, let reply): return receive(reply, to: id)
            case .event(let seq, let event): return try receive(event, seq)
            }
        } catch {
            session = nil
            return [.violation(error)]
        }
    }

    private mutating func receive(_ reply: ServerReply, to id: MessageID?) -> [Output] {
        guard case .integer(let number) = id else { return [] }
        if case .greeting(number) = state { return greeted(reply) }
        guard let place = pending.firstIndex(where: { $0.id == number }) else { return [] }
        pending.remove(at: place)
        return [.reply(number, reply)]
    }

    private mutating func greeted(_ reply: ServerReply) -> [Output] {
        switch reply {
        case .error(let refusal): return [.turnedAway(refusal)]
        case .ok(let value):
            guard let welcome = decoder.welcome(value) else {
                session = nil
                return [.violation(ProtocolViolation(reason: "a welcome with missing members"))]
            }
            state = .open
            session = welcome.session
            if !welcome.resumed { received = 0 }
            acknowledged = received
            messageBytes = welcome.limits.messageBytes
            decoder.modes = welcome.modes
            return [.welcomed(welcome)] + sendAll()
        }
    }

    /// What waited for the connection.
    private mutating func sendAll() -> [Output] {
        for place in pending.indices { pending[place].isSent = true }
        let outputs = pending.map { request in
            tooLarge(request).map { .reply(request.id, .error($0)) } ?? Output.send(request.message)
        }
        pending.removeAll { [messageBytes] in $0.message.count > messageBytes }
        return outputs
    }

    private mutating func receive(
        _ event: ServerEvent, _ seq: UInt64
    ) throws(ProtocolViolation) -> [Output] {
        guard isOpen else { throw ProtocolViolation(reason: "an event before the welcome") }
        if seq <= received { return [] }
        guard seq == received + 1 else {
            throw ProtocolViolation(reason: "event \(seq) came after event \(received)")
        }
        received = seq
        return [.event(event)]
    }
}
