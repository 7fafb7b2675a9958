// How a process ends: its signals, its clients, its plugins.

import AgentCore
import EventLoop

extension Agent {
    /// Ends at SIGTERM and SIGINT, reloads at SIGHUP.
    func watchSignals() throws(EventLoopError) {
        for signal in [SignalWatcher.Signal.terminate, .interrupt] {
            signals.append(
                try SignalWatcher(for: signal, on: loop) { [unowned self] in end() })
        }
        signals.append(
            try SignalWatcher(for: .hangup, on: loop) { [unowned self] in
                reloader?.carryOut(.reload(given: nil)) { _ in }
            })
        signals += try SignalWatcher.ignoring(on: loop, log: log)
    }

    /// Closes the clients, stores what is under way and ends. While a load balancer asks for
    /// `readyz`, it hears of it first. A second call waits for nothing.
    public func stop() {
        guard !isStopping else { return isDraining ? finish(by: 0) : drain() }
        isStopping = true
        tellManagerOfEnd()
        let notice = gateway.isAskedAgain ? gateway.limits.drainNotice : 0
        guard notice > 0 else { return drain() }
        gateway.isLeaving = true
        log.info("readyz says no from now on", ("draining_in_ms", "\(notice)"))
        drainTimer = Timer(on: loop) { [unowned self] in drain() }
        drainTimer?.arm(after: notice)
    }

    private func drain() {
        isDraining = true
        log.info(
            "draining", ("connections", "\(gateway.links.count)"),
            ("at_most_ms", "\(options.limits.drainWithin)"))
        for listener in listeners { listener.close() }
        gateway.drain()
        member?.keptFront?.end()
        let deadline = Clock.bootMilliseconds() + options.limits.drainWithin
        waitForLinks(until: deadline)
    }

    private func waitForLinks(until deadline: Int64) {
        let now = Clock.bootMilliseconds()
        guard !gateway.links.isEmpty || exchange.hasOpenCommits, now < deadline else {
            return finish(by: deadline)
        }
        drainTimer = Timer(on: loop) { [unowned self] in waitForLinks(until: deadline) }
        drainTimer?.arm(at: now + 20)
    }

    /// Gives the plugins the events that wait, and then `on.stop`. Ends when they are done or at
    /// `deadline` of the boot clock, but gives them a second at least.
    private func finish(by deadline: Int64) {
        toolsListener?.close()
        remote?.close()
        figures.close()
        management.close()
        guard let policies else { return loop.stop() }
        let end = max(deadline, Clock.bootMilliseconds() + 1_000)
        drainTimer = Timer(on: loop) { [unowned self] in
            log.warn("plugins did not stop in time", ("events", "\(policies.backlog)"))
            loop.stop()
        }
        drainTimer?.arm(at: end)
        policies.stop(by: end - Self.stopTime) { [unowned self] leftOut in
            if leftOut > 0 {
                log.warn("plugins were not told everything", ("events", "\(leftOut)"))
            }
            loop.stop()
        }
    }

    /// How long plugins have for `on.stop`, in milliseconds.
    private static let stopTime: Int64 = 500
}

extension SignalWatcher {
    /// Watchers that say of each signal without a meaning here that it did nothing.
    static func ignoring(on loop: EventLoop, log: Log) throws(EventLoopError) -> [SignalWatcher] {
        var watchers: [SignalWatcher] = []
        for signal in Signal.meaningless {
            watchers.append(
                try SignalWatcher(for: signal, on: loop) {
                    log.info(
                        "this signal does nothing: SIGHUP reloads, SIGTERM ends the process",
                        ("signal", signal.name))
                })
        }
        return watchers
    }
}
