// A deployment that decides for some accounts, and how the store keeps it.

import CallModel
import Configuration
import Decisions
import EventLoop
import JSON
import PolicyHost
import Storage
import StoreContract

/// A canary beside the deployment in force.
struct CanaryInForce: Sendable {
    /// As its files were read.
    var deployment: Deployment
    /// For whom it decides.
    var order: CanaryOrder

    /// What becomes of its `state` when it is put into force.
    static func loss(of active: String) -> String {
        "what the canary's plugins kept in 'state' is dropped: they go on with that of the "
            + "generation \(active)"
    }

    /// A line for each thing that it says and that does not count for some accounts alone.
    func waiting(beside active: Deployment) -> [String] {
        let (old, new) = (active.configuration, deployment.configuration)
        let (mine, theirs) = (new.generation, old.generation)
        let names = [
            ("invite", mine.invite == theirs.invite), ("modes", mine.modes == theirs.modes),
            ("groups", mine.groups == theirs.groups), ("names", mine.names == theirs.names),
        ].filter { !$0.1 }.map(\.0)
        var lines: [String] = []
        if !names.isEmpty {
            lines.append(
                "\(names.joined(separator: ", ")): as before for everybody until it is promoted")
        }
        if old.server != new.server {
            lines.append(
                "the server's part of the file has changed: it comes into force with a promotion")
        }
        return lines
    }

    /// Goes on after a start, in a host that has not begun yet.
    func goOn(in host: PolicyHost, beside active: Deployment, seed: UInt64) {
        let control = active.control(seed: seed).map { Replay($0, cryptography: .system) }
        host.resumeCanary(deployment.generation, order, control: control)
    }

    // MARK: In the store

    private static let key = "canary"

    /// The store's change that keeps `canary`; nil: there is none.
    static func record(_ canary: CanaryInForce?) -> StoreChange {
        guard let canary else { return .value(.remove(plugin: "", key: key)) }
        let spans = canary.order.spans.map { span -> JSONValue in
            [
                "since_at": .integer(span.since.milliseconds),
                "for": .string(span.extent.text), "salt": .string(span.extent.salt),
            ]
        }
        let json: JSONValue = [
            "generation": .string(canary.deployment.name), "spans": .array(spans),
            "abort_on_failure": canary.order.abortOnFailure.map { .integer(Int64($0)) } ?? .null,
        ]
        return .value(.set(plugin: "", key: key, value: json.bytes, expiresAt: nil))
    }

    /// The name of the generation, and the order; nil: none is kept.
    static func kept(
        _ reader: any CallReader
    ) throws(StoreError) -> (name: String, order: CanaryOrder)? {
        let query = StoreQuery.values(
            plugin: "", keys: [key], at: Moment(Clock.wallMilliseconds()))
        guard case .values(let found) = try reader.answer(query), let bytes = found[0],
            let json = try? JSONValue(
                parsing: bytes, limits: JSONLimits(bytes: max(1, bytes.count))),
            let name = json["generation"]?.string
        else { return nil }
        let spans = (json["spans"]?.array ?? []).compactMap { span -> CanaryOrder.Span? in
            guard let since = span["since_at"]?.integer, let text = span["for"]?.string,
                let extent = CanaryExtent(text, salt: span["salt"]?.string ?? name)
            else { return nil }
            return CanaryOrder.Span(extent, since: Moment(since))
        }
        let most = json["abort_on_failure"]?.integer.map { Int($0) }
        return CanaryOrder(spans, abortOnFailure: most).map { (name, $0) }
    }
}

extension AgentOptions {
    /// The switchboard asks a canary too, about its own accounts.
    mutating func add(_ canary: CanaryInForce) {
        let generation = canary.deployment.generation
        settings.hooks.formUnion(generation.hooks)
        settings.canary = Settings.Canary(
            canary.order.newest.extent,
            answerFor: Accounts(canary.deployment.configuration.generation.answerFor),
            inviteGuards: generation.guards(of: .invite), dialGuards: generation.guards(of: .dial))
        if generation.shapesPushes { outbound.shapesPushes = true }
    }
}
