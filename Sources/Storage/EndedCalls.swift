// The calls that ended last, in memory.

import Collections
import CallModel

/// Ended calls in few bytes, found by id. The earliest to end is forgotten first.
public struct EndedCalls: Sendable {
    private var places = HashIndex()
    private var packed = PackedCalls()
    /// By their ends.
    private var queue = Queue<(place: Int32, end: Moment)>()

    /// No calls.
    public init() {}

    /// How many calls there are.
    public var count: Int { queue.count }

    /// Bytes of memory that they take.
    public var memory: Int { packed.memory }

    /// When the first of them ended; nil: there is none.
    public var firstEnd: Moment? { queue.first?.end }

    /// Who was in the first of them.
    var firstUsers: [UserID] { queue.first.map { packed.users(at: $0.place) } ?? [] }

    /// The call `id`; nil: it is not here.
    public subscript(id: CallID) -> Call? { find(id).map { packed[$0] } }

    private func find(_ id: CallID) -> Int32? {
        places.find(id.hash) { packed.id(at: $0) == id }
    }

    /// Visits the calls, the last one first, from behind `id` on, until `visit` returns false.
    func visit(before id: CallID?, _ visit: (CallID) -> Bool) {
        let start = id.map { find($0) ?? -1 }
        var isBehind = start == nil
        for entry in queue.values.reversed() {
            if isBehind, !visit(packed.id(at: entry.place)) { return }
            if entry.place == start { isBehind = true }
        }
    }

    /// Keeps `call`, which has ended; false: it replaces an earlier version.
    @discardableResult
    public mutating func put(_ call: Call) -> Bool {
        if let place = find(call.id) {
            packed.replace(at: place, with: call)
            return false
        }
        let place = packed.insert(call)
        places.insert(call.id.hash, place)
        queue.append((place, call.endedAt ?? call.createdAt))
        return true
    }

    /// Forgets the first call, and returns its id.
    @discardableResult
    public mutating func removeFirst() -> CallID? {
        guard let place = queue.removeFirst()?.place else { return nil }
        let id = packed.id(at: place)
        places.remove(id.hash, place)
        packed.remove(at: place)
        return id
    }
}
