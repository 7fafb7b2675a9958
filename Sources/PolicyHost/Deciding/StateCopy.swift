// Copies of `state` that records of decisions name: one for each change.

import CallModel
import Lua
import WebProtocols

/// A plugin's `state` as it was when it was asked. Records share it until the plugin changes
/// something.
public final class StateCopy: Sendable, Equatable {
    /// Unique in the files of a state directory; 0: `state` was empty.
    public let id: UInt64
    /// The `state_version` under which it was written.
    public let version: Int64
    /// As plain data, as it crosses into Lua.
    package let bytes: [UInt8]

    package init(id: UInt64, version: Int64, bytes: [UInt8]) {
        (self.id, self.version, self.bytes) = (id, version, bytes)
    }

    /// The copy that `text`, base64, has; nil: it has none.
    public convenience init?(id: UInt64, version: Int64, text: String) {
        guard let bytes = Base64.decode(text) else { return nil }
        self.init(id: id, version: version, bytes: bytes)
    }

    /// What it has, as base64: JSON has no tables with gaps.
    public var text: String { Base64.encode(bytes) }

    /// Whether it names somebody.
    public func names(_ gone: Forgotten) -> Bool {
        gone.isNamed(in: String(decoding: bytes, as: UTF8.self))
    }

    /// Of a table without members.
    package static let empty = StateCopy(id: 0, version: 0, bytes: emptyBytes)
    private static let emptyBytes: [UInt8] = {
        let writer = PlainWriter()
        writer.table(0)
        return writer.copy
    }()

    /// Whether both copies hold the same; at once where they are one object.
    public static func == (one: StateCopy, other: StateCopy) -> Bool {
        one === other
            || (one.id, one.version) == (other.id, other.version) && one.bytes == other.bytes
    }
}

/// How many copies a host makes. Half of it is for whoever needs it first; of the other half each
/// plugin has a part of its own, which no busy one can use up.
struct StateCopies {
    /// Bytes of copies in a second: plugins that change much at every question cost no more.
    static let bytesPerSecondMax = 1 << 20
    /// What a copy takes besides.
    private static let overhead = 256
    /// Who made none for so long has no part.
    private static let idle: Milliseconds = 60_000

    /// Bytes that come back as time passes.
    private struct Room {
        var bytes: Int
        var countedAt: Moment

        mutating func refill(_ most: Int, at now: Moment) {
            let passed = min(max(0, now - countedAt), 1_000)
            guard passed > 0 else { return }
            bytes = min(most, bytes + Int(passed) * most / 1_000)
            countedAt = now
        }
    }

    private(set) var lastID: UInt64 = 0
    private var common = Room(bytes: bytesPerSecondMax / 2, countedAt: Moment(0))
    private var own: [String: Room] = [:]

    /// Whether `plugin` may make one more at `now`.
    mutating func hasRoom(for plugin: String, at now: Moment) -> Bool {
        common.refill(Self.bytesPerSecondMax / 2, at: now)
        let half = Self.bytesPerSecondMax / 2
        if own[plugin] == nil {
            own = own.filter { now - $0.value.countedAt < Self.idle }
            own[plugin] = Room(bytes: half / (own.count + 1), countedAt: now)
        }
        let part = half / own.count
        own[plugin]?.refill(part, at: now)
        return common.bytes > 0 || own[plugin].map { $0.bytes > 0 } ?? false
    }

    /// The id of a copy of so many bytes. A process that starts later has later ones.
    mutating func add(_ bytes: Int, for plugin: String, at now: Moment) -> UInt64 {
        if common.bytes > 0 {
            common.bytes -= bytes + Self.overhead
        } else {
            own[plugin]?.bytes -= bytes + Self.overhead
        }
        lastID = max(lastID + 1, UInt64(max(0, now.milliseconds)) << 10)
        return lastID
    }
}

extension PolicyHost {
    /// Notes what `state` a plugin is asked with, when it is asked first.
    func noteState(of plugin: PluginState, _ chain: inout Chain) {
        guard let states = chain.recorded?.states,
            !states.contains(where: { $0.plugin == plugin.name })
        else { return }
        let before = stateCopies.lastID
        let copy = plugin.stateCopy(&stateCopies, at: services.now)
        // Most plugins keep nothing: of those nothing is noted.
        guard copy !== StateCopy.empty else { return }
        chain.recorded?.states.append(
            DecisionInput.State(
                plugin: plugin.name, id: copy?.id, copy: copy,
                isFirst: stateCopies.lastID != before))
    }
}

extension Generation {
    /// Gives plugins the `state` with which they were asked before, in the place of their own.
    ///
    /// - Returns: why some cannot take it over, a line each.
    package func give(_ copies: [String: StateCopy]) -> [String] {
        plugins.compactMap { plugin in
            guard let copy = copies[plugin.name] else { return nil }
            do throws(ScriptProblem) {
                try plugin.give(copy)
                return nil
            } catch {
                return error.description
            }
        }
    }
}
