// The client: one device's connection to a server, kept up over losses.

import CallModel
import CallWire
import EventLoop
import JSON
import WebProtocols

/// A device of a user. Thread-confined to its loop, on which it also calls back.
///
///     let client = CallClient(options, on: loop) { event in … }
///     client.connect()
///
/// After a loss it connects again, resumes its session and repeats what was not answered, so that
/// every event is told once and every request with a key is carried out once. Close codes decide
/// whether it goes on, waits for a new token, or stops.
///
///     idle ──connect──▶ connecting ──▶ greeting ──welcome──▶ open
///                          ▲              │ loss              │ loss
///                          └── waiting ◀──┴───────────────────┘ ──▶ awaitingToken, stopped
public final class CallClient {
    /// What an app chooses.
    public struct Options: Sendable {
        /// Where to connect.
        public var server: ServerAddress
        /// Who the user is: a JWT, or `dev:USER` for a server without keys.
        public var token: String
        /// Which device of the user this is; one connection each.
        public var device: DeviceID
        /// The authorities to trust for a secure address; nil: the system's.
        public var tls: TLSContext?
        /// The limit for a connection with its `hello`, in milliseconds.
        public var connectWithin: Milliseconds = 10_000
        /// The limit for a request, losses and repetitions included, in milliseconds.
        public var answerWithin: Milliseconds = 30_000
        /// Whether accepts in mode `handshake` are acknowledged by themselves; an app that wants
        /// to do it calls `acknowledgeAccept`.
        public var acknowledgesAccepts = true
        /// The longest message that is taken, in bytes.
        public var maximumMessage = 16 << 20
        /// Waits between attempts.
        public var backoff = Backoff()

        /// A device of the user that `token` names.
        public init(_ server: ServerAddress, token: String, device: DeviceID) {
            self.server = server
            self.token = token
            self.device = device
        }
    }

    /// The state of a client.
    public enum State: Sendable, Equatable {
        /// `connect` was not called yet. Then: `connecting`.
        case idle
        /// A connection is being made. Then: `greeting`, `waiting`, `stopped`.
        case connecting
        /// `hello` is being answered. Then: `open`, `waiting`, `awaitingToken`, `stopped`.
        case greeting
        /// Requests are sent at once. Then: `waiting`, `awaitingToken`, `stopped`.
        case open
        /// The next attempt waits for its time. Then: `connecting`, `stopped`.
        case waiting
        /// `renew(token:)` must come first. Then: `connecting`, `stopped`.
        case awaitingToken
        /// The client does nothing. Then: `connecting`.
        case stopped
    }

    /// A text message that left or came.
    public enum Traffic: Sendable, Equatable {
        /// Sent by this client; never `hello`, which holds the token.
        case sent([UInt8])
        /// Sent by the server.
        case received([UInt8])
    }

    /// See `State`.
    public private(set) var state = State.idle
    /// Told of everything, on the loop's thread; may call the client.
    public var onEvent: (ClientEvent) -> Void
    /// Told of every message, for logs and tools.
    public var trace: ((Traffic) -> Void)?
    let loop: EventLoop
    var link: ServerLink
    var requests = OpenRequests()
    /// Requests that are not sent, until their completions are called.
    var refused: [(request: OpenRequest, refusal: Refusal)] = []
    private(set) var options: Options
    private var socket: ClientSocket?
    /// Who the user is, as the server says.
    private var me: UserID?
    /// Attempts in a row that failed.
    private var failures = 0
    private var openedAt: Int64 = 0
    private var heardAt: Int64 = 0
    private var silenceMax: Milliseconds = 0
    /// Why the server refused `hello`; it closes right after.
    private var refusal: Refusal?
    private var isLoggingOut = false
    /// Between two attempts: the next one. Otherwise: silence, and the limit of `hello`.
    private var alarm: Timer?
    var requestAlarm: Timer?
    /// When `requestAlarm` rings, by the loop's clock.
    var requestAlarmAt = Int64.max

    /// A client that does nothing before `connect`.
    ///
    /// - Parameter onEvent: see the property, for an owner that exists only after its client.
    public init(
        _ options: Options, on loop: EventLoop,
        onEvent: @escaping (ClientEvent) -> Void = { _ in }
    ) {
        self.options = options
        self.loop = loop
        self.onEvent = onEvent
        link = ServerLink(device: options.device)
        alarm = Timer(on: loop) { [unowned self] in alarmRang() }
        requestAlarm = Timer(on: loop) { [unowned self] in requestAlarmRang() }
    }

    deinit { socket?.abandon() }

    // MARK: Connecting

    /// Connects; does nothing while the client is connected or about to be.
    public func connect() {
        switch state {
        case .idle, .stopped:
            failures = 0
            dial()
        case .waiting: dial()
        case .connecting, .greeting, .open, .awaitingToken: break
        }
    }

    /// Goes on with another token: at once if the server asked for one, else from the next
    /// connection on.
    public func renew(token: String) {
        options.token = token
        if state == .awaitingToken { dial() }
    }

    /// Ends the connection and stops. The server keeps the session for a while, and counts the user
    /// as connected until then.
    public func disconnect() {
        guard state != .stopped, state != .idle else { return }
        stop(.disconnected) { $0.close(.goingAway) }
    }

