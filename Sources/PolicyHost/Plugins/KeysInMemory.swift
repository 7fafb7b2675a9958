// The durable keys of a plugin, in memory: for tests, and for the simulator.

import CallModel
import JSON

/// Values by key, as the server's store keeps them.
package struct KeysInMemory {
    package init() {}

    private struct Entry {
        var value: JSONValue
        var expiresAt: Moment?
    }
    private var entries: [String: Entry] = [:]

    /// Carries out `request`.
    package mutating func reply(to request: StoreRequest, at now: Moment) -> WaitReply {
        entries = entries.filter { $0.value.expiresAt.map { $0 > now } ?? true }
        switch request {
        case .get(let key): return .value(entries[key]?.value ?? .null)
        case .set(let key, let value, let lifetime):
            entries[key] = Entry(value: value, expiresAt: lifetime.map { now + $0 })
            return .value(true)
        case .increment(let key, let amount, let lifetime):
            return increment(key, by: amount, until: lifetime.map { now + $0 })
        case .delete(let key):
            entries[key] = nil
            return .value(true)
        case .keys(let prefix):
            let keys = entries.keys.filter { $0.hasPrefix(prefix) }.sorted()
            return .value(.array(keys.map { .string($0) }))
        }
    }

    /// A lifetime counts from the first increment on.
    private mutating func increment(
        _ key: String, by amount: Int64, until end: Moment?
    ) -> WaitReply {
        guard let old = entries[key] else {
            entries[key] = Entry(value: .integer(amount), expiresAt: end)
            return .value(.integer(amount))
        }
        guard let number = old.value.integer else { return .trouble("the value is not an integer") }
        let (sum, overflow) = number.addingReportingOverflow(amount)
        guard !overflow else { return .trouble("the value is not an integer") }
        entries[key]?.value = .integer(sum)
        return .value(.integer(sum))
    }
}
