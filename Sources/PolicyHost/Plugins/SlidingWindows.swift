// What `limit(key, max, per)` counts.

import CallModel
import Configuration

/// Counts events per key over a sliding window. Each key counts for the pair of accounts for whom
/// it was counted first (G75), until its window is empty.
struct SlidingWindows {
    /// Events of one key in its window.
    static let eventsMax = 10_000

    /// One event: what the script says of it, and for whom it asks.
    struct Event {
        let key: String
        /// Events of that key that fit into its window.
        let most: Int
        /// How long the window is.
        let span: Milliseconds
        let cause: Cause
    }

    private struct Window {
        let owner: Cause
        var events: [Moment] = []
        var lastUse: Moment
        /// When the last event leaves it.
        var emptyAt: Moment
    }
    private var windows: [String: Window] = [:]
    private var owned = OwnedKeys()

    /// How many keys are counted.
    var count: Int { windows.count }

    /// Notes an event if fewer than `most` are in its window.
    ///
    /// - Returns: whether it did; nil: its cause has too many other keys.
    mutating func admit(_ event: Event, _ limits: PluginLimits, at now: Moment) -> Bool? {
        guard var window = windows.removeValue(forKey: event.key) else {
            return begin(event, limits, at: now)
        }
        window.events.removeAll { now - $0 >= event.span }
        window.lastUse = now
        let isAdmitted = window.events.count < event.most
        if isAdmitted {
            window.events.append(now)
            window.emptyAt = max(window.emptyAt, now + event.span)
        }
        windows[event.key] = window
        return isAdmitted
    }

    private mutating func begin(
        _ event: Event, _ limits: PluginLimits, at now: Moment
    ) -> Bool? {
        let (key, cause) = (event.key, event.cause)
        guard hasRoom(cause, part: limits.limitKeysOfCause, at: now) else { return nil }
        guard event.most > 0 else { return false }
        if windows.count >= limits.limitKeys { makeRoom(limits.limitKeys, at: now) }
        windows[key] = Window(
            owner: cause, events: [now], lastUse: now, emptyAt: now + event.span)
        owned.add(key, for: cause)
        return true
    }

    private mutating func hasRoom(_ cause: Cause, part: Int, at now: Moment) -> Bool {
        if owned.hasRoom(cause, part: part) { return true }
        for key in owned.sweep(cause, at: now) where isEmpty(key, at: now) { forget(key) }
        return owned.hasRoom(cause, part: part)
    }

    private func isEmpty(_ key: String, at now: Moment) -> Bool {
        windows[key].map { $0.emptyAt <= now } ?? true
    }

    /// Makes room for a tenth of all keys: those with empty windows go, then those of pairs that
    /// have more than most others, then those that were not used for longest. Numbers are sorted,
    /// not keys: others wait for their decisions meanwhile.
    private mutating func makeRoom(_ most: Int, at now: Moment) {
        let greedy = owned.greedy
        func rank(_ window: Window) -> Int64 {
            if window.emptyAt <= now { return .min }
            let isGreedy = !greedy.isEmpty && greedy.contains(window.owner)
            return window.lastUse.milliseconds - (isGreedy ? 1 << 60 : 0)
        }
        let count = max(1, most / 10)
        let last = windows.values.map(rank).sorted()[count - 1]
        var going = windows.filter { rank($0.value) < last }.map(\.key)
        let same = windows.lazy.filter { rank($0.value) == last }.map(\.key)
        going += same.prefix(count - going.count)
        for key in going { forget(key) }
    }

    private mutating func forget(_ key: String) {
        guard let owner = windows.removeValue(forKey: key)?.owner else { return }
        owned.remove(key, of: owner)
    }
}
