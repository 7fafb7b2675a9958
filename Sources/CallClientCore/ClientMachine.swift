// The client without a socket: one device's session with a server, kept up over losses.

import CallModel
import CallWire
import JSON
import WebProtocols

/// A device of a user, for programs that bring a WebSocket: `CallClient` brings one, an app on
/// another system its own. Thread-confined: it is called, and calls back, on one thread.
///
/// After a loss it connects again, resumes its session and repeats what was not answered, so that
/// every event is told once and every request with a key is carried out once. Close codes decide
/// whether it goes on, waits for a new token, or stops.
///
///     idle ──connect──▶ connecting ──▶ greeting ──welcome──▶ open
///                          ▲              │ loss              │ loss
///                          └── waiting ◀──┴───────────────────┘ ──▶ awaitingToken, stopped
public final class ClientMachine: CallOperations {
    /// What an app chooses.
    public struct Options: Sendable {
        /// Who the user is: a JWT, or `dev:USER` for a server without keys.
        public var token: String
        /// Which device of the user this is; one connection each.
        public var device: DeviceID
        /// What the user is called, where the token says nothing of it: with development tokens.
        public var name: PersonName?
        /// The limit for a connection with its `hello`, in milliseconds.
        public var connectWithin: Milliseconds = 10_000
        /// The limit for a request, losses and repetitions included, in milliseconds.
        public var answerWithin: Milliseconds = 30_000
        /// Whether accepts in mode `handshake` are acknowledged by themselves; an app that wants
        /// to do it calls `acknowledgeAccept`.
        public var acknowledgesAccepts = true
        /// How many calls that are over are remembered, so that late messages about them are
        /// understood.
        public var pastCalls = 200
        /// Waits between attempts.
        public var backoff = Backoff()
        /// What an earlier run of the app kept, to go on with its session and its calls.
        public var kept: KeptSession?

        /// A device of the user that `token` names.
        public init(token: String, device: DeviceID) {
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
        /// `renew(token:)` must come first. Then: `connecting`, `waiting`, `stopped`.
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
    /// Told of everything, on the client's thread; may call the client.
    public var onEvent: (ClientEvent) -> Void
    /// Told of every message, for logs and tools.
    public var trace: ((Traffic) -> Void)?
    /// Who the user is, as the server says; nil: the server has not said it yet.
    public private(set) var user: UserID?
    /// Itself: operations go by it.
    public var machine: ClientMachine { self }
    let transport: any ClientTransport
    let book: ClientCalls
    var link: ServerLink
    var requests = OpenRequests()
    /// Requests that are not sent, until their completions are called.
    var refused: [(request: OpenRequest, refusal: Refusal)] = []
    var dice: any RandomNumberGenerator
    private(set) var options: Options
    /// Attempts in a row that failed.
    private var failures = 0
    private var openedAt: Int64 = 0
    private var heardAt: Int64 = 0
    private var silenceMax: Milliseconds = 0
    /// The server's clock less the transport's.
    private var clockOffset: Int64?
    /// Why the server refused `hello`; it closes right after.
    private var refusal: Refusal?
    private var isLoggingOut = false
    /// Between two attempts: the next one. Otherwise: silence, and the limit of `hello`.
    private var alarmAt = Int64.max
    /// When something must be done about a request.
    var requestAlarmAt = Int64.max

    /// A client that does nothing before `connect`.
    ///
    /// - Parameters:
    ///   - transport: what the machine acts by; it lives as long as the machine.
    ///   - dice: spreads waits, and makes idempotency keys.
    ///   - onEvent: see the property, for an owner that exists only after its client.
    public init(
        _ options: Options, over transport: any ClientTransport,
        dice: any RandomNumberGenerator, onEvent: @escaping (ClientEvent) -> Void = { _ in }
    ) {
        self.options = options
        self.transport = transport
        self.dice = dice
        self.onEvent = onEvent
        link = ServerLink(device: options.device)
        link.ownName = options.name
        book = ClientCalls(pastMax: options.pastCalls)
        book.machine = self
        guard let kept = options.kept else { return }
        user = kept.user
        link.resume(kept.session, after: kept.received)
        book.bringBack(kept)
    }

    /// What another run of the app can go on with; nil: there is no session.
    public var kept: KeptSession? {
        guard let user, let session = link.session else { return nil }
        return KeptSession(
            user: user, session: session, received: link.received,
            calls: book.live.values.map(\.snapshot), here: book.here)
    }

    /// The server's clock; nil before the first welcome.
    public var serverTime: Moment? { clockOffset.map { Moment(transport.now + $0) } }

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
    /// connection on. If one token after the other is refused, the attempts are spread over time.
    public func renew(token: String) {
        options.token = token
        guard state == .awaitingToken else { return }
        guard failures > 1 else { return dial() }
        state = .waiting
        setAlarm(after: options.backoff.wait(after: failures, &dice))
    }

    /// Ends the connection and stops. The server keeps the session for a while, and counts the user
    /// as connected until then.
    public func disconnect() {
        guard state != .stopped, state != .idle else { return }
        transport.close(.goingAway, "")
        stop(.disconnected)
    }

    /// Logs the device out and stops. Without a connection it is `disconnect`.
    public func logOut() {
        guard state == .open, !isLoggingOut else { return disconnect() }
        isLoggingOut = true
        send(link.bye())
        setAlarm(after: options.connectWithin)
    }

    private func dial() {
        state = .connecting
        setAlarm(after: options.connectWithin)
        transport.dial()
    }

    // MARK: What the transport tells

    /// The WebSocket is open.
    public func opened() {
        state = .greeting
        transport.send(link.connected(token: options.token))
    }

    /// Bytes came, of whatever kind: the server lives.
    public func heard() { heardAt = transport.now }

    /// A text message came. Call `acknowledge` when all that had arrived was handed over.
    public func received(_ message: [UInt8]) {
        trace?(.received(message))
        act(on: link.receive(message))
    }

    /// Everything that had arrived was handed over: the server may forget it.
    public func acknowledge() {
        if let message = link.acknowledgement() { send(message) }
    }

    /// There is no WebSocket, or no longer one.
    public func ended(_ loss: ConnectionLoss) { lose(loss) }

    /// The moment of `ClientTransport.wake` has come.
    public func woken() {
        let now = transport.now
        if requestAlarmAt <= now { requestAlarmRang() }
        if alarmAt <= now {
            alarmAt = .max
            alarmRang()
        }
        setAlarm()
    }

    private func setAlarm(after wait: Milliseconds) {
        alarmAt = transport.now + wait
        setAlarm()
    }

    func setAlarm() { transport.wake(at: min(alarmAt, requestAlarmAt)) }

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
        guard transport.now < deadline else { return lose(.silence) }
        alarmAt = deadline
    }

