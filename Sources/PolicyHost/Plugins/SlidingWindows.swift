// What `limit(key, max, per)` counts.

import CallModel

/// Counts events per key over a sliding window. Each key counts for the pair of accounts for whom
/// it was counted first (G75), until its window is empty.
struct SlidingWindows {
    /// Events of one key in its window.
    static let eventsMax = 10_000
    /// Between two looks at all keys of one pair, in milliseconds: to be refused is to be cheap.
    private static let sweepEvery: Milliseconds = 1_000

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
    private var keys: [Cause: Set<String>] = [:]
    private var used = Quota()
    private var sweptAt: [Cause: Moment] = [:]

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
        keys[cause, default: []].insert(key)
        used.add(1, cause)
        return true
    }

    private mutating func hasRoom(_ cause: Cause, part: Int, at now: Moment) -> Bool {
        if used.hasRoom(cause, most: .max, part: part) { return true }
        if let last = sweptAt[cause], now - last < Self.sweepEvery { return false }
        sweptAt[cause] = now
        for key in keys[cause] ?? [] where isEmpty(key, at: now) { forget(key) }
        return used.hasRoom(cause, most: .max, part: part)
    }

    private func isEmpty(_ key: String, at now: Moment) -> Bool {
        windows[key].map { $0.emptyAt <= now } ?? true
    }

    /// Makes room for a tenth of all keys: those with empty windows go, then those of pairs that
    /// have more than most others, then those that were not used for longest.
    private mutating func makeRoom(_ most: Int, at now: Moment) {
        let fair = max(1, 2 * windows.count / max(1, keys.count))
        let order = windows.map { key, window in
            let isGreedy = (keys[window.owner]?.count ?? 0) > fair
            let rank = window.emptyAt <= now ? 0 : isGreedy ? 1 : 2
            return (rank: rank, lastUse: window.lastUse, key: key)
        }.sorted { ($0.rank, $0.lastUse, $0.key) < ($1.rank, $1.lastUse, $1.key) }
        for entry in order.prefix(max(1, most / 10)) { forget(entry.key) }
    }

    private mutating func forget(_ key: String) {
        guard let owner = windows.removeValue(forKey: key)?.owner else { return }
        used.add(-1, owner)
        keys[owner]?.remove(key)
        guard keys[owner]?.isEmpty == true else { return }
        keys[owner] = nil
        sweptAt[owner] = nil
    }
}
