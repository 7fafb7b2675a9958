// Whose connections are not read for a moment: who asks too fast, or sends too many bytes.

import AgentCore
import CallModel
import CallWire
import EventLoop

/// Somebody of whom nothing may be read for a while.
protocol RestingClient: Endpoint {
    /// Whether nothing of it is read.
    var isResting: Bool { get }
    /// Reads nothing more of it until `restEnds`.
    func rest()
    /// Reads it again, what waits first.
    func restEnds()
}

extension ClientLink: RestingClient {}

extension RemoteClient: RestingClient {}

extension Gateway {
    /// Bytes of a line that are counted at once: most messages are short, and need not be counted
    /// each.
    private static let countedStep = 4_096

    /// Bytes that one user may send until the timer fires; 0: any number.
    private var byteShare: Int {
        guard limits.bytesPerSecondMax > 0 else { return 0 }
        return max(1, limits.bytesPerSecondMax * Int(limits.restFor) / 1_000)
    }

    /// Stops reading for a while from a user who was refused too often for their rate, over any of
    /// their connections. A refusal costs little, over HTTP the check of a token besides, but a
    /// client that sends without pause would fill the loop with them.
    func refusedForRate(_ user: UserID, over endpoint: any Endpoint) {
        if restTimer?.isArmed == false { restTimer?.arm(after: limits.restFor) }
        refusals[user, default: 0] += 1
        guard refusals[user, default: 0] >= limits.refusalsAtOnce else { return }
        restAll(of: user, endpoint)
    }

    /// A message of so many bytes came over a line.
    func noteMessage(of count: Int, over line: Line) {
        line.uncountedBytes += count
        guard line.uncountedBytes >= Self.countedStep, let identity = line.identity,
            let endpoint = line.endpoint
        else { return }
        noteReceived(line.uncountedBytes, from: identity, over: endpoint)
        line.uncountedBytes = 0
    }

    /// A client sent so many bytes. To read them costs time before any rate is looked at, and a
    /// request that is repeated under its key costs nothing of one (H95): a user who sends more
    /// than their share is not read over any of their connections until that is paid.
    func noteReceived(_ count: Int, from identity: Identity, over endpoint: any Endpoint) {
        guard let user = identity.payer, byteShare > 0 else { return }
        if restTimer?.isArmed == false { restTimer?.arm(after: limits.restFor) }
        if receivedBytes.note(count, of: user, share: byteShare) { restAll(of: user, endpoint) }
    }

    /// Reads nothing more from a user for a while, over `endpoint` and any other connection.
    private func restAll(of user: UserID, _ endpoint: any Endpoint) {
        rest(endpoint, of: user)
        for address in exchange.devices(of: user) {
            if let other = desk.sessions[address]?.line?.endpoint { rest(other, of: user) }
        }
        for connection in admission.connections(asking: user) {
            if let link = connection.handler as? ClientLink { rest(link, of: user) }
        }
    }

    /// Reads nothing more of a user over this connection for a while.
    func rest(_ endpoint: any Endpoint, of user: UserID) {
        guard let client = endpoint as? any RestingClient, !client.isResting else { return }
        client.rest()
        resting.append((client, user))
    }

    /// Why a request over HTTP is not looked at: the user has sent too many bytes before.
    var byteRateRefusal: Refusal {
        Refusal(.rateLimited, "too many bytes in a moment", retryAfter: limits.restFor)
    }

    /// Whether a user has sent more than their share, and has not paid for it yet.
    func isOverByteRate(_ user: UserID) -> Bool {
        byteShare > 0 && receivedBytes.isOver(user, share: byteShare)
    }

    /// Whether nothing is read of a user at the moment.
    func isTooFast(_ user: UserID) -> Bool {
        isOverByteRate(user) || refusals[user, default: 0] >= limits.refusalsAtOnce
    }

    func endRest() {
        refusals.removeAll(keepingCapacity: true)
        receivedBytes.endPeriod(share: byteShare)
        let rested = resting
        resting = []
        var staying: [(client: any RestingClient, user: UserID)] = []
        for (client, user) in rested {
            // One after the other: those that come first may use up what there is again. Who is
            // closed is let go: a user that comes and goes would leave more and more of them here.
            if isTooFast(user), client.isOpen {
                staying.append((client, user))
            } else {
                client.restEnds()
            }
        }
        // Who waits already comes before who was just read.
        resting = staying + resting
        if !receivedBytes.isEmpty || !resting.isEmpty { restTimer?.arm(after: limits.restFor) }
    }
}
