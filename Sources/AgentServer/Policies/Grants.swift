// What plugins are granted, and what was taken away again.

import Configuration
import JSON

/// The capabilities granted to plugins.
///
/// The grants of the last reload, or of a start with the files on disk, are all that plugins may
/// have. A grant that an earlier generation had was taken away, and only a reload gives it again
/// (G82).
struct Grants: Sendable, Equatable {
    private(set) var byPlugin: [String: [String]] = [:]

    /// The grants in a configuration.
    init(_ configuration: Configuration) {
        for plugin in configuration.plugins {
            guard let grants = configuration.overrides[plugin.name]?.grants, !grants.isEmpty
            else { continue }
            byPlugin[plugin.name] = grants.sorted()
        }
    }

    /// The grants that `others` need and these lack.
    func missing(for others: Grants) -> [String: [String]] {
        others.byPlugin.reduce(into: [:]) { missing, entry in
            let mine = byPlugin[entry.key] ?? []
            let lacking = entry.value.filter { !mine.contains($0) }
            if !lacking.isEmpty { missing[entry.key] = lacking }
        }
    }

    // MARK: As JSON

    /// The grants of each plugin by its name.
    var json: JSONValue {
        .object(
            JSONObject(
                byPlugin.sorted { $0.key < $1.key }.map { name, grants in
                    .init(key: name, value: .array(grants.map { .string($0) }))
                }))
    }

    /// The grants that `json` describes.
    init(_ json: JSONValue) {
        for member in json.object?.members ?? [] {
            byPlugin[member.key] = member.value.array?.compactMap(\.string) ?? []
        }
    }
}
