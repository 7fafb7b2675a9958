// A stream of bytes to one peer, over TCP or a Unix socket.
import CUV
import Glibc

/// What a connection tells its owner, on the loop's thread.
public protocol ConnectionHandler: AnyObject {
    /// Bytes arrived. They are valid during this call only: the buffer belongs to the loop.
    func connection(_ connection: Connection, received bytes: UnsafeRawBufferPointer)

    /// The peer will send no more; one may still send. Unless implemented, this closes the
    /// connection.
    func connectionReachedEnd(_ connection: Connection)

    /// Everything sent is written: the answer to `notifyWhenDrained`.
    func connectionDrained(_ connection: Connection)

    /// A turn later: the answer to `notifyInNextTurn`.
    func connectionHasTurn(_ connection: Connection)

    /// The last call for this connection. `error` is nil after `close` and `abort`.
    func connectionClosed(_ connection: Connection, error: EventLoopError?)
}

extension ConnectionHandler {
    /// Answers the peer's end with our own.
    public func connectionReachedEnd(_ connection: Connection) { connection.close() }

    /// Does nothing.
    public func connectionDrained(_ connection: Connection) {}

    /// Does nothing.
    public func connectionHasTurn(_ connection: Connection) {}
}

/// A connection, established: made by a `Listener` or by `connect`. Thread-confined to its loop.
///
/// It lives until `connectionClosed`, whoever holds it. Everything sent in one turn is written at
/// once, at the end of the turn.
public final class Connection: LoopHandle {
    /// Where a connection is in its life. It only moves downwards.
    enum Phase: UInt8 {
        /// The TLS handshake is under way; what is sent waits.
        case handshaking
        /// Bytes flow.
        case open
        /// `close` was called; the rest is being written, what arrives is dropped.
        case finishing
        /// All is written and our end is sent; waits for the peer's.
        case lingering
        /// The socket is gone.
        case closed
    }

    /// The owner that is told. Kept alive until `connectionClosed`.
    public var handler: (any ConnectionHandler)?
    /// The address of the other end.
    public let peer: PeerAddress
    let socket: Int32
    @exclusivity(unchecked) var phase = Phase.open
    /// Not checked at every access: only the loop's thread comes here, and never while it is being
    /// changed.
    @exclusivity(unchecked) var out = OutBuffer()
    /// Bounds the handshake and the close; nil otherwise.
    var deadline: Timer?
    /// Nil for a plain connection.
    let session: TLSSession?
    var failure: (any Error)?
    /// What libuv watches the socket for now.
    var interest: Int32 = 0
    var isPaused = false
    var peerEnded = false
    /// In the loop's list of connections to write.
    @exclusivity(unchecked) var isQueued = false
    /// The socket took less than we had.
    @exclusivity(unchecked) var isBlocked = false
    /// `notifyWhenDrained` waits for its answer.
    var wantsDrained = false
    /// `notifyInNextTurn` waits for its answer.
    var wantsTurn = false
    /// The peer's end waits for its turn.
    var wantsEnd = false
    /// In the loop's list for its next turn.
    var isAwaitingTurn = false
    /// libuv has seen an error on the socket.
    var isBroken = false
    /// It had something to read when the time for unknown connections in this turn was over.
    var isPutOff = false
    /// Whether its owner knows who the peer is. Unknown connections share `EventLoop.strangersTime`
    /// in each turn, and each has a small buffer in the kernel
    /// (`Listener.Options.strangersSendBuffer`).
    public var isKnown = false {
        didSet { if isKnown, hasSmallSendBuffer { boundSendBuffer(to: nil) } }
    }
    /// The kernel takes less for it than for others.
    private var hasSmallSendBuffer = false

    /// Takes over a connected, non-blocking socket, also if it throws. With TLS, the handshake must
    /// come next, otherwise `begin`.
    init(
        socket: Int32, peer: PeerAddress, tls: TLSRole?, on loop: EventLoop
    ) throws(EventLoopError) {
        self.socket = socket
        self.peer = peer
        do throws(EventLoopError) {
            session = try tls?.session(over: socket, with: peer)
            if tls != nil { phase = .handshaking }
            super.init(on: loop, type: UV_POLL)
            try start(uv_poll_t.self, doing: "watching", "\(peer)") {
                uv_poll_init(loop.uv, $0, socket)
            }
        } catch {
            Glibc.close(socket)
            throw error
        }
        if peer != .local { Self.sendAtOnce(socket) }
        // The loop's own reference, given back in handleDidClose.
        _ = Unmanaged.passRetained(self)
    }

