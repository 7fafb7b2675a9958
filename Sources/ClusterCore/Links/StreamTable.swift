// Which clients another node has brought over a link.

/// The open streams of one link, each with what `Client` stands for at the owner.
public struct StreamTable<Client> {
    private var clients: [StreamID: Client] = [:]
    private var last = StreamID(0)
    /// How many streams may be open at once.
    public var most: Int

    /// No stream is open.
    public init(most: Int) { self.most = most }

    /// How many are open.
    public var count: Int { clients.count }

    /// What the open streams stand for, in no order.
    public var all: [Client] { Array(clients.values) }

    /// A client comes under a number that was never given before.
    public mutating func open(_ stream: StreamID, _ client: Client) throws(LinkFault) {
        guard stream > last else { throw .streamTwice(stream.value) }
        guard clients.count < most else { throw .tooMuch("\(clients.count) clients") }
        last = stream
        clients[stream] = client
    }

    /// The client of a stream; nil: it was open, and this side has closed it meanwhile.
    public func client(_ stream: StreamID) throws(LinkFault) -> Client? {
        guard stream <= last else { throw .noStream(stream.value) }
        return clients[stream]
    }

    /// A stream is closed.
    ///
    /// - Returns: whose it was; nil: it was closed before.
    @discardableResult
    public mutating func close(_ stream: StreamID) -> Client? {
        clients.removeValue(forKey: stream)
    }

    /// All streams are closed.
    ///
    /// - Returns: whose they were.
    public mutating func removeAll() -> [Client] {
        defer { clients = [:] }
        return Array(clients.values)
    }
}
