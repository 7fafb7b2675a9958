// Signals of the operator as callbacks on the loop.
import CUV
import Glibc

/// Calls its action for every arrival of one signal, instead of what the system would do.
/// Thread-confined.
///
/// It lives until `close` or the loop's end, whoever holds it.
public final class SignalWatcher: LoopHandle {
    /// What an operator sends.
    public enum Signal: Int32, Sendable, CaseIterable {
        /// SIGTERM: end in order.
        case terminate = 15
        /// SIGINT: the same from a keyboard.
        case interrupt = 2
        /// SIGHUP: read the configuration again.
        case hangup = 1
    }

    private let action: () -> Void

    /// Begins to watch. Signals of one kind that come close together may be one call.
    @discardableResult
    public init(
        for signal: Signal, on loop: EventLoop, _ action: @escaping () -> Void
    ) throws(EventLoopError) {
        self.action = action
        super.init(on: loop, type: UV_SIGNAL)
        try start(uv_signal_t.self, doing: "watching", "signal \(signal)") { handle in
            uv_signal_init(loop.uv, handle)
        }
        _ = Unmanaged.passRetained(self)
        guard let handle = handle(uv_signal_t.self) else { return }
        let code = uv_signal_start(
            handle, { handle, _ in owner(handle, SignalWatcher.self)?.action() }, signal.rawValue)
        if code < 0 {
            close()
            throw EventLoopError(code: code, doing: "watching", "signal \(signal)")
        }
    }

    /// Gives the signal back to the system.
    public func close() { closeHandle() }

    override func handleDidClose() { Unmanaged.passUnretained(self).release() }
}
