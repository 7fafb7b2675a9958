// Accepts connections at an address and never spins when the system has no descriptor left.
import CUV
import Glibc

/// Listens at a TCP or Unix address. Thread-confined to its loop; it listens until `close`.
public final class Listener: LoopHandle {
    /// What the operator or a test may change.
    public struct Options: Sendable {
        /// How many connections the kernel keeps until they are accepted, at most
        /// `net.core.somaxconn`. A client for which there is no room waits for seconds before it
        /// tries again.
        public var backlog = Int32.max
        /// The most that one turn accepts, so that a rush of clients does not keep the others
        /// waiting.
        public var acceptsPerTurn = 16
        /// The pause after a failure for want of descriptors or memory, in milliseconds.
        public var retryAfter: Int64 = 100
        /// The certificate to show; nil for plain connections.
        public var tls: TLSContext?
        /// How long a client may take for the TLS handshake, in milliseconds.
        public var handshakeTimeout: Int64 = 10_000
        /// TLS handshakes under way whose first word has come: for one more the oldest goes.
        public var handshakesAtOnce = 1_000
        /// How many may come in a second; more wait in the kernel. Nil: all.
        public var acceptsPerSecond: Int?
        /// Bytes that the kernel takes for a TCP peer beyond what that has room for, until its
        /// connection `isKnown`; nil, and for known ones: as many as it likes, some megabytes.
        public var strangersSendBuffer: Int?

        /// The defaults.
        public init() {}
    }

    /// Where it listens, with the port that the system chose.
    public let endpoint: NetworkAddress
    /// What new TLS connections use. Set another one to reload the certificate; connections that
    /// are there go on with what they began with.
    public var tls: TLSContext?
    /// Asked about everybody before anything is spent on them; whom it refuses is reset.
    public var admits: (PeerAddress) -> Bool = { _ in true }
    /// Told of a connection that it admitted, before its TLS handshake.
    public var began: (Connection) -> Void = { _ in }
    /// Told of one that began and was never handed to `accepted`.
    public var turnedBack: (Connection) -> Void = { _ in }
    /// How many TLS handshakes are under way.
    public private(set) var handshakes = 0
    private let socket: Int32
    private let ownedFile: SocketFile?
    private var options: Options
    private var pace = AcceptPace()
    private var begun = BegunHandshakes()
    private let accepted: (Connection) -> Void
    private let failed: (EventLoopError) -> Void
    private var retry: Timer?
    private var isPaused = false

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - accepted: gets every connection, after its TLS handshake, and sets its `handler`.
    ///   - failed: is told when accepting fails (listening goes on after a pause) and when a
    ///     handshake fails.
    /// - Throws: `addressInUse`, `addressUnavailable`, `permissionDenied`, `invalidAddress` (a name
    ///   other than `localhost`, too long a path) or `system`, with the address in the text.
    public init(
        at endpoint: NetworkAddress, on loop: EventLoop, options: Options = Options(),
        failed: @escaping (EventLoopError) -> Void, accepted: @escaping (Connection) -> Void
    ) throws(EventLoopError) {
        let bound = try ListeningSocket(endpoint, backlog: options.backlog)
        socket = bound.socket
        self.endpoint = bound.endpoint
        ownedFile = bound.file
        self.options = options
        tls = options.tls
        self.accepted = accepted
        self.failed = failed
        super.init(on: loop, type: UV_POLL)
        do throws(EventLoopError) {
            try start(uv_poll_t.self, doing: "watching", "\(endpoint)") {
                uv_poll_init(loop.uv, $0, bound.socket)
            }
        } catch {
            Glibc.close(socket)
            ownedFile?.remove()
            throw error
        }
        retry = Timer(on: loop) { [unowned self] in watch() }
        watch()
        // The loop's own reference, given back in handleDidClose.
        _ = Unmanaged.passRetained(self)
    }

    /// Leaves newcomers in the kernel's backlog.
    public func pause() {
        isPaused = true
        retry?.cancel()
        if let handle = handle(uv_poll_t.self) { uv_poll_stop(handle) }
    }

    /// Goes on with other times and rates.
    public func configure(_ change: (inout Options) -> Void) { change(&options) }

    /// Accepts again.
    public func resume() {
        isPaused = false
        watch()
    }

    /// Whether its address still leads here: false once the file of its Unix socket is gone, or is
    /// somebody else's.
    public var isInPlace: Bool { ownedFile?.isInPlace ?? true }

    /// Stops listening and removes the Unix socket's file. Accepted connections go on.
    public func close() {
        guard isListening else { return }
        retry = nil
        ownedFile?.remove()
        closeHandle()
        Glibc.close(socket)
    }

    override func loopWillClose() { close() }

    override func handleDidClose() { Unmanaged.passUnretained(self).release() }

