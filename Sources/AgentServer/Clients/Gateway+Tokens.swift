// Who a token says one is, and the end of connections whose token is good no more.

import CallModel
import CallWire
import EventLoop

extension Gateway {
    /// The identity in `token`, which may be used by `device` today.
    ///
    /// - Throws: `unauthenticated`, or `forbidden` for the token of another device.
    func identity(in token: String, on device: DeviceID) throws(Refusal) -> Identity {
        let identity = try tokens.identity(in: token, at: Clock.wallMilliseconds())
        if let bound = identity.device, bound != device {
            throw Refusal(.forbidden, "the token is for the device \(bound)")
        }
        guard !revocations.cover(identity, on: device) else {
            log.info("token refused", ("reason", "it was revoked"))
            throw Refusal(.unauthenticated, "the token is not good")
        }
        return identity
    }

    /// Tells somebody that a request is refused. Bad tokens are counted, and an address with too
    /// many of them has to wait for what it is told: guessing is slow then.
    func refuse(_ link: ClientLink, _ refusal: Refusal, _ tell: @escaping () -> Void) {
        guard refusal.code == .unauthenticated else { return tell() }
        metrics.refusedTokens += 1
        let (peer, now) = (link.transport.peer, exchange.now())
        guard admission.isGuessing(peer, at: now, limits: limits) else { return tell() }
        // Held, the link takes nothing more in before it is told.
        link.begins(Self.holding)
        lateRefusals.append(
            (
                now + limits.authDelay,
                {
                    tell()
                    link.ends(Self.holding)
                }
            ))
        scheduleHousekeeping()
    }

    private static let holding = 1 << 30

    func tellLateRefusals(at now: Moment) {
        let count = lateRefusals.prefix { $0.due <= now }.count
        let due = lateRefusals.prefix(count)
        lateRefusals.removeFirst(count)
        for refusal in due { refusal.tell() }
    }

    /// Why a user has to wait before it invites again; every invitee counts.
    func tooManyInvitations(_ operation: Operation, of identity: Identity) -> Refusal? {
        let count = operation.inviteeCount
        guard count > 0, identity.isRateLimited, limits.invitationsPerMinute > 0,
            let wait = invitations[identity.user, default: RequestRate()].admit(
                count, of: limits.invitationsPerMinute, in: 60_000, at: exchange.now())
        else { return nil }
        return Refusal(.rateLimited, "too many invitations", retryAfter: wait)
    }

    /// Closes connections whose tokens were taken back, or whose key was.
    ///
    /// - Returns: how many.
    @discardableResult
    func closeRevoked() -> Int {
        var closed = 0
        for link in links {
            guard let identity = link.identity, let device = link.session?.address.device,
                !tokens.stillTrusts(identity) || revocations.cover(identity, on: device)
            else { continue }
            link.close(.revoked, "the token was revoked")
            closed += 1
        }
        return closed
    }
}

extension Operation {
    /// How many users it invites.
    var inviteeCount: Int {
        switch self {
        case .invite(let invitation): invitation.invitees.count
        case .call(_, .add(let invitees, _), _): invitees.count
        case .call, .list, .pushRegister, .pushUnregister: 0
        }
    }
}
