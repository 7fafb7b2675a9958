// A client of a front end, as its node sees it.

import ClusterCore
import WebProtocols

/// One client of a front end. Owner: the loop's thread.
final class FrontClient {
    /// What a client says.
    enum Saying {
        case message([UInt8])
        case request(HTTPRequest)

        var bytes: Int {
            switch self {
            case .message(let text): text.count
            case .request(let request): request.body.count
            }
        }
    }

    let link: ClientLink
    /// Its stream; nil: it has none over the link that is there.
    var stream: StreamID?
    var state = FrontClientState()
    /// Each message of which nothing is settled: what it weighs, and its bytes.
    var messages: [(weight: Int, bytes: Int)] = []
    /// Whether it says nothing more until all of them are settled.
    var isHeld = false
    /// What is not passed on yet; nothing more is read until it is.
    var waiting: Saying?
    /// Whether a request over HTTP is with the owner, or waits for that.
    var isAsking = false
    /// The document that it asks for; nil: it asks for something else.
    var fetches: String?
    /// Whether it is a tool of the operator, at the socket of this node.
    let isTool: Bool
    /// Whether it is being sent away.
    var isLeaving = false
    /// Bytes that it was told in all, and those of which the owner knows that it was given them.
    var toldBytes: UInt64 = 0
    var reportedBytes: UInt64 = 0

    init(_ link: ClientLink, isTool: Bool = false) { (self.link, self.isTool) = (link, isTool) }

    /// Whether something of it is under way, so that nobody knows what became of it.
    var isUnderWay: Bool { state.unsettled > 0 || (state.hello != nil && state.session == nil) }
}