    private func lose(_ loss: ConnectionLoss) {
        let wasSteady = state == .open && transport.now - openedAt >= options.backoff.steadyAfter
        failures = wasSteady ? 1 : failures + 1
        if isLoggingOut {
            let isKnown = loss == .closed(CloseCode.normal.rawValue, "")
            return stop(isKnown ? .loggedOut : .disconnected)
        }
        switch refusal?.wantsNewToken == true ? .renewToken : loss.reaction {
        case .reconnect:
            detach(to: .waiting)
            let wait = max(options.backoff.wait(after: failures, &dice), refusal?.retryAfter ?? 0)
            refusal = nil
            setAlarm(after: wait)
            onEvent(.lost(loss, retryAfter: wait))
        case .renewToken:
            refusal = nil
            detach(to: .awaitingToken)
            onEvent(.tokenNeeded(loss))
        case .stop:
            stop(refusal.map { .refused($0) } ?? .lost(loss))
        }
    }

    private func stop(_ ending: ClientEvent.Ending) {
        detach(to: .stopped)
        isLoggingOut = false
        refusal = nil
        settle(requests.removeAll(), .stopped)
        onEvent(.stopped(ending))
    }

    private func detach(to next: State) {
        state = next
        alarmAt = .max
        setAlarm()
        transport.abandon()
        act(on: link.disconnected())
    }

    // MARK: Talking

    func send(_ message: [UInt8]) {
        transport.send(message)
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
                transport.close(.protocolError, violation.reason)
                lose(.violation(violation.reason))
            }
        }
    }

    private func opened(_ welcome: Welcome) {
        state = .open
        refusal = nil
        openedAt = transport.now
        // The server pings every 25 s; after 33 s without a frame the connection is dead.
        silenceMax = max(welcome.pingInterval * 4 / 3, 1_000)
        setAlarm(after: silenceMax)
        user = welcome.user
        clockOffset = welcome.serverTime.milliseconds - openedAt
        if !welcome.resumed { book.replace(by: welcome.calls, hasMore: welcome.hasMoreCalls) }
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
        book.hear(event)
        onEvent(.event(event))
        guard case .changed(let changes) = event.kind else { return }
        acknowledge(changes.filter { $0.state == .accepting }.map(\.user), in: event.callID)
    }

    /// In mode `handshake` a user who accepts joins when the caller has acknowledged it.
    private func acknowledge(_ users: [UserID], in call: CallID) {
        guard options.acknowledgesAccepts else { return }
        for user in users where user != self.user { acknowledgeAccept(of: user, in: call) { _ in } }
    }
}
