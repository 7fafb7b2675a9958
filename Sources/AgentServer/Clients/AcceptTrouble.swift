// Connections that could not be accepted.

import AgentCore
import CallModel
import EventLoop

/// Logs them. Owner: the loop's thread.
final class AcceptTrouble {
    private let log: Log
    private var repeated = RepeatedLine()

    init(_ log: Log) { self.log = log }

    /// Our own trouble is a warning; a client that fails in TLS is the client's trouble.
    func tell(_ line: StaticString, _ error: EventLoopError) {
        switch error.kind {
        case .tls, .timedOut, .reset:
            log.debug("TLS handshake failed", ("error", "\(error)"))
        default:
            let now = Moment(Clock.bootMilliseconds())
            guard let left = repeated.admit("\(line) \(error)", at: now) else { return }
            log.warn(line, ("error", "\(error)"), ("left_out", "\(left)"))
        }
    }
}

extension Listener.Options {
    /// Lets in as many clients as `limits` say.
    mutating func limit(to limits: ServerLimits) {
        handshakeTimeout = limits.handshakeWithin
        handshakesAtOnce = limits.handshakes
        acceptsPerSecond = limits.acceptsPerSecond
        acceptsPerTurn = limits.newcomersPerTurn
        strangersSendBuffer = limits.strangersSendBuffer
    }
}
