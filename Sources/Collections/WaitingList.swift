// Values that wait for a key to be free, or for a time.

/// Values that wait until a time, each behind a key: when a key is free, only the values behind it
/// are looked at.
public struct WaitingList<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// A waiting value, with its number in the order in which they came.
    public struct Entry: Sendable {
        /// Its place in the order in which they came.
        public let number: UInt64
        /// What waits.
        public let value: Value
        /// Until when, by the clock of whoever keeps the list.
        public let until: Int64
    }

    /// Visible to other modules, as `isEmpty` is asked after every input.
    @usableFromInline var waiting: [UInt64: Entry] = [:]
    /// Numbers of waiting values; those that wait no longer are removed later.
    private var behind: [Key: [UInt64]] = [:]
    /// How many numbers these are.
    public private(set) var listed = 0
    private var order = Queue<(number: UInt64, until: Int64)>()
    private var last: UInt64 = 0

    /// A list in which none waits.
    public init() {}

    /// Whether none waits.
    @inlinable
    public var isEmpty: Bool { waiting.isEmpty }

    /// Adds `value`, which waits behind `key` until the time `until`.
    public mutating func append(_ value: Value, until: Int64, behind key: Key) {
        last += 1
        order.append((last, until))
        putBack(Entry(number: last, value: value, until: until), behind: key)
    }

    /// Puts a value back that was taken out, behind `key`.
    public mutating func putBack(_ entry: Entry, behind key: Key) {
        waiting[entry.number] = entry
        behind[key, default: []].append(entry.number)
        listed += 1
        // A key may be busy all the time: then nobody would clear the numbers behind it.
        if listed > 2 * waiting.count + 64 { leaveOutThoseThatWentOn() }
    }

    private mutating func leaveOutThoseThatWentOn() {
        behind = behind.compactMapValues { numbers in
            let left = numbers.filter { waiting[$0] != nil }
            return left.isEmpty ? nil : left
        }
        listed = behind.values.reduce(0) { $0 + $1.count }
    }

    /// Takes out what waits behind `key`.
    public mutating func take(behind key: Key) -> [Entry] {
        guard let numbers = behind.removeValue(forKey: key) else { return [] }
        listed -= numbers.count
        return numbers.compactMap { take($0) }
    }

    /// Takes out what has waited long enough.
    public mutating func takeDue(at now: Int64) -> [Entry] {
        var due: [Entry] = []
        while let first = order.first, first.until <= now {
            _ = order.removeFirst()
            if let entry = take(first.number) { due.append(entry) }
        }
        return due
    }

    /// Takes all out, in the order in which they came.
    public mutating func takeAll() -> [Entry] {
        waiting.keys.sorted().compactMap { take($0) }
    }

    /// When the first one has waited long enough.
    public var nextDue: Int64? {
        mutating get {
            while let first = order.first, waiting[first.number] == nil {
                _ = order.removeFirst()
            }
            return order.first?.until
        }
    }

    private mutating func take(_ number: UInt64) -> Entry? {
        guard let entry = waiting.removeValue(forKey: number) else { return nil }
        if waiting.isEmpty { (behind, listed) = ([:], 0) }
        return entry
    }
}
