// The loop's side of everything that is sent out.

import AgentCore
import CallModel
import CallWire
import EventLoop
import Glibc
import Outbound
import StoreContract

/// The loop's counterpart of the outbound thread. Owner: the loop's thread.
final class OutboundBridge {
    /// Requests of plugins.
    let fetches: PluginFetches
    /// Pushes.
    let pushes: PushDelivery
    /// Events for other systems.
    let webhooks: WebhookDelivery
    private let thread: OutboundThread
    let exchange: Exchange
    private var plan = OutboundPlan()

    /// Starts the thread.
    ///
    /// - Throws: `system` or `refused` when the system gives no thread or descriptors.
    init(_ exchange: Exchange, loop: EventLoop, log: Log) throws(AgentError) {
        self.exchange = exchange
        let box = Box()
        let service: OutboundService
        do throws(OutboundFailure) {
            service = try OutboundService(Self.settings)
        } catch {
            throw .refused("\(error)")
        }
        do throws(EventLoopError) {
            let news = try Mailbox<OutboundService.News>(on: loop) { batch in
                for item in batch { box.bridge?.receive(item) }
            }
            thread = try OutboundThread(service, news: news)
        } catch {
            throw .system(error)
        }
        fetches = PluginFetches(thread)
        pushes = PushDelivery(exchange, thread, loop: loop, log: log)
        webhooks = WebhookDelivery(
            exchange, thread, encoder: WireEncoder(names: exchange.names), log: log)
        box.bridge = self
        exchange.outbox = self
        loop.atEndOfTurn { [unowned thread] in thread.flush() }
    }

    /// Applies other services and receivers.
    func configure(_ plan: OutboundPlan) {
        self.plan = plan
        thread.add(.use(plan.push, plan.webhooks))
        pushes.configure(plan)
        webhooks.configure(plan)
    }

    /// Why a device cannot register for pushes in this way: because of the keys of its subscription
    /// or the operator's file; nil: it can.
    func refusal(of registration: PushRegistration) -> Refusal? {
        guard registration.provider == PushCarrier.web.rawValue,
            let defect = plan.push.defect(ofSubscription: registration.token)
        else { return nil }
        let field = "subscription.\(defect.field)"
        return Refusal(.badRequest, "\(field) \(defect.reason)", detail: .field(field))
    }

    /// Goes on with what the store kept.
    func start() {
        if plan.pushes { pushes.resume() }
        webhooks.start()
    }

    /// Ends the thread.
    func close() { thread.close() }

    /// A file of certificates to trust instead of the system's, by the name that OpenSSL uses too.
    private static var settings: OutboundService.Settings {
        var settings = OutboundService.Settings()
        settings.http.trustFile = getenv("SSL_CERT_FILE").map { String(cString: $0) }
        return settings
    }

    private func receive(_ news: OutboundService.News) {
        switch news {
        case .response(let number, let result): fetches.ended(number, result)
        case .push(let outcome): pushes.ended(outcome)
        case .webhook(let outcome): webhooks.moved(outcome)
        }
    }

    /// The mailbox is made before the bridge exists, which the exchange holds for good. A weak
    /// reference would make each use of the bridge dear: its counts would lie in memory of their
    /// own.
    private final class Box {
        unowned var bridge: OutboundBridge?
    }
}

extension OutboundBridge: Outbox {
    func entry(for job: PushJob, of records: [Record]) -> OutboxEntry {
        var entry = OutboxEntry()
        if job.isMissedCall(in: records) {
            entry.changes.append(.missed(job.user, job.callID, at: exchange.now()))
        }
        guard plan.pushes else {
            pushes.passOver(job)
            return entry
        }
        let id = exchange.newJob()
        entry.changes.append(.push(.add(id, job)))
        entry.then = { [weak self] in
            if $0 == .durable { self?.pushes.begin(id, job) }
        }
        return entry
    }

    func kept(_ records: [Record]) {
        guard plan.pushes else { return }
        for record in records {
            if case .call(let call) = record { pushes.changed(call) }
        }
    }

    func note(_ report: Report, _ trace: TraceParent?) { webhooks.note(report, trace) }
    func takeEvents() -> OutboxEntry? { webhooks.takeEvents() }

    func storeIsBack() {
        if plan.pushes { pushes.storeIsBack() }
        webhooks.storeIsBack()
    }
}

extension PushJob {
    /// Whether the call is missed for the user: it was not answered or forwarded, and no device has
    /// heard of it.
    fileprivate func isMissedCall(in records: [Record]) -> Bool {
        guard kind.isOver, connected.isEmpty else { return false }
        for case .call(let call) in records where call.id == callID {
            guard call.participant(user)?.answeredAt == nil else { return false }
            switch call.participant(user)?.reason {
            case .forwarded, .taken, .acceptUnacked, .acceptFailed, .callerOffline: return false
            case .declined, .busy, .byInviter, .whole, .callerLost, .itself, .lost, .kicked,
                .idle, .transferred, .offline, .noAck, .expired, .dialFailed, nil:
                return true
            }
        }
        return true
    }
}
