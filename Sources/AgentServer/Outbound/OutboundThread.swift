// The outbound thread, and the loop's side of it.

import EventLoop
import Outbound

/// Something for the outbound thread.
enum OutboundOrder: Sendable {
    /// Other services and receivers from now on.
    case use(PushServices, [WebhookEndpoint])
    /// `OutboundService.News.response` answers with the number.
    indirect case fetch(UInt64, OutboundRequest)
    /// Nobody waits for it any more.
    case cancelFetch(UInt64)
    /// `News.push` answers.
    indirect case send(PushNotice)
    /// The push no longer matters: no further attempt.
    case stopTrying(String)
    /// `News.webhook` answers.
    indirect case deliver(WebhookPost)
}

/// Runs the outbound service on a thread of its own, so that no server out there keeps the network
/// waiting. Owner of all but the thread's body: the loop's thread.
final class OutboundThread {
    private let mailbox = WorkerMailbox<OutboundOrder>()
    private let waker: HTTPWaker
    private var thread: WorkerThread?
    private var gathered: [OutboundOrder] = []

    /// How long the thread sleeps when nothing is to be done, in milliseconds.
    private static let longestSleep = 60_000

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - service: moves to the thread.
    ///   - news: where the outcomes go.
    init(
        _ service: OutboundService, news: Mailbox<OutboundService.News>
    ) throws(EventLoopError) {
        waker = service.waker
        let body = Body(service: service)
        let mailbox = mailbox
        thread = try WorkerThread(name: "outbound") {
            var batch: [OutboundOrder] = []
            while true {
                // One wake may have stood for orders and for the end behind them: it sleeps only
                // when it has found nothing.
                var patience = 0
                switch mailbox.takeAll(into: &batch, until: 0) {
                case .elements: for order in batch { body.carryOut(order) }
                case .deadline: patience = Self.longestSleep
                case .closed: return body.close()
                }
                var told = body.perform(forAtMost: patience)
                _ = news.post(&told)
            }
        }
    }

    /// Adds an order; it leaves with the next `flush`.
    func add(_ order: OutboundOrder) { gathered.append(order) }

    /// What was gathered goes to the thread, in order.
    func flush() {
        guard !gathered.isEmpty else { return }
        _ = mailbox.post(&gathered)
        waker.wake()
    }

    /// Ends the thread; what is under way is given up and goes on from the store at the next start.
    func close() {
        mailbox.close()
        waker.wake()
        thread?.join()
    }

    /// What the thread does. Owner: the outbound thread.
    private final class Body: @unchecked Sendable {
        private let service: OutboundService

        init(service: OutboundService) { self.service = service }

        func carryOut(_ order: OutboundOrder) {
            switch order {
            case .use(let push, let endpoints): service.use(push: push, webhooks: endpoints)
            case .fetch(let number, let request): service.fetch(request, as: number)
            case .cancelFetch(let number): service.cancelFetch(number)
            case .send(let notice): service.send(notice)
            case .stopTrying(let id): service.stopTrying(id)
            case .deliver(let job): service.take(job)
            }
        }

        func perform(forAtMost milliseconds: Int) -> [OutboundService.News] {
            service.perform(forAtMost: milliseconds)
        }

        func close() { service.close() }
    }
}
