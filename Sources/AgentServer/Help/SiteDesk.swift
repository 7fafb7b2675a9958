// The site of the documentation for browsers.

import EventLoop
import WebProtocols

/// Answers browsers with files of the site, which a thread of its own reads. They hold no data, so
/// they need no token. Owner: the loop's thread.
final class SiteDesk {
    /// Files that are being read at once.
    static let readsMax = 4
    /// Requests that wait for it.
    static let waitingMax = 64
    /// Bytes that browsers may have left unread before no more is read for them.
    static let unreadMax = 8 << 20
    /// Below this it is served.
    static let root = "/help/site"

    /// The header fields of every answer. Its scripts write HTML, so its pages are apart from the
    /// console (`sandbox`, without an origin): they can neither read its token nor ask the API.
    /// What they load is therefore asked for by no origin, as pages of others may ask too.
    static let protection = ConsolePages.ownFilesOnly(
        ["sandbox allow-scripts"],
        [
            "Cross-Origin-Resource-Policy": "cross-origin",
            "Access-Control-Allow-Origin": "null",
        ])

    private struct Order: Sendable {
        let number: Int
        let names: [String]
        let tags: [String]
    }

    private struct Answer: Sendable {
        let number: Int
        let found: SiteFolder.Found
    }

    private typealias Respond = (HTTPResponse) -> Void

    /// The mailbox is made before the desk exists.
    private final class DeskBox { weak var desk: SiteDesk? }

    private let orders = WorkerMailbox<Order>()
    private let answers: Mailbox<Answer>
    private let unread: () -> Int
    /// By number; the oldest is the next to be read.
    private var waiting: [(order: Order, respond: Respond)] = []
    private var reading: [Int: Respond] = [:]
    private var lastNumber = 0

    /// Serves what is in `folder`; `unread` tells the bytes that browsers have left unread.
    init(
        _ folder: SiteFolder, on loop: EventLoop, unread: @escaping () -> Int
    ) throws(EventLoopError) {
        self.unread = unread
        let box = DeskBox()
        answers = try Mailbox<Answer>(on: loop) { batch in
            for answer in batch { box.desk?.take(answer) }
        }
        _ = try WorkerThread(name: "site", yields: true) { [orders, answers] in
            var batch: [Order] = []
            while case .elements = orders.takeAll(into: &batch) {
                for order in batch {
                    let found = folder.read(order.names, known: order.tags)
                    _ = answers.post(Answer(number: order.number, found: found))
                }
            }
        }
        box.desk = self
    }

    /// Whether `path` is for the site.
    static func serves(_ path: String) -> Bool { path == root || path.hasPrefix(root + "/") }

    /// Answers `request`, of which the path is for the site.
    func answer(_ request: HTTPRequest, _ respond: @escaping (HTTPResponse) -> Void) {
        guard [.get, .head].contains(request.method) else {
            return respond(ConsolePages.onlyReading())
        }
        guard let names = SiteFolder.names(in: request.target.rawPath.dropFirst(Self.root.count))
        else { return respond(Self.nothing) }
        guard !names.isEmpty else {
            let place = ["Location": "\(Self.root)/documentation/"] as HTTPHeaders
            return respond(HTTPResponse(302, headers: place, text: "the first page\n"))
        }
        guard waiting.count < Self.waitingMax else { return respond(Self.busy) }
        lastNumber += 1
        let tags = request.headers.elements("If-None-Match")
        waiting.append((Order(number: lastNumber, names: names, tags: tags), respond))
        readNext()
    }

    private static var nothing: HTTPResponse { HTTPResponse(404, text: "not found\n") }

    private static var busy: HTTPResponse {
        HTTPResponse(503, headers: ["Retry-After": "1"], text: "too much is unread\n")
    }

    /// What is read is held until its browser takes it: so that is looked at first.
    private func readNext() {
        while reading.count < Self.readsMax, !waiting.isEmpty {
            let (order, respond) = waiting.removeFirst()
            guard unread() <= Self.unreadMax else {
                respond(Self.busy)
                continue
            }
            reading[order.number] = respond
            _ = orders.post(order)
        }
    }

    private func take(_ answer: Answer) {
        reading.removeValue(forKey: answer.number)?(Self.response(to: answer.found))
        readNext()
    }

    private static func response(to found: SiteFolder.Found) -> HTTPResponse {
        switch found {
        case .nothing: return nothing
        case .tooLong: return HTTPResponse(500, text: "a file of the site is too long\n")
        case .known(let tag):
            return HTTPResponse(304, headers: ["ETag": tag, "Cache-Control": "no-cache"])
        case .file(let bytes, let type, let tag):
            // Asked for anew each time, and sent anew only where it has changed.
            return HTTPResponse(
                200, headers: ["Content-Type": type, "ETag": tag, "Cache-Control": "no-cache"],
                body: bytes)
        }
    }

    /// Reads nothing more.
    func close() {
        orders.close()
        answers.close()
        waiting = []
        reading = [:]
    }
}
