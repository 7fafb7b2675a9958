// What the operator's tools ask about pushes and webhooks.

import CallModel
import EventLoop
import JSON
import Storage
import WebProtocols

extension OutboundBridge {
    /// Adds the routes of `callagent webhooks`, and what became of pushes.
    func addRoutes(to admin: AdminServer) {
        admin.route(.get, "/admin/webhooks") { [unowned self] request, respond in
            do throws(Unusable) {
                list(try WebhookChoice(request, state: nil), respond)
            } catch {
                respond(.trouble(400, error.reason))
            }
        }
        admin.route(.post, "/admin/webhooks/replay") { [unowned self] request, respond in
            do throws(Unusable) {
                webhooks.replay(try WebhookChoice(request, state: .failed)) { count in
                    guard let count else { return respond(.trouble(503, "the store is away")) }
                    respond(.json(200, ["replayed": .integer(Int64(count))]))
                }
            } catch {
                respond(.trouble(400, error.reason))
            }
        }
        admin.route(.post, "/admin/webhooks/enable") { [unowned self] request, respond in
            let name = request.target.query("endpoint") ?? ""
            webhooks.enable(name) { isKnown in
                guard isKnown else {
                    return respond(.trouble(404, "no endpoint '\(name)' in webhooks"))
                }
                respond(.json(200, ["enabled": .string(name)]))
            }
        }
    }

    /// Who had neither a device nor a registration when `call` was to ring, as far as it is
    /// remembered.
    func unreached(of call: CallID) -> [String] {
        pushes.unreached.users(of: call).map(\.text).sorted()
    }

    /// What became of the pushes of a call; nil: there were none.
    func outcomes(of call: CallID, _ done: @escaping (JSONValue?) -> Void) {
        exchange.find(.pushOutcomes(call)) {
            guard case .pushOutcomes(let found) = $0, !found.isEmpty else { return done(nil) }
            done(JSONValue(found))
        }
    }

    /// Without a state the receivers, else the events that stand there.
    private func list(_ choice: WebhookChoice, _ respond: @escaping (HTTPResponse) -> Void) {
        guard choice.isOfEvents else {
            return respond(.json(200, ["endpoints": webhooks.status]))
        }
        exchange.find(.webhooks(choice.filter)) {
            guard case .webhooks(let found) = $0 else {
                return respond(.trouble(503, "the store is away"))
            }
            respond(.json(200, ["events": .array(found.map(\.json))]))
        }
    }
}

/// A choice that cannot be read.
private struct Unusable: Error {
    let reason: String
}

extension WebhookChoice {
    /// What a request asks for; `state` unless it says otherwise.
    fileprivate init(
        _ request: HTTPRequest, state usual: WebhookProgress.State?
    ) throws(Unusable) {
        self.init()
        filter.endpoint = request.target.query("endpoint")
        if let text = request.target.query("call") {
            guard let call = CallID(text) else {
                throw Unusable(reason: "call: 32 lower-case hex digits are wanted")
            }
            filter.call = call
        }
        if let text = request.target.query("event") {
            guard let id = Self.job(of: text) else {
                throw Unusable(reason: "event: no event is called '\(text)'")
            }
            filter.id = id
        }
        if let text = request.target.query("limit") {
            guard let limit = Int(text), (1...10_000).contains(limit) else {
                throw Unusable(reason: "limit: 1 to 10000")
            }
            filter.limit = limit
        }
        let word = request.target.query("state")
        isOfEvents = word != nil
        guard let state = word.map({ WebhookProgress.State(rawValue: $0) }) ?? usual ?? .failed
        else { throw Unusable(reason: "state: one of open, delivered, failed") }
        filter.state = state
    }
}

extension StoredWebhook {
    /// The event for a tool, without its body.
    fileprivate var json: JSONValue {
        var event: JSONObject = [
            "event": .string(WebhookDelivery.name(of: job)), "endpoint": .string(job.endpoint),
            "type": .string(job.type), "at": .integer(job.at.milliseconds),
            "state": .string(progress.state.rawValue),
            "attempts": .integer(Int64(progress.attempts)),
        ]
        if progress.state == .open { event["due_at"] = .integer(progress.dueAt.milliseconds) }
        if let error = progress.lastError { event["error"] = .string(error) }
        return .object(event)
    }
}

extension JSONValue {
    /// What became of the pushes of a call.
    fileprivate init(_ outcomes: [Storage.PushOutcome]) {
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
