// Names through the system's resolver, each on a thread of its own.
import CUV
import Glibc
import Synchronization

/// One question to the resolver; the answer comes on the loop's thread.
///
/// Not on the threads of libuv: it ends the process when the system gives it none.
final class Lookup {
    typealias Answer = Result<[SocketAddress], EventLoopError>

    /// How many may be under way in the process: each has a thread, and a resolver that nobody
    /// answers takes its time.
    static let lookupsMax = 64
    /// What the system's modules for names may need.
    private static let stackSize = 2 * 1_024 * 1_024
    private static let underWay = Atomic<Int>(0)

    private var done: ((Answer) -> Void)?
    private var answers: Mailbox<Answer>?

    private init(_ done: @escaping (Answer) -> Void) { self.done = done }

    /// Asks for the addresses of `host`.
    ///
    /// - Throws: where there is no thread for it.
    static func start(
        _ host: String, _ port: UInt16, _ loop: EventLoop, _ done: @escaping (Answer) -> Void
    ) throws(EventLoopError) {
        let lookup = Lookup(done)
        // An open mailbox keeps what it calls.
        let answers = try Mailbox<Answer>(on: loop) { lookup.end($0[0]) }
        lookup.answers = answers
        answers.loopEnds = {
            lookup.end(.failure(EventLoopError(code: -ECANCELED, doing: "looking up", host)))
        }
        do throws(EventLoopError) {
            try startThread { answers.post(ask(host, port)) }
        } catch {
            lookup.done = nil
            answers.close()
            throw EventLoopError(error.kind, host, "looking up \(host): \(error)")
        }
    }

    private static func startThread(
        _ body: @escaping @Sendable () -> Void
    ) throws(EventLoopError) {
        let number = underWay.add(1, ordering: .relaxed).newValue
        do throws(EventLoopError) {
            guard number <= lookupsMax else {
                throw EventLoopError(.system, "", "\(lookupsMax) names are being looked up")
            }
            _ = try WorkerThread(name: "lookup", stackSize: stackSize) {
                body()
                underWay.subtract(1, ordering: .relaxed)
            }
        } catch {
            underWay.subtract(1, ordering: .relaxed)
            throw error
        }
    }

    /// On the thread of the lookup.
    private static func ask(_ host: String, _ port: UInt16) -> Answer {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0 else {
            let words =
                code == EAI_SYSTEM
                ? String(cString: strerror(errno)) : String(cString: gai_strerror(code))
            let text = "looking up \(host): \(words)"
            return .failure(EventLoopError(.nameNotFound, host, text))
        }
        defer { freeaddrinfo(list) }
        return .success(SocketAddress.all(in: list))
    }

    private func end(_ answer: Answer) {
        let done = self.done
        self.done = nil
        answers?.close()
        answers = nil
        done?(answer)
    }
}