    private func watch() {
        guard !isPaused, let handle = handle(uv_poll_t.self) else { return }
        uv_poll_start(handle, Int32(UV_READABLE.rawValue)) { handle, _, _ in
            owner(handle, Listener.self)?.acceptSome()
        }
    }

    /// Whoever comes takes of the time that strangers have of this turn: the first word of a TLS
    /// handshake is answered at once. One gets in whatever the others took.
    private func acceptSome() {
        for number in 0..<options.acceptsPerTurn
        where !isPaused && (number == 0 || loop.strangers.hasTime) {
            if let later = pace.wait(at: loop.now, perSecond: options.acceptsPerSecond) {
                return lookAway(until: later)
            }
            guard isListening else { return }
            loop.strangers.begin()
            let isThereMore = acceptOne()
            loop.strangers.end()
            guard isThereMore else { return }
        }
    }

    /// Returns false when there is nobody left, or no means to let them in.
    private func acceptOne() -> Bool {
        var address = sockaddr_storage()
        var length: socklen_t = 0
        let code = cuv_accept(socket, &address, &length)
        switch -code {
        case ...0: break
        case EINTR, ECONNABORTED: return true
        case EAGAIN: return false
        default:
            rest(after: EventLoopError(code: code, doing: "accepting at", "\(endpoint)"))
            return false
        }
        let peer = PeerAddress(address)
        guard admits(peer) else {
            // Whoever is not wanted learns it at once, and nothing of them stays here.
            Connection.resetAtClose(code)
            Glibc.close(code)
            return true
        }
        do throws(EventLoopError) {
            try welcome(code, peer)
        } catch {
            failed(error)
        }
        return true
    }

    private func welcome(_ socket: Int32, _ peer: PeerAddress) throws(EventLoopError) {
        let role = tls.map { TLSRole.accepts($0) }
        let connection = try Connection(socket: socket, peer: peer, tls: role, on: loop)
        if let bytes = options.strangersSendBuffer { connection.boundSendBuffer(to: bytes) }
        began(connection)
        guard role != nil else {
            accepted(connection)
            return connection.begin()
        }
        handshakes += 1
        connection.session?.begun = { [self, unowned connection] in
            begun.add(connection, most: options.handshakesAtOnce)
        }
        connection.shakeHands(within: options.handshakeTimeout) { [self, unowned connection] in
            handshakes -= 1
            if connection.session?.hasBegun == true { begun.count -= 1 }
            settle(connection, $0)
        }
    }

    /// What comes of a handshake.
    private func settle(_ connection: Connection, _ result: Result<Void, EventLoopError>) {
        switch result {
        case .success where isListening: return accepted(connection)
        case .success: connection.close()
        case .failure(let error): if isListening { failed(error) }
        }
        turnedBack(connection)
    }

    private var isListening: Bool { handle(uv_poll_t.self) != nil }

    /// The kernel would announce the same client at once, again and again: look away for a moment.
    private func rest(after error: EventLoopError) {
        lookAway(until: loop.now + options.retryAfter)
        failed(error)
    }

    private func lookAway(until moment: Int64) {
        if let handle = handle(uv_poll_t.self) { uv_poll_stop(handle) }
        retry?.arm(at: moment)
    }
}

/// Spreads newcomers over hundredths of a second, or longer spans where one comes in each, so that
/// a rush of them leaves time for the others.
private struct AcceptPace {
    private var since: Int64 = .min
    private var count = 0

    /// Nil: one more may come now; else when the next one may.
    mutating func wait(at now: Int64, perSecond: Int?) -> Int64? {
        guard let perSecond else { return nil }
        let span = max(10, 1_000 / Int64(perSecond))
        if since == .min || now - since >= span { (since, count) = (now, 0) }
        guard count < max(1, perSecond * Int(span) / 1_000) else { return since + span }
        count += 1
        return nil
    }
}

/// Handshakes for which OpenSSL has memory: about 50 KiB each.
private struct BegunHandshakes {
    /// Nothing here keeps it: its memory goes with the connection.
    private struct Place {
        weak var connection: Connection?

        /// The connection, while it still shakes hands.
        var underWay: Connection? { connection?.phase == .handshaking ? connection : nil }
    }

    /// The oldest first; those that are over are passed over.
    private var order: [Place] = []
    private var first = 0
    /// How many are under way.
    var count = 0

    /// One more has begun. Over the limit the oldest goes.
    mutating func add(_ connection: Connection, most: Int) {
        order.append(Place(connection: connection))
        count += 1
        while count > most, first < order.count {
            let oldest = order[first].underWay
            first += 1
            if let oldest {
                oldest.abort()
                break
            }
        }
        guard order.count > 2 * count + 64 else { return }
        order = order[first...].filter { $0.underWay != nil }
        first = 0
    }
}
