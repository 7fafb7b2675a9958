// Calls in a row, found by id: the newest come at the end, the oldest leave at the front.

/// Calls in the order in which they came. They lie side by side in memory, because most of them are
/// written once and read once more, when they leave: in a table by id each would be a miss of the
/// processor's caches.
public struct CallQueue: Sendable {
    /// The number of each call's place, counted from the first place there ever was.
    private var numbers: [CallID: Int] = [:]
    private var places: [(call: Call?, stamp: Moment)] = []
    /// Places at the front whose calls have left.
    private var left = 0
    /// The number of the first place.
    private var firstNumber = 0

    /// An empty row.
    public init() {}

    /// How many calls there are.
    public var count: Int { places.count - left }

    /// The call `id`, if it is there.
    public subscript(id: CallID) -> Call? {
        numbers[id].flatMap { places[$0 - firstNumber].call }
    }

    /// The stamp of the oldest call.
    public var oldest: Moment? { left < places.count ? places[left].stamp : nil }

    /// Adds `call` at the end with `stamp`, or replaces it where it stands.
    public mutating func put(_ call: Call, stamp: Moment) {
        if update(call) { return }
        numbers[call.id] = firstNumber + places.count
        places.append((call, stamp))
    }

    /// Replaces `call` where it stands; returns whether it is there.
    @discardableResult
    public mutating func update(_ call: Call) -> Bool {
        guard let number = numbers[call.id] else { return false }
        places[number - firstNumber].call = call
        return true
    }

    /// Takes the oldest call out.
    @discardableResult
    public mutating func removeFirst() -> Call? {
        guard left < places.count, let call = places[left].call.take() else { return nil }
        numbers[call.id] = nil
        left += 1
        // Moving the rest only when half has left keeps the cost of each call constant.
        if left > places.count / 2 {
            places.removeFirst(left)
            firstNumber += left
            left = 0
        }
        return call
    }
}
