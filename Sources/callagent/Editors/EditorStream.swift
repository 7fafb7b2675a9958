// Messages of an editor on standard input.

import Glibc
import WebProtocols

/// Reads messages until the editor is gone.
final class EditorStream {
    private var frames: MessageFrames
    private var buffer = [UInt8](repeating: 0, count: 1 << 16)

    /// Messages of at most `limit` bytes.
    init(limit: Int) { frames = MessageFrames(limit: limit) }

    /// What has come, once there is something; nil: nothing comes any more.
    func read() -> [MessageFrames.Frame]? {
        while true {
            let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            return count > 0 ? frames.take(buffer[..<count]) : nil
        }
    }

    /// Whether there is something to read, or an end.
    var hasMore: Bool {
        var one = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&one, 1, 0) > 0
    }
}
