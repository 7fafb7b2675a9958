// What a world of links consists of: owners, front ends, their clients, and the ways between them.

import CallModel
import ClusterCore
import StoreContract

/// What happens to links in a run.
struct LinkWeather {
    /// Connections are reset; they come again at once or after a while.
    var resets = false
    /// Nothing comes through for a while, and nobody is told.
    var silences = false
    /// A frame arrives again.
    var replays = false
    /// A frame is missing, and what follows it is not.
    var gaps = false
    /// A frame of an earlier owner arrives in the place of one of this owner.
    var oldFrames = false
    /// The owner dies, or stands still until another one owns.
    var takeovers = false
    /// Front ends stand still for a while.
    var pauses = false
}

/// One direction of a connection: what was sent arrives in its order, or not at all.
struct LinkPath {
    var writer: LinkWriter
    var decoder: LinkDecoder
    /// Frames that were sent.
    var sent: UInt64 = 0
    /// The last frame that was sent.
    var last: [UInt8] = []
    private var underWay: [(at: Milliseconds, bytes: [UInt8])] = []

    init(of speaker: LinkDecoder.Speaker, _ epoch: UInt32) {
        writer = LinkWriter(epoch: epoch)
        decoder = LinkDecoder(from: speaker, space: "default", epoch: epoch, frameBytes: 10_000)
    }

    /// Sends a frame that arrives at `moment`, or after what was sent before.
    mutating func send(_ message: LinkMessage, arrivingAt moment: Milliseconds) {
        writer.append(message)
        last = writer.take()
        sent += 1
        put(last, moment)
    }

    /// Something else comes this way.
    mutating func put(_ bytes: [UInt8], _ moment: Milliseconds) {
        underWay.append((max(moment, underWay.last?.at ?? moment), bytes))
    }

    /// One of the frames that are under way is lost; false: there is none.
    mutating func loseOne() -> Bool {
        guard !underWay.isEmpty else { return false }
        underWay.removeFirst()
        return true
    }

    /// What has arrived at `now`.
    ///
    /// - Throws: what the decoder refuses; what came before it is in `heard`.
    mutating func arrive(
        at now: Milliseconds, _ heard: inout [LinkMessage]
    ) throws(LinkFault) -> Bool {
        var hasCome = false
        while let first = underWay.first, first.at <= now {
            underWay.removeFirst()
            hasCome = true
            first.bytes.withUnsafeBytes { decoder.add($0) }
            while let message = try decoder.next() { heard.append(message) }
        }
        return hasCome
    }
}

/// A connection between a front end and an owner, as both have it.
struct LinkOfWorld {
    let owner: Int
    let front: Int
    var toFront: LinkPath
    var toOwner: LinkPath
    /// The streams that the front end has opened, with their clients' sessions.
    var table = StreamTable<StreamOfOwner>(most: 1_000)
    var heardByFront: Milliseconds
    var heardByOwner: Milliseconds
    var pulseAt: Milliseconds = 0
    var isAtFront = true
    var isAtOwner = true
    /// Nothing comes through before.
    var silentUntil: Milliseconds = 0

    init(from front: Int, to owner: Int, _ epoch: UInt32, at now: Milliseconds) {
        (self.front, self.owner) = (front, owner)
        toFront = LinkPath(of: .owner, epoch)
        toOwner = LinkPath(of: .frontEnd, epoch)
        (heardByFront, heardByOwner) = (now, now)
    }
}

/// What an owner has of a client's stream.
final class StreamOfOwner {
    var session: StreamSession?
    var received: UInt64 = 0
}

/// A session as its owner has it.
struct SessionOfWorld {
    /// The number of the last event that another owner told.
    let base: UInt64
    /// The events of this owner, in order.
    var events: [[UInt8]] = []
    var isInCall = false
    /// Where it is connected: link and stream; nil: nowhere.
    var place: (link: Int, stream: StreamID)?

    init(after base: UInt64) { self.base = base }
}

/// One process that owns, or has owned.
struct OwnerOfWorld {
    let term: Term
    var isAlive = true
    var pausedUntil: Milliseconds = 0
    /// By the second half of their names, which no two have.
    var sessions: [UInt64: SessionOfWorld] = [:]
    /// What it has carried out.
    var done: Set<[UInt8]> = []
    var count = 0
}

/// A node without ownership.
struct FrontOfWorld {
    var state: FrontEndState
    var link: Int?
    var isLinked = false
    var brokeAt: Milliseconds?
    var triesAt: Milliseconds = 0
    var looksAt: Milliseconds = 0
    var pausedUntil: Milliseconds = 0
    var clients: [Int] = []
    var streams: [StreamID: Int] = [:]
    var lastStream: UInt32 = 0
}

/// Somebody who is connected to a front end.
struct ClientOfWorld {
    var front: Int
    var state = FrontClientState()
    var stream: StreamID?
    var isGone = false
    var comesAt: Milliseconds = 0
    var asks: Milliseconds = 0
    /// How many messages it has said in all.
    var said = 0
    /// Since when something it said is not answered.
    var waitsSince: Milliseconds?
    /// The last event that it heard in its session.
    var heard: UInt64 = 0
    /// Whether the last word about it was that it is in a call.
    var isInCall = false
}
