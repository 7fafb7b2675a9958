// Who gets the reply to which request.

import CallModel
import CallWire
import WebProtocols

/// A request whose reply is awaited.
enum Awaited {
    /// `weight` counts against what the link may have under way.
    case message(ClientLink, MessageID, weight: Int)
    case hello(ClientLink, MessageID)
    /// Whose token the request had, because each request over a connection has its own.
    case http(ClientLink, Identity)
    /// Asked by a plugin; the reply goes to the policy thread.
    case policy
    /// Asked by one of the operator's tools.
    case tool((HTTPResponse) -> Void)
}

/// The requests under way. It names them itself: a request's number holds its place, so that
/// finding it takes no hash, and how often the place was used, so that no number comes twice.
struct AwaitedRequests {
    private struct Place {
        var uses: UInt32 = 0
        var who: Awaited?
    }

    private var places: [Place] = []
    private var free: [UInt32] = []

    /// Requests under way.
    var count: Int { places.count - free.count }

    /// Names a request that `who` waits for.
    mutating func add(_ who: Awaited) -> RequestID {
        let index: UInt32
        if let reused = free.popLast() {
            index = reused
        } else {
            index = UInt32(places.count)
            places.append(Place())
        }
        places[Int(index)].uses &+= 1
        places[Int(index)].who = who
        return id(index)
    }

    /// Takes a request out; nil: it was taken before.
    mutating func remove(_ request: RequestID) -> Awaited? {
        let index = UInt32(truncatingIfNeeded: request.value)
        guard index < places.count, places[Int(index)].uses == UInt32(request.value >> 32) else {
            return nil
        }
        guard let who = places[Int(index)].who.take() else { return nil }
        free.append(index)
        return who
    }

    /// Takes all requests out.
    mutating func removeAll() -> [(RequestID, Awaited)] {
        var waiting: [(RequestID, Awaited)] = []
        for index in places.indices {
            guard let who = places[index].who.take() else { continue }
            waiting.append((id(UInt32(index)), who))
            free.append(UInt32(index))
        }
        return waiting
    }

    private func id(_ index: UInt32) -> RequestID {
        RequestID(UInt64(places[Int(index)].uses) << 32 | UInt64(index))
    }
}
