// Everything that is sent out, as the loop sees it: who asked for what, and who is told.

import AgentCore
import CallModel
import CallWire
import EventLoop
import Glibc
import Outbound
import StoreContract

/// The loop's counterpart of the outbound thread. Owner: the loop's thread.
final class OutboundBridge {
    /// What plugins fetch.
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
    init(_ exchange: Exchange, modes: [Mode], loop: EventLoop, log: Log) throws(AgentError) {
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
            exchange, thread, encoder: WireEncoder(modes: modes), log: log)
        box.bridge = self
        exchange.outbox = self
        loop.atEndOfTurn { [unowned thread] in thread.flush() }
    }

    /// Goes on with other services and receivers.
    func configure(_ plan: OutboundPlan) {
        self.plan = plan
        thread.add(.use(plan.push, plan.webhooks))
        pushes.configure(plan)
        webhooks.configure(plan)
    }

    /// Why a device cannot register for pushes like that: what cryptography and the operator's
    /// file tell of a browser's subscription; nil: it can.
    func refusal(of registration: PushRegistration) -> Refusal? {
        guard registration.provider == PushCarrier.web.rawValue,
            let defect = plan.push.defect(ofSubscription: registration.token)
        else { return nil }
        let field = "subscription.\(defect.field)"
        return Refusal(.badRequest, "\(field) \(defect.reason)", detail: .field(field))
    }

    /// Takes up what the store keeps.
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

    /// The mailbox is made before the bridge.
    private final class Box {
        weak var bridge: OutboundBridge?
    }
}

extension OutboundBridge: Outbox {
    func entry(for job: PushJob, of records: [Record]) -> OutboxEntry {
        var entry = OutboxEntry()
        if job.isMissedCall(in: records) {
            entry.records.append(.missed(job.user, job.callID, at: exchange.now()))
        }
        guard plan.pushes else {
            pushes.passOver(job)
            return entry
        }
        let id = exchange.newJob()
        entry.records.append(.push(.add(id, job)))
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

    func note(_ report: Report) { webhooks.note(report) }
    func takeEvents() -> OutboxEntry? { webhooks.takeEvents() }

    func storeIsBack() {
        if plan.pushes { pushes.storeIsBack() }
        webhooks.storeIsBack()
    }
}

extension PushJob {
    /// Whether the user was called in vain: nobody answered for it, it was not forwarded, and no
    /// device of it has heard.
    fileprivate func isMissedCall(in records: [Record]) -> Bool {
        guard kind.isOver, connected.isEmpty else { return false }
        for case .call(let call) in records where call.id == callID {
            guard call.participant(user)?.answeredAt == nil else { return false }
            switch call.participant(user)?.reason {
            case .forwarded, .acceptUnacked, .acceptFailed, .callerOffline: return false
            case .declined, .busy, .byInviter, .whole, .callerLost, .itself, .lost, .kicked,
                .idle, .transferred, .offline, .noAck, .expired, .dialFailed, nil:
                return true
            }
        }
        return true
    }
}
