// A phone: what it knows, and what the person with it does.

import AgentCore
import CallModel
import CallWire
import JSON

/// Something that a phone asked for.
struct SimulatedRequest {
    let operation: Operation
    let key: String?
}

/// A device of a user, which speaks the protocol through the client's own session machine.
struct SimulatedPhone {
    let address: Address
    let index: Int
    var link: ServerLink
    /// The line it speaks over, or tries to.
    var line: LineID?
    /// Whether it ever had a line: a phone may speak over HTTP alone.
    var hasConnected = false
    /// Until when it is switched off.
    var isOffUntil = Moment(0)
    /// Whether the server told it to stay away.
    var isBanned = false
    /// Requests under way, by their number in the link.
    var asked: [Int64: SimulatedRequest] = [:]
    /// Operations that an earlier session asked for: the reply that is kept for them may show a
    /// call as it no longer is, and the new session's welcome has shown all that live.
    var stale: Set<Int64> = []
    /// Requests over HTTP under way, with what they ask for.
    var requests: [Int: Operation] = [:]
    var lastRequest = 0

    /// What its token allows.
    enum Rights {
        /// Everything, as often as it likes.
        case all
        /// Everything, so often as a user may.
        case counted
        /// The same, except for ending calls.
        case countedWithoutEnding
    }
    let rights: Rights

    init(_ address: Address, index: Int, _ rights: Rights = .all) {
        self.address = address
        self.index = index
        self.rights = rights
        link = ServerLink(device: address.device)
    }

    /// The token that the simulated server takes.
    var token: String {
        switch rights {
        case .all: "dev:\(address.user)"
        case .counted: "counted:\(address.user)"
        case .countedWithoutEnding: "limited:\(address.user)"
        }
    }

    /// Who shows `token`.
    static func identity(_ token: String) -> Identity {
        let parts = token.split(separator: ":", maxSplits: 1)
        var identity = Identity(user: UserID(String(parts[1])))
        identity.isRateLimited = parts[0] != "dev"
        if parts[0] == "limited" {
            identity.capabilities = OperationName.allCases.map(\.rawValue)
                .filter { $0 != OperationName.end.rawValue }
        }
        return identity
    }

    /// Who asks over HTTP.
    var asker: AdmittedAddress { AdmittedAddress(Self.identity(token), for: address) }
}

/// How a reply of the wire reads in the core's words, as far as checks need it.
extension ServerReply {
    func coreReply(for viewer: UserID) -> Reply {
        switch self {
        case .error(let refusal): return .refused(refusal)
        case .ok(let value):
            guard let call = ServerMessageDecoder().call(value["call"]) else { return .done }
            return .call(call, viewer: viewer)
        }
    }
}
