// Many requests at once on one thread: libcurl's multi interface, driven by epoll.

import CCurl
import Glibc

/// Sends requests and collects what came of them.
///
/// It owns no thread and blocks only in `perform`. All members except `waker` belong to the one
/// thread that calls it. Requests to one origin share a few HTTP/2 connections that stay open.
///
///     while !isClosing {
///         for request in mailbox { tickets[try engine.submit(request)] = request }
///         for completion in engine.perform(forAtMost: 1_000) { report(completion) }
///     }
public final class HTTPEngine {
    /// How the engine behaves.
    public struct Options: Sendable {
        /// Bounds of what is under way and of what waits.
        public var limits = OutboundLimits()
        /// A PEM file of the certificates to trust; nil: those of the system.
        public var trustFile: String?
        /// What the header fields of one response may take in all, in bytes. nghttp2 takes no more
        /// than 64 KiB either.
        public var headerLimit = 65_536
        /// The `User-Agent` of requests.
        public var userAgent = "callagent"
        /// How long an idle connection is kept, in seconds.
        public var idleSeconds = 600
        /// How long any connection is used, in seconds: names move to other addresses.
        public var connectionSeconds = 3_600

        /// The defaults.
        public init() {}
    }

    /// libcurl looks at every request of a connection whenever the connection has news. So while
    /// many are under way, news is gathered for a moment: a millisecond for so many requests …
    private static let requestsPerMillisecond = 5
    /// … and at most so many milliseconds.
    private static let longestGathering = 20
    /// A connection on which nothing came for so long, in milliseconds, while an answer was due, is
    /// not used any more: the machine behind it may be gone.
    private static let silence: Int64 = 5_000
    /// So many origins are remembered by their last answer.
    private static let answeredMax = 1_000
    /// Makes a `perform` that waits return; any thread may use it.
    public let waker: HTTPWaker
    private let options: Options
    private let multi: UnsafeMutableRawPointer
    private let connections = Connections()
    /// When each origin answered last.
    private var answered: [String: Int64] = [:]
    private let epoll: Int32
    private let sockets: WatchedSockets
    private var queue: RequestQueue
    private var running: [HTTPTicket: Transfer] = [:]
    private var spare: [UnsafeMutableRawPointer] = []
    private var completions: [HTTPCompletion] = []
    private var lastTicket: UInt64 = 0
    /// When libcurl wants to be called without news from a socket, by `now`.
    private var timer: Int64?
    /// When the sockets were looked at last.
    private var lookedAt: Int64 = 0
    private var isClosed = false

    /// Opens an engine.
    ///
    /// - Throws: `unreachable` when the system gives no descriptors.
    public init(_ options: Options = Options()) throws(OutboundFailure) {
        Self.prepareLibrary
        self.options = options
        queue = RequestQueue(options.limits)
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0, let waker = HTTPWaker(), let multi = curl_multi_init() else {
            if epoll >= 0 { Glibc.close(epoll) }
            throw OutboundFailure(.unreachable, "no descriptors for an HTTP engine")
        }
        (self.epoll, self.waker, self.multi) = (epoll, waker, multi)
        sockets = WatchedSockets(epoll)
        var news = epoll_event()
        news.events = EPOLLIN.rawValue
        news.data.fd = waker.descriptor
        epoll_ctl(epoll, EPOLL_CTL_ADD, waker.descriptor, &news)
        configure()
    }

    deinit { close() }

    /// How many requests are under way.
    public var runningCount: Int { running.count }
    /// How many requests wait for a place.
    public var waitingCount: Int { queue.waiting }

    /// Takes a request; `perform` will return its completion once.
    ///
    /// - Throws: `overloaded` or `malformed`, and then there is no completion.
    public func submit(_ request: OutboundRequest) throws(OutboundFailure) -> HTTPTicket {
        guard !isClosed else { throw OutboundFailure(.closed) }
        try Transfer.check(request)
        lastTicket += 1
        let ticket = HTTPTicket(number: lastTicket)
        let origin = request.url.origin
        try queue.add(
            QueuedRequest(
                ticket: ticket, request: request, submittedAt: Self.now, origin: origin))
        return ticket
    }

    /// Gives up a request. There is no completion for it then, but the other side may have got it.
    ///
    /// - Returns: false if it is over already: its completion has been or will be returned.
    @discardableResult
    public func cancel(_ ticket: HTTPTicket) -> Bool {
        if let transfer = running[ticket] {
            remove(transfer)
            return true
        }
        return queue.remove(ticket)
    }

