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
