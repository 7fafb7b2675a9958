// The clock, the timers and the log of the process, for the exchange.

import AgentCore
import CallModel
import EventLoop
import StoreContract

/// What the exchange needs from outside where an event loop drives it. Owner: the loop's thread.
final class LoopShell {
    /// Replaced only by tests that let time pass themselves.
    var clock: CoreClock
    private let writer: Log
    private var deadline: Timer?
    private var reopening: Timer?
    /// Makes the loop turn when nothing else does.
    private var turning: Timer?

    init(clock: CoreClock, log: Log) {
        self.clock = clock
        writer = log
    }

    fileprivate func attach(_ exchange: Exchange, to loop: EventLoop) {
        deadline = Timer(on: loop) { [unowned exchange] in exchange.wake() }
        reopening = Timer(on: loop) { [unowned exchange] in exchange.openStore() }
        turning = Timer(on: loop) {}
        loop.atEndOfTurn { [unowned exchange] in exchange.endTurn() }
    }
}

extension LoopShell: Shell {
    func now() -> Moment { clock.now() }

    var wallGap: Milliseconds { clock.gap }

    func wake(at moment: Moment) {
        guard let moment = clock.bootMoment(of: moment) else { return }
        deadline?.arm(at: moment)
    }

    func openStore(after pause: Milliseconds) {
        reopening?.arm(at: Clock.bootMilliseconds() + pause)
    }

    func endTurn(after pause: Milliseconds) { turning?.arm(after: pause) }

    func log(_ level: LogLevel, _ message: StaticString, _ fields: [(String, String)]) {
        writer.write(level, "\(message)", fields)
    }
}

extension Exchange {
    /// An exchange that `loop` drives. Its clock begins at the store's clock, or else the wall
    /// clock, but not before what is restored, unless tests bring one of their own.
    convenience init(
        _ settings: Settings, restored: StoredState, seed: UInt64, limits: ServerLimits, log: Log,
        loop: EventLoop, clock: CoreClock? = nil
    ) {
        let start = CoreClock(notBefore: restored.newestMoment, store: restored.storeClock)
        let shell = LoopShell(clock: clock ?? start, log: log)
        self.init(settings, restored: restored, seed: seed, limits: limits, shell: shell)
        shell.attach(self, to: loop)
    }

    /// The clock of its shell, for tests that let time pass themselves.
    var clock: CoreClock? {
        get { (shell as? LoopShell)?.clock }
        set {
            guard let newValue, let shell = shell as? LoopShell else { return }
            shell.clock = newValue
        }
    }
}
