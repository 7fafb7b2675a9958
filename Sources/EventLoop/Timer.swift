// A one-shot timer that can be armed again and again.
import CUV

/// Calls its action once at the moment it is armed for. Thread-confined to its loop.
///
/// Moments are those of `Clock.bootMilliseconds`. It never fires early, and at most one second late
/// after the machine slept (libuv's own clock stands still then). A timer that is 100 ms late waits
/// for the sockets first: what a peer has sent in time is read before its silence is judged.
public final class Timer: LoopHandle {
    private static let longestSleep: Int64 = 1_000
    private let action: () -> Void
    private var deadline: Int64?
    private var hasWaitedForSockets = false

    /// An unarmed timer. It does nothing more once it is released.
    public init(on loop: EventLoop, _ action: @escaping () -> Void) {
        self.action = action
        super.init(on: loop, type: UV_TIMER)
        // uv_timer_init cannot fail.
        try? start(uv_timer_t.self, doing: "making", "a timer") { uv_timer_init(loop.uv, $0) }
    }

    /// True from `arm` until the action begins or `cancel`.
    public var isArmed: Bool { deadline != nil }

    /// Fires at this moment, or in the next turn if it has passed. Replaces an earlier arming.
    public func arm(at moment: Int64) {
        loop.assertOwner()
        deadline = moment
        let now = loop.now
        // Else one that is armed in every turn for what has passed would wait for ever.
        if moment > now { hasWaitedForSockets = false }
        sleep(until: moment, from: now)
    }

    /// Fires after this many milliseconds.
    public func arm(after milliseconds: Int64) { arm(at: loop.now + milliseconds) }

    /// Forgets the deadline. Cheap, also when nothing is armed.
    public func cancel() {
        guard deadline != nil, let timer = handle(uv_timer_t.self) else { return }
        deadline = nil
        uv_timer_stop(timer)
    }

    private func sleep(until moment: Int64, from now: Int64, atLeast least: Int64 = 0) {
        guard let timer = handle(uv_timer_t.self) else { return }
        // libuv would run a timer that is armed with 0 by a timer in the same turn, and so one that
        // arms itself for ever.
        let least = loop.isRunningTimer ? 1 : least
        let sleep = UInt64(max(least, min(moment - now, Self.longestSleep)))
        uv_timer_start(timer, { owner($0, Timer.self)?.wake() }, sleep, 0)
    }

    private func wake() {
        guard let deadline else { return }
        let now = loop.now
        if now < deadline { return sleep(until: deadline, from: now) }
        if !hasWaitedForSockets, loop.holdsTimers(late: now - deadline) {
            hasWaitedForSockets = true
            return sleep(until: deadline, from: now, atLeast: 1)
        }
        self.deadline = nil
        hasWaitedForSockets = false
        let loop = loop
        loop.isRunningTimer = true
        action()
        loop.isRunningTimer = false
    }
}
