// What the code behind the bindings may use of the world: the time given, and a place for effects.

import CallModel
import Collections
import Configuration

/// Signs and hashes for scripts; given by the shell, so that tests have fixed answers.
public struct Cryptography: Sendable {
    /// The HMAC of `text` under `key` with `sha1`, `sha256` or `sha512`; nil: no such algorithm.
    public var hmac: @Sendable (_ algorithm: String, _ key: [UInt8], _ text: [UInt8]) -> [UInt8]?
    /// The JWS signature of `text` with `HS256`, `ES256` or `RS256` under a text or PEM key.
    public var sign: @Sendable (_ algorithm: String, _ key: [UInt8], _ text: [UInt8]) -> [UInt8]?

    /// Cryptography by these functions.
    public init(
        hmac: @escaping @Sendable (String, [UInt8], [UInt8]) -> [UInt8]?,
        sign: @escaping @Sendable (String, [UInt8], [UInt8]) -> [UInt8]?
    ) {
        self.hmac = hmac
        self.sign = sign
    }

    /// No algorithm at all.
    public static let none = Cryptography(hmac: { _, _, _ in nil }, sign: { _, _, _ in nil })
}

/// Shared by a host and the plugins of its generations; replaced when a generation is handed over.
package final class Services {
    /// The time of the input at hand.
    package var now = Moment(0)
    /// How far the wall clock is ahead of the core's clock.
    var wallOffset: Milliseconds = 0
    /// What the input at hand leads to.
    package var effects: [PolicyEffect] = []
    /// Lines of the log that each plugin has written at the input at hand.
    private var lines: [String: Int] = [:]
    /// Called while a run goes on that takes long, once.
    var runIsLong: () -> Void = {}
    /// Calls that are known to live because something of theirs is under way here.
    var isAlive: (CallID) -> Bool = { _ in true }
    package var cryptography = Cryptography.none
    var dice: SeededGenerator
    var zone = TimeZoneRules.utc

    package init(seed: UInt64) { dice = SeededGenerator(seed: seed) }

    /// Milliseconds since 1970 by the wall clock.
    var wallTime: Int64 { now.milliseconds + wallOffset }

    func emit(_ effect: consuming PolicyEffect) { effects.append(effect) }

    /// One line more of `plugin` at the input at hand: which one it is.
    func countLine(of plugin: String) -> Int {
        lines[plugin, default: 0] += 1
        return lines[plugin, default: 0]
    }

    package func takeEffects() -> [PolicyEffect] {
        guard !effects.isEmpty else { return [] }
        if !lines.isEmpty { lines = [:] }
        var taken: [PolicyEffect] = []
        swap(&taken, &spare)
        if taken.capacity == 0 { taken.reserveCapacity(4) }
        swap(&taken, &effects)
        return taken
    }

    /// Memory that the next effects may have.
    private var spare: [PolicyEffect] = []
    /// More than so many effects are rare, and their memory is not kept.
    private static let keptEffects = 32

    /// Keeps the memory of effects that were carried out.
    func reuse(_ carriedOut: consuming [PolicyEffect]) {
        guard carriedOut.capacity <= Self.keptEffects else { return }
        carriedOut.removeTaken()
        spare = carriedOut
    }
}
