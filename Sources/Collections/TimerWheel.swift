// Deadlines in one hierarchical timing wheel.

/// A timer in the wheel, for moving or cancelling it.
public struct TimerHandle: Sendable, Equatable {
    package let node: Int32

    package init(node: Int32) { self.node = node }

    /// No timer.
    public static let none = TimerHandle(node: -1)
}

/// A hierarchical timing wheel with ticks of one millisecond.
///
/// A timer stands at the level of the highest byte in which its moment differs from the
/// current tick, in the slot that this byte names; so no slot wraps around, and when the tick
/// enters a slot its timers move to lower levels. Scheduling and cancelling are O(1).
package struct TimerWheel: Sendable {
    private struct Node {
        var at: Int64
        var key: UInt64
        var previous: Int32
        var next: Int32
        /// Index into `heads`; -1 while free.
        var place: Int32
    }

    private static let levels = 6
    private static let none: Int32 = -1
    /// The list of timers whose moment has come, behind the lists of the slots.
    private static let due = Int32(levels * 256)

    private var nodes = Pages<Node>()
    private var free: Int32 = none
    private var heads = [Int32](repeating: none, count: levels * 256 + 1)
    private var tails = [Int32](repeating: none, count: levels * 256 + 1)
    private var occupied = [UInt64](repeating: 0, count: levels * 4)
    private var tick: Int64
    /// The slot that the tick has entered and that has timers left; -1: none.
    private var entered = none
    /// So many timers are moved to lower levels at the price of one that comes out.
    private static let movedForOne = 64
    /// Timers in the wheel.
    package private(set) var count = 0

    /// An empty wheel that stands at `now`.
    package init(at now: Int64) { tick = now }

    /// Puts `key` into the wheel; it comes out of `next` at `moment`.
    package mutating func schedule(_ key: UInt64, at moment: Int64) -> TimerHandle {
        let index: Int32
        if free != Self.none {
            index = free
            free = nodes[Int(index)].next
        } else {
            index = Int32(nodes.count)
            nodes.append(
                Node(at: 0, key: 0, previous: Self.none, next: Self.none, place: Self.none))
        }
        nodes[Int(index)].at = moment
        nodes[Int(index)].key = key
        link(index)
        count += 1
        return TimerHandle(node: index)
    }

    /// Moves a timer that has not come out yet to another moment.
    package mutating func move(_ handle: TimerHandle, to moment: Int64) {
        guard nodes[Int(handle.node)].at != moment else { return }
        unlink(handle.node)
        nodes[Int(handle.node)].at = moment
        link(handle.node)
    }

    /// Takes a timer out of the wheel that has not come out by itself; `none` is fine.
    package mutating func cancel(_ handle: TimerHandle) {
        guard handle != .none else { return }
        unlink(handle.node)
        release(handle.node)
    }

    /// Whether the moment of a timer that has not come out yet has come by `now`; `none` is fine.
    package func isDue(_ handle: TimerHandle, at now: Int64) -> Bool {
        handle != .none && nodes[Int(handle.node)].at <= now
    }

    /// The key of a timer whose moment has come, in order of their moments; nil: no more, or `most`
    /// is spent: one for each timer that comes out, and for some that are moved. Where very many
    /// have to be moved before the next one is known, nothing comes out until later calls have
    /// moved the rest.
    package mutating func next(upTo now: Int64, _ spent: inout Int, of most: Int) -> UInt64? {
        while spent < most {
            let first = heads[Int(Self.due)]
            if first != Self.none {
                spent += 1
                let key = nodes[Int(first)].key
                unlink(first)
                release(first)
                return key
            }
            if entered != Self.none {
                spent += moveSome()
                continue
            }
            guard tick < now else { return nil }
            guard let start = nextOccupied, start <= now else {
                tick = now
                return nil
            }
            tick = start
            enterSlot()
        }
        return nil
    }

    /// A moment not later than that of any timer; nil: there is none.
    package var nextDeadline: Int64? {
        if heads[Int(Self.due)] != Self.none || entered != Self.none { return tick }
        return nextOccupied
    }

    /// The tick at which the next occupied slot begins.
    private var nextOccupied: Int64? {
        guard count > 0 else { return nil }
        for level in 0..<Self.levels {
            let shift = Int64(level * 8)
            let current = Int(tick >> shift & 255)
            if let slot = occupiedSlot(after: current, level: level) {
                let prefix = (tick >> (shift + 8)) << (shift + 8)
                return prefix | Int64(slot) << shift
            }
        }
        return nil
    }

    private func occupiedSlot(after current: Int, level: Int) -> Int? {
        var word = (current + 1) >> 6
        guard word < 4 else { return nil }
        var bits = occupied[level * 4 + word] & (~0 << UInt64((current + 1) & 63))
        while true {
            if bits != 0 { return word * 64 + bits.trailingZeroBitCount }
            word += 1
            guard word < 4 else { return nil }
            bits = occupied[level * 4 + word]
        }
    }

    /// Finds the one occupied slot that begins at the current tick.
    private mutating func enterSlot() {
        for level in 0..<Self.levels {
            let place = Int32(level * 256) + Int32(tick >> Int64(level * 8) & 255)
            if heads[Int(place)] != Self.none { entered = place }
        }
    }

    /// Moves timers of the slot that was entered to where they now belong; returns the price.
    private mutating func moveSome() -> Int {
        for _ in 0..<Self.movedForOne {
            let index = heads[Int(entered)]
            guard index != Self.none else {
                entered = Self.none
                return 0
            }
            unlink(index)
            link(index)
        }
        return 1
    }

    private mutating func link(_ index: Int32) {
        let at = nodes[Int(index)].at
        let place: Int32
        if at <= tick {
            place = Self.due
        } else {
            let highestBit = 63 - (at ^ tick).leadingZeroBitCount
            let level = min(highestBit / 8, Self.levels - 1)
            let slot = Int(at >> Int64(level * 8) & 255)
            place = Int32(level * 256 + slot)
            occupied[level * 4 + slot >> 6] |= 1 << UInt64(slot & 63)
        }
        let tail = tails[Int(place)]
        nodes[Int(index)].place = place
        nodes[Int(index)].previous = tail
        nodes[Int(index)].next = Self.none
        if tail == Self.none {
            heads[Int(place)] = index
        } else {
            nodes[Int(tail)].next = index
        }
        tails[Int(place)] = index
    }

    private mutating func unlink(_ index: Int32) {
        let node = nodes[Int(index)]
        precondition(node.place != Self.none, "timer \(index) is not in the wheel")
        let place = Int(node.place)
        if node.previous == Self.none {
            heads[place] = node.next
        } else {
            nodes[Int(node.previous)].next = node.next
        }
        if node.next == Self.none {
            tails[place] = node.previous
        } else {
            nodes[Int(node.next)].previous = node.previous
        }
        if heads[place] == Self.none, node.place != Self.due {
            occupied[place >> 8 * 4 + (place & 255) >> 6] &= ~(1 << UInt64(place & 63))
        }
    }

    private mutating func release(_ index: Int32) {
        nodes[Int(index)].place = Self.none
        nodes[Int(index)].next = free
        free = index
        count -= 1
    }
}
