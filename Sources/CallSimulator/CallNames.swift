// The names that a scenario gives to calls.

import CallModel

/// Which call is which: `c1` in a scenario, 32 hex digits on the wire.
struct CallNames {
    private var ids: [String: CallID] = [:]
    private var names: [CallID: String] = [:]
    private var announced: [String] = []

    /// A call that does not exist.
    static let nowhere = "nowhere"

    /// The next call that appears will be named `name`.
    mutating func announce(_ name: String) { announced.append(name) }

    /// Names the call `id`, if it has no name yet and one was announced.
    mutating func meet(_ id: CallID) {
        guard names[id] == nil, !announced.isEmpty else { return }
        let name = announced.removeFirst()
        ids[name] = id
        names[id] = name
    }

    /// Takes the announced names back: the calls were not made.
    mutating func forgetAnnounced() { announced = [] }

    /// The call named `name`.
    func id(_ name: String) -> CallID? {
        name == Self.nowhere ? CallID(high: 1, low: 1) : ids[name]
    }

    /// `text` with names in the place of ids.
    func naming(_ text: String) -> String {
        ids.reduce(text) { $0.replacing("\($1.value)", with: $1.key) }
    }

    /// The name of the call `id`.
    func name(_ id: CallID) -> String { names[id] ?? "an unnamed call" }
}
