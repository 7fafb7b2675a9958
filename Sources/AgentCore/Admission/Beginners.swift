// What those have begun to say, or left unread, who have not said who they are.

/// Of whom something may be kept.
public protocol Beginner: AnyObject {
    /// The memory that is held for it: for messages that are incomplete or wait, and for what it
    /// does not read.
    var keptBytes: Int { get }
    /// What of that is counted, and the place among those of whom anything is. For `Beginners`.
    var counted: (bytes: Int, index: Int) { get set }
}

/// Counts it as it comes, so that a bound is never exceeded by more than one read.
public struct Beginners<Peer: Beginner> {
    /// Those of whom something is kept, in no order. They are newcomers: a bounded number.
    private var peers: [Peer] = []
    /// Of all of them together.
    public private(set) var bytes = 0

    /// Nobody.
    public init() {}

    /// How many they are.
    public var count: Int { peers.count }

    /// What is kept of somebody may have changed.
    public mutating func note(_ peer: Peer) {
        let kept = peer.keptBytes
        guard kept != peer.counted.bytes else { return }
        guard kept > 0 else { return forget(peer) }
        if peer.counted.bytes == 0 {
            peer.counted.index = peers.count
            peers.append(peer)
        }
        bytes += kept - peer.counted.bytes
        peer.counted.bytes = kept
    }

    /// Somebody is no beginner any more, or gone.
    public mutating func forget(_ peer: Peer) {
        guard peer.counted.bytes > 0 else { return }
        bytes -= peer.counted.bytes
        peer.counted.bytes = 0
        let last = peers.removeLast()
        guard last !== peer else { return }
        peers[peer.counted.index] = last
        last.counted.index = peer.counted.index
    }

    /// The peer of which most is kept; nil: there is none.
    public var greediest: Peer? { peers.max { $0.counted.bytes < $1.counted.bytes } }

    /// The peers of which more is kept than an equal share of `limit`.
    public func greedy(of limit: Int) -> [Peer] {
        peers.filter { $0.counted.bytes > limit / peers.count }
    }
}
