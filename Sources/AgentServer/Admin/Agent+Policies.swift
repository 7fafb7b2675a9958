// What the operator's tools may ask and do about the plugins.

import CallCore
import CallModel
import JSON
import PolicyHost
import Storage
import WebProtocols

extension Agent {
    func addPolicyRoutes() {
        admin.route(.post, "/admin/reload") { [unowned self] request, respond in
            guard let reloader else {
                return respond(.trouble(409, "this process has no file to read again"))
            }
            let isShadow = request.target.query("shadow") == "1"
            reloader.carryOut(isShadow ? .shadow : .reload) { respond(HTTPResponse($0)) }
        }
        admin.route(.post, "/admin/shadow/end") { [unowned self] _, respond in
            guard let policies, let shadow = policies.shadow else {
                return respond(.trouble(409, "nothing is asked beside the active generation"))
            }
            policies.endShadow()
            respond(.json(200, shadow.json))
        }
        admin.route(.post, "/admin/rollback") { [unowned self] request, respond in
            rollBack(to: request.target.query("generation")) { respond(HTTPResponse($0)) }
        }
        admin.route(.get, "/admin/plugins") { [unowned self] _, respond in
            guard let policies else { return respond(.json(200, ["plugins": []])) }
            policies.status { [unowned policies] status in
                var json = status.json.object ?? JSONObject()
                json["shadow"] = policies.shadow?.json
                respond(.json(200, .object(json)))
            }
        }
        admin.route(.get, "/admin/files") { [unowned self] _, respond in
            var json = reloader?.active.loaded.json.object ?? JSONObject()
            json["alarms"] = .array(alarms.map { .string($0) })
            respond(.json(200, .object(json)))
        }
        admin.route(.get, "/admin/explain") { [unowned self] request, respond in
            guard let id = request.target.query("call").flatMap({ CallID($0) }) else {
                return respond(.trouble(400, "call: 32 lower-case hex digits are wanted"))
            }
            explain(id, respond)
        }
        admin.route(.get, "/admin/decisions") { [unowned self] request, respond in
            let count = request.target.query("limit").flatMap { Int($0) } ?? 100
            respond(.decisions(Array(policies?.decisions.newest(count) ?? [])))
        }
        admin.route(.get, "/admin/trace") { [unowned self] request, respond in
            trace(request, respond)
        }
    }

    /// How the plugins are doing; nil: there is nobody to ask.
    func tellPolicyStatus(_ done: @escaping (PolicyStatus?) -> Void) {
        guard let policies else { return done(nil) }
        policies.status(done)
    }

    private func explain(_ id: CallID, _ respond: @escaping (HTTPResponse) -> Void) {
        let entries = policies?.decisions.entries(about: id) ?? []
        let unreached = outbound.unreached(of: id)
        tellWhetherKnown(id) { [unowned self] isKnown in
            guard isKnown || !entries.isEmpty else {
                return respond(.trouble(404, "nobody knows a call \(id)"))
            }
            let keptSince = policies?.decisions.keptSince
            outbound.outcomes(of: id) {
                respond(
                    .decisions(
                        entries, pushes: $0, unreached: unreached, keptSince: keptSince))
            }
        }
    }

    /// Whether there is a call `id`, live or kept; a store that is away is believed to have it.
    private func tellWhetherKnown(_ id: CallID, _ done: @escaping (Bool) -> Void) {
        guard exchange.switchboard.call(id) == nil else { return done(true) }
        exchange.find(.call(id)) {
            if case .call(nil) = $0 { done(false) } else { done(true) }
        }
    }

    private func trace(_ request: HTTPRequest, _ respond: @escaping (HTTPResponse) -> Void) {
        var filter = DecisionFilter()
        if let text = request.target.query("call") {
            guard let call = CallID(text) else {
                return respond(.trouble(400, "call: 32 lower-case hex digits are wanted"))
            }
            filter.call = call
        }
        if let text = request.target.query("user") {
            guard let user = UserID(checking: text) else {
                return respond(.trouble(400, "user: '\(text)' is no user"))
            }
            filter.user = user
        }
        filter.plugin = request.target.query("plugin")
        guard let policies else { return respond(.trouble(409, "this process has no plugins")) }
        let after = request.target.query("after").flatMap { Int($0) }
        policies.decisions.trace(after: after, filter) { respond(.page($0)) }
    }
}

extension Shadow {
    /// `generation`, `skipped` and the figures of the comparison.
    var json: JSONValue {
        var json = report.json.object ?? JSONObject()
        json["generation"] = .string(generation)
        json["skipped"] = .integer(Int64(skipped))
        return .object(json)
    }
}

extension Reloaded {
    /// `generation`, `shadow`, `warnings`, `tests`, `replay`.
    fileprivate var json: JSONValue {
        [
            "generation": .string(generation), "shadow": .bool(isShadow),
            "warnings": .array(warnings.map { .string($0) }),
            "tests": tests.map { .integer(Int64($0)) } ?? .null, "replay": replay?.json ?? .null,
        ]
    }
}

extension HTTPResponse {
    /// What came of a reload.
    fileprivate init(_ outcome: Reloader.Outcome) {
        switch outcome {
        case .success(let reloaded): self = .json(200, reloaded.json)
        case .failure(let error): self = .trouble(409, "\(error)")
        }
    }

    fileprivate static func decisions(
        _ entries: [DecisionEntry], pushes: JSONValue? = nil, unreached: [String] = [],
        keptSince: Moment? = nil
    ) -> HTTPResponse {
        page(
            DecisionPage(next: 0, missed: 0, entries: entries), pushes: pushes,
            unreached: unreached, keptSince: keptSince)
    }

    /// `next`, `missed`, `decisions[]`, and `pushes[]` and `unreached[]` if there were any;
    /// `kept_since_at` where older decisions are not kept.
    fileprivate static func page(
        _ page: DecisionPage, pushes: JSONValue? = nil, unreached: [String] = [],
        keptSince: Moment? = nil
    ) -> HTTPResponse {
        var writer = JSONWriter()
        writer.object {
            $0.field("next", page.next)
            $0.field("missed", page.missed)
            $0.array("decisions") {
                for entry in page.entries { entry.write(into: &$0) }
            }
            if let keptSince { $0.field("kept_since_at", keptSince.milliseconds) }
            if let pushes { $0.field("pushes", raw: pushes.bytes) }
            if !unreached.isEmpty {
                let names = JSONValue.array(unreached.map { .string($0) })
                $0.field("unreached", raw: names.bytes)
            }
        }
        return HTTPResponse(
            200, headers: ["Content-Type": "application/json"], body: writer.bytes)
    }
}
