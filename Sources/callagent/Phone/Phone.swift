// The side that is called: shows incoming calls and answers them.

import CallClient
import CallClientCore
import CallModel
import CallWire
import EventLoop

/// The options of `callagent phone`.
struct PhonePlan {
    /// What it does with an incoming call.
    enum Answer: Equatable {
        case ring
        /// Ring for so many milliseconds, then accept.
        case accept(after: Milliseconds)
        case reject(busy: Bool)
    }

    var answer: Answer
    /// Extended data of the answer.
    var data: String?
    /// Whether it ends after the first call.
    var isOnce: Bool
}

/// A phone on the command line.
final class Phone: DeviceScript {
    /// A call that this phone knows of.
    private struct Known {
        var progress: CallProgress
        /// Between the first ring and the answer.
        var patience: Timer?
        /// Whether it is being left.
        var isGoing = false
    }

    private let plan: PhonePlan
    private let program: DeviceProgram
    private var calls: [CallID: Known] = [:]
    private var me: UserID?
    private var wantsOut = false

    init(_ plan: PhonePlan, _ program: DeviceProgram) {
        self.plan = plan
        self.program = program
    }

    private var ladder: Ladder { program.ladder }
    private var client: CallClient { program.client }

    func opened(_ welcome: Welcome) {
        if me == nil {
            ladder.tells("open", "connected as \(welcome.user), device \(welcome.device)")
        }
        me = welcome.user
        guard !welcome.resumed else { return }
        let live = Dictionary(welcome.calls.map { ($0.id, $0) }) { first, _ in first }
        for id in calls.keys.sorted() {
            if let call = live[id] {
                calls[id]?.progress.take(call)
                advance(id)
            } else {
                ladder.sees("call \(id) ended meanwhile")
                over(id)
            }
        }
    }

    func happened(_ event: CallEvent) {
        let id = event.callID
        switch event.kind {
        case .incoming(let call, _, _, _): incoming(call)
        case .changed(let changes):
            calls[id]?.progress.take(changes, at: event.revision)
            advance(id)
        case .ended, .cancelled, .timedOut, .failed, .elsewhere, .transferred, .removed: over(id)
        case .created, .mediaPhase, .mediaFlags, .hold, .items, .signal, .missed: break
        }
    }

    func interrupted() {
        wantsOut = true
        let joined = calls.filter { $0.value.progress.hasJoined }.keys.sorted()
        guard program.isConnected, !joined.isEmpty else { return program.finish(ExitCode.success) }
        for id in joined { go(id) }
    }

    // MARK: Answering

    private func incoming(_ call: Call) {
        guard let me else { return }
        guard calls[call.id] == nil else {
            calls[call.id]?.progress.take(call)
            return
        }
        let progress = CallProgress(call, me: me)
        // A call that a policy has answered does not ring.
        guard progress.isAsked else { return }
        calls[call.id] = Known(progress: progress)
        switch plan.answer {
        case .reject(let busy): reject(call.id, busy: busy)
        case .ring: ring(call.id)
        case .accept(let wait):
            ring(call.id)
            guard wait > 0 else { return accept(call.id) }
            let patience = Timer(on: program.loop) { [unowned self] in accept(call.id) }
            patience.arm(after: wait)
            calls[call.id]?.patience = patience
        }
    }

    private func ring(_ id: CallID) {
        ladder.asks("ringing")
        client.ringing(id)
    }

    private func accept(_ id: CallID) {
        ladder.asks("accept\(saying)")
        client.accept(id, saying: plan.data) { [self] result in
            switch result {
            case .success(let call):
                calls[id]?.progress.take(call)
                advance(id)
            case .failure(let failure): failed(failure, id)
            }
        }
    }

    private func reject(_ id: CallID, busy: Bool) {
        ladder.asks("reject \(busy ? "busy" : "declined")\(saying)")
        client.reject(id, busy: busy, saying: plan.data) { [self] result in
            switch result {
            case .success: over(id)
            case .failure(let failure): failed(failure, id)
            }
        }
    }

    private var saying: String { plan.data.map { ": \($0)" } ?? "" }

    private func failed(_ failure: RequestFailure, _ id: CallID) {
        ladder.sees(failure)
        over(id)
    }

    // MARK: Going

    /// Leaves a call in which nobody else is left.
    private func advance(_ id: CallID) {
        guard let known = calls[id], known.progress.hasJoined else { return }
        if known.progress.isLeftAlone || wantsOut { go(id) }
    }

    private func go(_ id: CallID) {
        guard let known = calls[id], !known.isGoing else { return }
        calls[id]?.isGoing = true
        let action = known.progress.wayOut
        ladder.asks(action.word)
        client.ask(.call(id, action)) { [self] result in
            switch result {
            // The last event of the ended call is on its way.
            case .success(let call): if call.isLive { over(id) }
            case .failure(let failure): failed(failure, id)
            }
        }
    }

    private func over(_ id: CallID) {
        guard calls.removeValue(forKey: id) != nil else { return }
        let isLast = !calls.values.contains { $0.progress.hasJoined }
        if plan.isOnce || (wantsOut && isLast) { program.finish(ExitCode.success) }
    }
}
