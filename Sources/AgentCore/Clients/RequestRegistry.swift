// Who gets the answer to which request.

import CallModel
import CallWire

/// Who waits for the answer to a request.
public enum Requester {
    /// A connection that gave the request a number. `weight` counts against what it may have under
    /// way, and `payer` pays for a long answer; nil: nobody does.
    case connection(any Endpoint, MessageID, weight: Int, payer: UserID?)
    /// The device that says `hello` over a line.
    case hello(Line, MessageID, Address)
    /// An exchange over HTTP, and who pays for a long answer.
    case exchange(any Endpoint, payer: UserID?)
    /// A plugin.
    case policy((Reply) -> Void)
    /// One of the operator's tools.
    case tool((HTTPReply) -> Void)
}

/// The requests under way. It gives them their numbers: a number holds the place, so that finding
/// it takes no hash, and how often the place was used, so that no number comes twice.
public struct RequestRegistry {
    private struct Place {
        var uses: UInt32 = 0
        var requester: Requester?
        var operation: OperationName?
        var since = Moment(0)
        var invitation: Invited?
        /// Its reply as far as that is written already.
        var reply: WrittenReply?
    }

    /// Who wants to call whom by a request.
    typealias Invited = (caller: UserID, invitees: [UserID])

    private var places: [Place] = []
    private var free: [UInt32] = []

    /// No request is under way.
    public init() {}

    /// Requests under way.
    public var count: Int { places.count - free.count }

    /// Names a request that `requester` waits for.
    public mutating func add(_ requester: consuming Requester) -> RequestID {
        let index: UInt32
        if let reused = free.popLast() {
            index = reused
        } else {
            index = UInt32(places.count)
            places.append(Place())
        }
        places[Int(index)].uses &+= 1
        places[Int(index)].requester = requester
        places[Int(index)].operation = nil
        places[Int(index)].invitation = nil
        return id(index)
    }

    /// A request that was just added calls somebody.
    mutating func note(_ request: RequestID, _ invitation: Invited) {
        places[Int(UInt32(truncatingIfNeeded: request.value))].invitation = invitation
    }

    /// A request that was just added is a client's, who asks for that since `now`.
    mutating func note(_ request: RequestID, _ operation: OperationName, at now: Moment) {
        let index = Int(UInt32(truncatingIfNeeded: request.value))
        places[index].operation = operation
        places[index].since = now
    }

    /// What a client asks by a request under way, and since when; nil: none does.
    func asked(_ request: RequestID) -> (operation: OperationName, at: Moment)? {
        guard let index = place(of: request), places[index].requester != nil,
            let operation = places[index].operation
        else { return nil }
        return (operation, places[index].since)
    }

    /// The text of the reply that a request will get.
    mutating func note(_ reply: WrittenReply, to request: RequestID) {
        guard let index = place(of: request) else { return }
        places[index].reply = reply
    }

    /// The text of the reply that a request gets, if it is written already.
    mutating func takeReply(to request: RequestID) -> WrittenReply? {
        guard let index = place(of: request) else { return nil }
        return places[index].reply.take()
    }

    /// Takes a request out; nil: it was taken before.
    public mutating func remove(_ request: RequestID) -> Requester? {
        guard let index = place(of: request) else { return nil }
        guard let requester = places[index].requester.take() else { return nil }
        (places[index].reply, places[index].invitation) = (nil, nil)
        free.append(UInt32(index))
        return requester
    }

    /// Takes all requests out, with whom they call.
    mutating func removeAll() -> [(requester: Requester, invitation: Invited?)] {
        var waiting: [(requester: Requester, invitation: Invited?)] = []
        for index in places.indices {
            guard let requester = places[index].requester.take() else { continue }
            places[index].reply = nil
            waiting.append((requester, places[index].invitation.take()))
            free.append(UInt32(index))
        }
        return waiting
    }

    /// Nil: the place is another request's by now.
    private func place(of request: RequestID) -> Int? {
        let index = Int(UInt32(truncatingIfNeeded: request.value))
        let isSame = index < places.count && places[index].uses == UInt32(request.value >> 32)
        return isSame ? index : nil
    }

    private func id(_ index: UInt32) -> RequestID {
        RequestID(UInt64(places[Int(index)].uses) << 32 | UInt64(index))
    }
}
