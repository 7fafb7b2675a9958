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

    public static func == (one: StateCopy, other: StateCopy) -> Bool {
        one === other
            || (one.id, one.version) == (other.id, other.version) && one.bytes == other.bytes
    }
}

/// How many copies a host makes.
struct StateCopies {
    /// Bytes of copies in a second: a plugin that changes much at every question costs no more.
    static let bytesPerSecondMax = 1 << 20
    /// What a copy takes besides.
    private static let overhead = 256

    private(set) var lastID: UInt64 = 0
    private var room = bytesPerSecondMax
    private var countedAt = Moment(0)

    /// Whether one more may be made at `now`.
    mutating func hasRoom(at now: Moment) -> Bool {
        let passed = max(0, now - countedAt)
        if passed > 0 {
            let more = min(passed, 1_000) * Milliseconds(Self.bytesPerSecondMax) / 1_000
            room = min(Self.bytesPerSecondMax, room + Int(more))
            countedAt = now
        }
        return room > 0
    }

    /// The id of a copy of so many bytes. A process that starts later has later ones.
    mutating func add(_ bytes: Int, at now: Moment) -> UInt64 {
        room -= bytes + Self.overhead
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