    /// Gives up a request that has not begun: nothing of it was sent, and there is no completion.
    ///
    /// - Returns: false if it has begun.
    func withdraw(_ ticket: HTTPTicket) -> Bool { queue.remove(ticket) }

    /// Moves everything that can move. Returns as soon as there is a completion, and otherwise
    /// after `milliseconds` or a wake.
    ///
    /// - Returns: what ended, in order.
    public func perform(forAtMost milliseconds: Int) -> [HTTPCompletion] {
        guard !isClosed else { return [] }
        let end = Self.now + Int64(milliseconds)
        var isWoken = false
        repeat {
            startWaiting()
            isWoken = waitForSockets(until: end)
            callTimer()
            expireWaiting()
        } while completions.isEmpty && !isWoken && Self.now < end
        startWaiting()
        defer { completions.removeAll() }
        return completions
    }

    /// Ends everything. Requests that are not over have no completion.
    public func close() {
        guard !isClosed else { return }
        isClosed = true
        for transfer in running.values { discard(transfer) }
        running = [:]
        for easy in spare { curl_easy_cleanup(easy) }
        spare = []
        curl_multi_cleanup(multi)
        Glibc.close(epoll)
    }

    // MARK: Requests

    private func startWaiting() {
        let now = Self.now
        while let queued = queue.next(at: now) {
            guard let easy = spare.popLast() ?? curl_easy_init() else {
                end(queued, .failure(OutboundFailure(.overloaded, "out of memory")))
                continue
            }
            let rest = queued.expiresAt - now
            let transfer = Transfer(queued, on: easy, rest: rest, options, connections)
            running[queued.ticket] = transfer
            curl_multi_add_handle(multi, easy)
        }
    }

    private func expireWaiting() {
        for queued in queue.expire(at: Self.now) {
            let failure = OutboundFailure(
                .timedOut, "no free place within \(queued.request.timeout) ms")
            report(queued, .failure(failure))
        }
    }

    private func collect() {
        var code = CURLE_OK
        while let easy = ccurl_next_done(multi, &code) {
            guard let owner = ccurl_get_owner(easy) else { continue }
            let transfer = Unmanaged<Transfer>.fromOpaque(owner).takeUnretainedValue()
            let result = transfer.finish(code, isCutOff: connections.isCutOff)
            note(result, of: transfer)
            remove(
                transfer, wasAnswered: Self.wasAnswered(result), version: Self.version(result))
            if !isRepeated(transfer, result) { report(transfer.queued, result) }
        }
    }

    /// Of HTTP/2, libcurl keeps a connection whose requests time out, and the next ones go there.
    private func note(
        _ result: Result<OutboundResponse, OutboundFailure>, of transfer: Transfer
    ) {
        let (origin, now) = (transfer.queued.origin, Self.now)
        switch result {
        case .success:
            if answered.count >= Self.answeredMax { answered = [:] }
            answered[origin] = now
        case .failure(let failure):
            guard failure.kind == .timedOut, now - transfer.begunAt >= Self.silence,
                answered[origin] ?? 0 < transfer.begunAt, let ends = transfer.unanswered
            else { return }
            connections.breakOff(ends)
        }
    }

    private static func wasAnswered(_ result: Result<OutboundResponse, OutboundFailure>) -> Bool? {
        switch result {
        case .success: true
        case .failure(let failure): failure.kind == .connectionLost ? false : nil
        }
    }

    private static func version(_ result: Result<OutboundResponse, OutboundFailure>) -> Int {
        if case .success(let response) = result { response.version } else { 2 }
    }

    /// A connection that ends takes along what was sent over it, also what the server never read.
    private func isRepeated(
        _ transfer: Transfer, _ result: Result<OutboundResponse, OutboundFailure>
    ) -> Bool {
        var again = transfer.queued
        guard case .failure(let failure) = result, failure.kind == .connectionLost,
            transfer.wasOvertaken, again.request.mayRepeat, !again.isRepetition
        else { return false }
        again.isRepetition = true
        do throws(OutboundFailure) {
            try queue.add(again)
            return true
        } catch {
            return false
        }
    }

    private func remove(_ transfer: Transfer, wasAnswered: Bool? = nil, version: Int = 2) {
        running[transfer.queued.ticket] = nil
        curl_multi_remove_handle(multi, transfer.easy)
        queue.ended(transfer.queued, wasAnswered: wasAnswered, version: version)
        if spare.count < options.limits.runningPerOrigin {
            curl_easy_reset(transfer.easy)
            spare.append(transfer.easy)
        } else {
            curl_easy_cleanup(transfer.easy)
        }
    }

