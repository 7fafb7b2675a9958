// What a plugin is passed over for: failures counted per pair of accounts, timer and report.

import CallModel

/// The breakers of one plugin. Nothing stands in it as long as nothing fails, so that a run without
/// failures costs no look.
struct FailureTable {
    /// Pairs at once: one account makes as many as it calls people. The oldest go.
    static let pairsMax = 1_024

    private var pairs: [Cause: Breaker] = [:]
    /// At most as many as a plugin has timers and reports.
    private var others: [PauseKey: Breaker] = [:]
    private(set) var quarantine = Quarantine()
    private var trials = 0
    /// When pairs are next looked through for what is over.
    private var sweepAt = Moment(0)

    /// Whether nothing has failed lately.
    @inline(__always)
    var isEmpty: Bool { pairs.isEmpty && others.isEmpty && quarantine.until == nil }

    /// Whether the plugin may be run: the number of the trial that it is, 0 when it is none; nil
    /// when it is passed over.
    mutating func admits(_ origin: Origin, at now: Moment) -> Int? {
        if isEmpty { return 0 }
        if quarantine.isOn(at: now) { return nil }
        sweep(at: now)
        trials += 1
        var trial: Int? = 0
        let next = trials
        change(origin) { trial = $0.admits(at: now, next: next) }
        return trial
    }

    /// Notes a run without failure.
    @inline(__always)
    mutating func succeeded(_ origin: Origin, at now: Moment) {
        if pairs.isEmpty && others.isEmpty { return }
        change(origin) { $0.succeeded(of: origin.trial, at: now) }
    }

    /// A run was taken back.
    mutating func ended(_ origin: Origin, at now: Moment) {
        if origin.trial != 0 { change(origin) { $0.ended(of: origin.trial, at: now) } }
    }

    /// Notes a failure; returns whether the plugin is passed over for its origin from now on.
    mutating func failed(_ failure: Failure, _ origin: Origin, at now: Moment) -> Bool {
        if !origin.cause.isNobody {
            if pairs[origin.cause] == nil, pairs.count >= Self.pairsMax { dropOldest() }
            return pairs[origin.cause, default: Breaker()]
                .failed(failure, of: origin.trial, at: now)
        }
        guard let key = origin.pauseKey else { return false }
        return others[key, default: Breaker(keepsFailures: true)]
            .failed(failure, of: origin.trial, at: now)
    }

    /// Most of those who ask meet a failure: the plugin is run for nobody.
    mutating func quarantine(at now: Moment) { quarantine.begin(at: now) }

    /// For whom it is passed over, and what pauses, with the end of each pause.
    var paused: [PluginPause] {
        let open =
            pairs.map { ($0.key.text, $0.value.openUntil) }
            + others.map { ($0.key.text, $0.value.openUntil) }
        return open.compactMap { text, until in until.map { PluginPause(text: text, until: $0) } }
            .sorted { ($0.until, $0.text) < ($1.until, $1.text) }
    }

    private mutating func change(_ origin: Origin, _ body: (inout Breaker) -> Void) {
        if let place = pairs.index(forKey: origin.cause) {
            body(&pairs.values[place])
        } else if origin.cause.isNobody, let key = origin.pauseKey,
            let place = others.index(forKey: key)
        {
            body(&others.values[place])
        }
    }

    private mutating func sweep(at now: Moment) {
        guard now >= sweepAt else { return }
        sweepAt = now + Breaker.window
        pairs = pairs.filter { !$0.value.isStale(at: now) }
    }

    /// Makes room for a tenth of the pairs.
    private mutating func dropOldest() {
        let order = pairs.sorted {
            ($0.value.lastFailure, $0.key.text) < ($1.value.lastFailure, $1.key.text)
        }
        for entry in order.prefix(Self.pairsMax / 10) { pairs[entry.key] = nil }
    }
}
