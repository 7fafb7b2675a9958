// Users who ask for very much at once, while others ask for little.

import AgentCore
import CallModel
import EventLoop

/// Somebody who may have to wait until the store has written what came before.
protocol WaitingClient: AnyObject {
    /// Goes on with what waits here.
    func goesOn()
}

extension ClientLink: WaitingClient {}

extension RemoteClient: WaitingClient {}

/// What was begun since the store has written last.
///
/// What waits for the store leaves in the order in which it came: a few users who ask for very much
/// in one moment would be served before anybody who asks a moment later. Where many requests have
/// begun, each user may begin one more until the store has written.
struct Crowd {
    /// So many requests make a crowd.
    static let requestsMax = 32
    /// Nobody waits longer than this: a store that hangs is told by refusals, not by silence.
    static let waitMax: Milliseconds = 50

    private var requests = 0
    /// Who has begun another one in the crowd.
    private var users: Set<UserID> = []
    /// Those who have to wait.
    private var waiting: [any WaitingClient] = []

    var isEmpty: Bool { requests == 0 && waiting.isEmpty }

    /// Whether the user may begin nothing more.
    func holds(_ user: UserID?, isBehind: Bool) -> Bool {
        guard requests >= Self.requestsMax || isBehind, let user else { return false }
        return users.contains(user)
    }

    mutating func begins(_ user: UserID?, isBehind: Bool) {
        requests += 1
        guard requests > Self.requestsMax || isBehind, let user else { return }
        users.insert(user)
    }

    mutating func waits(_ client: any WaitingClient) { waiting.append(client) }

    /// Everybody may go on; returns those who have waited.
    mutating func end() -> [any WaitingClient] {
        defer { self = Crowd() }
        return waiting
    }
}

extension Gateway {
    /// Whether the client on this line may begin nothing more before the store has written.
    func crowdHolds(_ line: Line) -> Bool {
        crowd.holds(line.identity?.payer, isBehind: exchange.isBehind)
    }

    /// A request over this line begins.
    func crowdGrows(by line: Line) {
        crowd.begins(line.identity?.payer, isBehind: exchange.isBehind)
    }

    /// Lets the client go on when the store has written.
    func waits(_ client: any WaitingClient) {
        crowd.waits(client)
        if crowdTimer?.isArmed == false { crowdTimer?.arm(after: Crowd.waitMax) }
    }

    /// The store has written or has nothing to write, or somebody has waited long enough.
    func endCrowd() {
        guard !crowd.isEmpty else { return }
        for client in crowd.end() { client.goesOn() }
    }
}
