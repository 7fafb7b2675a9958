// A client's connection, as far as the protocol goes.

import CallModel
import CallWire

/// What speaks for a client: how far its talk is, who it is, and which session it has. Messages
/// reach the client through the `endpoint`.
public final class Line {
    /// Nil: the connection is gone, or not there yet.
    public private(set) var endpoint: (any Endpoint)?
    /// What a message means at this moment.
    public private(set) var machine: LineMachine
    /// How long the peer has been silent.
    public var keepAlive: KeepAlive
    /// Who the peer is, and with which device, once its token was checked.
    public internal(set) var asker: AdmittedAddress?
    /// Who the peer is, once its token was checked.
    public var identity: Identity? { asker?.identity }
    /// Whether that is known. This is asked with every message, and the answer copies no identity.
    public var isIdentified: Bool { asker != nil }
    /// The session that speaks over this line.
    public internal(set) var session: LiveSession?
    /// Bytes of messages that were not counted yet for the user's rate.
    public var uncountedBytes = 0
    /// What others said to its user at will, and it was not sent yet; nil: nothing ever was.
    var unsentSignals: UnsentSignals?

    /// A line whose first message is due from `now`; `begins` tells where it leads.
    public init(at now: Moment, limits: SessionLimits) {
        machine = LineMachine(at: now, limits: limits)
        keepAlive = KeepAlive(at: now)
    }

    /// What is said over the line goes to `endpoint`, which has the line until it `ends`.
    public func begins(_ endpoint: any Endpoint) { self.endpoint = endpoint }

    /// Messages can be exchanged from `now` on: the first one is due.
    public func opens(at now: Moment, limits: SessionLimits) {
        machine = LineMachine(at: now, limits: limits)
    }

    /// Whether the first message should have been there at `now`.
    public func isLate(at now: Moment) -> Bool {
        guard let deadline = machine.nextDeadline else { return false }
        return deadline <= now
    }

    /// Something happened.
    func handle(_ input: LineMachine.Input, at now: Moment) -> LineMachine.Output {
        machine.handle(input, at: now)
    }

    /// The connection is gone.
    public func ends() { endpoint = nil }
}
