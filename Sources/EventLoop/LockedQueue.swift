// What the two mailboxes share: a queue under a lock, filled by many, emptied at once by one.
import Glibc

/// A mutex of the C library: unlike the standard library's it can wait on a condition.
struct Lock: @unchecked Sendable {
    let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() { pthread_mutex_init(mutex, nil) }

    func withLock<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    func deallocate() {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }
}

/// Elements on their way to one consumer. All members need the owner's lock.
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
