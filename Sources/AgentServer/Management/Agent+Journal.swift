// Why calls went as they did, and why a phone did not ring.

import AgentCore
import CallCore
import CallModel
import CallWire
import JSON
import StoreContract
import WebProtocols

extension Agent {
    func addJournalRoutes() {
        admin.serve(.journal) { [unowned self] request, respond in
            guard let id = request.callID else { return }
            management.keeper?.find(id) { found in
                guard let found else {
                    return respond(.refused(.notFound, "no journal of a call \(id) is kept"))
                }
                let after = request.integer("after") ?? 0
                let items = found.entries.filter { ($0["n"]?.integer ?? 0) > Int64(after) }
                // A note of what is counted stands in the place of the next entry.
                let last = items.last { $0["at"]?.integer != nil }
                respond(
                    .json(
                        200,
                        [
                            "items": .array(items),
                            "after": .integer(last?["n"]?.integer ?? Int64(after)),
                            "truncated": .bool(!found.isWhole),
                        ]))
            }
        }
        admin.serve(.explainUser) { [unowned self] request, respond in
            if let user = request.user { explain(user, request, respond) }
        }
    }

    /// Calls that one answer looks at.
    private static let explainedMax = 50

    /// What became of the calls that were to make a phone of `user` ring.
    private func explain(
        _ user: UserID, _ request: ManagementRequest,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        let since = request.moment("since_at") ?? exchange.now() + -7_200_000
        var query = ListQuery()
        (query.limit, query.since) = (Self.explainedMax, since)
        exchange.find(.page(user, query, bytes: 1 << 20)) { [weak self] answer in
            guard let self, case .page(let page) = answer else {
                return respond(.refused(.unavailable, "the store is away"))
            }
            let calls = page.calls.filter { call in
                call.participant(user).map { $0.role == .invitee } ?? false
            }
            exchange.find(.registrations(user, with: nil)) { [weak self] answer in
                var isRegistered = false
                if case .registrations(let all, _) = answer { isRegistered = !all.isEmpty }
                guard let self else { return }
                let connections = exchange.journal?.people.connections(of: user) ?? []
                let facts = WhyNot.Facts(
                    user: user, isRegistered: isRegistered, others: page.calls,
                    connections: connections)
                explain(calls, facts, since: since, respond)
            }
        }
    }

    /// Looks at one call after the other, each in a piece of work of its own.
    private func explain(
        _ calls: [Call], _ facts: WhyNot.Facts, since: Moment,
        _ respond: @escaping (HTTPResponse) -> Void
    ) {
        var rest = calls[...]
        var items: [JSONValue] = []
        let people = exchange.journal?.people
        let refused = people?.refused(inviting: facts.user, since: since) ?? []
        let tried = people?.refused(by: facts.user, since: since) ?? []
        let outages = people?.outages(since: since) ?? []
        let begun = exchange.journal?.begun
        let connections = facts.connections.filter { $0.at >= since }
        func next() {
            guard let call = rest.popFirst(), let keeper = management.keeper else {
                return respond(
                    .json(
                        200,
                        [
                            "user": .string(facts.user.text),
                            "since_at": .integer(since.milliseconds), "items": .array(items),
                            "refused": .array(refused.map(\.json)),
                            "tried": .array(tried.map(\.json)),
                            "outages": .array(outages.map(\.json)),
                            "kept_since_at": begun.map { .integer($0.milliseconds) } ?? .null,
                            "connections": .array(connections.map(\.json)),
                        ]))
            }
            keeper.find(call.id) { [management] found in
                management.pieces.run {
                    items.append(WhyNot(call, found?.entries ?? [], facts).json)
                    next()
                    return false
                }
            }
        }
        next()
    }
}

extension Journal.Found {
    /// The entries as JSON.
    var entries: [JSONValue] {
        JournalText.entries(bytes, since: since, leftOut: leftOut, signals: signals)
    }
}

extension PeopleJournal.Refused {
    /// `at`, `caller`, `invitees`, `code`, `text`.
    fileprivate var json: JSONValue {
        [
            "at": .integer(at.milliseconds), "caller": .string(caller.text),
            "invitees": .array(invitees.map { .string($0.text) }),
            "code": .string(code.rawValue), "text": .string(message),
        ]
    }
}

extension PeopleJournal.Outage {
    /// `at`, `until_at`, `text`.
    fileprivate var json: JSONValue {
        [
            "at": .integer(at.milliseconds),
            "until_at": until.map { .integer($0.milliseconds) } ?? .null, "text": .string(why),
        ]
    }
}

extension PeopleJournal.Connection {
    /// `at`, `device`, `state`, `why`.
    fileprivate var json: JSONValue {
        [
            "at": .integer(at.milliseconds), "device": .string(device.text),
            "state": .string(isThere ? "connected" : "disconnected"),
            "why": why.map { .string($0) } ?? .null,
        ]
    }
}
