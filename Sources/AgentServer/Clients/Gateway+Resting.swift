// Whose connections are not read for a moment: who asks faster than it may, or says too much.

import AgentCore
import CallModel
import CallWire
import EventLoop

extension Gateway {
    /// Bytes of a link that are counted at once: most messages are short, and need not be counted
    /// each.
    static let heardStep = 4_096

    /// Bytes that one user may say until the timer fires; 0: any number.
    private var heardShare: Int {
        guard limits.bytesPerSecondMax > 0 else { return 0 }
        return max(1, limits.bytesPerSecondMax * Int(limits.restFor) / 1_000)
    }

    /// Stops reading a link for a while whose user was refused too often for its rate, over
    /// whatever connection. A refusal costs little, but a client that sends without pause would
    /// fill the loop with them.
    func refusedForRate(_ user: UserID, over endpoint: any Endpoint) {
        if restTimer?.isArmed == false { restTimer?.arm(after: limits.restFor) }
        refusals[user, default: 0] += 1
        guard refusals[user, default: 0] >= limits.refusalsAtOnce else { return }
        if let client = endpoint as? RemoteClient { remote?.rest(client, for: limits.restFor) }
        guard let link = endpoint as? ClientLink else { return }
        rest(link)
    }

    /// A client said so many bytes. To read them costs time before any rate is looked at, and a
    /// request that is repeated under its key costs nothing of one (H95): a user who says more
    /// than its share is not read over any of its connections until that is paid.
    ///
    /// - Returns: whether it may say more.
    @discardableResult
    func heard(_ count: Int, from identity: Identity, over endpoint: any Endpoint) -> Bool {
        guard let user = identity.payer, heardShare > 0 else { return true }
        if restTimer?.isArmed == false { restTimer?.arm(after: limits.restFor) }
        guard heardBytes.note(count, of: user, share: heardShare) else { return true }
        if let link = endpoint as? ClientLink { rest(link) }
        for address in exchange.devices(of: user) {
            switch desk.sessions[address]?.line?.endpoint {
            case let link as ClientLink: rest(link)
            case let client as RemoteClient: remote?.rest(client, for: limits.restFor)
            default: break
            }
        }
        for connection in admission.connections(asking: user) {
            if let link = connection.handler as? ClientLink { rest(link) }
        }
        return false
    }

    /// Why a request over HTTP is not looked at: its user has said too much before.
    func deafness(to identity: Identity) -> Refusal? {
        guard let user = identity.payer, isTooLoud(user) else { return nil }
        return Refusal(
            .rateLimited, "too many bytes in a moment", retryAfter: limits.restFor)
    }

    /// Whether a user has said more than its share, and has not paid for it yet.
    func isTooLoud(_ user: UserID) -> Bool {
        heardShare > 0 && heardBytes.isOver(user, share: heardShare)
    }

    private func rest(_ link: ClientLink) {
        guard !link.isResting else { return }
        link.rest()
        resting.append(link)
    }

    func endRest() {
        refusals.removeAll(keepingCapacity: true)
        heardBytes.endWhile(share: heardShare)
        let rested = resting
        resting = []
        for link in rested {
            let user = link.line.identity?.user ?? admission.asker(over: link.transport)
            if let user, isTooLoud(user) {
                resting.append(link)
            } else {
                link.restEnds()
            }
        }
        if !heardBytes.isEmpty || !resting.isEmpty { restTimer?.arm(after: limits.restFor) }
    }
}
