// What the operator's tools can ask and do about plugins.

import AgentCore
import CallCore
import CallModel
import Decisions
import JSON
import PolicyHost
import StoreContract
import WebProtocols

extension Agent {
    func addPolicyRoutes() {
        admin.serve(.reload) { [unowned self] _, respond in readAgain(.reload, respond) }
        admin.serve(.shadow) { [unowned self] _, respond in readAgain(.shadow, respond) }
        admin.serve(.endShadow) { [unowned self] _, respond in
            guard let policies, let shadow = policies.shadow else {
                return respond(
                    .refused(.wrongState, "nothing is asked beside the active generation"))
            }
            policies.endShadow()
            respond(.json(200, shadow.json))
        }
        admin.serve(.rollback) { [unowned self] request, respond in
            rollBack(to: request.text("generation")) { respond(HTTPResponse($0)) }
        }
        admin.serve(.plugins) { [unowned self] _, respond in
            guard let policies else { return respond(.json(200, ["plugins": []])) }
            policies.status { [unowned policies] status in
                var json = status.json.object ?? JSONObject()
                json["shadow"] = policies.shadow?.json
                respond(.json(200, .object(json)))
            }
        }
        admin.serve(.files) { [unowned self] _, respond in
            var json = reloader?.active.loaded.json.object ?? JSONObject()
            let all = alarms + [exchange.damagedCalls.text].compactMap { $0 }
            json["alarms"] = .array(all.map { .string($0) })
            respond(.json(200, .object(json)))
        }
        admin.serve(.explain) { [unowned self] request, respond in
            if let id = request.callID { explain(id, respond) }
        }
        admin.serve(.decisions) { [unowned self] request, respond in
            let count = request.integer("limit") ?? 100
            respond(.decisions(Array(policies?.decisions.newest(count) ?? [])))
        }
        admin.serve(.trace) { [unowned self] request, respond in trace(request, respond) }
    }

    private func readAgain(
        _ aim: Reloader.Aim, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        guard let reloader else {
            return respond(.refused(.wrongState, "this process has no file to read again"))
        }
        reloader.carryOut(aim) { respond(HTTPResponse($0)) }
    }

    /// The state of the plugins; nil: the process has none.
    func tellPolicyStatus(_ done: @escaping (PolicyStatus?) -> Void) {
        guard let policies else { return done(nil) }
        policies.status(done)
    }

    private func explain(_ id: CallID, _ respond: @escaping (HTTPResponse) -> Void) {
        let entries = policies?.decisions.entries(about: id) ?? []
        let unreached = outbound.unreached(of: id)
        tellVersion(of: id) { [unowned self] isKnown, version in
            guard isKnown || !entries.isEmpty else {
                return respond(.refused(.notFound, "nobody knows a call \(id)"))
            }
            let keptSince = policies?.decisions.keptSince
            outbound.outcomes(of: id) {
                respond(
                    .decisions(
                        entries, pushes: $0, unreached: unreached, keptSince: keptSince,
                        stored: version))
            }
        }
    }

    /// Whether there is a call `id`, live or kept, and which version of it is stored; a store that
    /// is away is believed to have it.
    private func tellVersion(
        of id: CallID, _ done: @escaping (_ isKnown: Bool, StoredVersion?) -> Void
    ) {
        exchange.find(.version(id)) { [unowned self] in
            guard case .version(let version) = $0 else { return done(true, nil) }
            done(version != nil || exchange.switchboard.call(id) != nil, version)
        }
    }

    private func trace(
        _ request: ManagementRequest, _ respond: @escaping (HTTPResponse) -> Void
    ) {
        guard let policies else {
            return respond(.refused(.wrongState, "this process has no plugins"))
        }
        var filter = DecisionFilter()
        (filter.call, filter.user) = (request.callID, request.user)
        filter.plugin = request.text("plugin")
        let after = request.integer("after")
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
    /// The result of a reload.
    fileprivate init(_ outcome: Reloader.Outcome) {
        switch outcome {
        case .success(let reloaded): self = .json(200, reloaded.json)
        case .failure(let error): self = .refused(.wrongState, "\(error)")
        }
    }

    fileprivate static func decisions(
        _ entries: [DecisionEntry], pushes: JSONValue? = nil, unreached: [String] = [],
        keptSince: Moment? = nil, stored: StoredVersion? = nil
    ) -> HTTPResponse {
        page(
            DecisionPage(next: 0, missed: 0, entries: entries), pushes: pushes,
            unreached: unreached, keptSince: keptSince, stored: stored)
    }

    /// `next`, `missed`, `decisions[]`, and `pushes[]` and `unreached[]` if there were any;
    /// `kept_since_at` where older decisions are not kept; `stored{}`: the stored version of the
    /// call.
    fileprivate static func page(
        _ page: DecisionPage, pushes: JSONValue? = nil, unreached: [String] = [],
        keptSince: Moment? = nil, stored: StoredVersion? = nil
    ) -> HTTPResponse {
        var writer = JSONWriter()
        writer.object {
            $0.field("next", page.next)
            $0.field("missed", page.missed)
            $0.array("decisions") {
                for entry in page.entries { entry.write(into: &$0) }
            }
            if let keptSince { $0.field("kept_since_at", keptSince.milliseconds) }
            if let stored {
                $0.object("stored") {
                    $0.field("owner", stored.term.owner)
                    $0.field("epoch", Int64(stored.term.epoch))
                    $0.field("revision", Int64(stored.revision))
                }
            }
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
