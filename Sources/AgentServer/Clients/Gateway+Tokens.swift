// Identities of tokens, and closing connections whose token is no longer valid.

import AgentCore
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
            throw Refusal(
                .unauthenticated, "the token was revoked", detail: .code("revoked"))
        }
        return identity
    }

    /// Refuses a request. Bad tokens are counted, and an address with too many of them gets its
    /// refusals later: that makes guessing slow. A token that one of our keys has signed is no
    /// guess, even if it has expired: it is counted, because to look at its signature costs, and
    /// refused at once.
    func refuse(
        _ endpoint: any Endpoint, from source: PeerAddress.Source?, _ refusal: Refusal,
        _ token: String, _ tell: @escaping () -> Void
    ) {
        guard refusal.code == .unauthenticated else { return tell() }
        metrics.refusedTokens += 1
        let now = exchange.now()
        guard let source, admission.noteBadToken(from: source, at: now, limits: limits),
            !tokens.hasSigned(token)
        else { return tell() }
        // A held link reads nothing more before its refusal is sent.
        endpoint.begins(Self.holding)
        lateRefusals.append(
            (
                now + limits.authDelay,
                {
                    tell()
                    endpoint.ends(Self.holding)
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

    /// Closes connections whose tokens were taken back, or whose key was.
    ///
    /// - Returns: how many.
    @discardableResult
    func closeRevoked() -> Int {
        let lines = links.map(\.line) + (remote?.clients.map(\.line) ?? [])
        var closed = 0
        for line in lines {
            guard let identity = line.identity, let device = line.session?.address.device,
                !tokens.stillTrusts(identity) || revocations.cover(identity, on: device)
            else { continue }
            line.endpoint?.close(.revoked, "the token was revoked")
            exchange.journal?.noteRevoked(Address(identity.user, device), at: exchange.now())
            closed += 1
        }
        return closed
    }
}
