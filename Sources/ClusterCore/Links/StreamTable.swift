// Which clients another node has brought over a link.

/// The open streams of one link, each with what `Client` stands for at the owner.
public struct StreamTable<Client> {
    private var places: [StreamID: Int] = [:]
    private var entries: [(stream: StreamID, client: Client)] = []
    private var last = StreamID(0)
    /// How many streams may be open at once.
    public var most: Int

    /// No stream is open.
    public init(most: Int) { self.most = most }

    /// How many are open.
    public var count: Int { entries.count }

    /// What the open streams stand for, in no order.
    public var all: [Client] { entries.map(\.client) }

    /// At most `count` of them, from a place between 0 and `count` on. Whoever closes one puts
    /// another one into its place.
    public func some(_ count: Int, from place: Int) -> [Client] {
        entries.dropFirst(place).prefix(count).map(\.client)
    }

    /// A client comes under a number that was never given before.
    public mutating func open(_ stream: StreamID, _ client: Client) throws(LinkFault) {
        guard stream > last else { throw .streamTwice(stream.value) }
        guard entries.count < most else { throw .tooMuch("\(entries.count) clients") }
        last = stream
        places[stream] = entries.count
        entries.append((stream, client))
    }

    /// The client of a stream; nil: it was open, and this side has closed it meanwhile.
    public func client(_ stream: StreamID) throws(LinkFault) -> Client? {
        guard stream <= last else { throw .noStream(stream.value) }
        return places[stream].map { entries[$0].client }
    }

    /// A stream is closed.
    ///
    /// - Returns: whose it was; nil: it was closed before.
    @discardableResult
    public mutating func close(_ stream: StreamID) -> Client? {
        guard let place = places.removeValue(forKey: stream) else { return nil }
        let gone = entries[place].client
        let moved = entries.removeLast()
        if place < entries.count {
            entries[place] = moved
            places[moved.stream] = place
        }
        return gone
    }

    /// All streams are closed.
    ///
    /// - Returns: whose they were.
    public mutating func removeAll() -> [Client] {
        defer { (places, entries) = ([:], []) }
        return all
    }
}