    /// Logs the device out and stops. Without a connection it is `disconnect`.
    public func logOut() {
        guard state == .open, !isLoggingOut else { return disconnect() }
        isLoggingOut = true
        send(link.bye())
        alarm?.arm(after: options.connectWithin)
    }

    private func dial() {
        state = .connecting
        var dialling = Connector.Options()
        dialling.timeout = options.connectWithin
        do throws(EventLoopError) {
            dialling.tls = try trust()
        } catch {
            return lose(.network(error))
        }
        let socket = ClientSocket(owner: self, maximumMessage: options.maximumMessage)
        self.socket = socket
        socket.dial(options.server, on: loop, dialling)
        alarm?.arm(after: options.connectWithin)
    }

    private func trust() throws(EventLoopError) -> TLSContext? {
        guard options.server.isSecure else { return nil }
        if let tls = options.tls { return tls }
        return try TLSContext.client()
    }

    // MARK: Losing

    private func alarmRang() {
        switch state {
        case .waiting: dial()
        case .connecting, .greeting: lose(.silence)
        case .open: checkSilence()
        case .idle, .awaitingToken, .stopped: break
        }
    }

    private func checkSilence() {
        if isLoggingOut { return disconnect() }
        let deadline = heardAt + silenceMax
        if loop.now < deadline { alarm?.arm(at: deadline) } else { lose(.silence) }
    }

    private func lose(_ loss: ConnectionLoss) {
        let wasSteady = state == .open && loop.now - openedAt >= options.backoff.steadyAfter
        failures = wasSteady ? 1 : failures + 1
        if isLoggingOut {
            let isKnown = loss == .closed(CloseCode.normal.rawValue, "")
            return stop(isKnown ? .loggedOut : .disconnected) { $0.abandon() }
        }
        switch loss.reaction {
        case .reconnect:
            detach(to: .waiting)
            let wait = max(options.backoff.wait(after: failures), refusal?.retryAfter ?? 0)
            refusal = nil
            alarm?.arm(after: wait)
            onEvent(.lost(loss, retryAfter: wait))
        case .renewToken:
            detach(to: .awaitingToken)
            onEvent(.tokenNeeded(loss))
        case .stop:
            stop(refusal.map { .refused($0) } ?? .lost(loss)) { $0.abandon() }
        }
    }

    private func stop(_ ending: ClientEvent.Ending, _ part: (ClientSocket) -> Void) {
        if let socket { part(socket) }
        detach(to: .stopped)
        isLoggingOut = false
        refusal = nil
        settle(requests.removeAll(), .stopped)
        onEvent(.stopped(ending))
    }

    private func detach(to next: State) {
        state = next
        alarm?.cancel()
        socket?.abandon()
        socket = nil
        act(on: link.disconnected())
    }

    // MARK: Talking

    func send(_ message: [UInt8]) {
        socket?.send(message)
        trace?(.sent(message))
    }

    private func act(on outputs: [ServerLink.Output]) {
        for output in outputs {
            switch output {
            case .welcomed(let welcome): opened(welcome)
            case .turnedAway(let refusal): self.refusal = refusal
            case .send(let message): send(message)
            case .reply(let id, let reply): answered(id, reply)
            case .lost(let id): settle(requests.remove(id), .unanswered)
            case .event(.call(let event)): happened(event)
            case .event(.unknown(let name, let data)): onEvent(.unknownEvent(name, data))
            case .violation(let violation):
                socket?.close(.protocolError, violation.reason)
                lose(.violation(violation.reason))
            }
        }
    }

    private func opened(_ welcome: Welcome) {
        state = .open
        refusal = nil
        openedAt = loop.now
        // The server pings every 25 s; after 33 s without a frame the connection is dead.
        silenceMax = max(welcome.pingInterval * 4 / 3, 1_000)
        alarm?.arm(after: silenceMax)
        me = welcome.user
        onEvent(.opened(welcome))
        guard !welcome.resumed else { return }
        for call in welcome.calls {
            let accepting = call.participants.filter {
                $0.state == .accepting && $0.invitedBy == welcome.user
            }
            acknowledge(accepting.map(\.user), in: call.id)
        }
    }

    private func happened(_ event: CallEvent) {
        onEvent(.event(event))
        guard case .changed(let changes) = event.kind else { return }
        acknowledge(changes.filter { $0.state == .accepting }.map(\.user), in: event.callID)
    }

    /// In mode `handshake` a user who accepts joins when the caller has acknowledged it.
    private func acknowledge(_ users: [UserID], in call: CallID) {
        guard options.acknowledgesAccepts else { return }
        for user in users where user != me { acknowledgeAccept(of: user, in: call) { _ in } }
    }
}

extension CallClient: ClientSocketOwner {
    func socketOpened(_ socket: ClientSocket) {
        state = .greeting
        socket.send(link.connected(token: options.token))
    }

    func socketHeard(_ socket: ClientSocket) { heardAt = loop.now }

    func socket(_ socket: ClientSocket, received text: UnsafeRawBufferPointer) {
        let message = [UInt8](text)
        trace?(.received(message))
        act(on: link.receive(message))
    }

    func socketRead(_ socket: ClientSocket) {
        if let message = link.acknowledgement() { send(message) }
    }

    func socketEnded(_ socket: ClientSocket, _ loss: ConnectionLoss) {
        self.socket = nil
        lose(loss)
    }
}
