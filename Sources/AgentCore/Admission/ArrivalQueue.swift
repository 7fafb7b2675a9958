// Who came before whom, among all and among those of one owner.

import Collections

/// Objects in the order in which they came, in all and of each owner. Every step takes the same
/// time, however many there are.
public struct ArrivalQueue<Element: AnyObject, Owner: Hashable> {
    private struct Place {
        let element: Element
        let owner: Owner?
    }

    /// The places next to one in its line; nil: it is the first, or the last.
    private struct Neighbours {
        var before: Int32?
        var after: Int32?
    }

    private struct Line {
        var first: Int32?
        var last: Int32?
        var count = 0

        mutating func append(_ place: Int32, _ neighbours: inout [Neighbours]) {
            neighbours[Int(place)] = Neighbours(before: last, after: nil)
            if let last { neighbours[Int(last)].after = place } else { first = place }
            last = place
            count += 1
        }

        mutating func remove(_ place: Int32, _ neighbours: inout [Neighbours]) {
            let (before, after) = (neighbours[Int(place)].before, neighbours[Int(place)].after)
            if let before { neighbours[Int(before)].after = after } else { first = after }
            if let after { neighbours[Int(after)].before = before } else { last = before }
            count -= 1
        }
    }

    private var places = Slab<Place>()
    private var placeOf: [ObjectIdentifier: Int32] = [:]
    private var all = Line()
    private var inAll: [Neighbours] = []
    private var lines: [Owner: Line] = [:]
    private var inLine: [Neighbours] = []

    /// Nobody came.
    public init() {}

    /// How many there are.
    public var count: Int { all.count }

    /// How many there are of one owner.
    public func count(of owner: Owner) -> Int { lines[owner]?.count ?? 0 }

    /// The one that came first.
    public var oldest: Element? { element(at: all.first) }

    /// The same among those of one owner.
    public func oldest(of owner: Owner) -> Element? { element(at: lines[owner]?.first) }

    /// Whether it is here.
    public func contains(_ element: Element) -> Bool { placeOf[ObjectIdentifier(element)] != nil }

    /// Whose it is; nil: it is not here, or it is nobody's.
    public func owner(of element: Element) -> Owner? {
        placeOf[ObjectIdentifier(element)].flatMap { places[$0]?.owner }
    }

    /// All of one owner, the oldest first.
    public func elements(of owner: Owner) -> [Element] {
        var found: [Element] = []
        var place = lines[owner]?.first
        while let here = place {
            if let element = element(at: here) { found.append(element) }
            place = inLine[Int(here)].after
        }
        return found
    }

    /// The newest one comes; it must not be here.
    public mutating func add(_ element: Element, of owner: Owner?) {
        let place = places.insert(Place(element: element, owner: owner))
        if inAll.count < places.placeCount {
            inAll.append(Neighbours())
            inLine.append(Neighbours())
        }
        placeOf[ObjectIdentifier(element)] = place
        all.append(place, &inAll)
        if let owner { lines[owner, default: Line()].append(place, &inLine) }
    }

    /// Takes one out; false: it was not here.
    @discardableResult
    public mutating func remove(_ element: Element) -> Bool {
        guard let place = placeOf.removeValue(forKey: ObjectIdentifier(element)) else {
            return false
        }
        all.remove(place, &inAll)
        if let owner = places.remove(at: place)?.owner, var line = lines[owner] {
            line.remove(place, &inLine)
            lines[owner] = line.count > 0 ? line : nil
        }
        return true
    }

    private func element(at place: Int32?) -> Element? { place.flatMap { places[$0]?.element } }
}
