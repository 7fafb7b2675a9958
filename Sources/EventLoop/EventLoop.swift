// One libuv loop on one thread: turns, hooks at the end of a turn, orderly end.
import CUV
import Glibc

/// A run-to-completion loop over sockets, timers, signals and mailboxes.
///
/// Owner: the thread that made it until `run`, from then on the thread that called `run`. Nothing
/// here is safe on another thread except `Mailbox.post`; debug builds check it.
///
/// A turn is: timers, then what connections put off, then the hooks of `atEndOfTurn` and one write
/// for each connection with something to send, then the wait for sockets and their callbacks.
public final class EventLoop: @unchecked Sendable {
    /// What the operator or a test may change.
    public struct Options: Sendable {
        /// The most that one read takes, and the size of the buffer that all connections share, in
        /// bytes.
        public var readBufferBytes = 65_536
        /// How long `Connection.close` waits for the peer to take the rest and to close, in
        /// milliseconds.
        public var closeTimeout: Int64 = 5_000

        /// The defaults.
        public init() {}
    }

    let uv: UnsafeMutablePointer<uv_loop_t>
    let options: Options
    let readBuffer: UnsafeMutableRawBufferPointer
    var pool = BufferPool()
    private let prepare: UnsafeMutablePointer<uv_prepare_t>
    private let idle: UnsafeMutablePointer<uv_idle_t>
    private var owner = pthread_self()
    private var hooks: [() -> Void] = []
    private var unflushed: [Connection] = []
    private var flushing: [Connection] = []
    private var awaiting: [Connection] = []
    private var afterSockets: [Connection] = []
    @exclusivity(unchecked) var strangers = StrangersTurn()
    /// When the first connection of this turn asked whether it is long; 0: none did.
    @exclusivity(unchecked) private var turnBegan: Int64 = 0
    /// Replaced by tests.
    @exclusivity(unchecked) var stopwatch: () -> Int64 = Clock.monotonicNanoseconds
    /// A turn is long after so many nanoseconds.
    private static let longTurn: Int64 = 3_000_000
    private var isRunning = false
    private(set) var isClosed = false

    /// Makes a loop. Ignores SIGPIPE for the whole process: a broken connection is an error of its
    /// write.
    ///
    /// - Throws: `outOfDescriptors` if the system has none left for the loop.
    public init(options: Options = Options()) throws(EventLoopError) {
        signal(SIGPIPE, SIG_IGN)
        uv = .allocate(capacity: 1)
        prepare = .allocate(capacity: 1)
        idle = .allocate(capacity: 1)
        self.options = options
        readBuffer = .allocate(byteCount: options.readBufferBytes, alignment: 16)
        let obstacle = cuv_may_make_loop()
        let code = obstacle < 0 ? obstacle : uv_loop_init(uv)
        guard code >= 0 else {
            isClosed = true
            throw EventLoopError(code: code, doing: "making", "an event loop")
        }
        uv_prepare_init(uv, prepare)
        uv_idle_init(uv, idle)
        let data = Unmanaged.passUnretained(self).toOpaque()
        prepare.pointee.data = data
        idle.pointee.data = data
        uv_prepare_start(prepare) { handle in EventLoop.from(handle?.pointee.data)?.endTurn() }
    }

    /// The action of a timer is under way.
    var isRunningTimer = false
    /// A timer that is late by so many milliseconds shows that the machine or the loop stood still.
    private static let standstill: Int64 = 100
    /// Timers that are due in this turn wait until the sockets were read.
    private var areTimersHeld = false

    deinit {
        // Whoever could not go on after the loop was made has an error to tell, which must not be
        // lost in a trap. No handle is open any more: each of them holds the loop.
        close()
        readBuffer.deallocate()
        pool.deallocate()
        uv.deallocate()
        prepare.deallocate()
        idle.deallocate()
    }

