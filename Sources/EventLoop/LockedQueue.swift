// A value under a lock, and what the two mailboxes have under theirs: a queue, filled by many,
// emptied at once by one.
import Glibc

/// A value that several threads share, behind a mutex of the C library: unlike the standard
/// library's it can wait on a condition, and the thread sanitizer sees what it protects.
public final class Locked<Value>: @unchecked Sendable {
    private var value: Value
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    /// Shares `value`.
    public init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` while no other thread has the value.
    public func withLock<Result>(_ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }

    /// Runs `body` unless another thread has the value; returns whether it ran.
    public func withLockIfFree(_ body: (inout Value) -> Void) -> Bool {
        guard pthread_mutex_trylock(mutex) == 0 else { return false }
        defer { pthread_mutex_unlock(mutex) }
        body(&value)
        return true
    }

    /// Runs `body` until it gives something. Between two runs `sleep` waits on a condition, and
    /// others have the value: that is why it cannot wait within `body`.
    func withLock<Result>(
        sleeping sleep: (UnsafeMutablePointer<pthread_mutex_t>) -> Void,
        until body: (inout Value) -> Result?
    ) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&value) { return result }
            sleep(mutex)
        }
    }
}

/// Elements on their way to one consumer.
struct PendingElements<Element> {
    /// A burst's memory is kept up to this many elements.
    static var keptCapacity: Int { 4_096 }

    private var elements: [Element] = []
    private(set) var isOpen = true

    var isEmpty: Bool { elements.isEmpty }
    var count: Int { elements.count }

    /// Returns true if the consumer must be woken: it is the first since it took all.
    mutating func add(_ element: Element) -> Bool {
        elements.append(element)
        return elements.count == 1
    }

    /// As `add`, for a whole batch, which is empty afterwards and keeps its memory.
    mutating func add(_ batch: inout [Element]) -> Bool {
        let wasEmpty = elements.isEmpty
        if wasEmpty { swap(&elements, &batch) } else { elements.append(contentsOf: batch) }
        batch.removeAll(keepingCapacity: true)
        return wasEmpty && !elements.isEmpty
    }

    /// Hands everything over in exchange for an empty array.
    mutating func take(into batch: inout [Element]) { swap(&elements, &batch) }

    mutating func close() { isOpen = false }
}

extension Array {
    /// Empties a taken batch: its memory is used again, unless a burst made it large.
    mutating func recycle() {
        removeAll(keepingCapacity: capacity <= PendingElements<Element>.keptCapacity)
    }
}
