// all { f, g }: parts of a handler, side by side.

import CLua
import CallModel
import Lua

/// What came of the parts that a handler waits for.
struct Parts {
    /// The results so far.
    var results: [LuaValue?] = []
    /// The error of the first that failed.
    var raised: String?
    /// Whether parts are being started: what comes of them is told when all have begun.
    var isStarting = false
}

/// A function of `all` that has not begun.
struct LaterPart {
    /// The handler that waits for it.
    let handler: UInt64
    /// What that one waits in: it may go on without this part, when another one has failed.
    let wait: WaitID
    let place: Int
    let plugin: PluginState
    let function: Int32
    /// See `PluginState.lives`.
    let life: Int
}

extension PolicyHost {
    /// `all` within `all` goes so deep at most.
    static let nestingMax = 8

    /// Starts the parts of a handler; returns how it goes on if all of them have ended.
    func startParts(
        _ functions: [Int32], of id: UInt64, _ wait: WaitID, _ plugin: PluginState
    ) -> Int? {
        guard ancestry(of: id).count <= Self.nestingMax else {
            for function in functions { callua_release(plugin.vm, function) }
            let problem = "'all' within 'all' goes at most \(Self.nestingMax) deep"
            running[id]?.parts.raised = problem
            return outcomeOfParts(id)
        }
        let results = [LuaValue?](repeating: nil, count: functions.count)
        running[id]?.parts = Parts(results: results, isStarting: true)
        let life = plugin.lives
        for (place, function) in functions.enumerated() {
            if isTired {
                let part = LaterPart(
                    handler: id, wait: wait, place: place, plugin: plugin, function: function,
                    life: life)
                startLater(part)
                continue
            }
            startPart(place, function, of: id, plugin)
            if life == plugin.lives { callua_release(plugin.vm, function) }
        }
        running[id]?.parts.isStarting = false
        return outcomeOfParts(id)
    }

    private func startLater(_ part: LaterPart) {
        let number = newID()
        laterParts[number] = part
        deadlines.add(.part(number), at: services.now)
    }

    /// A part that others went before begins, if the handler still waits for it.
    func startPart(_ number: UInt64) {
        guard let part = laterParts.removeValue(forKey: number) else { return }
        let plugin = part.plugin
        // Nothing of an earlier life is there any more.
        guard part.life == plugin.lives else { return }
        let isAwaited = running[part.handler]?.wait == part.wait
        if isAwaited { startPart(part.place, part.function, of: part.handler, plugin) }
        if part.life == plugin.lives { callua_release(plugin.vm, part.function) }
        if isAwaited { partsEnded(part.handler) }
    }

    /// Goes on if nothing of what the handler waits for is left.
    func partsEnded(_ id: UInt64) {
        if let status = outcomeOfParts(id) { goOn(id, status: status, fromParts: true) }
    }

    private func startPart(
        _ place: Int, _ function: Int32, of id: UInt64, _ plugin: PluginState
    ) {
        guard let handler = running[id], handler.parts.raised == nil else { return }
        guard let budget = budget(of: id) else { return exhausted(id) }
        goBack(to: handler)
        arguments.cut()
        arguments.list(0)
        let outcome = start(plugin, function, budget: budget)
        if Int(outcome.status) == CALLUA_WAITING {
            wait(plugin, outcome, task: .part(of: id, place), call: handler.call)
        } else {
            partEnded(id, place, outcome)
        }
    }

    /// A part has returned or failed.
    func partFinished(_ id: UInt64, _ place: Int, _ outcome: callua_outcome) {
        partEnded(id, place, outcome)
        partsEnded(id)
    }

    private func partEnded(_ id: UInt64, _ place: Int, _ outcome: callua_outcome) {
        guard running[id] != nil else { return }
        guard Int(outcome.status) == CALLUA_FINISHED else { return partFailed(id, outcome) }
        var reader = PlainReader(outcome.value)
        running[id]?.parts.results[place] = reader.values().first ?? .null
    }

    /// An error goes on in the handler that waits for all; a kill ends that one too.
    private func partFailed(_ id: UInt64, _ outcome: callua_outcome) {
        let failure = Failure(outcome.failure)
        guard failure == .cpu || failure == .memory else {
            let message = outcome.message
            stopParts(of: id)
            running[id]?.parts.raised = message
            return
        }
        kill(id, failure, outcome.message, outcome.traceback.string)
    }

    /// How the handler goes on, with the results in its plugin's `reply`; nil: it still waits.
    private func outcomeOfParts(_ id: UInt64) -> Int? {
        guard let handler = running[id], !handler.parts.isStarting else { return nil }
        let reply = handler.plugin.reply
        if let message = handler.parts.raised {
            reply.cut()
            reply.raw(message)
            return CALLUA_RAISE
        }
        let results = handler.parts.results
        guard !results.isEmpty, results.allSatisfy({ $0 != nil }) else { return nil }
        reply.cut()
        reply.list(results.count)
        for result in results { reply.value(result ?? .null) }
        return CALLUA_RETURN
    }

    func stopParts(of id: UInt64) {
        // How the event went is said of the whole.
        for place in (running[id]?.parts.results ?? []).indices {
            stop(.part(of: id, place), hasFailed: true)
        }
    }
}
