// The socket of the operator's tools, for as long as the process lives, and the link to it.

import EventLoop
import Glibc

/// Listens for tools, and listens anew when its socket's file is gone. Else whoever removes old
/// files from `/tmp`, or files that look superfluous from a state directory, would lock the
/// operator out of a server that runs. Owner: the loop's thread.
final class ToolsListener {
    /// How often the file is looked for, in milliseconds.
    private static let every: Int64 = 2_000

    private let endpoint: NetworkAddress
    private let loop: EventLoop
    private let log: Log
    private let trouble: AcceptTrouble
    private let accepted: (Connection) -> Void
    private var listener: Listener
    private var link: SocketLink?
    private var timer: Timer?

    /// Listens at once.
    ///
    /// - Parameters:
    ///   - place: where tools look that cannot know the address; nil: nowhere else.
    ///   - accepted: gets every connection.
    /// - Throws: what `Listener` throws.
    init(
        at endpoint: NetworkAddress, linkedFrom place: NetworkAddress?, on loop: EventLoop,
        log: Log, trouble: AcceptTrouble, accepted: @escaping (Connection) -> Void
    ) throws(EventLoopError) {
        (self.endpoint, self.loop, self.log) = (endpoint, loop, log)
        (self.trouble, self.accepted) = (trouble, accepted)
        listener = try Self.listen(endpoint, loop, trouble, accepted)
        link = place.flatMap { SocketLink(from: $0, to: endpoint, log: log) }
        timer = Timer(on: loop) { [unowned self] in look() }
        timer?.arm(after: Self.every)
    }

    /// Stops listening, and removes the file and the link.
    func close() {
        timer = nil
        link = nil
        listener.close()
    }

    private static func listen(
        _ endpoint: NetworkAddress, _ loop: EventLoop, _ trouble: AcceptTrouble,
        _ accepted: @escaping (Connection) -> Void
    ) throws(EventLoopError) -> Listener {
        try Listener(
            at: endpoint, on: loop,
            failed: { trouble.tell("cannot accept tools", $0) }, accepted: accepted)
    }

    private func look() {
        timer?.arm(after: Self.every)
        guard !listener.isInPlace else { return }
        do throws(EventLoopError) {
            let fresh = try Self.listen(endpoint, loop, trouble, accepted)
            listener.close()
            listener = fresh
            log.warn("the socket of the tools was gone, it is made anew", ("admin", "\(endpoint)"))
        } catch {
            trouble.tell("tools do not reach this server, it tries again", error)
        }
    }
}

/// A link to a socket whose name the tools cannot know. It is removed with the object.
final class SocketLink {
    private let path: String
    private let target: String

    /// A link at `place` to the socket at `socket`, instead of one that is there; nil where both
    /// are the same, or where it cannot be made, which is said.
    init?(from place: NetworkAddress, to socket: NetworkAddress, log: Log) {
        guard case .unix(let path) = place, case .unix(let target) = socket, path != target else {
            return nil
        }
        self.path = path
        self.target = String(target.split(separator: "/").last ?? "")
        let fresh = "\(path).\(getpid())"
        unlink(fresh)
        guard symlink(self.target, fresh) == 0, rename(fresh, path) == 0 else {
            let why = String(cString: strerror(errno))
            unlink(fresh)
            log.warn("tools cannot find this server by its file", ("link", path), ("error", why))
            return nil
        }
    }

    deinit {
        var buffer = [CChar](repeating: 0, count: 256)
        let count = readlink(path, &buffer, buffer.count)
        let now = buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }
        // Another server of the same file may have replaced the link.
        if String(decoding: now, as: UTF8.self) == target { unlink(path) }
    }
}
