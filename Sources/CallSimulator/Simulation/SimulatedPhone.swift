// A phone: what it knows, and what the person with it does.

import CallModel
import CallWire
import JSON

/// A device of a user, which speaks the protocol through the client's own session machine.
struct SimulatedPhone {
    let address: Address
    let index: Int
    var link: ServerLink
    /// The line it speaks over, or tries to.
    var line: LineID?
    /// Whether it ever had a line: a phone may speak over HTTP alone.
    var hasConnected = false
    /// Whether the server told it to stay away.
    var isBanned = false
    /// Operations under way, by their number in the link.
    var asked: [Int64: Operation] = [:]
    /// Operations that an earlier session asked for: the reply that is kept for them may show a
    /// call as it no longer is, and the new session's welcome has shown all that live.
    var stale: Set<Int64> = []
    /// Requests over HTTP under way, with what they ask for.
    var requests: [Int: Operation] = [:]
    var lastRequest = 0

    init(_ address: Address, index: Int) {
        self.address = address
        self.index = index
        link = ServerLink(device: address.device)
    }

    /// The token that the simulated server takes.
    var token: String { "dev:\(address.user)" }
}

/// How a reply of the wire reads in the core's words, as far as checks need it.
extension ServerReply {
    func reply(to operation: Operation, viewer: UserID) -> Reply {
        switch self {
        case .error(let refusal): return .refused(refusal)
        case .ok(let value):
            guard let call = ServerMessageDecoder().call(value["call"]) else { return .done }
            return .call(call, viewer: viewer)
        }
    }
}
