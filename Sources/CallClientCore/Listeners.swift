// Any number of those who want to be told.

/// Those who want to be told of one thing. Thread-confined to its client.
public final class Listeners<Told> {
    private var all: [(number: Int, hear: (Told) -> Void)] = []
    private var last = 0

    init() {}

    /// How many there are.
    public var count: Int { all.count }

    /// Tells `hear` of everything from now on.
    ///
    /// - Returns: a function that ends it.
    @discardableResult
    public func add(_ hear: @escaping (Told) -> Void) -> () -> Void {
        last += 1
        let number = last
        all.append((number: number, hear: hear))
        return { [weak self] in self?.all.removeAll { $0.number == number } }
    }

    func tell(_ told: Told) {
        for (_, hear) in all { hear(told) }
    }
}
