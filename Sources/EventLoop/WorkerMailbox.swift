// Messages from any thread to a thread that waits for nothing else.
import CUV
import Glibc

/// A queue from many threads to one thread without an event loop, such as the store's.
///
/// Producers post as to `Mailbox`. The consumer takes everything at once and sleeps when there is
/// nothing.
public final class WorkerMailbox<Element: Sendable>: @unchecked Sendable {
    /// Why `takeAll` returned.
    public enum Taken: Sendable {
        /// The batch holds at least one element.
        case elements
        /// The deadline passed first.
        case deadline
        /// The mailbox is closed and empty: the thread may end.
        case closed
    }

    /// A condition sleeps by a clock that stands still while the machine sleeps: look again this
    /// often.
    private static var longestSleep: Int64 { 1_000 }
    private let pending = Locked(PendingElements<Element>())
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// An open, empty mailbox.
    public init() {
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
    }

    /// How many elements wait.
    public var count: Int { pending.withLock { $0.count } }

    /// Posts one element. Returns false if the mailbox is closed.
    @discardableResult
    public func post(_ element: Element) -> Bool {
        post { $0.add(element) }
    }

    /// Posts a batch and leaves it empty, with memory for the next. Returns false, and leaves it as
    /// it is, if the mailbox is closed.
    @discardableResult
    public func post(_ batch: inout [Element]) -> Bool {
        guard !batch.isEmpty else { return true }
        return post { $0.add(&batch) }
    }

    /// Takes no more; what waits can still be taken. Any thread may call it.
    public func close() {
        pending.withLock { $0.close() }
        pthread_cond_broadcast(condition)
    }

    /// Waits until there is something and takes all of it.
    ///
    /// - Parameters:
    ///   - batch: gets the elements in order; what it held is dropped, its memory is used again.
    ///   - deadline: a moment of `Clock.bootMilliseconds`; one that has passed only looks.
    public func takeAll(into batch: inout [Element], until deadline: Int64? = nil) -> Taken {
        batch.recycle()
        return pending.withLock(sleeping: { sleep(until: deadline, $0) }) { pending in
            if pending.isEmpty {
                if !pending.isOpen { return .closed }
                return hasPassed(deadline) ? .deadline : nil
            }
            pending.take(into: &batch)
            return .elements
        }
    }

    private func post(_ add: (inout PendingElements<Element>) -> Bool) -> Bool {
        var mustWake = false
        let isOpen = pending.withLock { pending in
            guard pending.isOpen else { return false }
            mustWake = add(&pending)
            return true
        }
        if mustWake { pthread_cond_signal(condition) }
        return isOpen
    }

    private func hasPassed(_ deadline: Int64?) -> Bool {
        deadline.map { $0 <= Clock.bootMilliseconds() } ?? false
    }

    private func sleep(
        until deadline: Int64?, _ mutex: UnsafeMutablePointer<pthread_mutex_t>
    ) {
        guard let deadline else {
            pthread_cond_wait(condition, mutex)
            return
        }
        let rest = min(deadline - Clock.bootMilliseconds(), Self.longestSleep)
        let wake = Clock.monotonicMilliseconds() + rest + 1
        var time = timespec(
            tv_sec: Int(wake / 1_000), tv_nsec: Int(wake % 1_000) * 1_000_000)
        pthread_cond_timedwait(condition, mutex, &time)
    }
}
