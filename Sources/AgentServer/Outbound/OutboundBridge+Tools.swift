// Answers the operator's tools about pushes and webhooks.

import AgentCore
import CallModel
import CallWire
import EventLoop
import JSON
import StoreContract
import WebProtocols

extension OutboundBridge {
    /// Adds the routes of `callagent webhooks`, and the outcomes of pushes.
    func addRoutes(to admin: AdminServer) {
        admin.serve(.webhooks) { [unowned self] request, respond in
            choose(request, orElse: nil, respond) { self.list($0, respond) }
        }
        admin.serve(.replayWebhooks) { [unowned self] request, respond in
            choose(request, orElse: .failed, respond) {
                self.webhooks.replay($0) { count in
                    guard let count else {
                        return respond(.refused(.unavailable, "the store is away"))
                    }
                    respond(.json(200, ["replayed": .integer(Int64(count))]))
                }
            }
        }
        admin.serve(.retryWebhook) { [unowned self] request, respond in
            let name = request.text("event") ?? ""
            guard let id = WebhookChoice.job(of: name) else {
                return respond(.refused(.notFound, "no event is called '\(name)'"))
            }
            var choice = WebhookChoice()
            choice.filter.id = id
            webhooks.replay(choice) { count in
                switch count {
                case nil: respond(.refused(.unavailable, "the store is away"))
                case 0: respond(.refused(.notFound, "no failed event is called '\(name)'"))
                default: respond(.json(200, ["replayed": 1]))
                }
            }
        }
        admin.serve(.pushes) { [unowned self] request, respond in
            let state = request.text("state")
            let open = state == nil || state == "open" ? pushes.openPushes(Self.openShown) : []
            let ended = pushes.endedPushes.newest.filter { state == nil || state == $0.state }
            respond(ManagementPage.part(of: (open + ended).map(\.json), request))
        }
        admin.serve(.retryPush) { [unowned self] request, respond in
            pushes.retry(request.text("push") ?? "") { refusal in
                respond(refusal.map { HTTPResponse(HTTPReply($0)) } ?? .json(200, ["retried": 1]))
            }
        }
        admin.serve(.enableWebhook) { [unowned self] request, respond in
            let name = request.text("name") ?? ""
            webhooks.enable(name) { isKnown in
                guard isKnown else {
                    return respond(.refused(.notFound, "no endpoint '\(name)' in webhooks"))
                }
                respond(.json(200, ["enabled": .string(name)]))
            }
        }
    }

    /// Pushes under way that are shown.
    private static let openShown = 500

    /// Finds the events that `request` names and gives them to `use`; `usual` is their state unless
    /// the request has one.
    private func choose(
        _ request: ManagementRequest, orElse usual: WebhookProgress.State?,
        _ respond: (HTTPResponse) -> Void, _ use: (WebhookChoice) -> Void
    ) {
        var choice = WebhookChoice()
        choice.filter.endpoint = request.text("endpoint")
        choice.filter.call = request.callID
        if let limit = request.integer("limit") { choice.filter.limit = limit }
        if let text = request.text("event") {
            guard let id = WebhookChoice.job(of: text) else {
                return respond(.refused(.badRequest, "event: no event is called '\(text)'"))
            }
            choice.filter.id = id
        }
        let state = request.text("state").flatMap { WebhookProgress.State(rawValue: $0) }
        choice.isOfEvents = state != nil
        choice.filter.state = state ?? usual ?? .failed
        use(choice)
    }

    /// The users who had neither a device nor a registration when `call` was to ring, as far as
    /// they are remembered.
    func unreached(of call: CallID) -> [String] {
        pushes.unreached.users(of: call).map(\.text).sorted()
    }

    /// The outcomes of the pushes of a call; nil: there were none.
    func outcomes(of call: CallID, _ done: @escaping (JSONValue?) -> Void) {
        exchange.find(.pushOutcomes(call)) {
            guard case .pushOutcomes(let found) = $0, !found.isEmpty else { return done(nil) }
            done(JSONValue(found))
        }
    }

    /// Without a state the receivers, else the events in that state.
    private func list(_ choice: WebhookChoice, _ respond: @escaping (HTTPResponse) -> Void) {
        guard choice.isOfEvents else {
            return respond(.json(200, ["items": webhooks.status, "cursor": .null]))
        }
        exchange.find(.webhooks(choice.filter)) {
            guard case .webhooks(let found) = $0 else {
                return respond(.refused(.unavailable, "the store is away"))
            }
            respond(.json(200, ["items": .array(found.map(\.json)), "cursor": .null]))
        }
    }
}

extension StoredWebhook {
    /// The event for a tool, without its body.
    fileprivate var json: JSONValue {
        var event: JSONObject = [
            "event": .string(WebhookDelivery.name(of: job)), "endpoint": .string(job.endpoint),
            "call_id": .string("\(job.callID)"), "type": .string(job.type),
            "at": .integer(job.at.milliseconds),
            "state": .string(progress.state.rawValue),
            "attempts": .integer(Int64(progress.attempts)),
        ]
        if progress.state == .open { event["due_at"] = .integer(progress.dueAt.milliseconds) }
        if let error = progress.lastError { event["error"] = .string(error) }
        return .object(event)
    }
}

extension JSONValue {
    /// The outcomes of the pushes of a call.
    fileprivate init(_ outcomes: [StoreContract.PushOutcome]) {
        self = .array(
            outcomes.map { outcome in
                [
                    "user": .string(outcome.address.user.text),
                    "device": .string(outcome.address.device.text),
                    "provider": .string(outcome.provider), "kind": .string(outcome.kind.rawValue),
                    "at": .integer(outcome.at.milliseconds), "result": .string(outcome.result),
                ]
            })
    }
}
