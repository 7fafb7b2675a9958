// Signals of the operator as callbacks on the loop.
import CUV
import Glibc

/// Calls its action for every arrival of one signal, instead of what the system would do.
/// Thread-confined.
///
/// A signal that nobody watches waits for the next watcher: between two loops of one process, and
/// while a process begins its program anew. So no order to end is lost. It lives until `close` or
/// the loop's end, whoever holds it.
public final class SignalWatcher: LoopHandle {
    /// What an operator sends.
    public enum Signal: Int32, Sendable, CaseIterable {
        /// SIGTERM: end in order.
        case terminate = 15
        /// SIGINT: the same from a keyboard.
        case interrupt = 2
        /// SIGHUP: read the configuration again.
        case hangup = 1
        /// SIGUSR1: nothing. Other programs open their logs anew or show figures, and whoever sends
        /// it by habit must not end this one, as the system would.
        case user1 = 10
        /// SIGUSR2: the same.
        case user2 = 12

        /// How manuals and command lines call it.
        public var name: String {
            switch self {
            case .terminate: "SIGTERM"
            case .interrupt: "SIGINT"
            case .hangup: "SIGHUP"
            case .user1: "SIGUSR1"
            case .user2: "SIGUSR2"
            }
        }

        /// Those that mean nothing to this program.
        public static let meaningless: [Self] = [.user1, .user2]
    }

    private let action: () -> Void
    private let descriptor: Int32

    /// Lets all these signals wait until somebody watches them. To be called before the process has
    /// a second thread: a thread that does not hold a signal back would be ended by it.
    public static func holdBack() throws(EventLoopError) {
        Glibc.close(try open(Signal.allCases))
    }

    /// Begins to watch. Signals of one kind that come close together may be one call.
    @discardableResult
    public init(
        for signal: Signal, on loop: EventLoop, _ action: @escaping () -> Void
    ) throws(EventLoopError) {
        self.action = action
        let descriptor = try Self.open([signal])
        self.descriptor = descriptor
        super.init(on: loop, type: UV_POLL)
        do throws(EventLoopError) {
            try start(uv_poll_t.self, doing: "watching", "signal \(signal)") {
                uv_poll_init(loop.uv, $0, descriptor)
            }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        _ = Unmanaged.passRetained(self)
        guard let handle = handle(uv_poll_t.self) else { return }
        let code = uv_poll_start(handle, Int32(UV_READABLE.rawValue)) { handle, _, _ in
            owner(handle, SignalWatcher.self)?.take()
        }
        if code < 0 {
            close()
            throw EventLoopError(code: code, doing: "watching", "signal \(signal)")
        }
    }

    /// Watches no more: the signal waits from now on.
    public func close() { closeHandle() }

    override func handleDidClose() {
        Glibc.close(descriptor)
        Unmanaged.passUnretained(self).release()
    }

    private func take() {
        if cuv_take_signals(descriptor) != 0 { action() }
    }

    private static func open(_ signals: [Signal]) throws(EventLoopError) -> Int32 {
        let numbers = signals.map(\.rawValue)
        let descriptor = cuv_open_signals(numbers, numbers.count)
        guard descriptor >= 0 else {
            throw EventLoopError(code: descriptor, doing: "watching", "signals")
        }
        return descriptor
    }
}
