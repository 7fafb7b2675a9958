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
        admin.serve(.reload) { [unowned self] request, respond in
            readAgain(expecting: request.text("generation"), respond) { () throws(Refusal) in
                try Reloader.Aim(reload: request)
            }
        }
        admin.serve(.promote) { [unowned self] _, respond in readAgain(respond) { .promote } }
        admin.serve(.abort) { [unowned self] _, respond in readAgain(respond) { .abort } }
        admin.serve(.shadow) { [unowned self] request, respond in
            readAgain(respond) { () throws(Refusal) in
                .shadow(given: try Reloader.Aim.files(of: request))
            }
        }
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
        admin.serve(.files) { [unowned self] _, respond in respond(.json(200, filesShown)) }
        admin.serve(.explain) { [unowned self] request, respond in
            guard let id = request.callID else { return }
            guard request.identity.role == .viewer else { return explain(id, respond) }
            explain(id) { response in
                var response = response
                if let value = try? JSONValue(parsing: response.body) {
                    response.body = value.withoutTexts.bytes
                }
                respond(response)
            }
        }
    }

    private func readAgain(
        expecting generation: String? = nil, _ respond: @escaping (HTTPResponse) -> Void,
        _ aim: () throws(Refusal) -> Reloader.Aim
    ) {
        guard let reloader else {
            return respond(.refused(.wrongState, "this process has no file to read again"))
        }
        do throws(Refusal) {
            reloader.carryOut(try aim(), expecting: generation) { respond(HTTPResponse($0)) }
        } catch {
            respond(.refused(error.code, error.message))
        }
    }

    /// The state of the plugins; nil: the process has none.
    func tellPolicyStatus(_ done: @escaping (PolicyStatus?) -> Void) {
        guard let policies else { return done(nil) }
        policies.status(done)
    }

    private func explain(_ id: CallID, _ respond: @escaping (HTTPResponse) -> Void) {
        let unreached = outbound.unreached(of: id)
        findDecisions(about: id) { [weak self] known in
            guard let known else {
                return respond(.refused(.rateLimited, "too many calls are being explained"))
            }
            self?.tellVersion(of: id) { isKnown, version in
                guard isKnown || !known.decisions.isEmpty else {
                    return respond(.refused(.notFound, "nobody knows a call \(id)"))
                }
                self?.outbound.outcomes(of: id) { pushes in
                    respond(.json(200, known.json(version, unreached: unreached, pushes)))
                }
            }
        }
    }

    private func findDecisions(about id: CallID, _ done: @escaping (KnownDecisions?) -> Void) {
        guard let policies else { return done(KnownDecisions(decisions: [])) }
        policies.decisions.find(id, done)
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
}

extension Reloader.Aim {
    /// Reads the files again for all, or for those whom the request names.
    fileprivate init(reload request: ManagementRequest) throws(Refusal) {
        guard let accounts = request.text("canary") else {
            for name in ["salt", "abort_on_failure"] where request.text(name) != nil {
                throw .bad(name, "goes with canary")
            }
            self = .reload(given: try Self.files(of: request))
            return
        }
        guard CanaryExtent(accounts, salt: "") != nil else {
            throw .bad("canary", CanaryExtent.form)
        }
        self = .tryOut(
            Reloader.CanaryWish(
                accounts: accounts, salt: request.text("salt"),
                abortOnFailure: request.integer("abort_on_failure"),
                given: try Self.files(of: request)))
    }

    /// The files that another node has read; nil: those on disk count.
    static func files(
        of request: ManagementRequest
    ) throws(Refusal) -> StoredGeneration? {
        guard let object = request.object("files") else { return nil }
        // Who may reload may not by this bring code of their own.
        guard request.identity.isOfNode else {
            throw .bad("files", "come from nodes of the cluster only")
        }
        guard let files = StoredGeneration(texts: object) else {
            throw .bad("files", "are texts by path")
        }
        return files
    }
}

extension CanaryOrder {
    /// `for`, `salt`, `since_at`, `abort_on_failure`.
    var members: JSONObject {
        [
            "for": .string(newest.extent.text), "salt": .string(newest.extent.salt),
            "since_at": .integer(newest.since.milliseconds),
            "abort_on_failure": abortOnFailure.map { .integer(Int64($0)) } ?? .null,
        ]
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
    /// `generation`, `shadow`, `canary`, `taken_back`, `warnings`, `tests`, `replay`.
    fileprivate var json: JSONValue {
        [
            "generation": .string(generation), "shadow": .bool(isShadow),
            "canary": canary.map { .object($0.members) } ?? .null,
            "taken_back": takenBack.map { .string($0) } ?? .null,
            "warnings": .array(warnings.map { .string($0) }),
            "tests": tests.map { .integer(Int64($0)) } ?? .null, "replay": replay?.json ?? .null,
        ]
    }
}

extension KnownDecisions {
    /// `decisions[]`, `gaps[]`, `kept_since_at`, and what belongs to the call beside them: the
    /// version that is `stored`, its `pushes[]`, and the `unreached[]`, who were called and had
    /// neither a device nor a registration.
    fileprivate func json(
        _ stored: StoredVersion?, unreached: [String], _ pushes: JSONValue?
    ) -> JSONValue {
        var json: JSONObject = ["decisions": .array(decisions)]
        if let keptSince { json["kept_since_at"] = .integer(keptSince.milliseconds) }
        if !gaps.isEmpty { json["gaps"] = .array(gaps.map(\.json)) }
        if let stored {
            json["stored"] = [
                "owner": .string(stored.term.owner), "epoch": .integer(Int64(stored.term.epoch)),
                "revision": .integer(Int64(stored.revision)),
            ]
        }
        json["pushes"] = pushes
        if !unreached.isEmpty { json["unreached"] = .array(unreached.map { .string($0) }) }
        return .object(json)
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
}
