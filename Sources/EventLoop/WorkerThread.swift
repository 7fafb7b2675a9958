// A plain thread with a name and a stack size.
import CUV
import Glibc

/// A thread that runs one body to its end.
public final class WorkerThread: @unchecked Sendable {
    private var thread = pthread_t()
    private var isJoined = false

    /// Starts a thread. Signals go to the other threads; faults such as SIGSEGV stay with their
    /// cause.
    ///
    /// - Parameters:
    ///   - name: what tools show; the kernel keeps 15 bytes of it.
    ///   - stackSize: in bytes, rounded up to whole pages and to the system's minimum.
    ///   - yields: whether it has a lower priority where there are more threads than cores: threads
    ///     that answer somebody go first, and it gets at least a quarter of what one of those gets.
    /// - Throws: `system` or `outOfDescriptors` if the system makes no thread.
    public init(
        name: String, stackSize: Int = 512 * 1_024, yields: Bool = false,
        body: @escaping @Sendable () -> Void
    ) throws(EventLoopError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        let least = Int(sysconf(Int32(_SC_THREAD_STACK_MIN)))
        let pages = (max(stackSize, least) + page - 1) / page
        pthread_attr_setstacksize(&attributes, pages * page)
        let start = Unmanaged.passRetained(ThreadStart(name, yields: yields, body))
        let code = pthread_create(
            &thread, &attributes,
            { argument in
                argument.map { Unmanaged<ThreadStart>.fromOpaque($0).takeRetainedValue().run() }
                return nil
            }, start.toOpaque())
        if code != 0 {
            start.release()
            isJoined = true
            throw EventLoopError(code: -code, doing: "starting thread", name)
        }
    }

    /// Waits for the end of the body; the second call does nothing. For one thread at a time.
    public func join() {
        guard !isJoined else { return }
        isJoined = true
        pthread_join(thread, nil)
    }

    deinit {
        if !isJoined { pthread_detach(thread) }
    }
}

private final class ThreadStart {
    /// A thread of the same weight gets three times as much of a core (`nice`).
    private static let steps: Int32 = 5

    private let name: String
    private let yields: Bool
    private let body: @Sendable () -> Void

    init(_ name: String, yields: Bool, _ body: @escaping @Sendable () -> Void) {
        self.name = name
        self.yields = yields
        self.body = body
    }

    func run() {
        var blocked = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP] {
            sigdelset(&blocked, fault)
        }
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        cuv_name_thread(name)
        if yields { cuv_lower_priority(Self.steps) }
        body()
    }
}
