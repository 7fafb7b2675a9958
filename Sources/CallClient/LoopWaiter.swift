// For scripts and tests: runs an event loop until something has happened.

import EventLoop

/// Runs a loop on the calling thread and returns when a condition holds: for programs that use the
/// asynchronous client from top to bottom.
public final class LoopWaiter {
    /// What did not happen in time.
    public struct WaitTimeout: Error, Sendable, Equatable, CustomStringConvertible {
        /// What was waited for, and how long.
        public let description: String
    }

    /// The loop, for the clients.
    public let loop: EventLoop
    /// What is waited for now.
    private var condition: (() -> Bool)?

    /// A loop that runs only during `wait`.
    ///
    /// - Throws: if the system has no means for it.
    public init() throws(EventLoopError) {
        loop = try EventLoop()
        loop.atEndOfTurn { [unowned self] in
            if let condition, condition() { loop.stop() }
        }
    }

    /// Turns the loop until `condition` holds; asks at the end of every turn.
    ///
    /// - Parameters:
    ///   - what: for the error.
    ///   - limit: in milliseconds.
    public func wait(
        for what: String, upTo limit: Int64 = 10_000, until condition: @escaping () -> Bool
    ) throws(WaitTimeout) {
        if condition() { return }
        self.condition = condition
        var isLate = false
        let timer = Timer(on: loop) { [loop] in
            isLate = true
            loop.stop()
        }
        timer.arm(after: limit)
        loop.run()
        self.condition = nil
        timer.cancel()
        if isLate, !condition() {
            throw WaitTimeout(description: "\(what): not within \(limit) ms")
        }
    }

    /// The value that `begin` hands to its completion.
    public func result<Value>(
        of what: String, upTo limit: Int64 = 10_000, _ begin: (@escaping (Value) -> Void) -> Void
    ) throws(WaitTimeout) -> Value {
        var value: Value?
        begin { value = $0 }
        try wait(for: what, upTo: limit) { value != nil }
        guard let value else { throw WaitTimeout(description: "\(what): nothing came of it") }
        return value
    }

    /// Closes whatever is still open on the loop. Call it once, at the end.
    public func close() { loop.close() }
}
