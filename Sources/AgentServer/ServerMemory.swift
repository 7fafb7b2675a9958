// What the store keeps of the server beside its generations. A rollback never changes it.

import CallModel
import Configuration
import EventLoop
import JSON
import Storage
import StoreContract

/// The stored part of the server's settings.
struct ServerMemory: Sendable, Equatable {
    /// The values that were last in force, secrets as expressions; nil: none were kept.
    var values: String?
    /// Names of keys that were in force but are not kept, because they are written as text.
    var textKeys: [String] = []
    /// Whether there have ever been keys: then development tokens are never accepted again (G83).
    var hadKeys = false
    /// The grants that plugins may have at most; nil: not known, as in an old store.
    var grants: Grants?

    /// A server that has never been in force.
    init() {}

    /// Notes the values that the operator's file has put into force.
    mutating func note(_ configuration: Configuration) {
        values = configuration.server.values.text
        textKeys = configuration.server.values.textKeys
        if !configuration.auth.isEmpty { hadKeys = true }
    }

    /// Whether `configuration` may be in force.
    ///
    /// - Throws: `configuration`, when the keys that there were are missing.
    func check(_ configuration: Configuration) throws(AgentError) {
        guard hadKeys, configuration.auth.isEmpty, !configuration.server.hasNoKeysByIntent
        else { return }
        let line = configuration.lines["auth"].map { ":\($0)" } ?? ""
        throw .configuration(
            "\(configuration.file ?? "callagent.lua")\(line): auth is missing, and this server has "
                + "had keys: without them everybody can connect as anybody (write auth = false if "
                + "that is meant)")
    }

    // MARK: In the store

    private static let key = "server"

    /// The store's change that keeps it.
    var record: StoreChange {
        var json: JSONObject = ["had_keys": .bool(hadKeys)]
        if let values { json["values"] = .string(values) }
        if let grants { json["grants"] = grants.json }
        json["text_keys"] = .array(textKeys.map { .string($0) })
        return .value(
            .set(plugin: "", key: Self.key, value: JSONValue.object(json).bytes, expiresAt: nil))
    }

    /// What a store has kept; nil: nothing.
    init?(readBy reader: any CallReader) throws(StoreError) {
        let query = StoreQuery.values(
            plugin: "", keys: [Self.key], at: Moment(Clock.wallMilliseconds()))
        guard case .values(let found) = try reader.answer(query),
            let bytes = found[0],
            let json = try? JSONValue(
                parsing: bytes, limits: JSONLimits(bytes: max(1, bytes.count)))
        else { return nil }
        values = json["values"]?.string
        textKeys = json["text_keys"]?.array?.compactMap(\.string) ?? []
        hadKeys = json["had_keys"]?.bool ?? false
        grants = json["grants"].map { Grants($0) }
    }
}
