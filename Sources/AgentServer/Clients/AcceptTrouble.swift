// Newcomers that could not be let in.

import AgentCore
import CallModel
import EventLoop

/// Tells of them in the log. Owner: the loop's thread.
final class AcceptTrouble {
    private let log: Log
    private var repeated = RepeatedLine()

    init(_ log: Log) { self.log = log }

    /// Trouble of ours is worth a warning; a client that does not get through TLS is its own.
    func tell(_ line: StaticString, _ error: EventLoopError) {
        switch error.kind {
        case .tls, .timedOut, .reset:
            log.debug("TLS handshake failed", ("error", "\(error)"))
        default:
            let now = Moment(Clock.bootMilliseconds())
            guard let left = repeated.admit("\(line) \(error)", at: now) else { return }
            log.warn(line, ("error", "\(error)"), ("like_it", "\(left)"))
        }
    }
}