    private static func from(_ data: UnsafeMutableRawPointer?) -> EventLoop? {
        data.map { Unmanaged<EventLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Milliseconds since the machine started, as `Clock.bootMilliseconds`.
    public var now: Int64 { Clock.bootMilliseconds() }

    /// Turns until `stop`. The calling thread becomes the owner.
    public func run() {
        precondition(!isClosed, "the loop is closed")
        owner = pthread_self()
        isRunning = true
        uv_run(uv, UV_RUN_DEFAULT)
        isRunning = false
        endTurn()
    }

    /// Makes `run` return at the end of this turn; the hooks run once more and what was sent is
    /// written. Outside `run` it does nothing: libuv would remember it and spoil the next run.
    public func stop() {
        assertOwner()
        if isRunning { uv_stop(uv) }
    }

    /// Adds a hook that runs once at the end of every turn, before connections are written and the
    /// loop waits. Hooks run in the order in which they were added.
    public func atEndOfTurn(_ hook: @escaping () -> Void) {
        assertOwner()
        hooks.append(hook)
    }

    /// Closes whatever is still open on the loop, reports it closed, and gives the loop's memory
    /// back. Call it once, on the owner's thread, after `run` has returned.
    public func close() {
        owner = pthread_self()
        guard !isClosed else { return }
        isClosed = true
        hooks = []
        uv_close(UnsafeMutableRawPointer(prepare).assumingMemoryBound(to: uv_handle_t.self), nil)
        uv_close(UnsafeMutableRawPointer(idle).assumingMemoryBound(to: uv_handle_t.self), nil)
        uv_walk(
            uv,
            { handle, _ in
                guard let handle, uv_is_closing(handle) == 0 else { return }
                handle.owner?.loopWillClose()
            }, nil)
        uv_run(uv, UV_RUN_DEFAULT)
        unflushed = []
        awaiting = []
        afterSockets = []
        let code = uv_loop_close(uv)
        precondition(code == 0, "a handle outlived its loop")
    }

    /// How long connections that are not `isKnown` may take of one turn, in milliseconds; the rest
    /// of them are served in the next turn, in order. Nil: no limit.
    public var strangersTime: Int64? {
        get { strangers.limit.map { $0 / 1_000_000 } }
        set { strangers.limit = newValue.map { $0 * 1_000_000 } }
    }

    /// Whether this turn has taken long already: who has much to say should say little of it, so
    /// that everybody has a turn soon.
    public var isTurnLong: Bool {
        let now = stopwatch()
        if turnBegan == 0 { turnBegan = now }
        return now - turnBegan >= Self.longTurn
    }

    /// A moment for `isLong`.
    public var mark: Int64 { stopwatch() }

    /// Whether what has begun then had its time: the rest of it should have the next turn.
    public func isLong(since mark: Int64) -> Bool { stopwatch() - mark >= Self.longTurn }

    /// A thread other than the owner's must not come here.
    func assertOwner(_ caller: StaticString = #function) {
        assert(pthread_equal(owner, pthread_self()) != 0, "\(caller) on a foreign thread")
    }
}

extension EventLoop {
    /// The connection has something to write at the end of this turn.
    func flushAtEndOfTurn(_ connection: Connection) { unflushed.append(connection) }

    /// Whether a timer that is so many milliseconds late lets the sockets be read first. All other
    /// timers of the turn wait with it: they keep their order.
    func holdsTimers(late: Int64) -> Bool {
        if late >= Self.standstill { areTimersHeld = true }
        return areTimersHeld
    }

    /// The connection has something to do that no socket will announce.
    func callInNextTurn(_ connection: Connection) {
        awaiting.append(connection)
        guard awaiting.count == 1, !isClosed else { return }
        uv_idle_start(idle) { handle in EventLoop.from(handle?.pointee.data)?.callAwaiting() }
    }

    /// The same, after the sockets were read once more.
    func callAfterSockets(_ connection: Connection) { afterSockets.append(connection) }

    /// Those for whom this turn would get too long have theirs in the next one, in order.
    private func callAwaiting() {
        uv_idle_stop(idle)
        let (connections, begun) = (awaiting, stopwatch())
        awaiting = []
        for (place, connection) in connections.enumerated() {
            connection.takeTurn()
            guard isLong(since: begun), place + 1 < connections.count else { continue }
            let new = awaiting
            awaiting = []
            for connection in connections[(place + 1)...] + new { callInNextTurn(connection) }
            return
        }
    }

    /// Two arrays alternate, so that no memory is allocated in the long run.
    private func endTurn() {
        areTimersHeld = false
        turnBegan = 0
        strangers.reset()
        for hook in hooks { hook() }
        swap(&unflushed, &flushing)
        for connection in flushing { connection.flushTurn() }
        flushing.removeAll(keepingCapacity: true)
        guard !afterSockets.isEmpty else { return }
        for connection in afterSockets { callInNextTurn(connection) }
        afterSockets.removeAll(keepingCapacity: true)
    }
}
