// A link by which tools find a socket.

import EventLoop
import Glibc

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
