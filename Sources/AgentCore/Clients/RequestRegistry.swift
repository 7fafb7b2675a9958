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

/// The requests under way. It names them itself: a request's number holds its place, so that
/// finding it takes no hash, and how often the place was used, so that no number comes twice.
public struct RequestRegistry {
    private struct Place {
        var uses: UInt32 = 0
        var requester: Requester?
        var operation: OperationName?
        var since = Moment(0)
    }

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
        return id(index)
    }

    /// A request that was just added is a client's, who asks for that since `now`.
    mutating func note(_ request: RequestID, _ operation: OperationName, at now: Moment) {
        let index = Int(UInt32(truncatingIfNeeded: request.value))
        places[index].operation = operation
        places[index].since = now
    }

    /// What a client asks by a request under way, and since when; nil: none does.
    func asked(_ request: RequestID) -> (operation: OperationName, at: Moment)? {
        let index = UInt32(truncatingIfNeeded: request.value)
        guard index < places.count, places[Int(index)].uses == UInt32(request.value >> 32),
            places[Int(index)].requester != nil, let operation = places[Int(index)].operation
        else { return nil }
        return (operation, places[Int(index)].since)
    }

    /// Takes a request out; nil: it was taken before.
    public mutating func remove(_ request: RequestID) -> Requester? {
        let index = UInt32(truncatingIfNeeded: request.value)
        guard index < places.count, places[Int(index)].uses == UInt32(request.value >> 32) else {
            return nil
        }
        guard let requester = places[Int(index)].requester.take() else { return nil }
        free.append(index)
        return requester
    }

    /// Takes all requests out.
    public mutating func removeAll() -> [(RequestID, Requester)] {
        var waiting: [(RequestID, Requester)] = []
        for index in places.indices {
            guard let requester = places[index].requester.take() else { continue }
            waiting.append((id(UInt32(index)), requester))
            free.append(UInt32(index))
        }
        return waiting
    }

    private func id(_ index: UInt32) -> RequestID {
        RequestID(UInt64(places[Int(index)].uses) << 32 | UInt64(index))
    }
}
