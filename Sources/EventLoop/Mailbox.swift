// Messages from any thread to a loop: one lock and one wake per batch.
import CUV
import Glibc
import Synchronization

/// A queue from many threads to one event loop.
///
/// A producer that has several elements posts them as one batch: one lock, and a wake only if the
/// mailbox was empty. The order of each producer is kept. It holds what it is given without limit:
/// whoever posts faster than the loop takes must look at `count`.
public final class Mailbox<Element: Sendable>: @unchecked Sendable {
    private let pending = Locked(PendingElements<Element>())
    private let bell: Bell
    /// Producers between their unlock and the end of their wake; `close` waits for them.
    private let wakers = Atomic<Int>(0)
    private var batch: [Element] = []

    /// Opens a mailbox; call it on the loop's thread, before `run` at best.
    ///
    /// - Parameter received: gets everything that had gathered, in order, on the loop's thread.
    public convenience init(
        on loop: EventLoop, _ received: @escaping ([Element]) -> Void
    ) throws(EventLoopError) {
        self.init(try Bell(on: loop), received)
    }

    /// Apart from what may throw: the compiler cannot specialise both in one.
    private init(_ bell: Bell, _ received: @escaping ([Element]) -> Void) {
        self.bell = bell
        // The cycle keeps an open mailbox alive; `close` breaks it.
        bell.rung = { [self] in deliver(to: received) }
        bell.silenced = { [self] in shut() }
    }

    /// Called once when the loop is closed while this is open; then it is closed already.
    var loopEnds: (() -> Void)? {
        get { bell.loopEnds }
        set { bell.loopEnds = newValue }
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

    /// Delivers nothing more; call it on the loop's thread. What waits is dropped, later posts
    /// return false.
    public func close() {
        shut()
        bell.closeHandle()
    }

    /// The wake is outside the lock: the loop's thread may run at once and must not find it locked.
    private func post(_ add: (inout PendingElements<Element>) -> Bool) -> Bool {
        var mustWake = false
        let isOpen = pending.withLock { pending in
            guard pending.isOpen else { return false }
            mustWake = add(&pending)
            if mustWake { wakers.add(1, ordering: .relaxed) }
            return true
        }
        if mustWake {
            bell.ring()
            wakers.subtract(1, ordering: .releasing)
        }
        return isOpen
    }

    private func deliver(to received: ([Element]) -> Void) {
        pending.withLock { $0.take(into: &batch) }
        guard !batch.isEmpty else { return }
        received(batch)
        batch.recycle()
    }

    private func shut() {
        pending.withLock { $0.close() }
        while wakers.load(ordering: .acquiring) > 0 { sched_yield() }
        bell.rung = nil
        bell.silenced = nil
        bell.loopEnds = nil
    }
}

/// Wakes a loop from any thread.
private final class Bell: LoopHandle {
    var rung: (() -> Void)?
    var silenced: (() -> Void)?
    var loopEnds: (() -> Void)?

    init(on loop: EventLoop) throws(EventLoopError) {
        super.init(on: loop, type: UV_ASYNC)
        try start(uv_async_t.self, doing: "opening", "a mailbox") {
            uv_async_init(loop.uv, $0) { owner($0, Bell.self)?.rung?() }
        }
    }

    /// The one member for all threads; `Mailbox` sees to it that the handle is open.
    func ring() {
        if let handle = handle(uv_async_t.self) { uv_async_send(handle) }
    }

    override func loopWillClose() {
        let loopEnds = loopEnds
        silenced?()
        closeHandle()
        loopEnds?()
    }
}
