// Signals that a client has not been sent yet, by their senders.

import Collections
import CallModel

/// Signals and items, which others send at will, in the buffer of one connection.
public final class UnsentSignals {
    /// What is unsent of one sender.
    public struct Share: Equatable {
        /// How many signals.
        public var count = 0
        /// Bytes of them, as `note` was told.
        public var bytes = 0

        /// So many of so many bytes.
        public init(count: Int = 0, bytes: Int = 0) {
            self.count = count
            self.bytes = bytes
        }

        fileprivate mutating func add(_ count: Int, _ bytes: Int) {
            self.count += count
            self.bytes += bytes
        }
    }

    private struct Signal {
        let sender: UserID
        let bytes: Int
        /// How many bytes the connection has sent in all when it has sent this one.
        let end: UInt64
    }

    private var signals = Queue<Signal>()
    /// Of each sender with a signal: others may have thousands here, and each of his asks for it.
    private var shares: [UserID: Share] = [:]
    /// What is unsent of all.
    public private(set) var all = Share()

    /// Nothing is unsent.
    public init() {}

    /// A signal went into the buffer.
    ///
    /// - Parameters:
    ///   - bytes: its size.
    ///   - end: how many bytes the connection will have sent in all when it has sent it.
    public func note(from sender: UserID, bytes: Int, end: UInt64) {
        signals.append(Signal(sender: sender, bytes: bytes, end: end))
        all.add(1, bytes)
        shares[sender, default: Share()].add(1, bytes)
    }

    /// The connection has sent so many bytes in all.
    public func sent(_ count: UInt64) {
        while let oldest = signals.first, oldest.end <= count {
            _ = signals.removeFirst()
            all.add(-1, -oldest.bytes)
            shares[oldest.sender]?.add(-1, -oldest.bytes)
            if shares[oldest.sender]?.count == 0 { shares[oldest.sender] = nil }
        }
    }

    /// What is unsent of `sender`.
    public func share(of sender: UserID) -> Share { shares[sender] ?? Share() }
}
