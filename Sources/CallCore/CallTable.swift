// The calls in memory: the live ones, and those that ended a moment ago.

import Collections
import CallModel

/// A slab of calls, found by id. An ended call keeps its place for a while: that answers late
/// requests without asking the store.
struct CallTable: Sendable {
    private var places = HashIndex()
    private var slab = Pages<Call>()
    private var timers = Pages<TimerHandle>()
    private var free: [CallSlot] = []
    /// Ended calls in the order in which they are forgotten.
    private var ended = Queue<(slot: CallSlot, until: Moment)>()
    private(set) var liveCount = 0

    /// The content of a free place, and of one whose call is being changed: a change moves the call
    /// out, so that it is never copied.
    static let vacant: Call = {
        var call = Call(
            id: CallID(high: 0, low: 0), mode: .common, kind: "", ringTime: 0,
            deliveryCheck: nil, createdAt: Moment(0))
        call.state = .ended
        return call
    }()

    func find(_ id: CallID) -> CallSlot? { places.find(id.hash) { slab[Int($0)].id == id } }

    subscript(id: CallID) -> Call? { find(id).map { slab[Int($0)] } }

    subscript(slot: CallSlot) -> Call {
        _read { yield slab[Int(slot)] }
        _modify { yield &slab[Int(slot)] }
    }

    /// A place for the live call `id`. The caller of this function puts the call there.
    mutating func open(_ id: CallID) -> CallSlot {
        let slot = free.popLast() ?? CallSlot(slab.count)
        if Int(slot) == slab.count {
            slab.append(Self.vacant)
            timers.append(.none)
        }
        places.insert(id.hash, slot)
        liveCount += 1
        return slot
    }

    /// Keeps the call at `slot`, which has ended, until `moment` or until `limit` others came
    /// after it.
    mutating func retire(_ slot: CallSlot, until moment: Moment, limit: Int) {
        liveCount -= 1
        ended.append((slot, moment))
        while ended.count > limit { forgetFirst() }
    }

    /// Forgets the ended calls that are not kept any longer.
    mutating func forget(at now: Moment) {
        while let next = ended.first, next.until <= now { forgetFirst() }
    }

    private mutating func forgetFirst() {
        guard let slot = ended.removeFirst()?.slot else { return }
        places.remove(self[slot].id.hash, slot)
        self[slot] = Self.vacant
        free.append(slot)
    }

    /// The timer of the call at `slot`: its next deadline.
    subscript(timerOf slot: CallSlot) -> TimerHandle {
        get { timers[Int(slot)] }
        set { timers[Int(slot)] = newValue }
    }

    /// The live calls in these places that `admits`; there may be fewer places.
    func live(in places: Range<Int>, where admits: (Call) -> Bool = { _ in true }) -> [Call] {
        slab.values(in: places).filter { $0.isLive && admits($0) }
    }

    /// Places, some of which are free.
    var placeCount: Int { slab.count }
}
