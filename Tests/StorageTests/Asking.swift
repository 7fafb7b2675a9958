// Every question to a store, with the answer that belongs to it.

import CallModel
import StoreContract
import Testing

@testable import Storage

/// The store answered another question than it was asked.
struct WrongAnswer: Error {
    let query: StoreQuery
    let answer: StoreAnswer
}

extension CallReader {
    private func ask<Found>(
        _ query: StoreQuery, _ read: (StoreAnswer) -> Found?
    ) throws -> Found {
        let answer = try answer(query)
        if case .failed(let error) = answer { throw error }
        guard let found = read(answer) else { throw WrongAnswer(query: query, answer: answer) }
        return found
    }

    func call(_ id: CallID) throws -> Call? {
        try ask(.call(id)) { if case .call(let found) = $0 { .some(found) } else { nil } }
    }

    func version(of id: CallID) throws -> StoredVersion? {
        try ask(.version(id)) { if case .version(let found) = $0 { .some(found) } else { nil } }
    }

    /// All live calls up to `last`, or those of some, page by page.
    func liveCalls(
        upTo last: CallID?, of users: [UserID] = [], and calls: [CallID] = [], limit: Int = 7
    ) throws -> [Call] {
        var all: [Call] = []
        guard let last else { return all }
        var query = LiveCallQuery(upTo: last, limit: limit)
        (query.users, query.calls) = (users, calls)
        repeat {
            let page = try ask(.liveCalls(query)) {
                if case .liveCalls(let found, let damage) = $0, damage.isEmpty {
                    found
                } else {
                    nil
                }
            }
            #expect(page.calls.count <= limit)
            all += page.calls
            query.after = page.lookedUpTo
        } while query.after != nil
        return all
    }

    func reply(of user: UserID, under key: String) throws -> KeptReply? {
        try ask(.reply(user, key: key)) {
            if case .reply(let found) = $0 { .some(found) } else { nil }
        }
    }

    func page(of user: UserID, matching query: ListQuery, bytes: Int = .max) throws -> CallPage {
        try ask(.page(user, query, bytes: bytes)) {
            if case .page(let found) = $0 { found } else { nil }
        }
    }

    func history(_ query: HistoryQuery) throws -> CallPage {
        try ask(.history(query)) { if case .history(let found) = $0 { found } else { nil } }
    }

    func missedCount(of user: UserID) throws -> Int {
        try ask(.missed(user, limit: 0)) {
            if case .missed(_, let count) = $0 { count } else { nil }
        }
    }

    func missedCalls(of user: UserID, limit: Int) throws -> [MissedCall] {
        try ask(.missed(user, limit: limit)) {
            if case .missed(let found, _) = $0 { found } else { nil }
        }
    }

    func registrations(of user: UserID) throws -> [Registration] {
        try ask(.registrations(user, with: nil)) {
            if case .registrations(let found, nil) = $0 { found } else { nil }
        }
    }

    func openPushes(after job: JobID?, limit: Int) throws -> [StoredPush] {
        try ask(.openPushes(after: job, limit: limit)) {
            if case .openPushes(let found) = $0 { found } else { nil }
        }
    }

    func pushOutcomes(of call: CallID) throws -> [PushOutcome] {
        try ask(.pushOutcomes(call)) {
            if case .pushOutcomes(let found) = $0 { found } else { nil }
        }
    }

    func webhooks(
        _ state: WebhookProgress.State, after job: JobID?, limit: Int
    ) throws -> [StoredWebhook] {
        var filter = WebhookFilter(state, limit: limit)
        filter.after = job
        return try webhooks(filter)
    }

    func webhooks(_ filter: WebhookFilter) throws -> [StoredWebhook] {
        try ask(.webhooks(filter)) { if case .webhooks(let found) = $0 { found } else { nil } }
    }

    func webhookCallers(
        of endpoint: String, after caller: UserID?, limit: Int
    ) throws -> [UserID] {
        try ask(.webhookCallers(endpoint: endpoint, after: caller, limit: limit)) {
            if case .webhookCallers(let found) = $0 { found } else { nil }
        }
    }

    func openWebhooks(
        of endpoint: String, _ turns: WebhookTurn..., limit: Int
    ) throws -> [[StoredWebhook]] {
        try ask(.openWebhooks(endpoint: endpoint, of: turns, limit: limit)) {
            if case .openWebhooks(let found) = $0 { found } else { nil }
        }
    }

    func value(of plugin: String, key: String, at now: Moment) throws -> [UInt8]? {
        try ask(.values(plugin: plugin, keys: [key], at: now)) {
            if case .values(let found) = $0, found.count == 1 { .some(found[0]) } else { nil }
        }
    }

    func keys(
        of plugin: String, prefix: String, limit: Int, at now: Moment
    ) throws -> [String] {
        try ask(.keys(plugin: plugin, prefix: prefix, limit: limit, at: now)) {
            if case .keys(let found) = $0 { found } else { nil }
        }
    }

    func generations() throws -> [GenerationMark] {
        try ask(.generations) { if case .generations(let found) = $0 { found } else { nil } }
    }

    func names(after user: UserID?, limit: Int) throws -> [StoredName] {
        try ask(.names(after: user, limit: limit)) {
            if case .names(let found) = $0 { found } else { nil }
        }
    }

    func met(_ user: UserID, among others: [UserID]) throws -> [UserID] {
        try ask(.met(user, among: others)) { if case .met(let found) = $0 { found } else { nil } }
    }

    func generation(named name: String?) throws -> StoredGeneration? {
        try ask(.generation(named: name)) {
            if case .generation(let found) = $0 { .some(found) } else { nil }
        }
    }
}

extension CallStore {
    /// What a start at `now` gets, with the live calls.
    func wholeState(at now: Moment) throws -> StoredState {
        var state = try restore(at: now)
        state.core.calls = try makeReader().liveCalls(upTo: state.core.lastCall)
        return state
    }
}