    /// Limits the bytes that the kernel takes before it can send them; nil: no limit. Bytes on the
    /// network are bounded by the peer's window (tcp(7), `TCP_NOTSENT_LOWAT`).
    public func boundSendBuffer(to bytes: Int?) {
        guard phase != .closed, peer != .local else { return }
        hasSmallSendBuffer = bytes != nil
        var most = bytes.map { UInt32(clamping: $0) } ?? .max
        setsockopt(
            socket, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &most,
            socklen_t(MemoryLayout<UInt32>.size))
    }

    /// Limits the bytes that the kernel keeps until they are read here, about; what the peer has
    /// already been promised room for still comes (socket(7), `SO_RCVBUF`).
    public func boundReceiveBuffer(to bytes: Int) {
        guard phase != .closed else { return }
        var most = Int32(clamping: bytes)
        setsockopt(
            socket, SOL_SOCKET, SO_RCVBUF, &most, socklen_t(MemoryLayout<Int32>.size))
    }

    /// The owner has set its handler: let bytes flow.
    func begin() { watch() }

    private static func sendAtOnce(_ socket: Int32) {
        var on: Int32 = 1
        setsockopt(
            socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    /// True until `close`, `abort` or a failure.
    public var isOpen: Bool { phase == .open || phase == .handshaking }

    /// Bytes that wait here for the peer. Those that the kernel has taken do not count.
    public var unsentBytes: Int { out.count }

    /// How many bytes the kernel has taken since the beginning.
    public internal(set) var sentBytes: UInt64 = 0

    /// Sends a copy of the bytes at the end of this turn. After the close it does nothing.
    public func send(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        send(upTo: bytes.count) { room in
            room.copyMemory(from: bytes)
            return bytes.count
        }
    }

    /// Sends the bytes at the end of this turn. After the close it does nothing.
    public func send(_ bytes: [UInt8]) { bytes.withUnsafeBytes { send($0) } }

    /// Sends the text as UTF-8 at the end of this turn. After the close it does nothing.
    public func send(_ text: String) {
        var text = text
        text.withUTF8 { send(UnsafeRawBufferPointer($0)) }
    }

    /// Lets `fill` write up to `size` bytes directly into the out buffer; it returns how many it
    /// wrote. After the close `fill` is not called.
    public func send(upTo size: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Int) {
        loop.assertOwner()
        guard isOpen else { return }
        let room = out.reserve(size, from: &loop.pool)
        let filled = fill(room)
        precondition(0...size ~= filled, "filled \(filled) bytes of \(size)")
        out.commit(filled)
        queue()
    }

    /// Asks for one `connectionDrained`, in a later turn, as soon as nothing is unsent.
    public func notifyWhenDrained() {
        guard isOpen else { return }
        wantsDrained = true
        if out.count == 0 { awaitTurn() }
    }

    /// Asks for one `connectionHasTurn` in the next turn, when the other connections have had
    /// theirs.
    public func notifyInNextTurn() {
        guard isOpen else { return }
        wantsTurn = true
        guard !isAwaitingTurn else { return }
        isAwaitingTurn = true
        loop.callAfterSockets(self)
    }

    /// Stops reading, so that the peer must wait. What arrived in this turn may already be on its
    /// way.
    public func pauseReading() {
        guard isOpen, !isPaused else { return }
        isPaused = true
        watch()
    }

    /// Reads again.
    public func resumeReading() {
        guard isOpen, isPaused else { return }
        isPaused = false
        watch()
        if session != nil { awaitTurn() }
    }

    /// Writes what waits, tells the peer that this was all, waits for its end (at most
    /// `EventLoop.Options.closeTimeout` in all) and closes. Nothing more is received.
    public func close() {
        loop.assertOwner()
        switch phase {
        case .handshaking: finish()
        case .open where peerEnded && out.count == 0 && session == nil:
            // Both sides have ended: many such connections are closed within the time for unknown
            // ones.
            finish()
        case .open:
            phase = .finishing
            isPaused = false
            queue()
        case .finishing, .lingering, .closed: break
        }
    }

    /// Closes at once and drops what waits; a TCP peer sees a reset.
    public func abort() {
        loop.assertOwner()
        guard phase != .closed else { return }
        Self.resetAtClose(socket)
        finish()
    }

    /// Has the kernel drop what waits, and tell a TCP peer of a reset, when `socket` is closed.
    static func resetAtClose(_ socket: Int32) {
        var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
        let size = socklen_t(MemoryLayout<Glibc.linger>.size)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, size)
    }

    override func loopWillClose() { finish() }

    override func handleDidClose() {
        let error = failure as? EventLoopError
        let handler = self.handler
        self.handler = nil
        handler?.connectionClosed(self, error: error)
        let cancelled = EventLoopError(code: -ECANCELED, doing: "TLS handshake with", "\(peer)")
        session?.complete(.failure(error ?? cancelled))
        Unmanaged.passUnretained(self).release()
    }
}
