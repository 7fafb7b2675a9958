// What libcurl waits for at its sockets, without turning in circles.

import CCurl
import Glibc

/// The sockets of an engine in its epoll. Used by the engine's thread only.
///
/// Of HTTP/2, libcurl 7.88 waits until a socket can be written to, also where it has nothing to
/// write because the other side does not let it go on with a body. A socket can nearly always be
/// written to, so the thread would run without a pause until the request times out. So a socket
/// that was called for that in vain a few times rests for a moment, or until it has news.
final class WatchedSockets {
    /// So often in a row is what remains of a record written, without a new one.
    private static let vainMax = 8
    /// How long a socket rests, in milliseconds.
    private static let rest: Int64 = 100

    private struct SocketWatch {
        var events: UInt32
        var vain = 0
        var restsUntil: Int64?
    }

    private let epoll: Int32
    private var watches: [Int32: SocketWatch] = [:]
    private var resting: Set<Int32> = []

    init(_ epoll: Int32) { self.epoll = epoll }

    /// libcurl wants to know what happens on `socket`, or no longer.
    func watch(_ socket: Int32, for what: Int32) {
        let events: UInt32
        switch what {
        case CURL_POLL_IN: events = EPOLLIN.rawValue
        case CURL_POLL_OUT: events = EPOLLOUT.rawValue
        case CURL_POLL_INOUT: events = EPOLLIN.rawValue | EPOLLOUT.rawValue
        default:  // external: CURL_POLL_REMOVE
            watches[socket] = nil
            resting.remove(socket)
            epoll_ctl(epoll, EPOLL_CTL_DEL, socket, nil)
            return
        }
        watches[socket, default: SocketWatch(events: events)].events = events
        arm(socket)
    }

    /// libcurl was called because `socket` can be written to and for nothing else, and has written
    /// nothing.
    func noteVain(_ socket: Int32, at now: Int64) {
        guard var watch = watches[socket], watch.events & EPOLLOUT.rawValue != 0 else { return }
        watch.vain += 1
        if watch.vain > Self.vainMax {
            watch.restsUntil = now + Self.rest
            resting.insert(socket)
        }
        watches[socket] = watch
        arm(socket)
    }

    /// Something came, or something was written.
    func noteNews(_ socket: Int32) {
        guard let watch = watches[socket], watch.vain > 0 else { return }
        watches[socket] = SocketWatch(events: watch.events)
        resting.remove(socket)
        arm(socket)
    }

    /// When the first rest ends; nil: no socket rests.
    var nextEnd: Int64? { resting.compactMap { watches[$0]?.restsUntil }.min() }

    /// Ends the rests that are over.
    func endRests(at now: Int64) {
        for socket in resting where watches[socket]?.restsUntil ?? 0 <= now {
            watches[socket]?.restsUntil = nil
            resting.remove(socket)
            arm(socket)
        }
    }

    private func arm(_ socket: Int32) {
        guard let watch = watches[socket] else { return }
        var event = epoll_event()
        event.events = watch.events & ~(watch.restsUntil == nil ? 0 : EPOLLOUT.rawValue)
        event.data.fd = socket
        if epoll_ctl(epoll, EPOLL_CTL_MOD, socket, &event) != 0 {
            epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event)
        }
    }
}