    private func discard(_ transfer: Transfer) {
        curl_multi_remove_handle(multi, transfer.easy)
        curl_easy_cleanup(transfer.easy)
    }

    private func end(_ queued: QueuedRequest, _ result: Result<OutboundResponse, OutboundFailure>) {
        queue.ended(queued)
        report(queued, result)
    }

    private func report(
        _ queued: QueuedRequest, _ result: Result<OutboundResponse, OutboundFailure>
    ) {
        completions.append(
            HTTPCompletion(
                ticket: queued.ticket, result: result, elapsed: Self.now - queued.submittedAt))
    }

    // MARK: Sockets and time

    /// Returns true if the waker was used.
    private func waitForSockets(until end: Int64) -> Bool {
        var isWoken = gatherNews()
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        let wait = isWoken ? 0 : timeout(until: end)
        let count = epoll_wait(epoll, &events, Int32(events.count), wait)
        lookedAt = Self.now
        sockets.endRests(at: lookedAt)
        for event in events.prefix(max(Int(count), 0)) {
            if event.data.fd == waker.descriptor {
                waker.silence()
                isWoken = true
            } else {
                let (socket, flags) = (event.data.fd, Self.flags(event.events))
                act(on: socket, flags)
                if flags == CURL_CSELECT_OUT, connections.isVain(socket) {
                    sockets.noteVain(socket, at: lookedAt)
                } else {
                    sockets.noteNews(socket)
                }
            }
        }
        return isWoken
    }

    /// Waits a moment for more news of busy sockets. Returns true if the waker ended it.
    private func gatherNews() -> Bool {
        let pause = min(running.count / Self.requestsPerMillisecond, Self.longestGathering)
        let rest = lookedAt + Int64(pause) - Self.now
        guard pause > 0, rest > 0 else { return false }
        var bell = pollfd(fd: waker.descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&bell, 1, Int32(rest)) > 0 else { return false }
        waker.silence()
        return true
    }

    private func timeout(until end: Int64) -> Int32 {
        guard completions.isEmpty else { return 0 }
        let now = Self.now
        let next = min(
            end, timer ?? .max, queue.nextExpiry, queue.nextHeadStartEnd(after: now) ?? .max,
            sockets.nextEnd ?? .max)
        return Int32(min(max(next - now, 0), 60_000))
    }

    private func callTimer() {
        guard let timer, timer <= Self.now else { return }
        self.timer = nil
        act(on: CURL_SOCKET_TIMEOUT, 0)
    }

    private func act(on socket: Int32, _ flags: Int32) {
        var left: Int32 = 0
        connections.beginReading()
        curl_multi_socket_action(multi, socket, flags, &left)
        collect()
    }

    private static func flags(_ events: UInt32) -> Int32 {
        let readable = events & EPOLLIN.rawValue != 0 ? CURL_CSELECT_IN : 0
        let writable = events & EPOLLOUT.rawValue != 0 ? CURL_CSELECT_OUT : 0
        let broken = events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0 ? CURL_CSELECT_ERR : 0
        return readable | writable | broken
    }

    private func configure() {
        let limits = options.limits
        ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        ccurl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, limits.connectionsPerOrigin)
        ccurl_multi_set_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, limits.runningPerOrigin)
        ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, limits.idleConnections)
        let me = Unmanaged.passUnretained(self).toOpaque()
        ccurl_multi_set_watcher(
            multi,
            { _, socket, what, owner, _ in
                engine(owner)?.sockets.watch(socket, for: what)
                return 0
            }, me)
        ccurl_multi_set_timer(
            multi,
            { _, milliseconds, owner in
                let due = milliseconds < 0 ? nil : HTTPEngine.now + Int64(milliseconds)
                engine(owner)?.timer = due
                return 0
            }, me)
    }

    private static var now: Int64 { SystemClock.monotonic }

    /// Once per process.
    private static let prepareLibrary: Void = {
        curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    }()
}

/// The engine behind a callback's pointer.
private func engine(_ owner: UnsafeMutableRawPointer?) -> HTTPEngine? {
    owner.map { Unmanaged<HTTPEngine>.fromOpaque($0).takeUnretainedValue() }
}

/// Ends the waiting of an engine from any thread, also before the waiting begins.
public final class HTTPWaker: Sendable {
    let descriptor: Int32

    init?() {
        descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Makes the current or the next `perform` return.
    public func wake() {
        eventfd_write(descriptor, 1)
    }

    func silence() {
        var count: eventfd_t = 0
        eventfd_read(descriptor, &count)
    }
}
